package anthropic_test

import (
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	a "github.com/adkmcp/adkmcp/internal/agent/model/anthropic/anthropictest"
	"github.com/adkmcp/adkmcp/internal/agent/model/modeltest"
)

// shape is a conversation in short: roles and blocks.
func shape(messages []a.Message) string {
	var all []string
	for _, m := range messages {
		s := m.Role[:1] + ":"
		for _, b := range m.Blocks {
			switch b.Type {
			case "text":
				s += " " + b.Text
			case "tool_use":
				s += " call(" + b.ID + ")"
			case "tool_result":
				s += " result(" + b.ToolUseID + ")" + string(b.Result)
				if b.IsError {
					s += "!"
				}
			default:
				s += " " + b.Type
			}
		}
		all = append(all, s)
	}
	return strings.Join(all, " / ")
}

// TestMessages: whatever a history holds, the service takes it.
func TestMessages(t *testing.T) {
	text := func(s string) *genai.Part { return &genai.Part{Text: s} }
	failed := &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "1", Name: "look", Response: map[string]any{"error": "no"}}}
	data := func(kind, data string) *genai.Part {
		return &genai.Part{InlineData: &genai.Blob{MIMEType: kind, Data: []byte(data)}}
	}
	picture := &genai.FunctionResponsePart{InlineData: &genai.FunctionResponseBlob{MIMEType: "image/png", Data: modeltest.PNG}}
	seen, broken := *result("1", "look", "seen").FunctionResponse, *failed.FunctionResponse
	seen.Parts, broken.Parts = []*genai.FunctionResponsePart{picture}, []*genai.FunctionResponsePart{picture}
	long := strings.Repeat("x", 65)
	cases := []struct {
		name     string
		contents []*genai.Content
		want     string
	}{
		{"neighbours", []*genai.Content{user("a"), nil, user("b"), said(text("c")), said(text("d")), user("e")}, "u: a b / a: c d / u: e"},
		{"nothing", nil, "u: Go on."},
		{"blanks", []*genai.Content{user("a"), said(text(" \n")), user("b"), user("\t")}, "u: a b"},
		{"the assistant at both ends", []*genai.Content{said(text("a ")), user("b"), said(text("c \n"))}, "u: Go on. / a: a  / u: b / a: c \n / u: Go on."},
		{"thoughts alone", []*genai.Content{user("a"), said(&genai.Part{Thought: true, Text: "hm"}), user("b")}, "u: a b"},
		{"results in another order", []*genai.Content{user("a"), said(call("1", "look"), call("2", "look")), results(result("2", "look", "two"), text("x"), result("1", "look", "one"))},
			`u: a / a: call(1) call(2) / u: result(1)"one" result(2)"two" x`},
		{"results in two contents", []*genai.Content{user("a"), said(call("1", "look"), call("2", "look")), results(result("1", "look", "one")), results(result("2", "look", "two"))},
			`u: a / a: call(1) call(2) / u: result(1)"one" result(2)"two"`},
		{"a call without a result", []*genai.Content{user("a"), said(call("1", "look"), call("2", "look")), results(result("2", "look", "two")), said(text("b")), user("c")},
			`u: a / a: call(1) call(2) / u: result(1)"There is no result: the call never ended."! result(2)"two" / a: b / u: c`},
		{"calls at the end", []*genai.Content{user("a"), said(call("1", "look"))}, `u: a / a: call(1) / u: result(1)"There is no result: the call never ended."!`},
		{"a result without a call", []*genai.Content{user("a"), said(text("b")), results(result("9", "look", "seen"))}, "u: a / a: b / u: [result of look, whose call is missing]\nseen"},
		{"text behind calls", []*genai.Content{user("a"), said(text("b"), call("1", "look")), said(text("c")), results(result("1", "look", ""))}, "u: a / a: b c call(1) / u: result(1)"},
		{"ids again", []*genai.Content{user("a"), said(call("1", "look"), call("1", "look")), results(result("1", "look", "x"), result("1", "look", "y")), said(call("1", "look")), results(failed)},
			`u: a / a: call(1) call(1_2) / u: result(1)"x" result(1_2)"y" / a: call(1_3) / u: result(1_3)"no"!`},
		{"no ids", []*genai.Content{user("a"), said(call("", "look"), call("", "see")), results(result("", "see", "x"), result("", "look", "y"))},
			`u: a / a: call(toolu_e3b0c44298fc1c149afbf4c8) call(toolu_e3b0c44298fc1c149afbf4c8_2) / u: result(toolu_e3b0c44298fc1c149afbf4c8)"y" result(toolu_e3b0c44298fc1c149afbf4c8_2)"x"`},
		{"long ids", []*genai.Content{user("a"), said(call(long, "look")), results(result(long, "look", "x"))},
			`u: a / a: call(toolu_9537c5fdf120482f7d58d25e) / u: result(toolu_9537c5fdf120482f7d58d25e)"x"`},
		{"data", []*genai.Content{results(data("image/jpeg", string(modeltest.PNG)), data("application/pdf", "%PDF-"), data("text/csv", "a,b"), data("audio/wav", "RIFF"), data("image/png", "none"), data("text/plain", "\xff"))},
			"u: image document document [left out, since you cannot read it: 4 bytes of type \"audio/wav\"] [left out, since you cannot read it: 4 bytes of type \"image/png\"] [left out, since you cannot read it: 1 bytes of type \"text/plain\"]"},
		{"data of every kind of text", []*genai.Content{results(data("application/yaml", "a: 1"), data("image/svg+xml", "<svg/>"), data("application/x-sh; charset=utf-8", "ls"))}, "u: document document document"},
		{"data that is broken", []*genai.Content{results(data("application/pdf", ""), data("application/pdf", "no"), data("image/heic", "\x00\x00\x00\x18ftypheic\x00"), data("image/png", ""))},
			`u: [left out, since you cannot read it: 0 bytes of type "application/pdf"] [left out, since you cannot read it: 2 bytes of type "application/pdf"] ` +
				`[left out, since you cannot read it: 13 bytes of type "image/heic"] [left out, since you cannot read it: 0 bytes of type "image/png"]`},
		{"files elsewhere", []*genai.Content{results(&genai.Part{FileData: &genai.FileData{FileURI: "gs://x/y", MIMEType: "image/png"}})},
			`u: [left out, since you cannot read it: the file gs://x/y of type "image/png"]`},
		{"an image in a result", []*genai.Content{user("a"), said(call("1", "look")), results(&genai.Part{FunctionResponse: &seen})},
			`u: a / a: call(1) / u: result(1)[{"type":"text","text":"seen"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"PNG"}}]`},
		{"an image in a failed result", []*genai.Content{user("a"), said(call("1", "look")), results(&genai.Part{FunctionResponse: &broken})}, `u: a / a: call(1) / u: result(1)"no"! image`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, a.Play(a.Say("fine")), nil)
			o := ask(t.Context(), f, request(c.contents...))
			noRefusals(t, f)
			got := shape(last(t, f).Messages)
			if i := strings.Index(got, `"data":"iVBOR`); i > 0 {
				got = got[:i] + `"data":"PNG` + got[i+strings.Index(got[i:], `"}`):]
			}
			if o.err != nil || strings.ReplaceAll(got, `,"cache_control":{"type":"ephemeral"}`, "") != c.want {
				t.Errorf("%v\ngot  %s\nwant %s", o.err, got, c.want)
			}
		})
	}
}

