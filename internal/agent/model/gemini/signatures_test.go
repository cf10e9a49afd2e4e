package gemini_test

import (
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	g "github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
)

// TestSignaturesOfAnother has a conversation that was held with another key, or with the
// other of the two services: its signatures are no good here. It goes on without them.
func TestSignaturesOfAnother(t *testing.T) {
	sign := func(p *genai.Part) *genai.Part {
		p.ThoughtSignature = []byte("of another key")
		return p
	}
	for name, c := range map[string]struct {
		said []*genai.Part
		want string
	}{
		"a call":        {[]*genai.Part{sign(&genai.Part{Text: "reasoning", Thought: true}), words("b"), sign(calling("1", "look")), calling("2", "look")}, "u: a / m: b call(1look)* call(2look) / u: result(1look)"},
		"a text":        {[]*genai.Part{sign(words("b"))}, "u: a / m: b / u: "},
		"an image":      {[]*genai.Part{words("b"), sign(blob("image/png", pixels))}, "u: a / m: b image/png / u: "},
		"its own tools": {[]*genai.Part{sign(&genai.Part{ToolCall: &genai.ToolCall{ID: "t"}}), {ToolResponse: &genai.ToolResponse{ID: "t"}}, words("b")}, "u: a / m: b / u: "},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, g.Play(g.Say("fine")))
			o := ask(t.Context(), f, request(user("a"), said(c.said...), heard(resulting("1", "look", "x"), resulting("2", "look", "y"))))
			all := f.service.Requests()
			if o.err != nil || o.partial != "fine" || len(all) != 2 {
				t.Fatalf("%d requests, %+v", len(all), o)
			}
			if got := shape(all[1].Contents); !strings.HasPrefix(got, c.want) || strings.Contains(string(all[1].Body), "reasoning") {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if !strings.Contains(f.logged.String(), "signatures of a conversation") {
				t.Error("nothing is logged")
			}
		})
	}
	t.Run("something was shown", func(t *testing.T) {
		half := g.Stream(g.Chunk(g.Text("half")), g.Final("MISSING_THOUGHT_SIGNATURE"))
		f := start(t, g.Play(g.Stream(g.Final("STOP", g.Signed("b", "sig"))), half, g.Say("fine")))
		first := ask(t.Context(), f, request(user("a")))
		if o := ask(t.Context(), f, request(user("a"), first.reply.Content, user("c"))); o.code() != model.InvalidRequest || len(f.service.Requests()) != 2 {
			t.Errorf("%d requests, %+v", len(f.service.Requests()), o)
		}
	})
	t.Run("missed at the end", func(t *testing.T) {
		missing := g.Stream(g.Final("MISSING_THOUGHT_SIGNATURE"))
		f := start(t, g.Play(g.Stream(g.Final("STOP", g.Signed("b", "sig"))), missing, g.Say("fine"), missing, missing))
		first := ask(t.Context(), f, request(user("a")))
		if first.err != nil {
			t.Fatal(first.err)
		}
		r := request(user("a"), first.reply.Content, user("c"))
		if o := ask(t.Context(), f, r); o.err != nil || o.reply.Usage.Total != 2*17 || o.reply.Usage.Request != o.reply.Usage.Input/2 {
			t.Errorf("%+v", o)
		}
		if o := ask(t.Context(), f, r); o.code() != model.InvalidRequest || model.UsageOf(o.err).Total != 2*17 {
			t.Errorf("%+v", o)
		}
		noRefusals(t, f)
	})
	t.Run("nothing to leave out", func(t *testing.T) {
		f := start(t, func(*g.Request) g.Reply { return g.Fail(400, "INVALID_ARGUMENT", "Invalid thought signature.") })
		o := ask(t.Context(), f, request(user("a")))
		if o.code() != model.InvalidRequest || len(f.service.Requests()) != 1 {
			t.Errorf("%d requests without a signature, %v", len(f.service.Requests()), o.err)
		}
	})
}
