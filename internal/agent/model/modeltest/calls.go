package modeltest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// calls are about tools: one, several at once, what they give, what goes wrong.
func (s *suite) calls(t *testing.T) {
	t.Run("one", s.oneCall)
	t.Run("three at once, one of which fails", s.threeCalls)
	t.Run("an empty result", func(t *testing.T) {
		for _, out := range []map[string]any{nil, {}, {"output": ""}, {"output": nil}, {"a": 1, "b": []any{}}} {
			f, req := s.withTools(t, "a")
			f.Play(Answer{Calls: []Call{{Name: "a", Args: `{}`}}}, Answer{Text: []string{"done"}})
			first := ask(t.Context(), t, f.Model, req)
			req.Contents = append(req.Contents, name(first), results(first, out))
			second := ask(t.Context(), t, f.Model, req)
			clean(t, f)
			if second.err != nil {
				t.Errorf("%v: %v", out, second.err)
			}
		}
	})
	t.Run("no arguments", func(t *testing.T) {
		for _, args := range []string{`{}`, ``} {
			if args == "" && s.traits.NoArgsOnWire {
				continue
			}
			f, req := s.withTools(t, "a")
			f.Play(Answer{Calls: []Call{{Name: "a", Args: args}}})
			o := ask(t.Context(), t, f.Model, req)
			if o.err != nil || len(o.calls()) != 1 || len(o.calls()[0].Args) != 0 {
				t.Errorf("%q: %+v", args, o)
			}
		}
	})
	if !s.traits.NoArgsOnWire {
		t.Run("malformed arguments", s.malformed)
	}
	t.Run("a response that has no JSON form", func(t *testing.T) {
		f, req := s.withTools(t, "a")
		f.Play(Answer{Calls: []Call{{Name: "a", Args: `{}`}}})
		first := ask(t.Context(), t, f.Model, req)
		req.Contents = append(req.Contents, name(first), results(first, map[string]any{"output": make(chan int)}))
		if o := ask(t.Context(), t, f.Model, req); o.code() != model.InvalidRequest || len(f.Requests()) != 1 {
			t.Errorf("%+v", o)
		}
	})
	t.Run("a call cut at the limit is not run", func(t *testing.T) {
		f, req := s.withTools(t, "a")
		f.Play(Answer{Text: []string{"half"}, Calls: []Call{{Name: "a", Args: `{}`}}, End: Length})
		if o := ask(t.Context(), t, f.Model, req); o.code() != model.MaxTokens {
			t.Errorf("%+v", o)
		}
	})
}

// oneCall is a call whose arguments have many digits, and its result.
func (s *suite) oneCall(t *testing.T) {
	args := `{"id":12345678901234567890,"sum":1.10,"deep":[{"n":9007199254740993}],"s":"ü<&>"}`
	f, req := s.withTools(t, "look")
	f.Play(Answer{Text: []string{"Let me look."}, Calls: []Call{{Name: "look", Args: args}}}, Answer{Text: []string{"done"}})
	first := ask(t.Context(), t, f.Model, req)
	clean(t, f)
	if first.err != nil || first.text() != "Let me look." || len(first.calls()) != 1 || first.calls()[0].Name != "look" {
		t.Fatalf("%+v", first)
	}
	if got, _ := json.Marshal(first.calls()[0].Args); !sameJSON(t, string(got), args) {
		t.Errorf("arguments %s", got)
	}
	req.Contents = append(req.Contents, name(first), results(first, map[string]any{"output": "seen"}))
	before := snapshot(t, req)
	second := ask(t.Context(), t, f.Model, req)
	clean(t, f)
	if second.err != nil || second.text() != "done" {
		t.Fatalf("%+v", second)
	}
	sent := last(t, f)
	if !slices.Equal(sent.Tools, []string{"look"}) {
		t.Errorf("tools %q", sent.Tools)
	}
	i := slices.IndexFunc(sent.Parts, func(p Part) bool { return p.Call == "look" })
	if i < 0 || !sameJSON(t, string(sent.Parts[i].Args), args) || sent.Parts[i].Role != "model" {
		t.Errorf("sent %+v", sent.Parts)
	}
	if i := slices.IndexFunc(sent.Parts, func(p Part) bool { return p.Result != "" && strings.Contains(p.Text, "seen") && !p.Failed }); i < 0 {
		t.Errorf("sent %+v", sent.Parts)
	}
	if snapshot(t, req) != before {
		t.Error("the request was written to")
	}
}

