package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	a "github.com/adkmcp/adkmcp/internal/agent/model/anthropic/anthropictest"
	"github.com/adkmcp/adkmcp/internal/config"
)

// TestThoughtsBetweenTools: the notes of a model that is not to think go back to it all
// the same, and without what only thinking takes.
func TestThoughtsBetweenTools(t *testing.T) {
	f := start(t, a.Play(a.Stream("tool_use", a.Call("1", "look", "{}")), a.Stream("tool_use", a.Thought("one more", "note"), a.Call("2", "look", "{}")), a.Say("done")),
		func(c *config.Model) { c.Name, c.Thinking = "claude-sonnet-5-5", effort(config.NoThinking) })
	req := request(user("go"))
	for _, id := range []string{"1", "2"} {
		o := ask(t.Context(), f, req)
		if o.err != nil {
			t.Fatal(o.err)
		}
		req.Contents = append(req.Contents, o.reply.Content, results(result(id, "look", "seen")))
	}
	if o := ask(t.Context(), f, req); o.err != nil || types(last(t, f).Messages[3]) != "thinking tool_use" {
		t.Errorf("%v: sent %s", o.err, last(t, f).Body)
	}
	noRefusals(t, f)
	if beta := last(t, f).Header.Get("Anthropic-Beta"); beta != "" {
		t.Errorf("beta %s", beta)
	}
}

// TestThoughtsThatAreRefused: a conversation goes on without thoughts that the service no
// longer takes, in this request and in whatever comes after it.
func TestThoughtsThatAreRefused(t *testing.T) {
	foreign := func(name string) *genai.Part {
		return &genai.Part{Thought: true, Text: "hm", ThoughtSignature: model.Sign("anthropic", []byte(`{"model":"`+name+`","signature":"of another account"}`))}
	}
	cases := []struct {
		name, model, effort string
		thought             *genai.Part // nil for one of the service's own, whose conversation has changed
		thinking            bool        // of the second try
	}{
		{"whose conversation has changed", "claude-sonnet-5-5", "none", nil, true},
		{"of another account", "claude-opus-4-8", "low", foreign("claude-opus-4-8"), true},
		{"of another account, by budget", "claude-haiku-4-5", "low", foreign("claude-haiku-4-5"), false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, a.Play(a.Stream("tool_use", a.Thought("hm", "sig"), a.Call("1", "look", "{}")), a.Say("fine"), a.Say("fine")),
				func(cfg *config.Model) { cfg.Name, cfg.Thinking = c.model, effort(config.Effort(c.effort)) })
			req := request(user("go"))
			first := ask(t.Context(), f, req)
			if c.thought != nil {
				first.reply.Content.Parts[0] = c.thought
			}
			req.System += ", and polite"
			req.Contents = append(req.Contents, first.reply.Content, results(result("1", "look", "seen")))
			for n := range 2 {
				o := ask(t.Context(), f, req)
				if o.err != nil || len(f.service.Refusals()) != n+1 || len(f.service.Requests()) != 3+2*n {
					t.Fatalf("%v: %d requests, refused %q", o.err, len(f.service.Requests()), f.service.Refusals())
				}
				if r := last(t, f); types(r.Messages[1]) != "tool_use" || (r.Thinking != nil) != c.thinking {
					t.Errorf("sent %s", r.Body)
				}
			}
			if !strings.Contains(f.logged.String(), "so they are left out") {
				t.Errorf("logged %s", f.logged)
			}
		})
	}
}

