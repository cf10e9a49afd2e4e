package modeltest

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// answers are about text, thoughts, usage and how answers end.
func (s *suite) answers(t *testing.T) {
	t.Run("text in pieces", s.pieces)
	t.Run("without an instruction", func(t *testing.T) {
		f := s.make(t)
		f.Play(Answer{Text: []string{"yes"}})
		o := ask(t.Context(), t, f.Model, &model.Request{Contents: []*genai.Content{user("hi")}})
		clean(t, f)
		if o.err != nil || last(t, f).System != "" {
			t.Errorf("%+v; system %q", o.err, last(t, f).System)
		}
	})
	t.Run("a long history", s.longHistory)
	if !s.traits.NoThoughts {
		t.Run("thoughts", s.thoughts)
	}
	ends := []struct {
		name   string
		answer Answer
		code   model.Code
		keeps  string // text that the reply holds
		says   string
	}{
		{"cut at the limit", Answer{Text: []string{"half an"}, End: Length}, model.MaxTokens, "half an", "max_output_tokens"},
		{"cut at the limit before any text", Answer{End: Length}, model.MaxTokens, "", "max_output_tokens"},
		{"withheld", Answer{End: Filtered}, model.Blocked, "", ""},
		{"withheld after some text", Answer{Text: []string{"half"}, End: Filtered}, model.Blocked, "", ""},
	}
	for _, c := range ends {
		t.Run(c.name, func(t *testing.T) {
			f := s.make(t)
			f.Play(c.answer)
			o := ask(t.Context(), t, f.Model, request(user("hi")))
			clean(t, f)
			if o.code() != c.code || o.text() != c.keeps {
				t.Fatalf("code %q, text %q, error %v", o.code(), o.text(), o.err)
			}
			var message string
			if o.err != nil {
				message = o.err.Error()
			} else {
				message = o.reply.Problem.Error()
			}
			if !strings.Contains(message, c.says) {
				t.Errorf("message %q", message)
			}
		})
	}
	t.Run("empty", func(t *testing.T) {
		f := s.make(t)
		f.Play(Answer{})
		o := ask(t.Context(), t, f.Model, request(user("hi")))
		clean(t, f)
		if o.code() != model.Empty && (o.err != nil || o.text() != "" || len(o.calls()) > 0) {
			t.Errorf("%+v", o)
		}
	})
}

// pieces are a text that streams, with what it used.
func (s *suite) pieces(t *testing.T) {
	f := s.make(t)
	f.Play(Answer{Text: []string{"Hel", "lo ", "wörld <&>"}})
	req := request(user("hi"))
	before := snapshot(t, req)
	o := ask(t.Context(), t, f.Model, req)
	clean(t, f)
	if o.err != nil || o.text() != "Hello wörld <&>" || o.partial != o.text() || o.pieces < 1 || o.reply.FinishReason == "" {
		t.Errorf("%+v, text %q", o, o.text())
	}
	if u := o.reply.Usage; u != nil && (u.Input <= 0 || u.Output <= 0 || u.Total < u.Input+u.Output) {
		t.Errorf("usage %+v", u)
	}
	if got := last(t, f); got.System != "Be brief." || len(got.Parts) != 1 || got.Parts[0].Role != "user" || got.Parts[0].Text != "hi" {
		t.Errorf("sent %+v", got)
	}
	if snapshot(t, req) != before {
		t.Error("the request was written to")
	}
}

// longHistory has many turns, each with a call.
func (s *suite) longHistory(t *testing.T) {
	f := s.make(t)
	contents := make([]*genai.Content, 0, 203)
	for range 50 {
		contents = append(contents, user("go"),
			&genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{Text: "looking"}, {FunctionCall: &genai.FunctionCall{ID: "adk-1", Name: "look", Args: map[string]any{"q": "x"}}}}},
			&genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{ID: "adk-1", Name: "look", Response: map[string]any{"output": "seen"}}}}},
			&genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{Text: "found"}}})
	}
	req := request(append(contents, user("and now?"), user("well?"))...)
	req.Tools = []*genai.FunctionDeclaration{tool("look", anything)}
	f.Play(Answer{Text: []string{"now this"}})
	o := ask(t.Context(), t, f.Model, req)
	clean(t, f)
	if o.err != nil || o.text() != "now this" {
		t.Fatalf("%+v", o)
	}
	calls, answered := 0, 0
	for _, p := range last(t, f).Parts {
		if p.Call != "" {
			calls++
		}
		if p.Result != "" {
			answered++
		}
	}
	if calls != 50 || answered != 50 {
		t.Errorf("%d calls and %d results were sent, want 50 each", calls, answered)
	}
}

// thoughts come before the answer, are never taken for it, and go back to the
// service where it wants them.
func (s *suite) thoughts(t *testing.T) {
	f := s.make(t)
	f.Play(Answer{Thought: "hm, well", Calls: []Call{{Name: "look", Args: `{"q":"x"}`}}}, Answer{Thought: "aha", Text: []string{"done"}})
	req := request(user("go"))
	req.Tools = []*genai.FunctionDeclaration{tool("look", anything)}
	first := ask(t.Context(), t, f.Model, req)
	if first.err != nil || first.text() != "" || len(first.calls()) != 1 {
		t.Fatalf("%+v", first)
	}
	req.Contents = append(req.Contents, name(first), results(first, map[string]any{"output": "seen"}))
	// What is stored and read again is the same.
	raw, err := json.Marshal(req.Contents)
	if err != nil {
		t.Fatal(err)
	}
	req.Contents = nil
	if err := json.Unmarshal(raw, &req.Contents); err != nil {
		t.Fatal(err)
	}
	second := ask(t.Context(), t, f.Model, req)
	clean(t, f)
	if second.err != nil || second.text() != "done" {
		t.Fatalf("%+v", second)
	}
}
