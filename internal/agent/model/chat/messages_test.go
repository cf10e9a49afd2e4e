package chat_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat/chattest"
	"github.com/adkmcp/adkmcp/internal/config"
)

// TestMessages sends histories of all kinds. The fake holds each to the order that
// the strictest templates want, and the ids of other models' calls to the form that
// Mistral wants.
func TestMessages(t *testing.T) {
	long := strings.Repeat("x", 41)
	image := data("image/png; q=1", png)
	withImage := result("b", "g", "two")
	withImage.FunctionResponse.Parts = []*genai.FunctionResponsePart{
		{InlineData: &genai.FunctionResponseBlob{MIMEType: "image/jpeg", Data: []byte("\xff\xd8\xff\xe0")}},
		{InlineData: &genai.FunctionResponseBlob{MIMEType: "video/mp4", Data: []byte("frames")}},
	}
	failed := &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "a", Name: "f", Response: map[string]any{"error": "broken"}}}
	cases := []struct {
		name     string
		contents []*genai.Content
		want     []string
	}{
		{"neighbours are one message", []*genai.Content{user("a"), user("b"), said(&genai.Part{Text: "c"}, &genai.Part{Text: "d"}), said(&genai.Part{Text: "e"}), user("f")},
			[]string{"user a\n\nb", "assistant cd\n\ne", "user f"}},
		{"results stand in the order of their calls", []*genai.Content{user("go"), said(&genai.Part{Text: "hm"}, called("a", "f"), called("b", "g")), results(result("b", "g", "two"), failed)},
			[]string{"user go", "assistant hm A:f{} B:g{}", "tool Error: broken for A", "tool two for B"}},
		{"a user behind results", []*genai.Content{user("go"), said(called("a", "f")), results(result("a", "f", "one")), user("stop")},
			[]string{"user go", "assistant  A:f{}", "tool one for A", "assistant I have the results.", "user stop"}},
		{"images of results", []*genai.Content{user("go"), said(called("a", "f"), called("b", "g")), results(result("a", "f", "one"), withImage), user("well?")},
			[]string{"user go", "assistant  A:f{} B:g{}", "tool one for A", `tool two` + "\n" + `[left out, since you cannot read it: 6 bytes of type "video/mp4"] for B`,
				"assistant I have the results.", "user [what g (B) gave besides its result] + <image_url> + well?"}},
		{"no result", []*genai.Content{user("go"), said(called("a", "f"), called("b", "g")), results(result("b", "g", "two")), said(&genai.Part{Text: "x"}), user("y")},
			[]string{"user go", "assistant  A:f{} B:g{}", "tool Error: there is no result. for A", "tool two for B", "assistant x", "user y"}},
		{"no result, and that is the end", []*genai.Content{user("go"), said(called("a", "f"))},
			[]string{"user go", "assistant  A:f{}", "tool Error: there is no result. for A"}},
		{"a result without a call", []*genai.Content{results(result("z", "f", "one")), said(&genai.Part{Text: "x"}), user("y")},
			[]string{"user [result of f] one", "assistant x", "user y"}},
		{"no ids, and the same id twice", []*genai.Content{user("go"), said(called("", "f"), called("", "f"), called("a", "f"), called("a", "f")),
			results(result("", "f", "1"), result("", "f", "2"), result("a", "f", "3"), result("a", "f", "4"))},
			[]string{"user go", "assistant  A:f{} B:f{} C:f{} D:f{}", "tool 1 for A", "tool 2 for B", "tool 3 for C", "tool 4 for D"}},
		{"odd ids and names", []*genai.Content{user("go"), said(called(long, "ns:f/ü"), called("functions.f:0", "f")), results(result(long, "ns:f/ü", "1"), result("functions.f:0", "f", "2"))},
			[]string{"user go", "assistant  A:ns_f___{} B:f{}", "tool 1 for A", "tool 2 for B"}},
		{"it begins with the model", []*genai.Content{said(&genai.Part{Text: "x"}), user("y")},
			[]string{"user (The beginning of the conversation is not here.)", "assistant x", "user y"}},
		{"it ends with the model", []*genai.Content{user("y"), said(&genai.Part{Text: "x"})}, []string{"user y", "assistant x", "user Go on."}},
		{"nothing", []*genai.Content{nil, {Role: "user"}, user(" ")}, []string{"user (The beginning of the conversation is not here.)"}},
		{"a turn of thoughts is none", []*genai.Content{user("a"), said(&genai.Part{Text: "hm", Thought: true}), user("b")}, []string{"user a\n\nb"}},
		{"an empty turn of the user is none", []*genai.Content{user("a"), said(&genai.Part{Text: "x"}), user(""), said(&genai.Part{Text: "y"}), user("b")},
			[]string{"user a", "assistant x\n\ny", "user b"}},
		{"media", []*genai.Content{results(&genai.Part{Text: "see"}, image,
			data("audio/wav", wav), data("audio/mpeg", "ID3"), data("application/pdf", "%PDF-"), data("text/csv", "a,b"), data("text/plain", "\xff"),
			&genai.Part{FileData: &genai.FileData{MIMEType: "image/png", FileURI: "https://example.com/a.png"}})},
			[]string{`user see + <image_url> + <input_audio> + <input_audio> + <file> + a,b + [left out, since you cannot read it: 1 bytes of type "text/plain"]` +
				` + [left out, since you cannot read it: a file of type "image/png" at https://example.com/a.png]`}},
		{"what other services do themselves", []*genai.Content{user("go"), said(
			&genai.Part{ExecutableCode: &genai.ExecutableCode{Code: "1+1"}}, &genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{Output: "2"}},
			&genai.Part{ToolCall: &genai.ToolCall{}}, image, &genai.Part{Text: "two"}), user("ok")},
			[]string{"user go", "assistant \n```\n1+1\n```\n\n```\n2\n```\n" + `[left out, since you cannot read it: 8 bytes of type "image/png; q=1"]two`, "user ok"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, chattest.Manner{ShortIDs: true}, nil)
			f.server.Play(chattest.Answer{Text: []string{"fine"}})
			o := ask(t.Context(), f, request(c.contents...))
			noRefusals(t, f)
			if o.err != nil {
				t.Fatal(o.err)
			}
			r, got := newest(t, f)
			for i, letter := range mapped(r) { // ids that were made up
				for j := range got {
					got[j] = strings.ReplaceAll(got[j], letter, string(rune('A'+i)))
				}
			}
			if diff := cmp.Diff(append([]string{"system be brief"}, c.want...), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// mapped lists the ids of a request's calls.
func mapped(r *chattest.Request) []string {
	var ids []string
	for _, m := range r.Messages {
		for _, c := range m.ToolCalls {
			if !slices.Contains(ids, c.ID) {
				ids = append(ids, c.ID)
			}
		}
	}
	return ids
}

// TestIDsComeBack: a server gets the ids of its own calls as it gave them, however odd
// they are; another one, and another model at the same address, get ids that all take.
func TestIDsComeBack(t *testing.T) {
	for _, id := range []string{"functions.look:0", "call_1__thought__" + strings.Repeat("c2ln/+==", 40), strings.Repeat("x", 64), "0", "aB3456789"} {
		f := start(t, chattest.Manner{}, nil)
		f.server.Play(chattest.Answer{Calls: []chattest.Call{{ID: id, Name: "look", Args: `{}`}, {ID: id, Name: "look", Args: `{"x":1}`}}}, chattest.Answer{Text: []string{"done"}})
		req := request(user("go"))
		first := ask(t.Context(), f, req)
		if first.err != nil {
			t.Fatal(first.err)
		}
		raw, err := json.Marshal(first.reply.Content) // as it is stored
		if err != nil {
			t.Fatal(err)
		}
		stored := &genai.Content{}
		if err := json.Unmarshal(raw, stored); err != nil {
			t.Fatal(err)
		}
		stored.Parts[1].FunctionCall.ID = "adk-2" // as the runner names it
		req.Contents = append(req.Contents, stored, results(result("adk-2", "look", "two"), result(id, "look", "one")))
		ask(t.Context(), f, req) // the fake may find some of them too odd
		r, short := newest(t, f)
		ids := mapped(r)
		if len(ids) != 2 || ids[0] != id || len(ids[1]) != 9 || !slices.Equal(short[3:], []string{"tool one for " + id, "tool two for " + ids[1]}) {
			t.Errorf("%q: %q", id, short)
		}
		for _, change := range []func(*config.Model){nil, func(c *config.Model) { c.Name, c.BaseURL = "another", f.server.URL }} {
			g := start(t, chattest.Manner{ShortIDs: true}, change)
			for _, server := range []*chattest.Server{f.server, g.server} {
				server.Play(chattest.Answer{Text: []string{"fine"}})
			}
			o := ask(t.Context(), g, req)
			noRefusals(t, g)
			if o.err != nil {
				t.Errorf("%q: %v", id, o.err)
			}
		}
		r, _ = newest(t, f)
		if ids := mapped(r); len(ids) != 2 || len(ids[0]) != 9 || len(ids[1]) != 9 || (id == "aB3456789") != (ids[0] == id) {
			t.Errorf("%q: another model got %q", id, ids)
		}
	}
}

// TestReasoningComesBack: reasoning_content goes to a server that has sent some, and
// with it to every message of the model's; nothing goes to others.
func TestReasoningComesBack(t *testing.T) {
	look := []*genai.FunctionDeclaration{tool("look", `{"type":"object"}`)}
	f := start(t, manner(t, "DeepSeek"), nil)
	f.server.Play(chattest.Answer{Thought: "hm", Calls: []chattest.Call{{ID: "a", Name: "look", Args: `{}`}}}, chattest.Answer{Text: []string{"done"}}, chattest.Answer{Text: []string{"yes"}})
	req := request(user("go"))
	req.Tools = look
	first := ask(t.Context(), f, req)
	req.Contents = append(req.Contents, first.reply.Content, results(result("a", "look", "seen")))
	second := ask(t.Context(), f, req)
	req.Contents = append(req.Contents, second.reply.Content, user("sure?"))
	third := ask(t.Context(), f, req)
	noRefusals(t, f)
	if third.err != nil {
		t.Fatal(third.err)
	}
	want := []string{"system be brief", "user go", "assistant  a:look{} (hm)", "tool seen for a", "assistant done ( )", "user sure?"}
	if _, got := newest(t, f); !cmp.Equal(want, got) {
		t.Error(cmp.Diff(want, got))
	}
	// The same history at another server.
	g := start(t, manner(t, "OpenAI"), nil)
	g.server.Play(chattest.Answer{Text: []string{"fine"}})
	if o := ask(t.Context(), g, req); o.err != nil {
		t.Error(o.err)
	}
	noRefusals(t, g)
	// And with another model's history at a service that is known to demand it.
	h := startAt(t, manner(t, "DeepSeek"), "http://api.deepseek.com/v1", nil)
	h.server.Play(chattest.Answer{Text: []string{"fine"}})
	req.Contents = []*genai.Content{user("go"), said(called("adk-1", "look")), results(result("adk-1", "look", "seen")), user("well?")}
	if o := ask(t.Context(), h, req); o.err != nil {
		t.Error(o.err)
	}
	noRefusals(t, h)
}

// TestExtraContentComesBack: what Gemini's own Chat Completions keep in a call goes
// back with it, to them only.
func TestExtraContentComesBack(t *testing.T) {
	const extra = `"extra_content":{"google":{"thought_signature":"c2ln"}}`
	f := start(t, chattest.Manner{}, nil)
	f.server.Play(chattest.Answer{Events: []string{
		delta(`"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":"{}"},` + extra + `}]`), end("tool_calls")}})
	req := request(user("go"))
	first := ask(t.Context(), f, req)
	raw, err := json.Marshal(first.reply.Content) // as it is stored
	if err != nil {
		t.Fatal(err)
	}
	stored := &genai.Content{}
	if err := json.Unmarshal(raw, stored); err != nil {
		t.Fatal(err)
	}
	req.Contents = append(req.Contents, stored, results(result("a", "look", "seen")))
	ask(t.Context(), f, req) // the fake knows no such member
	if body := string(f.server.Requests()[1].Body); !strings.Contains(body, extra) {
		t.Errorf("sent %s", body)
	}
	g := start(t, chattest.Manner{}, func(c *config.Model) { c.Name = "another" })
	g.server.Play(chattest.Answer{Text: []string{"fine"}})
	if o := ask(t.Context(), g, req); o.err != nil {
		t.Error(o.err)
	}
}

// TestOutputSchema: what is sent for output_schema.
func TestOutputSchema(t *testing.T) {
	const strict = `{"type":"object","properties":{"why":{"type":"string"},"answer":{"type":"integer"}},"required":["why","answer"],"additionalProperties":false}`
	const loose = `{"type":"object","properties":{"why":{"type":"string"},"answer":{"type":"integer"}}}`
	cases := map[string]struct {
		schema string
		tools  bool
		extra  string
		want   string // in the body; empty for no response_format
	}{
		"strict":           {strict, false, "", `"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":` + strict + `,"strict":true}}`},
		"not strict":       {loose, false, "", `"schema":` + loose + `}}`},
		"with tools":       {strict, true, "", ""},
		"one of their own": {strict, false, `{"response_format":{"type":"json_object"}}`, `"response_format":{"type":"json_object"}`},
		"none wanted":      {strict, false, `{"response_format":null}`, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := start(t, chattest.Manner{}, func(m *config.Model) { m.ExtraBody = json.RawMessage(c.extra) })
			f.server.Extra = map[bool][]string{true: {"response_format"}}[c.extra != ""]
			f.server.Play(chattest.Answer{Text: []string{"{}"}})
			req := request(user("go"))
			req.OutputSchema = json.RawMessage(c.schema)
			if c.tools {
				req.Tools = []*genai.FunctionDeclaration{tool("look", `{}`)}
			}
			o := ask(t.Context(), f, req)
			noRefusals(t, f)
			body := string(f.server.Requests()[0].Body)
			if o.err != nil || !strings.Contains(body, c.want) || c.want == "" && strings.Contains(body, "response_format") {
				t.Errorf("%v, sent %s", o.err, body)
			}
			if told := strings.Contains(body, "matches this JSON Schema"); told != (c.extra != "") { // with tools whoever asks says so
				t.Errorf("the schema is told: %v, sent %s", told, body)
			}
		})
	}
	f := start(t, chattest.Manner{}, nil)
	req := request(user("go"))
	req.OutputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"other.json"}}}`)
	if o := ask(t.Context(), f, req); o.code() != model.InvalidRequest || !strings.Contains(o.err.Error(), "output_schema") || len(f.server.Requests()) > 0 {
		t.Errorf("%v", o.err)
	}
}

// TestHosted: no server runs tools itself.
func TestHosted(t *testing.T) {
	f := start(t, chattest.Manner{}, nil)
	req := request(user("go"))
	req.Hosted = []string{"web_search"}
	if o := ask(t.Context(), f, req); o.code() != model.InvalidRequest || !strings.Contains(o.err.Error(), "web_search") {
		t.Errorf("%v", o.err)
	}
}
