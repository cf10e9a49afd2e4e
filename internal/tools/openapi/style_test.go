package openapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config"
)

// Every style with and without explode, for a text, a list and an object, as in the
// tables of OpenAPI 3.1.1, section 4.8.12.6.
func TestStyles(t *testing.T) {
	url, last := echo(t, nil)
	const text, list, object = `"blue"`, `["blue", "black", "brown"]`, `{"R": 100, "G": 200, "B": 150}`
	tests := []struct {
		in, style string
		explode   bool
		value     string
		want      string
	}{
		{"path", "simple", false, text, "blue"},
		{"path", "simple", false, list, "blue,black,brown"},
		{"path", "simple", false, object, "R,100,G,200,B,150"},
		{"path", "simple", true, text, "blue"},
		{"path", "simple", true, list, "blue,black,brown"},
		{"path", "simple", true, object, "R=100,G=200,B=150"},
		{"path", "label", false, text, ".blue"},
		{"path", "label", false, list, ".blue,black,brown"},
		{"path", "label", false, object, ".R,100,G,200,B,150"},
		{"path", "label", true, text, ".blue"},
		{"path", "label", true, list, ".blue.black.brown"},
		{"path", "label", true, object, ".R=100.G=200.B=150"},
		{"path", "matrix", false, text, ";color=blue"},
		{"path", "matrix", false, `""`, ";color"},
		{"path", "matrix", false, list, ";color=blue,black,brown"},
		{"path", "matrix", false, object, ";color=R,100,G,200,B,150"},
		{"path", "matrix", true, text, ";color=blue"},
		{"path", "matrix", true, list, ";color=blue;color=black;color=brown"},
		{"path", "matrix", true, object, ";R=100;G=200;B=150"},
		{"query", "form", false, text, "color=blue"},
		{"query", "form", false, `""`, "color="},
		{"query", "form", false, list, "color=blue,black,brown"},
		{"query", "form", false, object, "color=R,100,G,200,B,150"},
		{"query", "form", true, text, "color=blue"},
		{"query", "form", true, list, "color=blue&color=black&color=brown"},
		{"query", "form", true, object, "R=100&G=200&B=150"},
		{"query", "spaceDelimited", false, list, "color=blue%20black%20brown"},
		{"query", "spaceDelimited", false, object, "color=R%20100%20G%20200%20B%20150"},
		{"query", "spaceDelimited", true, list, "color=blue&color=black&color=brown"},
		{"query", "pipeDelimited", false, list, "color=blue%7Cblack%7Cbrown"},
		{"query", "pipeDelimited", false, object, "color=R%7C100%7CG%7C200%7CB%7C150"},
		{"query", "pipeDelimited", true, list, "color=blue&color=black&color=brown"},
		{"query", "deepObject", true, text, "color=blue"},
		{"query", "deepObject", true, object, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"},
		{"query", "deepObject", true, list, "color%5B0%5D=blue&color%5B1%5D=black&color%5B2%5D=brown"},
		{"query", "deepObject", true, `{"a": {"b": [1, {"c": "x&y"}]}, "n": null}`, "color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D=x%26y"},
		{"header", "simple", false, text, "blue"},
		{"header", "simple", false, list, "blue,black,brown"},
		{"header", "simple", false, object, "R,100,G,200,B,150"},
		{"header", "simple", true, list, "blue,black,brown"},
		{"header", "simple", true, object, "R=100,G=200,B=150"},
		{"cookie", "form", false, text, "color=blue"},
		{"cookie", "form", false, list, "color=blue,black,brown"},
		{"cookie", "form", false, object, "color=R,100,G,200,B,150"},
		{"cookie", "form", true, list, "color=blue; color=black; color=brown"},
		{"cookie", "form", true, object, "R=100; G=200; B=150"},
		// A style that the place has not is its usual one.
		{"query", "simple", false, list, "color=blue,black,brown"},
		{"path", "form", false, list, "blue,black,brown"},
		// Values keep what they are.
		{"query", "form", true, `123456789012345678901234567890.10`, "color=123456789012345678901234567890.10"},
		{"query", "form", true, `true`, "color=true"},
		{"query", "form", true, `[1e3, null, {"a": [1, 2]}]`, "color=1e3&color=%7B%22a%22%3A%5B1%2C2%5D%7D"},
		{"query", "form", false, `["a,b", "c&d=e"]`, "color=a%2Cb,c%26d%3De"},
		{"path", "simple", false, `["a/b", "../c"]`, "a%2Fb,..%2Fc"},
		{"header", "simple", false, `"a b, c"`, "a b, c"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %s %v %s", tt.in, tt.style, tt.explode, tt.value), func(t *testing.T) {
			path := "/c"
			if tt.in == "path" {
				path = "/c/{color}/d"
			}
			tools, _ := load(t, &config.Tool{OpenAPI: &config.OpenAPI{Server: url, Document: write(t, fmt.Sprintf(
				"openapi: 3.0.3\npaths:\n  %s:\n    get: {operationId: op, parameters: [{name: color, in: %s, required: true, style: %s, explode: %v, schema: {}}]}\n",
				path, tt.in, tt.style, tt.explode))}})
			succeed(t, tools["op"], `{"color": `+tt.value+`}`)
			r := last()
			_, query, _ := strings.Cut(r.uri, "?")
			got := map[string]string{"path": strings.TrimSuffix(strings.TrimPrefix(r.uri, "/c/"), "/d"), "query": query, "header": r.header.Get("color"), "cookie": r.header.Get("Cookie")}[tt.in]
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if tt.in != "query" && query != "" || tt.in != "header" && r.header["Color"] != nil {
				t.Error("the parameter stands elsewhere, too", r)
			}
		})
	}
}