// threeCalls are answered in their order, all of them in the next request.
func (s *suite) threeCalls(t *testing.T) {
	f, req := s.withTools(t, "a", "b", "c")
	f.Play(Answer{Calls: []Call{{Name: "a", Args: `{"q":"1"}`}, {Name: "b", Args: `{}`}, {Name: "a", Args: `{"q":"2"}`}}}, Answer{Text: []string{"done"}})
	first := ask(t.Context(), t, f.Model, req)
	if first.err != nil || len(first.calls()) != 3 {
		t.Fatalf("%+v", first)
	}
	content := name(first)
	if ids := []string{first.calls()[0].ID, first.calls()[1].ID, first.calls()[2].ID}; ids[0] == ids[1] || ids[1] == ids[2] || ids[0] == ids[2] {
		t.Fatalf("ids %q", ids)
	}
	req.Contents = append(req.Contents, content,
		results(first, map[string]any{"output": "one"}, map[string]any{"error": "no such thing"}, map[string]any{"output": json.RawMessage(`{"n":98765432109876543210}`)}))
	second := ask(t.Context(), t, f.Model, req)
	clean(t, f)
	if second.err != nil || second.text() != "done" {
		t.Fatalf("%+v", second)
	}
	var said []string
	for _, p := range last(t, f).Parts {
		if p.Result != "" {
			said = append(said, p.Text)
		}
	}
	if len(said) != 3 || !strings.Contains(said[0], "one") || !strings.Contains(said[1], "no such thing") || !strings.Contains(said[2], "98765432109876543210") {
		t.Errorf("results %q", said)
	}
}

// malformed arguments are an error that names the tool.
func (s *suite) malformed(t *testing.T) {
	for _, args := range []string{`{"q":`, `{"q":1}}`, `[1]`, `"x"`, `}`} {
		f, req := s.withTools(t, "a")
		f.Play(Answer{Calls: []Call{{Name: "a", Args: args}}})
		if o := ask(t.Context(), t, f.Model, req); o.code() != model.Malformed || !strings.Contains(o.err.Error(), "a") {
			t.Errorf("%s: %+v", args, o)
		}
	}
}

// withTools is a fixture, and a request that declares tools.
func (s *suite) withTools(t *testing.T, names ...string) (*Fixture, *model.Request) {
	t.Helper()
	req := request(user("go"))
	for _, n := range names {
		req.Tools = append(req.Tools, tool(n, anything))
	}
	return s.make(t), req
}

// sameJSON compares two JSON texts, numbers as they are written.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	return normal(t, a) == normal(t, b)
}

func normal(t *testing.T, text string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return fmt.Sprint(v)
}

// foreign has histories that another provider has left.
func (s *suite) foreign(t *testing.T) {
	thought := &genai.Part{Text: "thinking", Thought: true}
	if !s.traits.OwnSignatures {
		thought.ThoughtSignature = []byte("\x00\xff gemini's own")
	}
	odd := strings.Repeat("call:7/ü ", 20)
	contents := []*genai.Content{
		user("go"),
		{Role: genai.RoleModel, Parts: []*genai.Part{
			thought,
			{Thought: true, ThoughtSignature: model.Sign("elsewhere", []byte(`{"type":"reasoning"}`))},
			{ExecutableCode: &genai.ExecutableCode{Code: "print(1)", Language: "PYTHON"}},
			{CodeExecutionResult: &genai.CodeExecutionResult{Output: "1", Outcome: "OUTCOME_OK"}},
			{Text: "let me see", ThoughtSignature: model.Sign("elsewhere", []byte("x"))},
			{FunctionCall: &genai.FunctionCall{ID: odd + "1", Name: "look", Args: map[string]any{"q": "x"}}, ThoughtSignature: model.Sign("elsewhere", []byte("y"))},
			{FunctionCall: &genai.FunctionCall{ID: odd + "2", Name: "look"}},
		}},
		{Role: genai.RoleUser, Parts: []*genai.Part{
			{FunctionResponse: &genai.FunctionResponse{ID: odd + "1", Name: "look", Response: map[string]any{"output": "one"}}},
			{FunctionResponse: &genai.FunctionResponse{ID: odd + "2", Name: "look", Response: map[string]any{"output": "two"}}},
		}},
		user("and more"), user("still there?"),
		{Role: genai.RoleModel, Parts: []*genai.Part{{Text: " "}}},
		{Role: genai.RoleModel, Parts: []*genai.Part{{Text: "yes "}}},
		user("go on"),
	}
	f := s.make(t)
	f.Play(Answer{Text: []string{"fine"}})
	req := request(contents...)
	req.Tools = []*genai.FunctionDeclaration{tool("look", anything)}
	o := ask(t.Context(), t, f.Model, req)
	clean(t, f)
	if o.err != nil || o.text() != "fine" {
		t.Fatalf("%+v", o)
	}
	sent := last(t, f)
	if strings.Contains(string(sent.Body), "elsewhere") {
		t.Errorf("another provider's signature was sent: %s", sent.Body)
	}
	text := fmt.Sprint(sent.Parts)
	for _, want := range []string{"let me see", "one", "two", "and more", "still there?", "go on"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q was not sent: %s", want, text)
		}
	}
}
