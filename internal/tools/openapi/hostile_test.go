package openapi

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
)

// Documents that are refused, with what is said of them; nobody is contacted.
func TestRefusedDocuments(t *testing.T) {
	url, last := echo(t, nil)
	canary := filepath.Join(t.TempDir(), "canary.yaml")
	if err := os.WriteFile(canary, []byte("type: string"), 0o600); err != nil {
		t.Fatal(err)
	}
	const head = "openapi: 3.1.0\nservers: [{url: 'https://api.test'}]\n"
	operation := func(body string) string { return head + "paths:\n  /x:\n    get:\n      operationId: op\n" + body }
	for name, tt := range map[string]struct{ text, want string }{
		"a schema elsewhere":          {operation("      parameters: [{name: a, in: query, schema: {$ref: '" + url + "/s.json#/a'}}]"), "#/paths/~1x/get/parameters/0/schema/$ref: refers to another document, "},
		"a schema in a file":          {operation("      parameters: [{name: a, in: query, schema: {items: {$ref: " + canary + "}}}]"), "refers to another document"},
		"a parameter elsewhere":       {operation("      parameters: [{$ref: 'other.yaml'}]"), `refers to another document, "other.yaml"`},
		"a path elsewhere":            {head + "paths: {/x: {$ref: '" + url + "'}}", "#/paths/~1x/$ref: refers to another document"},
		"an answer elsewhere":         {operation("      responses: {'200': {$ref: '" + url + "'}}"), "refers to another document"},
		"a parameter nowhere":         {operation("      parameters: [{$ref: '#/components/parameters/none'}]"), "is not valid"},
		"a path nowhere":              {head + "paths: {/x: {$ref: '#/components/pathItems/none'}}", `"#/components/pathItems/none" leads nowhere`},
		"a path that is itself":       {head + "paths: {/x: {$ref: '#/paths/~1x'}}", "leads nowhere"},
		"deep nesting":                {head + "paths: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), ""},
		"deep nesting in JSON":        {`{"openapi": "3.0.0", "x": ` + strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5001), "nested deeper"},
		"an alias inside itself":      {head + "x: &x [*x]", ""},
		"aliases that grow":           {head + "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g,*g]", ""},
		"merges that grow":            {head + "a: &a {x: 1}\nb: &b {<<: [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]}\nc: &c {<<: [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]}\nd: &d {<<: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]}\ne: &e {<<: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]}\nf: {<<: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]}", "at most 10000"},
		"a key that stands twice":     {head + "paths: {}\npaths: {}", `"paths" stands twice`},
		"Swagger":                     {"swagger: '2.0'", "is Swagger 2.0"},
		"OpenAPI 4":                   {"openapi: 4.0.0", "is not an OpenAPI 3 document"},
		"something else":              {"<html>", "is not an OpenAPI 3 document"},
		"nothing":                     {" \n", "is empty"},
		"a parameter that is no such": {operation("      parameters: [{name: a, in: query, required: maybe}]"), "is not valid"},
		"a server on no host":         {"openapi: 3.0.0\nservers: [{url: /api}]\npaths: {}", `its server "/api" cannot be used: it has no scheme and host; set server`},
		"no server":                   {"openapi: 3.0.0\npaths: {}", "set server to the API's base URL"},
		"a server of another kind":    {"openapi: 3.0.0\nservers: [{url: 'file:///etc/passwd'}]\npaths: {}", "set server"},
		"a server with a variable":    {"openapi: 3.0.0\nservers: [{url: 'https://{host}/'}]\npaths: {}", "set server"},
		"a server with a user":        {"openapi: 3.0.0\nservers: [{url: 'https://me:secret@api.test/'}]\npaths: {}", "holds a user name"},
	} {
		start := time.Now()
		_, err := New(&config.Tool{OpenAPI: &config.OpenAPI{Document: write(t, tt.text)}}, Deps{newClient(t), slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "document: api.yaml: ") || len(err.Error()) > 1500 {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: took %v", name, took)
		}
	}
	if r := last(); r != nil {
		t.Error("somebody was asked", r)
	}
}

const hostile = `
openapi: 3.1.0
servers: [{url: 'https://api.test'}]
paths:
  x-note: {get: {operationId: none}}
  /a: {get: {operationId: same}, post: {operationId: same}, put: {operationId: same}, trace: {operationId: traced}}
  /b: {post: {operationId: same}}
  /c: {get: {operationId: "1 \u202e\u0000 drop/table;--"}}
  /d: {get: {operationId: "名前"}}
  /e/{x}/f: {delete: {}, get: {operationId: REPEAT, summary: "Seen\u200b \u202eby\u0007 nobody\U000E0041", description: LONG}}
  /circle: {post: {operationId: circle, requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Node'}}}}}}
  /loop: {post: {operationId: loop, parameters: [{name: a, in: query, schema: {$ref: '#/components/schemas/Loop'}}]}}
  /loops: {post: {operationId: loops, requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Loop'}}}}}}
  /nowhere: {post: {operationId: nowhere, parameters: [{name: a, in: query, schema: {$ref: '#/components/schemas/None'}}]}}
  /anchor: {post: {operationId: anchor, parameters: [{name: a, in: query, schema: {$ref: '#node'}}]}}
  /param: {post: {operationId: param, parameters: [{$ref: '#/components/parameters/A'}]}}
  /brace/{x: {get: {operationId: brace}}
  /elsewhere: {get: {operationId: elsewhere, servers: [{url: 'https://evil.test'}]}, post: {operationId: own, servers: [{url: '/v2'}]}}
  /odd: {get: {operationId: odd, parameters: [{name: '', in: query, schema: {}}]}}
  /data: {get: {operationId: data, parameters: [{name: a, in: query, schema: {default: {$ref: 'http://data.test'}, properties: {$ref: {type: string}, example: {type: integer}}}}]}}
  /bad: {get: {operationId: bad, parameters: [{name: a, in: query, schema: {type: [strange, string, string], minLength: -1, pattern: '(?!x)', maximum: '9', required: true, enum: {}, items: 3, multipleOf: 0, allOf: [], oneOf: 7, x-y: 1, $id: 'http://x.test/', $schema: 'http://x.test'}}]}}
components:
  parameters:
    A: {$ref: '#/components/parameters/B'}
    B: {$ref: '#/components/parameters/A'}
  schemas:
    Node: {type: object, properties: {next: {$ref: '#/components/schemas/Node'}, all: {type: array, items: {$ref: '#'}}}}
    Loop: {allOf: [{$ref: '#/components/schemas/Pool'}]}
    Pool: {$ref: '#/components/schemas/Loop'}
`

func TestHostileDocument(t *testing.T) {
	text := strings.NewReplacer("REPEAT", strings.Repeat("get_many_things_", 10), "LONG", strings.Repeat("ü", 4000)).Replace(hostile)
	tools, listing := load(t, &config.Tool{OpenAPI: &config.OpenAPI{Document: write(t, text)}})
	want := []string{"same", "same_post", "same_put", "same_2", "op_1_drop_table_--", "get_d", "delete_e_x_f",
		"get_many_things_get_many_things_get_many_things_get_ma_137c768d", "circle", "own", "data", "bad"}
	if diff := cmp.Diff(want, listing.Tools); diff != "" {
		t.Error(diff)
	}
	for _, w := range []string{"POST /a is called same_post, since the document uses same more than once", "PUT /a is called same_put", "POST /b is called same_2",
		"POST /loop is left out: a schema refers to itself in circles", "POST /loops is left out", `POST /nowhere is left out: "#/components/schemas/None" leads nowhere`,
		`POST /anchor is left out: "#node" is no path into the document`, "POST /param has a parameter that is not there and is left out",
		"GET /brace/{x is left out", "GET /elsewhere is left out: its own server is https://evil.test", "GET /odd is left out"} {
		if !strings.Contains(strings.Join(listing.Warnings, "\n"), w) {
			t.Errorf("no warning has %q", w)
		}
	}
	if t.Failed() {
		t.Log(strings.Join(listing.Warnings, "\n"))
	}
	valid := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)
	for name, tool := range tools {
		if err := jsonschema.New(tool.Spec().Parameters, jsonschema.Arguments(name)).Compile(); err != nil || !valid.MatchString(name) {
			t.Errorf("%s: %v\n%s", name, err, tool.Spec().Parameters)
		}
	}
	long := tools[want[7]].Spec().Description
	if !strings.HasPrefix(long, "Seen by nobody\n\nüü") || len(long) > 2<<10 || !strings.HasSuffix(long, "ü…") {
		t.Errorf("%q", long)
	}
	if got := string(tools["bad"].Spec().Parameters); got != `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}` {
		t.Error(got)
	}
	if u := tools["own"].(*tool).server.String(); u != "https://api.test/v2" {
		t.Error(u)
	}
}