// TestRefusedForGood: what does not help is not tried, and nothing is tried twice.
func TestRefusedForGood(t *testing.T) {
	const about = "messages.1.content.0: Invalid `signature` in `thinking` block"
	thought := &genai.Part{Thought: true, Text: "hm", ThoughtSignature: model.Sign("anthropic", []byte(`{"model":"claude-opus-4-8","signature":"sig"}`))}
	cases := []struct {
		name     string
		replies  []a.Reply
		contents []*genai.Content
		schema   string
		requests int
	}{
		{"no thoughts to leave out", []a.Reply{a.Fail(400, "invalid_request_error", about)}, []*genai.Content{user("go")}, "", 1},
		{"a schema that is not there", []a.Reply{a.Fail(400, "invalid_request_error", "The compiled grammar is too large")}, []*genai.Content{user("go")}, "", 1},
		{"another reason", []a.Reply{a.Fail(400, "invalid_request_error", "adaptive thinking is not supported on this model")}, []*genai.Content{user("go"), said(thought, call("1", "look")), results(result("1", "look", "x"))}, "", 1},
		{"again", []a.Reply{a.Fail(400, "invalid_request_error", about), a.Fail(400, "invalid_request_error", about)}, []*genai.Content{user("go"), said(thought, call("1", "look")), results(result("1", "look", "x"))}, "", 2},
		{"something was shown", []a.Reply{{Raw: []string{begin, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hel"}}`,
			`{"type":"error","error":{"type":"invalid_request_error","message":"` + about + `"}}`}}}, []*genai.Content{user("go"), said(thought, call("1", "look")), results(result("1", "look", "x"))}, "", 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			replies := append([]a.Reply{a.Stream("end_turn", a.Thought("hm", "sig"))}, c.replies...)
			f := start(t, a.Play(replies...), func(cfg *config.Model) { cfg.Name, cfg.Thinking = "claude-opus-4-8", effort("low") })
			ask(t.Context(), f, request(user("so that the service knows the thought")))
			o := ask(t.Context(), f, request(c.contents...))
			if n := len(f.service.Requests()) - 1; o.code() != model.InvalidRequest || n != c.requests {
				t.Errorf("%v after %d requests", o.err, n)
			}
			noRefusals(t, f)
		})
	}
}

// TestSchemaTooLarge: what the service cannot compile is said in words, from then on at
// once.
func TestSchemaTooLarge(t *testing.T) {
	for _, message := range []string{
		"The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or reduce the number of strict tools.",
		"Schema is too complex for compilation.", "output_config.format.schema: Invalid schema",
	} {
		f := start(t, func(r *a.Request) a.Reply {
			if r.Format != nil {
				return a.Fail(400, "invalid_request_error", message)
			}
			return a.Say("{}")
		}, nil)
		req := request(user("go"))
		req.Tools, req.OutputSchema = nil, json.RawMessage(`{"type":"object","properties":{"b":{"type":"string"}}}`)
		for n := range 2 {
			if o := ask(t.Context(), f, req); o.err != nil || len(f.service.Requests()) != 2+n || !strings.Contains(last(t, f).System, string(req.OutputSchema)) {
				t.Errorf("%s: %v after %d requests", message, o.err, len(f.service.Requests()))
			}
		}
		noRefusals(t, f)
	}
	// A refusal of something else is none of the schema.
	f := start(t, a.Play(a.Fail(400, "invalid_request_error", "compiled grammar"), a.Fail(400, "invalid_request_error", "else"), a.Say("{}")), nil)
	req := request(user("go"))
	req.Tools, req.OutputSchema = nil, json.RawMessage(`{"type":"object","properties":{"b":{"type":"string"}}}`)
	for range 2 {
		ask(t.Context(), f, req)
	}
	if last(t, f).Format == nil {
		t.Error("the schema is left out although that did not help")
	}
}

// TestBrokenImage: one that the service cannot read does not end the conversation.
func TestBrokenImage(t *testing.T) {
	f := start(t, a.Play(a.Fail(400, "invalid_request_error", "messages.0.content.1.image.source.base64.data: Could not process image"), a.Say("fine"), a.Say("fine")), nil)
	req := request(&genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: "look"}, picture(t, "image/png", 5)}})
	for n := range 2 {
		o := ask(t.Context(), f, req)
		if o.err != nil || len(f.service.Requests()) != 2+n {
			t.Fatalf("%v after %d requests", o.err, len(f.service.Requests()))
		}
		if shown := strings.Contains(string(last(t, f).Body), "image/png"); shown != (n == 1) {
			t.Errorf("sent %s", last(t, f).Body)
		}
	}
}
