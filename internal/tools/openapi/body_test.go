package openapi

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/openapi/document"
)

// withBody writes a document whose only operation has this body.
func withBody(t testing.TB, version, body string) string {
	t.Helper()
	return write(t, "openapi: "+version+`
paths:
  /b/{id}:
    put:
      operationId: op
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      requestBody: `+body+`
components:
  requestBodies:
    Shared: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Base'}}}}
  schemas:
    Base: {type: object, required: [a, ro], properties: {a: {type: number}, ro: {type: string, readOnly: true}, n: {$ref: '#/components/schemas/Base'}}}
    Any: {oneOf: [{type: string}, {type: object}]}
`)
}

func TestBodies(t *testing.T) {
	url, last := echo(t, nil)
	tests := []struct {
		name, body, arguments string
		mediaType, want       string
		properties            string // of the tool's parameters, besides id
	}{
		{"members", `{required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Base'}}}}`, `{"id": "1", "a": 123456789012345678901, "n": {"a": 1.10}}`,
			"application/json", `{"a":123456789012345678901,"n":{"a":1.10}}`, "a! n"},
		{"a shared body", `{$ref: '#/components/requestBodies/Shared'}`, `{"id": "1", "a": 2}`, "application/json", `{"a":2}`, "a! n"},
		{"an optional body", `{content: {application/json: {schema: {$ref: '#/components/schemas/Base'}}}}`, `{"id": "1"}`, "", ``, "a n"},
		{"a required body without members", `{required: true, content: {application/json: {schema: {type: object, properties: {x: {}}}}}}`, `{"id": "1"}`, "application/json", `{}`, "x"},
		{"allOf", `{required: true, content: {application/vnd.api+json: {schema: {allOf: [{$ref: '#/components/schemas/Base'}, {required: [b], properties: {b: {}, a: {minimum: 1}}}]}}}}`,
			`{"id": "1", "a": 2, "b": [null]}`, "application/vnd.api+json", `{"a":2,"b":[null]}`, "a! n b!"},
		{"alternatives", `{required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Any'}}}}`, `{"id": "1", "body": {"z": 1, "a": 2}}`,
			"application/json", `{"z":1,"a":2}`, "body!"},
		{"a list", `{content: {application/json: {schema: {type: array, items: {type: number}}}}}`, `{"id": "1", "body": [1, 2.50]}`, "application/json", `[1,2.50]`, "body"},
		{"a text", `{content: {application/json: {schema: {type: string}}}}`, `{"id": "1", "body": "x\"y"}`, "application/json", `"x\"y"`, "body"},
		{"a map", `{content: {application/json: {schema: {type: object, additionalProperties: {type: integer}}}}}`, `{"id": "1", "body": {"x": 1}}`, "application/json", `{"x":1}`, "body"},
		{"no schema", `{content: {'*/*': {}}}`, `{"id": "1", "body": null}`, "application/json", `null`, "body"},
		{"a member named like a parameter", `{content: {application/json: {schema: {type: object, properties: {id: {}, b: {}}}}}}`, `{"id": "1", "body": {"id": 2, "more": 3}}`,
			"application/json", `{"id":2,"more":3}`, "body"},
		{"odd members", `{content: {application/json: {schema: {type: object, properties: {'a b': {}, $x: {}}}}}}`, `{"id": "1", "a_b": 1, "x": 2}`, "application/json", `{"a b":1,"$x":2}`, "a_b x"},
		{"form", `{content: {application/x-www-form-urlencoded: {schema: {type: object, properties: {a: {}, l: {type: array}, o: {type: object}, d: {type: object}, p: {}}}, encoding: {d: {style: deepObject, explode: true}, p: {explode: false}}}}}`,
			`{"id": "1", "a": "1+1=2&x", "l": [1, "b c"], "o": {"k": 1.0}, "d": {"x": {"y": 2}}, "p": [1, 2]}`, "application/x-www-form-urlencoded",
			"a=1%2B1%3D2%26x&l=1&l=b%20c&o=%7B%22k%22%3A1.0%7D&d%5Bx%5D%5By%5D=2&p=1,2", "a l o d p"},
		{"a form of anything", `{content: {application/x-www-form-urlencoded: {schema: {type: object}}}}`, `{"id": "1", "body": {"a": 1, "b": [2, 3]}}`, "application/x-www-form-urlencoded", "a=1&b=2&b=3", "body"},
		{"multipart", `{content: {multipart/form-data: {schema: {type: object, properties: {'n"1': {type: string}, f: {type: array, items: {type: string, format: binary}}, b: {type: string, format: byte}, o: {}}}, encoding: {o: {contentType: 'application/xml, text/xml'}}}}}`,
			`{"id": "1", "n_1": "a\r\nb", "f": ["AA==", "AQ"], "b": "AA==", "o": "<x/>"}`, "multipart/form-data",
			"form-data; name=\"n%221\" [] a\r\nb\nform-data; name=\"f\"; filename=\"f\" [application/octet-stream] \x00\nform-data; name=\"f\"; filename=\"f\" [application/octet-stream] \x01\n" +
				"form-data; name=\"b\" [] AA==\nform-data; name=\"o\" [application/xml] <x/>\n", "n_1 f b o"},
		{"text", `{required: true, content: {text/csv: {schema: {type: string}}}}`, `{"id": "1", "body": "a,b\n1,2"}`, "text/csv", "a,b\n1,2", "body!"},
		{"XML", `{content: {application/xml: {schema: {$ref: '#/components/schemas/Base'}}}}`, `{"id": "1", "body": "<a/>"}`, "application/xml", "<a/>", "body"},
		{"bytes", `{content: {application/octet-stream: {schema: {type: string, format: binary}}}}`, `{"id": "1", "body": "AAH/"}`, "application/octet-stream", "\x00\x01\xff", "body"},
		{"an image", `{content: {image/png: {}}}`, `{"id": "1", "body": "iVBORw0KGgo="}`, "image/png", "\x89PNG\r\n\x1a\n", "body"},
		{"nothing", `{content: {}}`, `{"id": "1"}`, "", "", ""},
	}
	for _, version := range []string{"3.0.3", "3.1.1"} {
		for _, tt := range tests {
			t.Run(version+" "+tt.name, func(t *testing.T) {
				doc := withBody(t, version, tt.body)
				tools, listing := load(t, &config.Tool{OpenAPI: &config.OpenAPI{Document: doc, Server: url}})
				if len(listing.Warnings) > 0 {
					t.Fatal(listing.Warnings)
				}
				if diff := cmp.Diff(tt.properties, names(t, tools["op"].Spec().Parameters)); diff != "" {
					t.Errorf("%s\n%s", diff, tools["op"].Spec().Parameters)
				}
				succeed(t, tools["op"], tt.arguments)
				got := last()
				mediaType, _, _ := strings.Cut(got.header.Get("Content-Type"), ";")
				if mediaType == "multipart/form-data" {
					got.body = parts(t, got.header.Get("Content-Type"), got.body)
				}
				if mediaType != tt.mediaType || got.body != tt.want || got.method != "PUT" || got.uri != "/b/1" {
					t.Errorf("%s %s %s\ngot  %s\nwant %s", got.method, got.uri, mediaType, got.body, tt.want)
				}
			})
		}
	}
}

