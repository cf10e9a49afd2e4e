package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/compaction"
	"github.com/adkmcp/adkmcp/internal/agent/memory"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

// watched is a model whose requests are kept.
type watched struct {
	model.Model
	mu       sync.Mutex
	requests []*model.Request
}

func (w *watched) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	w.mu.Lock()
	w.requests = append(w.requests, req)
	w.mu.Unlock()
	return w.Model.Generate(ctx, req)
}

// asked shows the requests without the ids of calls, which differ from process to
// process.
func (w *watched) asked() []string {
	var all []string
	for _, req := range w.requests {
		s := fmt.Sprintf("%s turn %d, %d tools", req.System, req.Turn, len(req.Tools))
		for _, c := range req.Contents {
			s += "\n" + c.Role + ":"
			for _, p := range c.Parts {
				switch q := *p; {
				case q.FunctionCall != nil:
					s += fmt.Sprintf(" calls %s(%v)", q.FunctionCall.Name, q.FunctionCall.Args)
				case q.FunctionResponse != nil:
					s += fmt.Sprintf(" %s gave %v", q.FunctionResponse.Name, q.FunctionResponse.Response)
				default:
					s += fmt.Sprintf(" %s %v", q.Text, q.ThoughtSignature)
				}
			}
		}
		all = append(all, s)
	}
	return all
}

func isSummary(req *model.Request) bool { return req.System == compaction.Instruction }

// texts shows a request by its texts; calls and results by the tool's name.
func texts(req *model.Request) string {
	var all []string
	for _, c := range req.Contents {
		for _, p := range c.Parts {
			switch {
			case p.FunctionCall != nil:
				all = append(all, p.FunctionCall.Name+"?")
			case p.FunctionResponse != nil:
				all = append(all, p.FunctionResponse.Name+"!")
			default:
				_, s, transcript := strings.Cut(p.Text, "\n\n")
				switch {
				case isSummary(req) && transcript:
					s = strings.Join(strings.Split(strings.TrimSpace(s), "\n"), "; ")
				case transcript:
					s = "<" + s + ">"
				default:
					s = p.Text
				}
				all = append(all, s)
			}
		}
	}
	if isSummary(req) {
		return "summarise " + strings.Join(all, " ")
	}
	return strings.Join(all, " ")
}

// counting is a model that knows from a summary how many steps of its turn it
// stands for.
type counting struct{ answers }

func (c counting) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	text := req.Contents[0].Parts[0].Text
	n := 0
	if _, s, ok := strings.Cut(text, "steps so far: "); ok {
		if _, err := fmt.Sscan(s, &n); err != nil {
			return func(yield func(*model.Reply, error) bool) { yield(nil, err) }
		}
	}
	if isSummary(req) {
		n += strings.Count(text, "\nAgent: step\n")
		_, unknown, _ := strings.Cut(text, "whether it took effect")
		if unknown != "" {
			unknown = "\nwhether it took effect is unknown"
		}
		return answers{says(fmt.Sprintf("steps so far: %d%s", n, unknown))}.Generate(ctx, req)
	}
	for _, content := range req.Contents[req.Turn:] {
		if content.Role == "model" {
			n++
		}
	}
	return answers{c.answers[min(n, len(c.answers)-1)]}.Generate(ctx, req)
}

// valid says what a service would refuse in the requests, or where the turn does
// not begin with its own message.
func valid(requests []*model.Request, opening string) string {
	for i, req := range requests {
		first := req.Contents[0]
		last := req.Contents[len(req.Contents)-1]
		switch problem := paired(req.Contents); {
		case problem != "":
			return fmt.Sprintf("request %d: %s", i, problem)
		case first.Role != "user" || first.Parts[0].FunctionResponse != nil || last.Role != "user":
			return fmt.Sprintf("request %d begins with %+v and ends with %+v", i, first, last)
		case !isSummary(req) && req.Contents[req.Turn].Parts[0].Text != opening:
			return fmt.Sprintf("request %d: the turn begins with %q", i, req.Contents[req.Turn].Parts[0].Text)
		}
		for j, c := range req.Contents {
			if c.Parts[0].FunctionResponse != nil && req.Contents[j-1].Role != "model" {
				return fmt.Sprintf("request %d: content %d answers no call", i, j)
			}
		}
	}
	return ""
}

