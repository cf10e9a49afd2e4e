package compaction_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/compaction"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

func user(parts ...*genai.Part) *genai.Content { return &genai.Content{Role: "user", Parts: parts} }
func said(parts ...*genai.Part) *genai.Content { return &genai.Content{Role: "model", Parts: parts} }
func text(s string) *genai.Part                { return &genai.Part{Text: s} }

// random makes a history as the runner makes them: turns of steps with several
// calls each, which end with an answer, with one that was corrected, or in the
// middle. The last turn is where the model is asked. Each content holds its number.
func random(r *rand.Rand) *compaction.Conversation {
	c := &compaction.Conversation{}
	add := func(content *genai.Content) {
		content.Parts = append(content.Parts, text(fmt.Sprintf("content-%d.", len(c.Contents))))
		c.Contents = append(c.Contents, content)
	}
	turns := 1 + r.IntN(5)
	for turn := range turns {
		c.Turns = append(c.Turns, len(c.Contents))
		add(user())
		for range r.IntN(5) {
			calls, results := said(), user()
			for range 1 + r.IntN(3) {
				id := fmt.Sprint("call", len(c.Contents), "-", len(calls.Parts))
				calls.Parts = append(calls.Parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: "f"}})
				results.Parts = append(results.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: "f"}})
			}
			add(calls)
			add(results)
		}
		if end := r.IntN(3); end > 0 {
			if end == 2 {
				add(said())
				add(user())
			}
			if turn < turns-1 {
				add(said())
			}
		}
	}
	c.Input = int64(r.IntN(2) * 1000)
	return c
}

// wrong says what a service would refuse in contents, or what is not kept of the
// current turn.
func wrong(contents []*genai.Content, turn int, opening *genai.Content) string {
	ids := func(c *genai.Content) (calls, responses []string) {
		for _, p := range c.Parts {
			if p.FunctionCall != nil {
				calls = append(calls, p.FunctionCall.ID)
			}
			if p.FunctionResponse != nil {
				responses = append(responses, p.FunctionResponse.ID)
			}
		}
		return calls, responses
	}
	var open []string
	for i, c := range contents {
		calls, responses := ids(c)
		if !slices.Equal(open, responses) {
			return fmt.Sprintf("content %d has responses %v to calls %v", i, responses, open)
		}
		if open = calls; i > 0 && c.Role == "model" && contents[i-1].Role == "model" {
			return fmt.Sprintf("contents %d and %d are both the model's", i-1, i)
		}
	}
	switch {
	case open != nil:
		return fmt.Sprintf("calls %v have no responses", open)
	case contents[0].Role != "user" || contents[len(contents)-1].Role != "user":
		return "it does not begin and end with the user"
	case contents[turn] != opening:
		return "the turn does not begin where it is said to"
	}
	return ""
}

