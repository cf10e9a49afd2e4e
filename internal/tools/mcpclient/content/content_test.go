package content

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
)

func TestOfTool(t *testing.T) {
	png := []*genai.Blob{{MIMEType: "image/png", Data: []byte("abc")}}
	for name, tt := range map[string]struct {
		raw  string
		want *agent.Result
	}{
		"texts":              {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, agent.Text("a\nb")},
		"nothing":            {`{"content":[]}`, agent.Text("")},
		"no content":         {`{}`, agent.Failure(unreadable)},
		"null for a result":  {`null`, agent.Failure(unreadable)},
		"null for content":   {`{"content":null,"structuredContent":null}`, agent.Failure(unreadable)},
		"a task":             {`{"task":{"taskId":"1","status":"working"}}`, agent.Failure(unreadable)},
		"structured alone":   {`{"structuredContent":{"n":1}}`, &agent.Result{Output: json.RawMessage(`{"n":1}`)}},
		"a link that lies":   {`{"content":[{"type":"resource_link","name":"a]\n[b\u202e\u0007","mimeType":"te\u200bxt/x\n(y)","uri":"u\r\nv\u2066"}]}`, agent.Text("[resource a] [b (text/x (y)): u v]")},
		"a text that lies":   {`{"content":[{"type":"resource","resource":{"uri":"u\n\u202ev","mimeType":"a\nb","text":"hi"}}]}`, agent.Text("[resource u v (a b)]\nhi")},
		"no such MIME type":  {`{"content":[{"type":"image","data":"YWJj","mimeType":"image/png\nX: y"},{"type":"audio","data":"YWJj","mimeType":"wav"}]}`, &agent.Result{Output: "", Media: []*genai.Blob{{MIMEType: "application/octet-stream", Data: []byte("abc")}, {MIMEType: "application/octet-stream", Data: []byte("abc")}}}},
		"error":              {`{"content":[{"type":"text","text":"no"}],"isError":true}`, agent.Failure("no")},
		"bad UTF-8":          {"{\"content\":[{\"type\":\"text\",\"text\":\"a\xff\"}]}", agent.Text("a\ufffd")},
		"image":              {`{"content":[{"type":"text","text":"x"},{"type":"image","data":"YWJj","mimeType":"image/png"}]}`, &agent.Result{Output: "x", Media: png}},
		"audio, no padding":  {`{"content":[{"type":"audio","data":"YWI","mimeType":"audio/wav"}]}`, &agent.Result{Output: "", Media: []*genai.Blob{{MIMEType: "audio/wav", Data: []byte("ab")}}}},
		"no MIME type":       {`{"content":[{"type":"image","data":"iVBORw0KGgo="}]}`, &agent.Result{Output: "", Media: []*genai.Blob{{MIMEType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}}}},
		"broken base64":      {`{"content":[{"type":"image","data":"%%%","mimeType":"image/png"}]}`, agent.Text("[image left out: its data is no base64]")},
		"link":               {`{"content":[{"type":"resource_link","name":"r","mimeType":"text/plain","uri":"demo://1"}]}`, agent.Text("[resource r (text/plain): demo://1]")},
		"text resource":      {`{"content":[{"type":"resource","resource":{"uri":"demo://1","text":"hi"}}]}`, agent.Text("[resource demo://1]\nhi")},
		"blob resource":      {`{"content":[{"type":"resource","resource":{"uri":"demo://1","mimeType":"image/png","blob":"YWJj"}}]}`, &agent.Result{Output: "[resource demo://1 (image/png): 3 bytes, attached]", Media: png}},
		"text as a blob":     {`{"content":[{"type":"resource","resource":{"uri":"demo://1","mimeType":"text/plain","blob":"YWJj"}}]}`, agent.Text("[resource demo://1 (text/plain)]\nabc")},
		"broken resource":    {`{"content":[{"type":"resource","resource":{"uri":"u","blob":"%"}},{"type":"resource","resource":7},{"type":"resource","resource":{"uri":"u"}}]}`, agent.Text("[resource u left out: its data is no base64]\n[a resource was left out: it cannot be read]\n[resource u: it holds nothing]")},
		"unknown type":       {`{"content":[{"type":"video","data":"x"},7]}`, agent.Text("[a part of the result was left out: content of type \"video\" is not known]\n[a part of the result was left out: it is no content block]")},
		"structured":         {`{"content":[],"structuredContent":{"n":1.50}}`, &agent.Result{Output: json.RawMessage(`{"n":1.50}`)}},
		"the same as text":   {`{"content":[{"type":"text","text":"{\"b\":2,\n \"n\":1.50}"}],"structuredContent":{"n":1.50,"b":2}}`, &agent.Result{Output: json.RawMessage(`{"n":1.50,"b":2}`)}},
		"other text":         {`{"content":[{"type":"text","text":"one"}],"structuredContent":{"n": 1}}`, agent.Text("one\n{\"n\":1}")},
		"the text in a name": {`{"content":[{"type":"text","text":"one"}],"structuredContent":{"content":"one"}}`, agent.Text("one")},
		"the text and more":  {`{"content":[{"type":"text","text":"one"}],"structuredContent":{"content":"one","n":1}}`, agent.Text("one\n{\"content\":\"one\",\"n\":1}")},
		"null":               {`{"content":[{"type":"text","text":"one"}],"structuredContent":null}`, agent.Text("one")},
		"with media":         {`{"content":[{"type":"image","data":"YWJj","mimeType":"image/png"}],"structuredContent":[1]}`, &agent.Result{Output: json.RawMessage(`[1]`), Media: png}},
		"no result":          {`[]`, agent.Failure(unreadable)},
		"wrong content":      {`{"content":"x"}`, agent.Failure(unreadable)},
	} {
		if diff := cmp.Diff(tt.want, OfTool(json.RawMessage(tt.raw))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestLongNames: what a server calls a resource has a bound.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("ü", 10_000)
	for name, most := range map[string]int{"name": maxName, "uri": maxURI, "mimeType": maxName} {
		got := OfTool(json.RawMessage(`{"content":[{"type":"resource_link","` + name + `":"` + long + `"}]}`)).Output.(string)
		if n := len(got) - len("[resource : ]"); n > most+len(" ()") || n < most-len("…") || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}

func TestOfResourceAndPrompt(t *testing.T) {
	for name, tt := range map[string]struct{ got, want *agent.Result }{
		"resource": {OfResource(json.RawMessage(`{"contents":[{"uri":"a","text":"1"},{"uri":"b","mimeType":"text/x","text":"2"}]}`)), agent.Text("[resource a]\n1\n[resource b (text/x)]\n2")},
		"prompt": {OfPrompt(json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"hi"}},{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"image","data":"YWJj","mimeType":"image/png"}]},{"role":"user","content":{"type":"image","data":"YWJj","mimeType":"image/png"}}]}`)),
			&agent.Result{Output: "user: hi\nassistant: a\nuser: ", Media: []*genai.Blob{{MIMEType: "image/png", Data: []byte("abc")}, {MIMEType: "image/png", Data: []byte("abc")}}}},
		"no resource": {OfResource(json.RawMessage(`7`)), agent.Failure(unreadable)},
		"no prompt":   {OfPrompt(json.RawMessage(`{"messages":7}`)), agent.Failure(unreadable)},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestFailure(t *testing.T) {
	got := Failure(&protocol.Error{Code: -32602, Message: "unknown tool"})
	if diff := cmp.Diff(agent.Failure("the server refused the call: unknown tool (code -32602)"), got); diff != "" {
		t.Error(diff)
	}
	got = Failure(&protocol.Error{Code: -32042, Message: "log in", Data: json.RawMessage(`{"elicitations":[{"mode":"url","url":"https://example.com/x","message":"Link your account"}]}`)})
	if want := "the server refused the call: log in (code -32042)\nA person has to open https://example.com/x first: Link your account"; got.Output != want {
		t.Errorf("%v", got.Output)
	}
	long := Failure(&protocol.Error{Message: strings.Repeat("ü\xff", 10_000)}).Output.(string)
	if len(long) > maxMessage || !utf8.ValidString(long) {
		t.Errorf("%d bytes", len(long))
	}
}

func TestNote(t *testing.T) {
	for _, tt := range []struct {
		in   any
		want string
	}{{"a", "a\nnote"}, {"", "note"}, {json.RawMessage(`{}`), "{}\nnote"}} {
		r := &agent.Result{Output: tt.in, IsError: true}
		if got := Note(r, "note"); got.Output != tt.want || !got.IsError || !cmp.Equal(r.Output, tt.in) {
			t.Errorf("%v: %+v", tt.in, got)
		}
	}
}
