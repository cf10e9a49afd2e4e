package httpreq

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/config/template"

	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seen is a request as it came in.
type seen struct {
	method, uri, host, body string
	header                  http.Header
}

// server remembers its last request and answers with handler, if any.
func server(t testing.TB, handler http.HandlerFunc) (url string, last func() *seen) {
	t.Helper()
	var p atomic.Pointer[seen]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.Store(&seen{r.Method, r.RequestURI, r.Host, string(body), r.Header})
		if handler != nil {
			handler(w, r)
			return
		}
		_, _ = io.WriteString(w, "ok")
	}))
	t.Cleanup(s.Close)
	return s.URL, p.Load
}

// declare makes parameters of names: "x" is required, "x?" optional, and
// "x=1" has the JSON after the sign as default.
func declare(names ...string) []config.Parameter {
	var list []config.Parameter
	for _, n := range names {
		name, def, _ := strings.Cut(n, "=")
		p := config.Parameter{Name: strings.TrimSuffix(name, "?"), Schema: json.RawMessage(`{}`)}
		p.Optional = name != p.Name || def != ""
		if def != "" {
			p.Default = json.RawMessage(def)
		}
		list = append(list, p)
	}
	return list
}

func entry(h config.HTTP, names ...string) *config.Tool {
	if h.Method == "" {
		h.Method = "GET"
	}
	return &config.Tool{
		Name: "api", Description: "An API.", Schema: json.RawMessage(`{"type":"object"}`),
		Parameters: declare(names...), Timeout: config.Duration(time.Minute), HTTP: &h,
	}
}

func places(s string) template.Text { return template.Parse(s) }