const places = `
openapi: 3.1.0
paths:
  /a/{id}/{id2}?fixed=1#part:
    parameters:
      - {name: id, in: query, schema: {type: integer}}
      - {name: filter, in: query, allowReserved: true, schema: {type: string}}
      - {name: where, in: query, content: {application/json: {schema: {type: object}}}}
      - {name: unused, in: path, required: true, schema: {type: string}}
    put:
      operationId: op
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
        - {name: id, in: header, schema: {type: string}}
        - {name: id, in: cookie, schema: {type: string}}
        - {name: 'page[size]', in: query, schema: {type: integer}}
        - {name: Accept, in: header, schema: {type: string}}
        - {name: content-type, in: header, schema: {type: string}}
        - {name: Authorization, in: header, schema: {type: string}}
        - {name: Host, in: header, schema: {type: string}}
        - {name: X-Fixed, in: header, required: true, schema: {type: string}}
        - {name: X-Forwarded-For, in: header, content: {application/json: {}}}
`

// Names that stand in several places get a suffix, and what is not the model's to
// say is not asked for.
func TestPlaces(t *testing.T) {
	url, last := echo(t, nil)
	tools, _ := load(t, &config.Tool{OpenAPI: &config.OpenAPI{Document: write(t, places), Server: url + "/base",
		Headers: map[string]config.Secret{"x-fixed": config.NewSecret("yes"), "cookie": config.NewSecret("own=1")}}})
	const want = `{"type":"object","properties":{"id":{"type":"integer"},"filter":{"type":"string"},"where":{"type":"object"},` +
		`"id_path":{"type":"string"},"id_header":{"type":"string"},"id_cookie":{"type":"string"},"page_size":{"type":"integer"},"X-Forwarded-For":{},` +
		`"id2":{}},"required":["id_path","id2"],"additionalProperties":false}`
	if got := string(tools["op"].Spec().Parameters); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	succeed(t, tools["op"], `{"id": 1, "filter": "a/b?c&d=[e]#%41+", "where": {"x": 12345678901234567890}, "id_path": "p/../q", "id_header": "h", "id_cookie": "c", "page_size": 3, "id2": "..x", "X-Forwarded-For": "me"}`)
	r := last()
	if r.uri != "/base/a/p%2F..%2Fq/..x?fixed=1&id=1&filter=a/b?c%26d=%5Be%5D%23%2541%2B&where=%7B%22x%22%3A12345678901234567890%7D&page%5Bsize%5D=3" {
		t.Error(r.uri)
	}
	for name, value := range map[string]string{"Id": "h", "Cookie": "own=1; id=c", "X-Fixed": "yes", "X-Forwarded-For": `"me"`, "Authorization": "", "Content-Type": ""} {
		if got := r.header.Get(name); got != value {
			t.Errorf("%s: %s, want %s", name, got, value)
		}
	}
	for arguments, want := range map[string]string{
		`{"id_path": "..", "id2": "x"}`:                   `"." or ".."`,
		`{"id_path": "", "id2": "x"}`:                     `"id_path" is empty`,
		`{"id_path": "a", "id2": []}`:                     `"id2" is empty`,
		`{"id_path": "a", "id2": 1, "id_header": "a\nb"}`: "line break",
	} {
		res := call(t, tools["op"], arguments)
		if said, _ := res.Output.(string); !res.IsError || !strings.Contains(said, want) || last() != nil {
			t.Errorf("%s: %v", arguments, res)
		}
	}
}
