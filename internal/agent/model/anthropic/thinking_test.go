package anthropic_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/anthropic"
	a "github.com/adkmcp/adkmcp/internal/agent/model/anthropic/anthropictest"
	"github.com/adkmcp/adkmcp/internal/config"
)

func effort(e config.Effort) *config.Thinking { return &config.Thinking{Effort: e} }

func budget(n int) *config.Thinking { return &config.Thinking{Budget: n} }

// TestThinking is what is sent for model.thinking, model by model; the fake knows what
// each of them takes.
func TestThinking(t *testing.T) {
	const (
		summarized = `{"type":"adaptive","display":"summarized"}`
		bound      = `{"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`
	)
	cases := []struct {
		model    string
		thinking *config.Thinking
		limit    int // max_output_tokens; 0 for none
		member   string
		effort   string
		tokens   string // max_tokens
	}{
		{"claude-3-haiku-20240307", nil, 0, "", "", "4096"},
		{"claude-3-haiku-20240307", effort("none"), 0, "", "", "4096"},
		{"claude-3-haiku-20240307", effort("high"), 0, "", "", "4096"},
		{"claude-3-haiku-20240307", nil, 4096, "", "", "4096"},
		{"claude-opus-4-1-20250805", budget(30000), 0, `{"type":"enabled","budget_tokens":30000}`, "", "32000"},
		{"claude-opus-4-1-20250805", nil, 32000, "", "", "32000"},
		{"claude-haiku-4-5", budget(60000), 0, `{"type":"enabled","budget_tokens":60000}`, "", "64000"},
		{"claude-opus-5-5", effort("none"), 0, bound, "low", "9216"},
		{"claude-sonnet-4-20250514", nil, 0, "", "", "8192"},
		{"claude-sonnet-4-20250514", effort("none"), 0, "", "", "8192"},
		{"claude-3-7-sonnet-20250219", effort("minimal"), 0, `{"type":"enabled","budget_tokens":1024}`, "", "9216"},
		{"claude-haiku-4-5", effort("high"), 0, `{"type":"enabled","budget_tokens":16384}`, "", "24576"},
		{"claude-haiku-4-5", effort("high"), 4096, `{"type":"enabled","budget_tokens":2048}`, "", "4096"},
		{"claude-opus-4-5", budget(5000), 5001, `{"type":"enabled","budget_tokens":5000}`, "", "5001"},
		{"claude-opus-4-6", budget(5000), 0, `{"type":"enabled","budget_tokens":5000}`, "", "13192"},
		{"claude-opus-4-6", effort("minimal"), 0, summarized, "low", "9216"},
		{"claude-sonnet-4-6", nil, 0, "", "", "8192"},
		{"claude-opus-4-8", nil, 0, "", "", "8192"},
		{"claude-opus-4-8", effort("high"), 700, summarized, "high", "700"},
		{"claude-sonnet-5", nil, 0, summarized, "", "24576"},
		{"claude-sonnet-5", effort("none"), 0, `{"type":"disabled"}`, "", "8192"},
		{"claude-opus-5", effort("medium"), 0, summarized, "medium", "16384"},
		{"claude-haiku-5-5", effort("none"), 0, `{"type":"disabled"}`, "", "8192"},
		{"claude-sonnet-5-5", effort("none"), 0, `{"type":"between_tools"}`, "", "8192"},
		{"claude-sonnet-5-5", nil, 0, bound, "", "24576"},
		{"claude-opus-5-5", effort("low"), 0, bound, "low", "10240"},
		{"claude-fable-5-1", nil, 0, bound, "", "24576"},
		{"claude-fable-5-2", nil, 0, bound, "", "24576"},
	}
	for _, c := range cases {
		t.Run(c.model, func(t *testing.T) {
			f := start(t, a.Play(a.Say("fine")), func(cfg *config.Model) {
				cfg.Name, cfg.Thinking = c.model, c.thinking
				if c.limit > 0 {
					cfg.MaxOutputTokens = &c.limit
				}
			})
			o := ask(t.Context(), f, request(user("hi")))
			noRefusals(t, f)
			r := last(t, f)
			if o.err != nil || string(r.Thinking) != c.member || r.Effort != c.effort || !strings.Contains(string(r.Body), `"max_tokens":`+c.tokens+`,`) {
				t.Errorf("%v: sent %s", o.err, r.Body)
			}
		})
	}
}