func build(t testing.TB, c *config.Tool) agent.Tool {
	t.Helper()
	client := webclient.New(webclient.Options{})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	made, err := New(c, client)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func call(t testing.TB, tool agent.Tool, arguments string) *agent.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	res, err := tool.Call(ctx, &agent.Call{Name: "api", Args: json.RawMessage(arguments), Progress: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// succeed calls the tool and gives what the model reads, as text.
func succeed(t testing.TB, tool agent.Tool, arguments string) string {
	t.Helper()
	res := call(t, tool, arguments)
	if res.IsError {
		t.Fatalf("failed: %v", res.Output)
	}
	return outputText(t, res)
}

// fail calls the tool, wants a failure, and gives its text.
func fail(t testing.TB, tool agent.Tool, arguments string) string {
	t.Helper()
	res := call(t, tool, arguments)
	if !res.IsError {
		t.Fatalf("got %v, want a failure", res.Output)
	}
	return outputText(t, res)
}

func outputText(t testing.TB, res *agent.Result) string {
	t.Helper()
	if s, ok := res.Output.(string); ok {
		return s
	}
	b, err := json.Marshal(res.Output)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestMethods(t *testing.T) {
	none := agent.Hints{}
	tests := []struct {
		method string
		hints  agent.Hints
	}{
		{"GET", agent.Hints{ReadOnly: true, Idempotent: true}}, {"HEAD", agent.Hints{ReadOnly: true, Idempotent: true}},
		{"OPTIONS", agent.Hints{ReadOnly: true, Idempotent: true}}, {"PUT", agent.Hints{Idempotent: true}},
		{"DELETE", agent.Hints{Idempotent: true}}, {"POST", none}, {"PATCH", none},
	}
	for _, tt := range tests {
		t.Run("05 "+tt.method, func(t *testing.T) {
			url, last := server(t, nil)
			h := config.HTTP{
				Method: tt.method, URL: url + "/items/{id}", Query: []config.QueryParam{{Name: "dry", Value: places("{dry}")}},
			}
			wantBody := ""
			if !tt.hints.ReadOnly {
				h.Body = &config.Body{JSON: json.RawMessage(`{"name": "{name}"}`)}
				wantBody = `{"name":"x \"y\""}`
			}
			tool := build(t, entry(h, "id", "dry", "name"))
			if got := tool.Spec().Hints; got != tt.hints {
				t.Errorf("hints %+v, want %+v", got, tt.hints)
			}
			succeed(t, tool, `{"id": 7, "dry": true, "name": "x \"y\""}`)
			got := last()
			if got.method != tt.method || got.uri != "/items/7?dry=true" || got.body != wantBody {
				t.Errorf("arrived: %+v", got)
			}
			if (got.header.Get("Content-Type") == "application/json") != (wantBody != "") {
				t.Errorf("content type %q", got.header.Get("Content-Type"))
			}
		})
	}
}

func TestSpec(t *testing.T) {
	tool := build(t, entry(config.HTTP{URL: "http://h.example/"}))
	s := tool.Spec()
	if s.Name != "api" || s.Description != "An API." || string(s.Parameters) != `{"type":"object"}` || s != tool.Spec() {
		t.Errorf("spec %+v", s)
	}
}

func TestArguments(t *testing.T) {
	url, last := server(t, nil)
	tool := build(t, entry(config.HTTP{URL: url + "/{id}{?n,b,s}"}, "id", "n=10", "b?", "s?"))
	tests := []struct{ name, arguments, uri string }{
		{"defaults", `{"id": "a"}`, "/a?n=10"},
		{"given", `{"id": "a", "n": 9007199254740993, "b": false, "s": ""}`, "/a?n=9007199254740993&b=false&s="},
		{"numbers as written", `{"id": 1.50, "n": 1e3}`, "/1.50?n=1e3"},
		{"null is missing", `{"id": "a", "n": null, "b": null}`, "/a"},
		{"undeclared ones are ignored", `{"id": "a", "Host": "evil", "x": 1}`, "/a?n=10"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			succeed(t, tool, tt.arguments)
			if got := last().uri; got != tt.uri {
				t.Errorf("got %s, want %s", got, tt.uri)
			}
		})
	}
	for _, bad := range []string{`{}`, ``, `[]`, `{"id": null}`, `"x"`} {
		fail(t, tool, bad)
	}
}

func TestInputSchema(t *testing.T) {
	url, last := server(t, nil)
	c := entry(config.HTTP{URL: url + "/{id}{?n,any}"})
	c.InputSchema = json.RawMessage(`{"properties": {"id": {"type": ["string", "integer"]}, "n": {"default": 5}, "any": true}, "required": ["id"]}`)
	tool := build(t, c)
	succeed(t, tool, `{"id": 1}`)
	if got := last().uri; got != "/1?n=5" {
		t.Errorf("got %s", got)
	}
	if text := fail(t, tool, `{}`); !strings.Contains(text, `"id"`) {
		t.Errorf("got %q", text)
	}
}

func TestNewRefuses(t *testing.T) {
	raw := func(s string) *template.Text { p := places(s); return &p }
	secret := config.NewSecret("s3cret")
	tests := []struct {
		name string
		http config.HTTP
		want string
	}{
		{"method", config.HTTP{Method: "TRACE"}, "method"},
		{"lower-case method", config.HTTP{Method: "get"}, "method"},
		{"scheme", config.HTTP{URL: "ftp://h.example/"}, "http://"},
		{"no host", config.HTTP{URL: "http:///x"}, "host"},
		{"place in the host", config.HTTP{URL: "http://{id}.example/"}, "host"},
		{"place behind the host", config.HTTP{URL: "http://h.example{id}/"}, "host"},
		{"place behind the port", config.HTTP{URL: "http://h.example:80{id}/"}, "host"},
		{"place as the host", config.HTTP{URL: "http://{+id}/"}, "host"},
		{"bad port", config.HTTP{URL: "http://user:s3cret@h.example:x/"}, "host"},
		{"fragment", config.HTTP{URL: "http://h.example/#x"}, "fragment"},
		{"fragment place", config.HTTP{URL: "http://h.example/{#id}"}, "{#id}"},
		{"open brace", config.HTTP{URL: "http://h.example/{id"}, "{"},
		{"close brace", config.HTTP{URL: "http://h.example/id}"}, "}"},
		{"undeclared place", config.HTTP{URL: "http://h.example/{nosuch}"}, "nosuch"},
		{"optional in the path", config.HTTP{URL: "http://h.example/{opt}/x"}, "{/opt}"},
		{"object", config.HTTP{URL: "http://h.example/{?obj*}"}, "object"},
		{"reserved in the query", config.HTTP{URL: "http://h.example/?q={+id}"}, "path only"},
		{"second query", config.HTTP{URL: "http://h.example/?a=1{?id}"}, "{&name}"},
		{"continuation first", config.HTTP{URL: "http://h.example/{&id}"}, "{?name}"},
		{"dot segment", config.HTTP{URL: "http://h.example/a/../{id}"}, ".."},
		{"encoded dot segment", config.HTTP{URL: "http://h.example/a/%2e%2E/{id}"}, ".."},
		{"bad expression", config.HTTP{URL: "http://h.example/{id:0}"}, "6570"},
		{"header name", config.HTTP{Headers: map[string]template.Text{"a b": places("x")}}, "a b"},
		{"Host header", config.HTTP{Headers: map[string]template.Text{"host": places("{id}")}}, "Host"},
		{"same header twice", config.HTTP{Headers: map[string]template.Text{"x-a": places("1"), "X-A": places("2")}}, "twice"},
		{"header with a line break", config.HTTP{Headers: map[string]template.Text{"X-A": places("s3cret\n")}}, "line break"},
		{"header with an undeclared place", config.HTTP{Headers: map[string]template.Text{"X-A": places("{nosuch}")}}, "{{nosuch}}"},
		{"query with an undeclared place", config.HTTP{Query: []config.QueryParam{{Name: "q", Value: places("{nosuch}")}}}, "nosuch"},
		{"JSON with an undeclared place", config.HTTP{Body: &config.Body{JSON: json.RawMessage(`{"a": ["{nosuch}"]}`)}}, `"a"`},
		{"form with an undeclared place", config.HTTP{Body: &config.Body{Form: []config.QueryParam{{Name: "q", Value: places("{nosuch}")}}}}, "nosuch"},
		{"raw with an undeclared place", config.HTTP{Body: &config.Body{Raw: raw("{nosuch}")}}, "nosuch"},
		{"raw JSON", config.HTTP{Body: &config.Body{Raw: raw(`{"a": "{id}"}`), ContentType: "application/json; charset=utf-8"}}, "body.json"},
		{"raw form", config.HTTP{Body: &config.Body{Raw: raw(`a={id}`), ContentType: "application/x-www-form-urlencoded"}}, "body.form"},
		{"empty body", config.HTTP{Body: &config.Body{}}, "json, form, multipart or raw"},
		{"multipart with an undeclared place", config.HTTP{Body: &config.Body{Multipart: []config.Part{{Name: "p", Value: places("{nosuch}")}}}}, "body.multipart: p: {nosuch}"},
		{"multipart with an undeclared filename", config.HTTP{Body: &config.Body{Multipart: []config.Part{{Name: "p", Filename: raw("{nosuch}")}}}}, "filename"},
		{"multipart with a content type", config.HTTP{Body: &config.Body{Multipart: []config.Part{{Name: "p"}}, ContentType: "multipart/form-data"}}, "body.content_type"},
		{"multipart with a Content-Type", config.HTTP{
			Headers: map[string]template.Text{"content-type": places("a/b")}, Body: &config.Body{Multipart: []config.Part{{Name: "p"}}},
		}, "body.multipart"},
		{"content type twice", config.HTTP{
			Headers: map[string]template.Text{"content-type": places("a/b")},
			Body:    &config.Body{Raw: raw("x"), ContentType: "a/b"},
		}, "Content-Type"},
		{"auth twice", config.HTTP{Headers: map[string]template.Text{"authorization": places("x")}, Auth: &config.Auth{Bearer: secret}}, "Authorization"},
		{"auth and user name", config.HTTP{URL: "http://u:s3cret@h.example/", Auth: &config.Auth{Bearer: secret}}, "auth"},
		{"auth in a reserved header", config.HTTP{Auth: &config.Auth{Header: &config.HeaderAuth{Name: "Connection", Value: secret}}}, "Connection"},
		{"auth with a line break", config.HTTP{Auth: &config.Auth{Bearer: config.NewSecret("s3cret\n")}}, "line break"},
		{"empty auth", config.HTTP{Auth: &config.Auth{}}, "auth"},
		{"allow_hosts with a scheme", config.HTTP{AllowHosts: []string{"https://h.example"}}, "allow_hosts"},
		{"allow_hosts with a star", config.HTTP{AllowHosts: []string{"*.h.example"}}, "allow_hosts"},
		{"jq", config.HTTP{Result: ".["}, "result"},
	}
	client := webclient.New(webclient.Options{})
	defer func() { _ = client.Close() }()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.http.URL == "" {
				tt.http.URL = "http://h.example/"
			}
			c := entry(tt.http, "id", "opt?")
			c.Parameters = append(c.Parameters, config.Parameter{Name: "obj", Schema: json.RawMessage(`{"type": "object"}`)})
			_, err := New(c, client)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error holds a secret: %v", err)
			}
		})
	}
}
