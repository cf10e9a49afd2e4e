package httpreq

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/template"
)

func TestJSONBody(t *testing.T) {
	url, last := server(t, nil)
	tests := []struct{ name, body, arguments, want string }{
		{"03 types", `{"s": "{s}", "n": "{n}", "b": "{b}", "l": "{l}", "o": "{o}"}`,
			`{"s": "1", "n": 42, "b": true, "l": [1, "x", {"z": 1, "a": 2}], "o": {"k": null}}`,
			`{"s":"1","n":42,"b":true,"l":[1,"x",{"z":1,"a":2}],"o":{"k":null}}`},
		{"03 every digit", `{"n": "{n}", "text": "no {n}", "fixed": 9007199254740993, "f": 1.10}`, `{"n": 123456789012345678901234567890.10}`,
			`{"n":123456789012345678901234567890.10,"text":"no 123456789012345678901234567890.10","fixed":9007199254740993,"f":1.10}`},
		{"03 a number stays as written", `["{n}"]`, `{"n": 1e3}`, `[1e3]`},
		{"a value never becomes syntax", `{"t": "say \"{s}\""}`, `{"s": "x\", \"admin\": true, \"y\": \"\\"}`,
			`{"t":"say \"x\", \"admin\": true, \"y\": \"\\\""}`},
		{"markup stays as it is", `{"t": "<{s}>"}`, `{"s": "a&b"}`, `{"t":"<a&b>"}`},
		{"missing ones are left out", `{"s": "{s}", "keep": null, "in": {"n": "{n}"}, "l": ["{s}", 1, "{n}"], "t": "<{s}>"}`, `{}`,
			`{"keep":null,"in":{},"l":[1],"t":"<>"}`},
		{"null is a value", `{"s": "{s}"}`, `{"s": null}`, `{"s":null}`},
		{"literal braces and dollars", `{"q": "query { me {{s}} } {}", "t": "$1 ${s} $$"}`, `{"s": "x"}`, `{"q":"query { me {s} } {}","t":"$1 ${s} $$"}`},
		{"order of the file", `{"z": 1, "a": {"y": 1, "b": 2}}`, `{}`, `{"z":1,"a":{"y":1,"b":2}}`},
		{"values hold no places", `{"a": "{s}", "b": "x{s}"}`, `{"s": "{n}", "n": 1}`, `{"a":"{n}","b":"x{n}"}`},
		{"one place is the body", `"{o}"`, `{"o": {"b": 1,  "a": 2}}`, `{"b":1,"a":2}`},
		{"one missing place is no body", `"{o}"`, `{}`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tool := build(t, entry(config.HTTP{Method: "POST", URL: url, Body: &config.Body{JSON: json.RawMessage(tt.body)}}, "s?", "n?", "b?", "l?", "o?"))
			succeed(t, tool, tt.arguments)
			if got := last().body; got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestOtherBodies(t *testing.T) {
	url, last := server(t, nil)
	raw := func(s string) *template.Text { p := places(s); return &p }
	form := []config.QueryParam{{Name: "q", Value: places("{s}")}, {Name: "l", Value: places("{l}")}, {Name: "t", Value: places("<{n}>")}}
	tests := []struct {
		name      string
		body      config.Body
		arguments string
		want      string
		mediaType string
	}{
		{"form", config.Body{Form: form}, `{"s": "x&admin=1 +", "l": [1, "b"], "n": 2}`, "q=x%26admin%3D1+%2B&l=1&l=b&t=%3C2%3E", "application/x-www-form-urlencoded"},
		{"form, missing", config.Body{Form: form}, `{}`, "t=%3C%3E", "application/x-www-form-urlencoded"},
		{"raw", config.Body{Raw: raw("Hello {s}, {{s}} {l}")}, `{"s": "\"<ü>\"", "l": [1, 2]}`, `Hello "<ü>", {s} [1,2]`, "text/plain; charset=utf-8"},
		{"raw JSON that is one place", config.Body{Raw: raw("{s}"), ContentType: "application/json"}, `{"s": {"a": 1.10}}`, `{"a":1.10}`, "application/json"},
		{"raw JSON without places", config.Body{Raw: raw(`{"a": 1}`), ContentType: "application/json"}, `{}`, `{"a": 1}`, "application/json"},
		{"raw XML", config.Body{Raw: raw("<a b=\"{s}\">{n}</a>"), ContentType: "text/xml"}, `{"s": "\"/><evil>&", "n": 1}`, `<a b="&#34;/&gt;&lt;evil&gt;&amp;">1</a>`, "text/xml"},
		{"content type of JSON", config.Body{JSON: json.RawMessage(`[]`), ContentType: "application/vnd.x+json"}, `{}`, `[]`, "application/vnd.x+json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tool := build(t, entry(config.HTTP{Method: "POST", URL: url, Body: &tt.body}, "s?", "n?", "l?"))
			succeed(t, tool, tt.arguments)
			got := last()
			if got.body != tt.want || got.header.Get("Content-Type") != tt.mediaType {
				t.Errorf("got %q as %s", got.body, got.header.Get("Content-Type"))
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	url, last := server(t, nil)
	tool := build(t, entry(config.HTTP{URL: url, Headers: map[string]template.Text{
		"x-one": places("{v}"), "X-Two": places("a {v} b"), "Accept": places("text/plain"), "User-Agent": places("mine/1"),
	}}, "v?"))
	t.Run("put in", func(t *testing.T) {
		succeed(t, tool, `{"v": "tab\tand ü", "Host": "evil.example", "Authorization": "x", "X-Forwarded-For": "1.2.3.4"}`)
		h := last().header
		if h.Get("X-One") != "tab\tand ü" || h.Get("X-Two") != "a tab\tand ü b" || h.Get("Accept") != "text/plain" || h.Get("User-Agent") != "mine/1" {
			t.Errorf("arrived: %v", h)
		}
		if last().host != strings.TrimPrefix(url, "http://") || h.Get("Authorization") != "" || h.Get("X-Forwarded-For") != "" {
			t.Errorf("F05 the model set a header: %v", h)
		}
	})
	t.Run("missing", func(t *testing.T) {
		succeed(t, tool, `{}`)
		if h := last().header; len(h.Values("X-One")) != 0 || h.Get("X-Two") != "a  b" {
			t.Errorf("arrived: %v", h)
		}
	})
	before := last()
	for _, value := range []string{`a\r\nX-Evil: 1`, `a\nb`, `a\rb`, `a\u0000b`, `\u007f`, `\n`} {
		t.Run("04 F05 "+value, func(t *testing.T) {
			if text := fail(t, tool, `{"v": "`+value+`"}`); !strings.Contains(text, "line break") {
				t.Errorf("got %q", text)
			}
			if last() != before {
				t.Error("a request was sent")
			}
		})
	}
}

func TestAuth(t *testing.T) {
	url, last := server(t, nil)
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:s3cret:x"))
	tests := []struct {
		name         string
		url          string
		auth         *config.Auth
		header, want string
	}{
		{"bearer", url, &config.Auth{Bearer: config.NewSecret("s3cret")}, "Authorization", "Bearer s3cret"},
		{"basic", url, &config.Auth{Basic: &config.BasicAuth{Username: "me", Password: config.NewSecret("s3cret:x")}}, "Authorization", basic},
		{"header", url, &config.Auth{Header: &config.HeaderAuth{Name: "X-Api-Key", Value: config.NewSecret("s3cret")}}, "X-Api-Key", "s3cret"},
		{"user name of the URL", strings.Replace(url, "//", "//me:s3cret%3Ax@", 1), nil, "Authorization", basic},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			succeed(t, build(t, entry(config.HTTP{URL: tt.url, Auth: tt.auth})), `{}`)
			if got := last().header.Values(tt.header); len(got) != 1 || got[0] != tt.want {
				t.Errorf("arrived: %q", got)
			}
		})
	}
}
