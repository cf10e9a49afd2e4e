package httpreq

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

func expandURL(t testing.TB, template, arguments string) (string, error) {
	t.Helper()
	ps := params{}
	for _, name := range []string{"x", "y", "z", "list", "var", "hello", "path", "empty", "undef", "half", "number"} {
		ps[name] = param{required: true}
	}
	tmpl, err := parseURL(template, ps)
	if err != nil {
		t.Fatal(err)
	}
	a := args{}
	if err := json.Unmarshal([]byte(arguments), &a); err != nil {
		t.Fatal(err)
	}
	u, err := tmpl.expand(a)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// TestRFC6570 are the examples of the RFC, section 3.2, that can stand in a URL
// of ours.
func TestRFC6570(t *testing.T) {
	const arguments = `{"var": "value", "hello": "Hello World!", "path": "foo/bar", "empty": "", "undef": null,
		"half": "50%", "x": "1024", "y": "768", "list": ["red", "green", "blue"], "number": 9007199254740993}`
	tests := []struct{ template, want string }{
		{"/{var}", "/value"},
		{"/{hello}", "/Hello%20World%21"},
		{"/{half}", "/50%25"},
		{"/{x,y}", "/1024,768"},
		{"/{x,hello,y}", "/1024,Hello%20World%21,768"},
		{"/{var:3}", "/val"},
		{"/{var:30}", "/value"},
		{"/{list}", "/red,green,blue"},
		{"/{list*}", "/red,green,blue"},
		{"/{+var}", "/value"},
		{"/{+hello}", "/Hello%20World!"},
		{"/{+half}", "/50%25"},
		{"/{+path}/here", "/foo/bar/here"},
		{"/{+path:5}/here", "/foo/b/here"},
		{"/{+list}", "/red,green,blue"},
		{"/X{.var}", "/X.value"},
		{"/X{.x,y}", "/X.1024.768"},
		{"/X{.list}", "/X.red,green,blue"},
		{"/X{.list*}", "/X.red.green.blue"},
		{"{/var}", "/value"},
		{"{/var,x}/here", "/value/1024/here"},
		{"{/var,undef}", "/value"},
		{"{/var:1,var}", "/v/value"},
		{"{/list}", "/red,green,blue"},
		{"{/list*}", "/red/green/blue"},
		{"{/list*,path:4}", "/red/green/blue/foo%2F"},
		{"/a{;x,y}", "/a;x=1024;y=768"},
		{"/a{;x,y,empty}", "/a;x=1024;y=768;empty"},
		{"/a{;x,y,undef}", "/a;x=1024;y=768"},
		{"/a{;hello:5}", "/a;hello=Hello"},
		{"/a{;list}", "/a;list=red,green,blue"},
		{"/a{;list*}", "/a;list=red;list=green;list=blue"},
		{"{?x,y}", "?x=1024&y=768"},
		{"{?x,y,empty}", "?x=1024&y=768&empty="},
		{"{?x,y,undef}", "?x=1024&y=768"},
		{"{?var:3}", "?var=val"},
		{"{?list}", "?list=red,green,blue"},
		{"{?list*}", "?list=red&list=green&list=blue"},
		{"/?fixed=yes{&x}", "/?fixed=yes&x=1024"},
		{"/?fixed=yes{&x,y,empty}", "/?fixed=yes&x=1024&y=768&empty="},
		{"/?fixed=yes{&list*}", "/?fixed=yes&list=red&list=green&list=blue"},
		{"/?q={x}&r={hello}", "/?q=1024&r=Hello%20World%21"},
		{"/{number}{?number}", "/9007199254740993?number=9007199254740993"},
		{"{?undef}{&x}", "?x=1024"},
		{"/a{?undef}", "/a"},
		{"/straße/a b/%41%zz", "/stra%C3%9Fe/a%20b/%41%25zz"},
	}
	for _, tt := range tests {
		t.Run(tt.template, func(t *testing.T) {
			got, err := expandURL(t, "https://h.example:8443"+tt.template, arguments)
			if want := "https://h.example:8443" + tt.want; err != nil || got != want {
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
		})
	}
}

// TestPathValues sends values to a real server and looks at what arrives.
func TestPathValues(t *testing.T) {
	base, last := server(t, nil)
	tool := build(t, entry(config.HTTP{URL: base + "/items/{x}/end"}, "x"))
	tests := []struct{ name, value, uri string }{
		{"01 a/b?x=1#f", "a/b?x=1#f", "/items/a%2Fb%3Fx%3D1%23f/end"},
		{"01 ../admin", "../admin", "/items/..%2Fadmin/end"},
		{"01 new york & co", "new york & co", "/items/new%20york%20%26%20co/end"},
		{"01 ü", "ü", "/items/%C3%BC/end"},
		{"01 世", "世", "/items/%E4%B8%96/end"},
		{"F05 //evil", "//evil", "/items/%2F%2Fevil/end"},
		{"F05 %2f..", "%2f..", "/items/%252f../end"},
		{"F05 %2e%2e", "%2e%2e", "/items/%252e%252e/end"},
		{"F05 ..;", "..;", "/items/..%3B/end"},
		{"F05 @", "u:p@evil", "/items/u%3Ap%40evil/end"},
		{"F05 # and ?", "#?", "/items/%23%3F/end"},
		{"F05 backslash", `\\evil\..`, "/items/%5C%5Cevil%5C../end"},
		{"F05 line break", "a\r\nHost: evil", "/items/a%0D%0AHost%3A%20evil/end"},
		{"F05 NUL", "a\x00b", "/items/a%00b/end"},
		{"F05 a scheme", "http://evil/", "/items/http%3A%2F%2Fevil%2F/end"},
		{"01 dots inside", "...", "/items/.../end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			arguments, err := json.Marshal(map[string]string{"x": tt.value})
			if err != nil {
				t.Fatal(err)
			}
			succeed(t, tool, string(arguments))
			if got := last(); got.uri != tt.uri || "http://"+got.host != base {
				t.Errorf("arrived at %s as %s, want %s", got.host, got.uri, tt.uri)
			}
		})
	}
	before := last()
	for _, arguments := range []string{`{"x": ""}`, `{"x": ".."}`, `{"x": "."}`, `{"x": []}`, `{"x": [""]}`, `{"x": null}`, `{"x": {"a": 1}}`, `{}`} {
		t.Run("01 refused "+arguments, func(t *testing.T) {
			if text := fail(t, tool, arguments); !strings.Contains(text, "argument") {
				t.Errorf("got %q", text)
			}
			if last() != before {
				t.Error("a request was sent")
			}
		})
	}
}

func TestPathShape(t *testing.T) {
	tests := []struct{ template, arguments, want string }{
		{"/{x}{y}", `{"x": ".", "y": "."}`, ""},
		{"/a{.x}", `{"x": ""}`, ""},
		{"/{.x}", `{"x": "."}`, ""},
		{"/a{/list*}", `{"list": ["b", "..", "c"]}`, ""},
		{"/a{/list*}", `{"list": ["b", "", "c"]}`, ""},
		{"/a{/list*}/end", `{"list": ["b/c", "ü"]}`, "/a/b%2Fc/%C3%BC/end"},
		{"/a{/x}/end", `{}`, "/a/end"},
		{"/files/{+path}", `{"path": "src/main.go"}`, "/files/src/main.go"},
		{"/files/{+path}", `{"path": "a?b#c%2e"}`, "/files/a%3Fb%23c%252e"},
		{"/files/{+path}", `{"path": "../admin"}`, ""},
		{"/files/{+path}", `{"path": "a/../../admin"}`, ""},
		{"/files/{+path}", `{"path": "a/..;x/admin"}`, ""},
		{"/files/{+path}", `{"path": "/etc/passwd"}`, ""},
		{"/files/{+path}", `{"path": "a//b"}`, ""},
		{"/files/{+path}", `{"path": ""}`, ""},
		{"/files/{+path}", `{"path": "//evil@h"}`, ""},
		{"/v1{+path}", `{"path": "/a/b"}`, "/v1/a/b"},
		{"/http://{x}/", `{"x": "a"}`, "/http://a/"},
	}
	for _, tt := range tests {
		t.Run("F05 "+tt.template+" "+tt.arguments, func(t *testing.T) {
			got, err := expandURL(t, "http://h.example"+tt.template, tt.arguments)
			if tt.want == "" {
				if err == nil {
					t.Errorf("got %s, want a refusal", got)
				}
				return
			}
			if err != nil || got != "http://h.example"+tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

func TestQueryValues(t *testing.T) {
	base, last := server(t, nil)
	query := []config.QueryParam{
		{Name: "q", Value: places("{q}")}, {Name: "tag", Value: places("{tags}")}, {Name: "sort by", Value: places("name:{order}")},
		{Name: "lit", Value: places("{{q}} $$ &")},
	}
	const literal = "&sort%20by=name%3Adesc&lit=%7Bq%7D%20%24%20%26"
	tool := build(t, entry(config.HTTP{URL: base + "/s{?joined,exploded*}", Query: query}, "q?", "tags?", "joined?", "exploded?", `order="desc"`))
	tests := []struct{ name, arguments, uri string }{
		{"02 x&admin=1", `{"q": "x&admin=1"}`, "/s?q=x%26admin%3D1" + literal},
		{"02 missing", `{}`, "/s?" + literal[1:]},
		{"02 null", `{"q": null, "tags": null, "joined": null}`, "/s?" + literal[1:]},
		{"02 empty", `{"q": ""}`, "/s?q=" + literal},
		{"02 a list gives one each", `{"tags": ["a", "b&c", 3, null]}`, "/s?tag=a&tag=b%26c&tag=3" + literal},
		{"02 an empty list gives none", `{"tags": []}`, "/s?" + literal[1:]},
		{"02 joined", `{"joined": ["a", "b,c"]}`, "/s?joined=a,b%2Cc" + literal},
		{"02 exploded", `{"exploded": ["a", "b=c"]}`, "/s?exploded=a&exploded=b%3Dc" + literal},
		{"02 order of all", `{"q": "1", "joined": ["a"], "exploded": ["b", "c"]}`, "/s?joined=a&exploded=b&exploded=c&q=1" + literal},
		{"02 an object is its JSON", `{"q": {"a": 9007199254740993}}`, "/s?q=%7B%22a%22%3A9007199254740993%7D" + literal},
		{"F05 a fragment", `{"q": "#x?y"}`, "/s?q=%23x%3Fy" + literal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			succeed(t, tool, tt.arguments)
			if got := last().uri; got != tt.uri {
				t.Errorf("got  %s\nwant %s", got, tt.uri)
			}
		})
	}
}

// FuzzURL looks for arguments that change where a request goes or what shape
// its path has.
func FuzzURL(f *testing.F) {
	for _, s := range []string{
		"a", "", "..", "../x", "//evil", "@evil", "#", "?", "%2f..", "%", "\\", "\r\n", "ü", "\x00", "http://evil", ":80", "[::1]", "a,b", ";", "..;", "&=", "\xff",
	} {
		f.Add(s, "x")
		f.Add("x", s)
	}
	ps := params{"x": {required: true}, "y": {required: true}, "opt": {}}
	var templates []*urlTemplate
	for _, s := range []string{
		"https://h.example:8443/a/{x}/b/{y}/c", "https://h.example:8443/{x}", "https://h.example:8443{/x}/c{?y}", "https://h.example:8443{?x,y}",
		"https://h.example:8443/a?k={x}{&y*}", "https://h.example:8443/a/{x}.{y}", "https://h.example:8443/a/{+x}/{y}", "https://h.example:8443/v1{+x}{;y}",
		"https://h.example:8443/a{.x}{/y*}", "https://h.example:8443/{x:3}-{y}{?opt}",
	} {
		t, err := parseURL(s, ps)
		if err != nil {
			f.Fatal(err)
		}
		templates = append(templates, t)
	}
	f.Fuzz(func(t *testing.T, x, y string) {
		a := args{}
		for name, s := range map[string]string{"x": x, "y": y} {
			raw, err := webclient.Quote(s)
			if err != nil {
				t.Fatal(err)
			}
			a[name] = raw
		}
		harmless := args{"x": json.RawMessage(`"x"`), "y": json.RawMessage(`"x"`)}
		for _, tmpl := range templates {
			u, err := tmpl.expand(a)
			if err != nil {
				continue
			}
			plain, err := tmpl.expand(harmless)
			if err != nil {
				t.Fatal(err)
			}
			checkShape(t, u, plain, slices.ContainsFunc(tmpl.path, func(p urlPart) bool { return p.op != nil && p.op.slashes }))
		}
	})
}

func checkShape(t *testing.T, u, plain *url.URL, slashes bool) {
	got, err := url.Parse(u.String())
	if err != nil {
		t.Fatalf("%s: %v", u, err)
	}
	if got.Scheme != "https" || got.Host != "h.example:8443" || got.User != nil || got.Fragment != "" || got.Opaque != "" {
		t.Fatalf("%s leads elsewhere", u)
	}
	path := u.EscapedPath()
	if path != u.RawPath && u.RawPath != "" {
		t.Fatalf("sent as %s, made as %s", path, u.RawPath)
	}
	if !slashes && strings.Count(path, "/") != strings.Count(plain.EscapedPath(), "/") {
		t.Fatalf("%s has another shape than %s", u, plain)
	}
	if clean := got.JoinPath(); clean.EscapedPath() != path && path != "" {
		t.Fatalf("%s is cleaned to %s", u, clean)
	}
	if strings.Count(u.RawQuery, "&") != strings.Count(plain.RawQuery, "&") || strings.ContainsAny(u.RequestURI(), " \r\n\x00#\\") {
		t.Fatalf("query of %s", u)
	}
}