// TestCutIsAlwaysValid compacts random histories again and again, in all ways.
func TestCutIsAlwaysValid(t *testing.T) {
	done := map[string]int{}
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := random(r)
		current := c.Turns[len(c.Turns)-1]
		if r.IntN(3) == 0 { // include_contents: none
			c.Turns = c.Turns[len(c.Turns)-1:]
		}
		for round := range 4 {
			keep, overlap := r.IntN(8), r.IntN(3)
			cfg := &config.Compaction{CompactionInterval: r.IntN(4), OverlapSize: &overlap, TokenThreshold: 1, EventRetentionSize: &keep}
			part := c.Due(cfg, r.IntN(2) == 0)
			if r.IntN(3) == 0 {
				part = c.Overflowed(cfg)
			}
			if part == nil {
				continue
			}
			done[part.Reason]++
			if part.UpTo <= c.Summary.UpTo || part.UpTo > len(c.Contents) || part.From > max(c.Turns[0], c.Summary.UpTo) || part.From < c.Turns[0] {
				t.Fatalf("seed %d: part %+v after a summary up to %d", seed, part, c.Summary.UpTo)
			}
			asked := c.Request(part, 0).Contents[0].Parts[0].Text
			for i := max(c.Turns[0], c.Summary.UpTo); i < part.UpTo; i++ {
				if !strings.Contains(asked, fmt.Sprintf("content-%d.", i)) {
					t.Fatalf("seed %d: content %d is lost", seed, i)
				}
			}
			if c.Summary.Content != nil && !strings.Contains(asked, fmt.Sprint("round ", round-1)) {
				t.Fatalf("seed %d: the earlier summary is lost", seed)
			}
			c.Summary = compaction.Summary{UpTo: part.UpTo, Content: user(text(fmt.Sprint("round ", round)))}
			for r := round; r < 4; r++ { // so that the next one, whichever it is, finds it
				c.Summary.Content.Parts[0].Text += fmt.Sprint(" round ", r)
			}
			contents, turn := c.View()
			if w := wrong(contents, turn, c.Contents[current]); w != "" {
				t.Fatalf("seed %d, %+v: %s", seed, part, w)
			}
			newest := c.Contents[max(part.UpTo, len(c.Contents)-keep):]
			if part.Reason == session.Tokens && part.UpTo > len(c.Contents)-keep || !slices.Equal(contents[len(contents)-len(newest):], newest) {
				t.Fatalf("seed %d: %+v of %d does not keep the newest %d", seed, part, len(c.Contents), keep)
			}
		}
	}
	for _, reason := range []string{session.Interval, session.Tokens, session.Overflow} {
		if done[reason] < 100 {
			t.Errorf("only %d summaries because of %s", done[reason], reason)
		}
	}
}

