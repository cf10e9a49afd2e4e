package httpreq

import (
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config/template"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/config"
)

// parts writes a multipart body in one line for each part.
func parts(t *testing.T, contentType, body string) []string {
	t.Helper()
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for r := multipart.NewReader(strings.NewReader(body), params["boundary"]); ; {
		p, err := r.NextRawPart()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(p)
		list = append(list, strings.TrimPrefix(p.Header.Get("Content-Disposition"), "form-data; ")+" ["+p.Header.Get("Content-Type")+"] "+string(data))
	}
}

func TestMultipart(t *testing.T) {
	url, last := server(t, nil)
	template := func(s string) *template.Text { p := places(s); return &p }
	tool := build(t, entry(config.HTTP{Method: "POST", URL: url, Body: &config.Body{Multipart: []config.Part{
		{Name: "text", Value: places("<{s}>")},
		{Name: "list", Value: places("{l}"), ContentType: "text/x"},
		{Name: "file", Value: places("{f}"), Filename: template("{s}.png"), Base64: true},
		{Name: "note", Value: places("{n}"), Filename: template("a.bin")},
		{Name: "plain", Value: places("{n}"), Filename: template("{n}"), ContentType: "text/y"},
	}}}, "s?", "l?", "f?", "n?"))
	for arguments, want := range map[string][]string{
		`{"s": "a\"\r\nb", "l": [1.50, "--x--", {"k": 1}], "f": ["AAE=", "Ag"], "n": 12345678901234567890}`: {
			"name=\"text\" [] <a\"\r\nb>", `name="list" [text/x] 1.50`, `name="list" [text/x] --x--`, `name="list" [text/x] {"k":1}`,
			"name=\"file\"; filename=\"a%22%0D%0Ab.png\" [image/png] \x00\x01", "name=\"file\"; filename=\"a%22%0D%0Ab.png\" [image/png] \x02",
			`name="note"; filename="a.bin" [application/octet-stream] 12345678901234567890`,
			`name="plain"; filename="12345678901234567890" [text/y] 12345678901234567890`,
		},
		`{"l": []}`: {`name="text" [] <>`},
	} {
		succeed(t, tool, arguments)
		got := last()
		if diff := cmp.Diff(want, parts(t, got.header.Get("Content-Type"), got.body)); diff != "" {
			t.Error(diff)
		}
	}
	before := last()
	if text := fail(t, tool, `{"f": "no base64!"}`); text != `what goes into the part "file" of the request's body is not base64` {
		t.Error(text)
	}
	if last() != before {
		t.Error("a request was sent")
	}
	alone := build(t, entry(config.HTTP{Method: "POST", URL: url, Body: &config.Body{Multipart: []config.Part{{Name: "a", Value: places("{s}")}}}}, "s?"))
	succeed(t, alone, `{}`)
	if got := last(); got.body != "" || got.header.Get("Content-Type") != "" {
		t.Errorf("no parts, and a body: %v", got)
	}
}
