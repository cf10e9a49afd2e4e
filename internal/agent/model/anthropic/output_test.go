package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	a "github.com/adkmcp/adkmcp/internal/agent/model/anthropic/anthropictest"
	"github.com/adkmcp/adkmcp/internal/config"
)

// TestHeldToASchema: natively where the model and the dialect can, else in words.
func TestHeldToASchema(t *testing.T) {
	const (
		plain = `{"type":"object","properties":{"b":{"type":"integer","minimum":1},"a":{"type":"string"}},"required":["b"]}`
		held  = `{"type":"object","properties":{"b":{"type":"integer","description":"Further constraints (JSON Schema): {\"minimum\":1}"},"a":{"type":"string"}},"required":["b"],"additionalProperties":false}`
		open  = `{"type":"object","properties":{"any":{}}}`
	)
	cases := []struct {
		name, model, schema string
		tools               bool
		held                string
		words               bool // in the instruction
	}{
		{"natively", "claude-opus-5-5", plain, false, held, false},
		{"with tools", "claude-haiku-4-5", plain, true, held, false},
		{"an older model", "claude-opus-4-1-20250805", plain, false, "", true},
		{"an older model with tools", "claude-opus-4-1-20250805", plain, true, "", false}, // the runner says it
		{"what the service cannot express", "claude-haiku-4-5", open, false, "", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, a.Play(a.Say("{}"), a.Say("{}"), a.Say("x")), called(c.model))
			req := request(user("go"))
			if req.OutputSchema = json.RawMessage(c.schema); !c.tools {
				req.Tools = nil
			}
			for range 2 {
				if o := ask(t.Context(), f, req); o.err != nil {
					t.Fatal(o.err)
				}
				r := last(t, f)
				if string(r.Format) != c.held || strings.Contains(r.System, c.schema) != c.words || !strings.HasPrefix(r.System, "be brief") {
					t.Errorf("held to %s, told %q", r.Format, r.System)
				}
			}
			if n := strings.Count(f.logged.String(), "cannot hold answers"); n > 1 || (n == 1) != (c.schema == open) {
				t.Errorf("logged %s", f.logged)
			}
			req.OutputSchema = nil // nothing of it stays
			if o := ask(t.Context(), f, req); o.err != nil || last(t, f).Format != nil || last(t, f).System != "be brief" {
				t.Errorf("%v: %s", o.err, last(t, f).Body)
			}
			noRefusals(t, f)
		})
	}
}

func TestSampling(t *testing.T) {
	half, five := 0.5, 5
	f := start(t, a.Play(a.Say("fine")), func(c *config.Model) {
		c.Name, c.Temperature, c.TopP, c.TopK, c.Stop, c.MaxOutputTokens = "claude-sonnet-4-20250514", &half, &half, &five, []string{"END"}, &five
	})
	if o := ask(t.Context(), f, request(user("hi"))); o.err != nil {
		t.Fatal(o.err)
	}
	noRefusals(t, f)
	if body := string(last(t, f).Body); !strings.Contains(body, `"temperature":0.5,"top_p":0.5,"top_k":5,"stop_sequences":["END"],"stream":true`) || !strings.Contains(body, `"max_tokens":5,`) {
		t.Errorf("sent %s", body)
	}
}

// TestShared has many goroutines use one model and the same contents and tools.
func TestShared(t *testing.T) {
	f := start(t, func(r *a.Request) a.Reply {
		m := r.Messages[len(r.Messages)-1]
		b := m.Blocks[len(m.Blocks)-1]
		if b.Type == "tool_result" {
			return a.Say("the secret is " + string(b.Result))
		}
		return a.Stream("tool_use", a.Thought("about "+b.Text, "sig-"+b.Text), a.Text("looking up "+b.Text), a.Call("toolu_1", "look", `{"for":"`+b.Text+`"}`))
	}, func(c *config.Model) { c.Thinking = effort(config.LowThinking) })
	hello := user("hello")
	declared := []*genai.FunctionDeclaration{tool("look", `{"type":"object","properties":{"for":{"type":"string"}}}`), tool("bad name", `{}`)}
	before, _ := json.Marshal([]any{hello, declared})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for round := range 4 {
				secret := fmt.Sprintf("secret-%d-%d", i, round)
				req := &model.Request{System: "be brief", Contents: []*genai.Content{hello, user(secret)}, Tools: declared, OutputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}
				first := ask(t.Context(), f, req)
				if first.err != nil || first.partial != "[about "+secret+"]looking up "+secret {
					t.Errorf("%+v", first)
					return
				}
				req.Contents = append(req.Contents, first.reply.Content, results(result("toolu_1", "look", secret)))
				if second := ask(t.Context(), f, req); second.err != nil || second.partial != `the secret is "`+secret+`"` {
					t.Errorf("%+v", second)
				}
			}
		})
	}
	wg.Wait()
	noRefusals(t, f)
	if after, _ := json.Marshal([]any{hello, declared}); string(after) != string(before) {
		t.Errorf("what is shared changed: %s", after)
	}
	if n := strings.Count(f.logged.String(), "tool left out"); n != 1 {
		t.Errorf("%d warnings", n)
	}
}

// BenchmarkStep is one answer of text, the fake's part in it included.
func BenchmarkStep(b *testing.B) {
	f := start(b, func(*a.Request) a.Reply { return a.Stream("end_turn", a.Text("hel", "lo")) }, nil)
	req := request(user("hi"))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range f.Generate(b.Context(), req) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