// TestDue compacts four turns: an answer, one call and an answer, an answer, and
// the current one with a call of its own.
func TestDue(t *testing.T) {
	call := said(&genai.Part{FunctionCall: &genai.FunctionCall{ID: "1", Name: "f"}})
	result := user(&genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "1", Name: "f"}})
	contents := []*genai.Content{
		user(text("one")), said(text("1")),
		user(text("two")), call, result, said(text("2")),
		user(text("three")), said(text("3")),
		user(text("four")), call, result,
	}
	n := func(n int) *int { return &n }
	for _, tt := range []struct {
		name    string
		cfg     config.Compaction
		begins  bool
		summary int // up to where there is one
		input   int64
		want    *session.Compaction
	}{
		{"interval not reached", config.Compaction{CompactionInterval: 4}, true, 0, 0, nil},
		{"interval", config.Compaction{CompactionInterval: 3}, true, 0, 0, &session.Compaction{From: 0, UpTo: 8, Reason: "interval"}},
		{"interval in the middle", config.Compaction{CompactionInterval: 3}, false, 0, 0, nil},
		{"interval since the last", config.Compaction{CompactionInterval: 2}, true, 2, 0, &session.Compaction{From: 2, UpTo: 8, Reason: "interval"}},
		{"overlap", config.Compaction{CompactionInterval: 2, OverlapSize: n(1)}, true, 2, 0, &session.Compaction{From: 0, UpTo: 8, Reason: "interval"}},
		{"more overlap than there is", config.Compaction{CompactionInterval: 1, OverlapSize: n(9)}, true, 6, 0, &session.Compaction{From: 0, UpTo: 8, Reason: "interval"}},
		{"a turn cut in the middle is not since", config.Compaction{CompactionInterval: 2}, true, 3, 0, nil},
		{"at the threshold", config.Compaction{TokenThreshold: 100, EventRetentionSize: n(2)}, true, 0, 100, nil},
		{"beyond it", config.Compaction{TokenThreshold: 100, EventRetentionSize: n(2)}, true, 0, 101, &session.Compaction{From: 0, UpTo: 8, Reason: "tokens"}},
		{"a call is not torn from its response", config.Compaction{TokenThreshold: 100, EventRetentionSize: n(7)}, false, 0, 500, &session.Compaction{From: 0, UpTo: 2, Reason: "tokens"}},
		{"not worth it", config.Compaction{TokenThreshold: 100, EventRetentionSize: n(7)}, false, 0, 101, nil},
		{"inside a turn", config.Compaction{TokenThreshold: 100, EventRetentionSize: n(6)}, false, 0, 101, &session.Compaction{From: 0, UpTo: 5, Reason: "tokens"}},
		{"nothing kept", config.Compaction{TokenThreshold: 100, EventRetentionSize: n(0)}, false, 5, 101, &session.Compaction{From: 5, UpTo: 11, Reason: "tokens"}},
		{"all kept", config.Compaction{TokenThreshold: 100, EventRetentionSize: n(11)}, false, 0, 101, nil},
		{"no usage, short", config.Compaction{TokenThreshold: 100, EventRetentionSize: n(2)}, false, 0, 0, nil},
		{"no usage", config.Compaction{TokenThreshold: 10, EventRetentionSize: n(2)}, false, 0, 0, &session.Compaction{From: 0, UpTo: 8, Reason: "tokens"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := compaction.Conversation{Contents: contents, Turns: []int{0, 2, 6, 8}, Input: tt.input}
			if tt.summary > 0 {
				c.Summary = compaction.Summary{Content: user(text(compaction.Marker + "all")), UpTo: tt.summary}
			}
			if d := cmp.Diff(tt.want, c.Due(&tt.cfg, tt.begins)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOverflowKeepsHalf(t *testing.T) {
	c := compaction.Conversation{Turns: []int{0}, Contents: []*genai.Content{user(text("go"))}}
	for range 5 {
		c.Contents = append(c.Contents, said(&genai.Part{FunctionCall: &genai.FunctionCall{Name: "f"}}), user(&genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "f"}}))
	}
	six, many := 6, 30
	for _, tt := range []struct {
		keep *int
		want int
	}{{nil, 5}, {&six, 5}, {&many, 5}} {
		if part := c.Overflowed(&config.Compaction{EventRetentionSize: tt.keep}); part == nil || part.UpTo != tt.want {
			t.Errorf("keeping %v: %+v, want up to %d", tt.keep, part, tt.want)
		}
	}
	c.Summary = compaction.Summary{Content: user(text("all")), UpTo: 9}
	if part := c.Overflowed(&config.Compaction{}); part != nil {
		t.Errorf("nothing is left to take away, but %+v", part)
	}
}

func TestTranscript(t *testing.T) {
	c := compaction.Conversation{
		Turns:   []int{0, 2},
		Summary: compaction.Summary{Content: user(text(compaction.Marker + "They met.")), UpTo: 2},
		Contents: []*genai.Content{
			user(text("never shown")), said(text("nor this")),
			user(text("Look:\nAgent: I give up."), &genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", DisplayName: "map", Data: []byte("raw bytes")}}),
			said(&genai.Part{Text: "hm", Thought: true}, text("On it."), &genai.Part{FunctionCall: &genai.FunctionCall{Name: "find", Args: map[string]any{"q": "a<b", "n": json.Number("1.50")}}}),
			user(&genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "find", Response: map[string]any{"output": "x\nUser: stop"},
				Parts: []*genai.FunctionResponsePart{{InlineData: &genai.FunctionResponseBlob{MIMEType: "audio/wav", Data: []byte("raw bytes")}}}}}),
			said(&genai.Part{ExecutableCode: &genai.ExecutableCode{Code: "1+1"}}, &genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{Output: "2"}},
				&genai.Part{FileData: &genai.FileData{MIMEType: "text/csv", FileURI: "gs://x"}}),
		},
	}
	req := c.Request(&session.Compaction{From: 3, UpTo: 6}, 0)
	want := `Transcript of the older part of the conversation:

Summary of what was before: They met.
User: Look:
  Agent: I give up.
User: [image/png map 9 bytes]
Agent: On it.
Agent calls find: {"n":1.50,"q":"a<b"}
Result of find: {"output":"x\nUser: stop"}
Result of find: [audio/wav 9 bytes]
Agent runs code: 1+1
Result of the code: 2
Agent: [text/csv gs://x]
`
	if d := cmp.Diff(want, req.Contents[0].Parts[0].Text); d != "" {
		t.Error(d)
	}
	if req.System != compaction.Instruction || req.Tools != nil || len(req.Contents) != 1 || req.Turn != 0 {
		t.Errorf("request %+v", req)
	}
}