// TestSettingsThatAreRefused is what no model of a name takes.
func TestSettingsThatAreRefused(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	whole := func(v int) *int { return &v }
	cases := []struct {
		model string
		cfg   config.Model
		says  string
	}{
		{"claude-3-5-sonnet-20241022", config.Model{Thinking: budget(2000)}, "model.thinking: claude-3-5-sonnet-20241022 does not think"},
		{"claude-instant-1.2", config.Model{Thinking: budget(2000)}, "does not think"},
		{"claude-opus-4-7", config.Model{Thinking: budget(4000)}, "model.thinking: claude-opus-4-7 takes no number"},
		{"claude-3-haiku-20240307", config.Model{MaxOutputTokens: whole(4097)}, "model.max_output_tokens: 4097 is more than the 4096 that claude-3-haiku"},
		{"claude-3-5-sonnet-20241022", config.Model{MaxOutputTokens: whole(8193)}, "8192"},
		{"claude-opus-4-1-20250805", config.Model{MaxOutputTokens: whole(64000)}, "model.max_output_tokens: 64000 is more than the 32000"},
		{"anthropic/claude-sonnet-4.5", config.Model{MaxOutputTokens: whole(64001)}, "64000"},
		{"claude-opus-5-5", config.Model{MaxOutputTokens: whole(128001)}, "128000"},
		{"claude-opus-4-1-20250805", config.Model{Thinking: budget(32000)}, "model.thinking: 32000 tokens are no less than the 32000 that claude-opus-4-1"},
		{"claude-haiku-4-5", config.Model{Thinking: budget(1000)}, "1024"},
		{"claude-haiku-4-5", config.Model{Thinking: budget(4000), MaxOutputTokens: whole(4000)}, "model.max_output_tokens"},
		{"claude-haiku-4-5", config.Model{Thinking: effort("low"), MaxOutputTokens: whole(1500)}, "2048 or more"},
		{"claude-haiku-4-5", config.Model{Temperature: number(1.5)}, "model.temperature"},
		{"claude-haiku-4-5", config.Model{Temperature: number(0.5), TopP: number(0.5)}, "model.top_p: claude-haiku-4-5 does not take it beside"},
		{"claude-haiku-4-5", config.Model{Temperature: number(0.5), Thinking: effort("low")}, "model.temperature: it cannot be changed while"},
		{"claude-haiku-4-5", config.Model{TopK: whole(5), Thinking: effort("low")}, "model.top_k: it cannot"},
		{"claude-haiku-4-5", config.Model{TopP: number(0.9), Thinking: effort("low")}, "model.top_p: it must be 0.95"},
		{"anthropic/claude-opus-4.8", config.Model{Temperature: number(0)}, "model.temperature: anthropic/claude-opus-4.8 takes none"},
		{"claude-sonnet-6", config.Model{TopP: number(0.5)}, "takes none"},
		{"claude-sonnet-5", config.Model{TopK: whole(5)}, "model.top_k"},
		{"claude-haiku-4-5", config.Model{Stop: []string{" "}}, "model.stop"},
	}
	for _, c := range cases {
		c.cfg.Name = c.model
		_, err := anthropic.New(&c.cfg, anthropic.Deps{Lookup: environment(nil)})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.model, err, c.says)
		}
	}
	for _, c := range []config.Model{
		{Name: "claude-sonnet-4-20250514", Temperature: number(0.5), TopP: number(0.5), TopK: whole(5)},
		{Name: "claude-opus-5", Temperature: number(1)}, {Name: "claude-haiku-4-5", TopP: number(0.97), Thinking: effort("low")},
		{Name: "claude-2.1", Temperature: number(0.5), TopP: number(0.5), TopK: whole(5)},
		{Name: "kimi-k2", Thinking: budget(2000), TopK: nil}, {Name: "us.anthropic.claude-sonnet-4-5-20250929-v1:0", Temperature: number(0)},
	} {
		if _, err := anthropic.New(&c, anthropic.Deps{Lookup: environment(nil)}); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

// types lists the types of a message's blocks.
func types(m a.Message) string {
	var all []string
	for _, b := range m.Blocks {
		all = append(all, b.Type)
	}
	return strings.Join(all, " ")
}

func TestThoughtsComeBack(t *testing.T) {
	replies := func() a.Script {
		return a.Play(
			a.Stream("tool_use", a.Thought("hm <&>", "c2ln+/="), a.Redacted("ENCRYPTED"), a.Text("Let me look."), a.Call("toolu_1", "look", `{}`)),
			a.Stream("tool_use", a.Thought("", "b21pdHRlZA=="), a.Call("toolu_2", "look", `{}`)),
			a.Say("done"), a.Say("yes"))
	}
	f := start(t, replies(), called("claude-opus-5-5"))
	req := request(user("go"))
	turn := func() *model.Reply {
		t.Helper()
		o := ask(t.Context(), f, req)
		noRefusals(t, f)
		if o.err != nil {
			t.Fatal(o.err)
		}
		raw, err := json.Marshal(o.reply.Content) // as it is stored
		if err != nil {
			t.Fatal(err)
		}
		var stored genai.Content
		if err := json.Unmarshal(raw, &stored); err != nil {
			t.Fatal(err)
		}
		req.Contents = append(req.Contents, &stored)
		return o.reply
	}
	first := turn()
	if p := first.Content.Parts; len(p) != 4 || !p[0].Thought || p[0].Text != "hm <&>" || !p[1].Thought || !model.IsSigned(p[1].ThoughtSignature) {
		t.Fatalf("%+v", p)
	}
	req.Contents = append(req.Contents, results(result("toolu_1", "look", "seen")))
	turn()
	req.Contents = append(req.Contents, results(result("toolu_2", "look", "seen")))
	turn()
	sent := last(t, f).Messages
	if got := types(sent[1]); got != "thinking redacted_thinking text tool_use" || types(sent[3]) != "thinking tool_use" || *sent[3].Blocks[0].Thinking != "" {
		t.Errorf("%s, %s", got, types(sent[3]))
	}
	if last(t, f).Header.Get("Anthropic-Beta") != "thinking-binding-controls-2026-08-01" {
		t.Error("the beta of the request's members is not named")
	}

	// Another model, and one that is not to think, get none of it.
	for _, change := range []func(*config.Model){called("claude-haiku-5-5"), func(c *config.Model) { c.Name, c.Thinking = "claude-opus-4-8", effort("none") }} {
		other := start(t, a.Play(a.Say("fine")), change)
		contents := slices.Concat(req.Contents, []*genai.Content{user("and now?")})
		if o := ask(t.Context(), other, request(contents...)); o.err != nil || strings.Contains(string(last(t, other).Body), `"type":"thinking"`) {
			t.Errorf("%v: sent %s", o.err, last(t, other).Body)
		}
		noRefusals(t, other)
	}
}

// TestThinkingIsLeftOff: by budget the service wants a thought where the turn that goes
// on began.
func TestThinkingIsLeftOff(t *testing.T) {
	thought := func(name string) *genai.Part {
		return &genai.Part{Thought: true, Text: "hm", ThoughtSignature: model.Sign("anthropic", []byte(`{"model":"`+name+`","signature":"sig"}`))}
	}
	const name = "claude-haiku-4-5"
	used, seen := call("1", "look"), results(result("1", "look", "x"))
	cases := []struct {
		name     string
		contents []*genai.Content
		on       bool
	}{
		{"a new turn", []*genai.Content{user("go"), said(used), seen, said(&genai.Part{Text: "ok"}), user("more")}, true},
		{"begun by another model", []*genai.Content{user("go"), said(used), seen}, false},
		{"begun by another model of ours", []*genai.Content{user("go"), said(thought("claude-opus-5"), used), seen}, false},
		{"begun with a thought", []*genai.Content{user("go"), said(thought(name), used), seen}, true},
		{"gone on without one", []*genai.Content{user("go"), said(thought(name), used), seen, said(used), seen}, true},
		{"begun without one, gone on with one", []*genai.Content{user("go"), said(used), seen, said(thought(name), used), seen}, false},
		{"with words beside results", []*genai.Content{user("go"), said(thought(name), used), seen, user("well?"), said(used), seen}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, a.Play(a.Stream("end_turn", a.Thought("hm", "sig")), a.Say("fine")), func(cfg *config.Model) { cfg.Name, cfg.Thinking = name, effort("low") })
			ask(t.Context(), f, request(user("so that the service knows the thought")))
			o := ask(t.Context(), f, request(c.contents...))
			noRefusals(t, f)
			on := last(t, f).Thinking != nil
			if o.err != nil || on != c.on || !on && strings.Contains(string(last(t, f).Body), `"thinking"`) {
				t.Errorf("%v: sent %s", o.err, last(t, f).Body)
			}
			if logged := strings.Contains(f.logged.String(), "left off for one call"); logged == c.on {
				t.Errorf("logged %s", f.logged)
			}
		})
	}
}