// A document with a hundred thousand schemas, each of which refers to the next, loads
// in time; a tool that needs them all is left out.
func TestManySchemas(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"openapi": "3.0.3", "servers": [{"url": "https://api.test"}], "paths": {"/a": {"get": {"operationId": "all", "parameters": [{"name": "a", "in": "query", "schema": {"$ref": "#/components/schemas/S0"}}]},
		"post": {"operationId": "last", "parameters": [{"name": "a", "in": "query", "schema": {"$ref": "#/components/schemas/S100000"}}]}}}, "components": {"schemas": {`)
	for i := range 100_000 {
		fmt.Fprintf(&b, `"S%d": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/S%d"}}},`, i, i+1)
	}
	b.WriteString(`"S100000": {"type": "string"}}}}`)
	start := time.Now()
	tools, listing := load(t, &config.Tool{OpenAPI: &config.OpenAPI{Document: write(t, b.String())}})
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
	if len(tools) != 1 || tools["last"] == nil || len(listing.Warnings) != 1 || !strings.Contains(listing.Warnings[0], "GET /a is left out: the JSON Schema of its parameters is larger than 1 MiB") {
		t.Error(tools, listing.Warnings)
	}
}

// What the server of the document says is where requests go, whatever the arguments
// are, and a server that answers with a redirect to another host is not followed.
func TestOrigin(t *testing.T) {
	elsewhere, never := echo(t, nil)
	url, last := echo(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "away") {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		}
	})
	tools, _ := load(t, &config.Tool{OpenAPI: &config.OpenAPI{Server: url, Document: write(t, `
openapi: 3.0.0
servers: [{url: '`+elsewhere+`'}]
paths:
  '/{x}': {get: {operationId: op, servers: [{url: '`+elsewhere+`'}], parameters: [{name: x, in: path, required: true, schema: {type: string}}]}}
`)}})
	for _, x := range []string{"//evil.test", "@evil.test", "#", "?a=b", "\\\\evil.test", "http://evil.test/", "%2e%2e", "a\r\nHost: evil.test", "%2f.."} {
		succeed(t, tools["op"], fmt.Sprintf(`{"x": %q}`, x))
		if r := last(); r == nil || strings.Count(r.uri, "/") != 1 || strings.ContainsAny(r.uri, "?#\\@") {
			t.Errorf("%q: %v", x, r)
		}
	}
	if res := call(t, tools["op"], `{"x": "away"}`); !res.IsError || !strings.Contains(res.Output.(string), "allow_hosts") {
		t.Error(res)
	}
	if r := never(); r != nil {
		t.Error(r)
	}
}