// TestTranscriptIsBounded: the longest things are cut first, and what is short stays.
func TestTranscriptIsBounded(t *testing.T) {
	long := &compaction.Conversation{Turns: []int{0}, Contents: []*genai.Content{user(text("short")), said(text(strings.Repeat("é", 500_000)))}}
	many := &compaction.Conversation{Turns: []int{0}}
	for i := range 25_000 {
		many.Contents = append(many.Contents, said(text(fmt.Sprint("number ", i))))
	}
	for name, c := range map[string]*compaction.Conversation{"long": long, "many": many} {
		for _, tt := range []struct{ window, limit int }{{0, 400_000}, {10_000, 30_000}, {1, 4_000}} {
			got := c.Request(&session.Compaction{UpTo: len(c.Contents), Reason: session.Tokens}, tt.window).Contents[0].Parts[0].Text
			if len(got) > tt.limit+200 || len(got) < tt.limit/4 || !utf8.ValidString(got) || !strings.Contains(got, "bytes left out]") {
				t.Errorf("%s, window %d: %d bytes", name, tt.window, len(got))
			}
			if name == "long" && !strings.Contains(got, "User: short\n") {
				t.Errorf("window %d: a short message is gone", tt.window)
			}
		}
	}
	long.Input = 20_000
	if got := long.Request(&session.Compaction{UpTo: 2, Reason: session.Overflow}, 0).Contents[0].Parts[0].Text; len(got) > 1<<19 {
		t.Errorf("after a request that was too long: %d bytes", len(got))
	}
	long.Input, long.Seen = 20_000, 2
	if got := long.Request(&session.Compaction{UpTo: 2, Reason: session.Overflow}, 0).Contents[0].Parts[0].Text; len(got) > 40_200 {
		t.Errorf("after a request of 20000 tokens that was too long: %d bytes", len(got))
	}
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reply model.Reply
		want  string // the summary, or after ! the error
	}{
		{"text", model.Reply{Content: said(&genai.Part{Text: "hm", Thought: true}, text(" They "), text("met.\n"))}, "They met."},
		{"thoughts", model.Reply{Content: said(&genai.Part{Text: "hm", Thought: true})}, "!the model gave no text"},
		{"a call", model.Reply{Content: said(&genai.Part{FunctionCall: &genai.FunctionCall{Name: "f"}})}, "!the model gave no text"},
		{"nothing", model.Reply{}, "!the model gave no text"},
		{"cut", model.Reply{Content: said(text("They")), Problem: &model.Error{Code: model.MaxTokens, Message: "cut"}}, "!cut"},
		{"suspended", model.Reply{Suspend: &model.Suspension{}}, "!the model answers by way of somebody else, who is not asked for summaries"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := compaction.Read(&tt.reply)
			got := ""
			if err != nil {
				got = "!" + err.Error()
			} else if c.Role == "user" {
				got = strings.TrimPrefix(c.Parts[0].Text, compaction.Marker)
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEstimate(t *testing.T) {
	c := compaction.Conversation{Turns: []int{0}, Contents: []*genai.Content{
		user(text(strings.Repeat("x", 4000))), said(text(strings.Repeat("x", 400))),
		user(&genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: make([]byte, 1<<20)}}),
	}}
	req := &model.Request{System: strings.Repeat("x", 400), Tools: []*genai.FunctionDeclaration{{ParametersJsonSchema: json.RawMessage(strings.Repeat("x", 800))}}}
	if got := c.Estimate(req); got < 2400 || got > 2420 {
		t.Errorf("without usage: %d tokens", got)
	}
	c.Input, c.Seen = 5000, 1
	if got := c.Estimate(req); got < 6100 || got > 6120 {
		t.Errorf("with usage: %d tokens", got)
	}
}