// chat is a model that answers each request, and each request for a summary, with a
// number.
func chat() *watched {
	replies, summary := 0, 0
	return &watched{Model: answers{func(req *model.Request) (*model.Reply, error) {
		if isSummary(req) {
			summary++
			return says(fmt.Sprint("S", summary))(req)
		}
		replies++
		return says(fmt.Sprint("a", replies))(req)
	}}}
}

func TestCompactionByInterval(t *testing.T) {
	n := func(n int) *int { return &n }
	for _, tt := range []struct {
		name   string
		cfg    config.Compaction
		view   string // include_contents
		turns  int
		wanted []string
	}{
		{"plain", config.Compaction{CompactionInterval: 2}, "default", 5, []string{
			"q1", "q1 a1 q2",
			"summarise User: q1; Agent: a1; User: q2; Agent: a2", "<S1> q3", "<S1> q3 a3 q4",
			"summarise Summary of what was before: S1; User: q3; Agent: a3; User: q4; Agent: a4", "<S2> q5",
		}},
		{"overlap", config.Compaction{CompactionInterval: 2, OverlapSize: n(1)}, "default", 5, []string{
			"q1", "q1 a1 q2",
			"summarise User: q1; Agent: a1; User: q2; Agent: a2", "<S1> q3", "<S1> q3 a3 q4",
			"summarise Summary of what was before: S1; User: q2; Agent: a2; User: q3; Agent: a3; User: q4; Agent: a4", "<S2> q5",
		}},
		{"current turn only", config.Compaction{CompactionInterval: 1}, "none", 3, []string{"q1", "q2", "q3"}},
		{"tokens too", config.Compaction{CompactionInterval: 2, TokenThreshold: 1, EventRetentionSize: n(1)}, "default", 3, []string{
			"q1", "summarise User: q1; Agent: a1", "<S1> q2", "summarise Summary of what was before: S1; User: q2; Agent: a2", "<S2> q3",
		}},
	} {
		for _, again := range []bool{false, true} { // from the memo, and from the log each time
			t.Run(fmt.Sprintf("%s, again %v", tt.name, again), func(t *testing.T) {
				b, m := newBench(), chat()
				b.cfg.Compaction, b.cfg.IncludeContents = &tt.cfg, tt.view
				var log []*session.Event
				for i := range tt.turns {
					if again && i > 0 {
						transplant(t, b, encode(t, log))
					}
					events, a := take(t, t.Context(), b.runner(m), request(fmt.Sprint("q", i+1)))
					log = append(log, events...)
					if a.Problem != nil || text(a) != fmt.Sprint("a", i+1) {
						t.Fatalf("answer %+v", a)
					}
				}
				var got []string
				for _, req := range m.requests {
					got = append(got, texts(req))
				}
				if d := cmp.Diff(tt.wanted, got); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// steps is a turn of n steps with three calls each, whose requests have so many
// tokens for each content.
func steps(n int, perContent int64) counting {
	all := answers{}
	for range n {
		all = append(all, func(req *model.Request) (*model.Reply, error) {
			re, err := reply(&genai.Part{Text: "step"}, call("echo", map[string]any{"n": 1}), call("echo", map[string]any{"n": 2}), call("echo", map[string]any{"n": 3}))(req)
			re.Usage = &model.Usage{Input: perContent * int64(len(req.Contents)), Total: 10}
			return re, err
		})
	}
	return counting{append(all, says("done"))}
}

// TestCompactionByTokens: in a turn with many calls the older part is summarised
// again and again; the newest contents stay, and no call is torn from its response.
func TestCompactionByTokens(t *testing.T) {
	for _, view := range []string{"default", "none"} {
		for keep := range 7 {
			t.Run(fmt.Sprintf("%s, keeping %d", view, keep), func(t *testing.T) {
				b := newBench()
				b.cfg.Limits.MaxModelCalls, b.cfg.IncludeContents = 9, view
				b.cfg.Compaction = &config.Compaction{TokenThreshold: 700, EventRetentionSize: &keep}
				said := &kept{}
				m := &watched{Model: counting{answers{says("hi")}}}
				take(t, t.Context(), b.runner(m), request("earlier"))
				m.Model = steps(8, 100)
				r := agent.NewRunner(&b.cfg, agent.Parts{Model: m, Tools: agent.Static{newTool("echo", echo)}, Store: b.store, Now: time.Now,
					NewID: func() string { return fmt.Sprint(b.ids.Add(1)) }, Log: slog.New(slog.DiscardHandler), Memory: said})
				events, a := take(t, t.Context(), r, request("go"))
				if a.Problem != nil || text(a) != "done" {
					t.Fatalf("answer %+v", a)
				}
				if problem := valid(m.requests[1:], "go"); problem != "" {
					t.Error(problem)
				}
				summaries, most := 0, 0
				for i, req := range m.requests[1:] {
					if isSummary(req) {
						summaries++
						if view == "none" && strings.Contains(texts(req), "earlier") {
							t.Errorf("another turn is in the summary: %s", texts(req))
						}
						after, before := m.requests[i+2].Contents, m.requests[i].Contents
						newest := min(keep, len(before)+1) // with what the step has added
						if len(after)-2 < newest {
							t.Errorf("only %d contents stay", len(after)-2)
						}
						continue
					}
					most = max(most, len(req.Contents))
				}
				if want := int64(9*10 + summaries*10); summaries == 0 || most > 8+2 || a.Usage.Total != want || len(a.Steps) != 9+summaries {
					t.Errorf("%d summaries, at most %d contents, usage %+v in %d steps", summaries, most, a.Usage, len(a.Steps))
				}
				if d := cmp.Diff([]string{"go", "done"}, said.texts); d != "" {
					t.Errorf("remembered: %s", d)
				}
				for _, e := range events {
					if e.Kind == session.Compacted && e.Compaction.TurnOnly != (view == "none") {
						t.Errorf("summary %+v", e.Compaction)
					}
				}
				m.requests = nil
				m.Model = counting{answers{says("hi")}}
				if take(t, t.Context(), b.runner(m), request("after")); view == "none" && texts(m.requests[0]) != "after" {
					t.Errorf("the next turn sees %s", texts(m.requests[0]))
				}
			})
		}
	}
}

// kept is a memory that keeps texts.
type kept struct {
	memory.Service
	texts []string
}

func (k *kept) Add(_ context.Context, entries ...memory.Entry) error {
	for _, e := range entries {
		k.texts = append(k.texts, e.Text)
	}
	return nil
}

// TestSummaryFails: the turn goes on with all contents and does not ask for another
// summary; the next turn does.
func TestSummaryFails(t *testing.T) {
	for name, fails := range map[string]func(*model.Request) (*model.Reply, error){
		"error": func(*model.Request) (*model.Reply, error) {
			return nil, &model.Error{Code: model.Unavailable, Message: "down"}
		},
		"unknown":   func(*model.Request) (*model.Reply, error) { return nil, errors.New("a secret place") },
		"empty":     func(*model.Request) (*model.Reply, error) { return &model.Reply{}, nil },
		"no text":   reply(call("echo", nil)),
		"suspended": func(*model.Request) (*model.Reply, error) { return &model.Reply{Suspend: &model.Suspension{}}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			b, newest := newBench(), 1
			b.cfg.Compaction = &config.Compaction{CompactionInterval: 1, TokenThreshold: 1, EventRetentionSize: &newest}
			m := &watched{Model: answers{says("hi")}}
			first, _ := take(t, t.Context(), b.runner(m), request("before"))
			m.requests = nil
			m.Model = answers{
				func(req *model.Request) (*model.Reply, error) {
					if isSummary(req) {
						return fails(req)
					}
					return reply(call("echo", nil))(req)
				},
				says("done"),
			}
			var notices []string
			var events []*session.Event
			a, err := answer.Collect(b.runner(m, newTool("echo", echo)).Run(t.Context(), request("go")), func(e *session.Event) {
				if e.Kind == session.Notice {
					notices = append(notices, e.Text)
				} else {
					events = append(events, e)
				}
			})
			if err != nil || a.Problem != nil || text(a) != "done" {
				t.Fatalf("%v, answer %+v", err, a)
			}
			var got []string
			for _, req := range m.requests {
				got = append(got, texts(req))
			}
			if d := cmp.Diff([]string{"summarise User: before; Agent: hi", "before hi go", "before hi go echo? echo!"}, got); d != "" {
				t.Error(d)
			}
			if len(notices) != 2 || !strings.HasPrefix(notices[1], "the older part could not be summarised, the turn goes on with all of it: ") || strings.Contains(notices[1], "secret") {
				t.Errorf("notices %q", notices)
			}
			if name == "no text" && a.Usage.Total != 30 {
				t.Errorf("usage %+v", a.Usage)
			}
			// In a new process it is not tried again either, and the next turn tries.
			at := slices.IndexFunc(events, func(e *session.Event) bool { return e.Kind == session.Compacted })
			transplant(t, b, encode(t, append(first, events[:at+1]...)))
			m.requests = nil
			take(t, t.Context(), b.runner(m, newTool("echo", echo)), agent.Turn{Key: key})
			take(t, t.Context(), b.runner(m, newTool("echo", echo)), request("next"))
			if len(m.requests) < 3 || isSummary(m.requests[0]) || isSummary(m.requests[1]) || !isSummary(m.requests[2]) {
				t.Errorf("%d requests", len(m.requests))
			}
		})
	}
}

// TestContextOverflow: a request that is too long is shortened once a step.
func TestContextOverflow(t *testing.T) {
	const hint = "; start a new conversation"
	six, ten := 6, 10
	byInterval := &config.Compaction{CompactionInterval: 100}
	for _, tt := range []struct {
		name    string
		cfg     *config.Compaction
		takes   int // contents, those of a summary apart
		window  int // tokens
		fails   bool
		want    string // the problem's end; empty for none
		summary int
	}{
		{name: "fits", takes: 20},
		{name: "no compaction", takes: 6, want: "too long" + hint + ", or set events_compaction_config in the agent file"},
		{name: "half", cfg: byInterval, takes: 6, summary: 4},
		{name: "newest", cfg: &config.Compaction{TokenThreshold: 1e9, EventRetentionSize: &six}, takes: 8, summary: 3},
		{name: "twice in a step", cfg: &config.Compaction{TokenThreshold: 1e9, EventRetentionSize: &ten}, takes: 11, want: "too long" + hint, summary: 1},
		{name: "nothing left", cfg: byInterval, takes: 2, want: "too long" + hint},
		{name: "no summary", cfg: byInterval, takes: 6, fails: true, want: "too long" + hint, summary: 1},
		{name: "window", takes: 20, window: 1000, want: "tokens, model.context_window is 1000" + hint + ", or set events_compaction_config in the agent file"},
		{name: "window, half", cfg: byInterval, takes: 20, window: 1000, summary: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench()
			b.cfg.Compaction, b.cfg.Model.ContextWindow = tt.cfg, tt.window
			inner := steps(6, 100)
			refused := 0
			m := &watched{}
			m.Model = model.Model(generates(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
				long := !isSummary(req) && len(req.Contents) > tt.takes
				if !long && (!tt.fails || !isSummary(req)) {
					return inner.Generate(ctx, req)
				}
				refused++
				return func(yield func(*model.Reply, error) bool) {
					yield(nil, fmt.Errorf("model call: %w", &model.Error{Code: model.ContextOverflow, Message: "too long"}))
				}
			}))
			var asked model.Model = m
			if tt.window > 0 {
				asked = model.Windowed(m, int64(tt.window), 0)
			}
			_, a := take(t, t.Context(), b.runner(asked, newTool("echo", echo)), request("go"))
			if problem := valid(m.requests, "go"); problem != "" {
				t.Error(problem)
			}
			summaries := 0
			for _, req := range m.requests {
				if isSummary(req) {
					summaries++
				}
			}
			if summaries != tt.summary {
				t.Errorf("%d summaries, want %d", summaries, tt.summary)
			}
			if tt.window > 0 && refused > 0 {
				t.Errorf("%d requests were sent in vain", refused)
			}
			switch {
			case tt.want == "" && (a.Problem != nil || text(a) != "done"):
				t.Errorf("answer %+v, problem %+v", a, a.Problem)
			case tt.want != "" && (a.Problem == nil || a.Problem.Code != string(model.ContextOverflow) || !strings.HasSuffix(a.Problem.Message, tt.want)):
				t.Errorf("problem %+v, want %q", a.Problem, tt.want)
			}
		})
	}
}

// TestWindowOfTheTurnAlone: with include_contents none the tokens of another turn do
// not count.
func TestWindowOfTheTurnAlone(t *testing.T) {
	b := newBench()
	b.cfg.Model.ContextWindow, b.cfg.IncludeContents = 1000, "none"
	b.cfg.Compaction = &config.Compaction{CompactionInterval: 1}
	r := b.runner(answers{func(req *model.Request) (*model.Reply, error) {
		re, err := says("hi")(req)
		re.Usage.Input = 5000
		return re, err
	}})
	for _, text := range []string{"one", "two"} {
		if _, a := take(t, t.Context(), r, request(text)); a.Problem != nil {
			t.Errorf("%s: problem %+v", text, a.Problem)
		}
	}
}

// TestAnsweredRequestStays: a request that comes again with an answer is the same
// one, whatever would be summarised by now.
func TestAnsweredRequestStays(t *testing.T) {
	b := newBench()
	m := &watched{Model: answers{says("hi")}}
	for _, text := range []string{"one", "two"} {
		take(t, t.Context(), b.runner(m), request(text))
	}
	m.requests = nil
	m.Model = answers{func(req *model.Request) (*model.Reply, error) {
		if req.Answer == nil {
			return &model.Reply{Suspend: &model.Suspension{Kind: model.Sampling}}, nil
		}
		return nil, &model.Error{Code: model.ContextOverflow, Message: "too long"}
	}}
	take(t, t.Context(), b.runner(m), request("three"))
	b.cfg.Compaction = &config.Compaction{CompactionInterval: 1}
	_, a := take(t, t.Context(), b.runner(m), agent.Turn{Key: key, Answers: []session.Answer{{Action: model.Accept}}})
	if len(m.requests) != 2 || texts(m.requests[0]) != texts(m.requests[1]) || a.Problem == nil {
		t.Errorf("%d requests, problem %+v", len(m.requests), a.Problem)
	}
}

// generates is a model that is a function.
type generates func(context.Context, *model.Request) iter.Seq2[*model.Reply, error]

func (g generates) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	return g(ctx, req)
}

// TestCompactionIsStopped: who stops the turn while a summary is made stops it all,
// and nothing is taken away.
func TestCompactionIsStopped(t *testing.T) {
	b := newBench()
	b.cfg.Compaction = &config.Compaction{CompactionInterval: 1}
	ctx, cancel := context.WithCancel(t.Context())
	m := &watched{Model: answers{func(req *model.Request) (*model.Reply, error) {
		if isSummary(req) {
			cancel()
			return nil, context.Canceled
		}
		return says("hi")(req)
	}}}
	take(t, ctx, b.runner(m), request("one"))
	events, a := take(t, ctx, b.runner(m), request("two"))
	if a.Problem == nil || a.Problem.Message != "the turn was stopped while summarising the conversation" || slices.Contains(kinds(events), session.Compacted) {
		t.Errorf("problem %+v, events %v", a.Problem, kinds(events))
	}
}

// TestModelCallsAreLogged: a line for each model call and for the end of the turn,
// at debug level and without what was said.
func TestModelCallsAreLogged(t *testing.T) {
	var out strings.Builder
	b := newBench()
	b.cfg.Model = config.Model{Provider: "gemini", Name: "flash"}
	run := func(level slog.Level) []map[string]any {
		out.Reset()
		_ = b.store.Delete(t.Context(), key)
		failed := false
		r := agent.NewRunner(&b.cfg, agent.Parts{Store: b.store, Now: time.Now, NewID: func() string { return "7" },
			Log: slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: level})),
			Model: answers{func(req *model.Request) (*model.Reply, error) {
				if !failed {
					failed = true
					return &model.Reply{Content: &genai.Content{Role: "model", Parts: []*genai.Part{{Text: "hush", Thought: true}}}, FinishReason: "STOP",
						Usage: &model.Usage{Input: 5, Output: 2, Thoughts: 1, Cached: 4, Total: 8, Cost: 0.5}}, nil
				}
				return nil, &model.Error{Code: model.Unavailable, Message: "down"}
			}}})
		take(t, t.Context(), r, request("secret"))
		var lines []map[string]any
		for line := range strings.Lines(out.String()) {
			var v map[string]any
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatal(err)
			}
			delete(v, "time")
			delete(v, "duration")
			lines = append(lines, v)
		}
		return lines
	}
	want := []map[string]any{
		{"level": "DEBUG", "msg": "model call ends", "agent": "tester", "invocation": "e-7", "step": 1.0, "model": "gemini/flash",
			"finish_reason": "STOP", "input": 5.0, "cached": 4.0, "output": 3.0, "cost": 0.5},
		{"level": "DEBUG", "msg": "model call ends", "agent": "tester", "invocation": "e-7", "step": 2.0, "error": "down"},
		{"level": "DEBUG", "msg": "turn ends", "agent": "tester", "invocation": "e-7", "steps": 1.0, "tokens": 8.0, "cost": 0.5, "problem": "unavailable"},
	}
	if d := cmp.Diff(want, run(slog.LevelDebug)); d != "" {
		t.Error(d)
	}
	if lines := run(slog.LevelInfo); lines != nil {
		t.Errorf("at info level: %v", lines)
	}
}