// FuzzBuild: whatever a document holds, its tools have names that models take and
// parameters that are JSON, and their requests go to the server that was named.
func FuzzBuild(f *testing.F) {
	for _, file := range []string{"testdata/petstore-3.0.yaml", "testdata/petstore-3.1.json"} {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, []byte(`{"petId": 1, "X-Tenant": "x", "name": "n", "file": "AA=="}`))
	}
	f.Add([]byte(hostile), []byte(`{"a": {"b": [1]}, "x": "..", "body": {}}`))
	server, err := url.Parse("https://api.test/base")
	if err != nil {
		f.Fatal(err)
	}
	valid := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)
	f.Fuzz(func(t *testing.T, data, arguments []byte) {
		a, err := parse(data)
		if err != nil {
			return
		}
		e := &entry{tool: &config.Tool{OpenAPI: &config.OpenAPI{}}, openapi: &config.OpenAPI{}, server: server}
		tools, _, err := e.build(a, nil)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, made := range tools {
			spec := made.Spec()
			if !valid.MatchString(spec.Name) || seen[spec.Name] || !json.Valid(spec.Parameters) {
				t.Errorf("%q %q", spec.Name, spec.Parameters)
			}
			seen[spec.Name] = true
			given, err := readArgs(arguments)
			if err != nil {
				continue
			}
			r, err := made.(*tool).request(given)
			if err == nil && (r.URL.Scheme != "https" || r.URL.Host != "api.test" || !strings.HasPrefix(r.URL.EscapedPath(), "/base")) {
				t.Errorf("%s goes to %s", spec.Name, r.URL)
			}
		}
	})
}