// names lists the properties of parameters besides id; "!" marks those that are
// required.
func names(t *testing.T, parameters json.RawMessage) string {
	t.Helper()
	var schema struct {
		Properties json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(parameters, &schema); err != nil {
		t.Fatal(err)
	}
	var list []string
	for name := range document.Value(schema.Properties).Members() {
		if slices.Contains(schema.Required, name) {
			name += "!"
		}
		if name != "id!" {
			list = append(list, name)
		}
	}
	return strings.Join(list, " ")
}

func TestBodiesThatCannotBe(t *testing.T) {
	url, last := echo(t, nil)
	for body, want := range map[string]string{
		`{content: {application/octet-stream: {}}}`: `the argument "body" is not base64`,
		`{content: {multipart/form-data: {schema: {type: object, properties: {body: {type: string, format: binary}}}}}}`: `the part "body" of the body is not base64`,
	} {
		doc := withBody(t, "3.0.0", body)
		tools, _ := load(t, &config.Tool{OpenAPI: &config.OpenAPI{Document: doc, Server: url}})
		res := call(t, tools["op"], `{"id": "1", "body": "no base64!"}`)
		if said, _ := res.Output.(string); !res.IsError || !strings.Contains(said, want) || last() != nil {
			t.Error(res)
		}
	}
}