// TestCalledBefore: calls of the past whose tools are gone.
func TestCalledBefore(t *testing.T) {
	f := start(t, a.Play(a.Say("fine")), nil)
	req := request(user("a"), said(call("1", "lo.ok"), call("2", "see"), call("3", "see")), results(result("1", "lo.ok", "x"), result("2", "see", "y"), result("3", "see", "y")))
	req.Tools = nil
	if o := ask(t.Context(), f, req); o.err != nil {
		t.Fatal(o.err)
	}
	noRefusals(t, f)
	if r := last(t, f); len(r.Tools) != 2 || r.Tools[0].Name != "lo_ok" || !strings.Contains(string(r.Body), `"tool_choice":{"type":"none"}`) {
		t.Errorf("sent %s", r.Body)
	}
}

// TestMarks are the places up to which the service caches.
func TestMarks(t *testing.T) {
	f := start(t, a.Play(a.Say("fine"), a.Say("fine")), nil)
	req := request(user("a"), said(&genai.Part{Text: "b"}), user("c"), user("d"))
	req.Tools = append(req.Tools, tool("see", `{"type":"object"}`))
	for range 2 { // what is kept of the tools has no mark
		if o := ask(t.Context(), f, req); o.err != nil {
			t.Fatal(o.err)
		}
	}
	noRefusals(t, f)
	body := string(last(t, f).Body)
	const mark = `"cache_control":{"type":"ephemeral"}`
	for _, want := range []string{`"text":"be brief",` + mark, `"text":"a",` + mark, `"text":"d",` + mark, `"name":"see","description":"see it","input_schema":{"type":"object"},` + mark} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
	if n := strings.Count(body, mark); n != 4 {
		t.Errorf("%d marks", n)
	}
	req.Hosted = []string{"google_search"}
	if o := ask(t.Context(), f, req); o.code() != model.InvalidRequest || !strings.Contains(o.err.Error(), "google_search") {
		t.Errorf("%v", o.err)
	}
}
