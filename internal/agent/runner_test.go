package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

func TestToolLoop(t *testing.T) {
	b := newBench()
	slow := newTool("slow", nil)
	release := make(chan struct{})
	slow.do = func(ctx context.Context, c *agent.Call) (*agent.Result, error) {
		<-release // ends only once the other one runs: calls of a step run at the same time
		return echo(ctx, c)
	}
	fast := newTool("fast", func(ctx context.Context, c *agent.Call) (*agent.Result, error) {
		close(release)
		return echo(ctx, c)
	})
	var seen []*genai.Content
	r := b.runner(answers{
		reply(&genai.Part{Text: "Working."}, call("slow", map[string]any{"n": 1}), call("fast", nil)),
		func(req *model.Request) (*model.Reply, error) { seen = req.Contents; return says("Done.")(req) },
	}, slow, fast)
	events, a := take(t, t.Context(), r, request("go"))
	if text(a) != "Done." || a.Problem != nil || a.Usage.Total != 20 {
		t.Errorf("answer %+v", a)
	}
	want := []session.Kind{session.UserMessage, session.ModelReply, session.ToolStarted, session.ToolStarted,
		session.ToolFinished, session.ToolFinished, session.ModelReply, session.TurnEnded}
	if d := cmp.Diff(want, kinds(events)); d != "" {
		t.Error(d)
	}
	if len(seen) != 3 || len(seen[2].Parts) != 2 {
		t.Fatalf("second request has contents %v", seen)
	}
	for i, want := range []string{`slow got {"n":1}`, `fast got {}`} {
		if got := seen[2].Parts[i].FunctionResponse.Response["output"]; got != want {
			t.Errorf("response %d is %q, want %q", i, got, want)
		}
		if seen[1].Parts[i+1].FunctionCall.ID != seen[2].Parts[i].FunctionResponse.ID {
			t.Errorf("response %d has another id than its call", i)
		}
	}
}

func TestSecondTurnSeesFirst(t *testing.T) {
	b := newBench()
	var seen int
	r := b.runner(answers{func(req *model.Request) (*model.Reply, error) { seen = len(req.Contents); return says("ok")(req) }})
	take(t, t.Context(), r, request("one"))
	take(t, t.Context(), r, request("two"))
	if seen != 3 {
		t.Errorf("the second turn saw %d contents, want 3", seen)
	}
	b.cfg.IncludeContents = "none"
	take(t, t.Context(), b.runner(answers{func(req *model.Request) (*model.Reply, error) { seen = len(req.Contents); return says("ok")(req) }}), request("three"))
	if seen != 1 {
		t.Errorf("include_contents none showed %d contents, want 1", seen)
	}
}

func TestWhatToolsDoWrong(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		call       *genai.Part
	}{
		{"failure", "no such issue", call("fails", nil)},
		{"panic", "internal error", call("panics", nil)},
		{"unknown", `there is no tool "nope"; the tools are: breaks, empty, fails, panics`, call("nope", nil)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, response := afterCall(t, tt.call)
			if a.Problem != nil || text(a) != "went on" {
				t.Errorf("the turn did not go on: %+v", a)
			}
			if got := fmt.Sprint(response.Response["error"]); !strings.Contains(got, tt.want) {
				t.Errorf("the model read %q, want %q", got, tt.want)
			}
		})
	}
	for _, name := range []string{"breaks", "empty"} {
		t.Run("operator's error ends the turn: "+name, func(t *testing.T) {
			a, _ := afterCall(t, call(name, nil))
			// What went wrong is for the log; a caller may be anybody.
			if a.Problem == nil || a.Problem.Code != session.InternalError || a.Problem.Message != "an internal error while running "+name+"; the server's log says more" {
				t.Errorf("problem %+v", a.Problem)
			}
		})
	}
}

func afterCall(t *testing.T, c *genai.Part) (*answer.Answer, *genai.FunctionResponse) {
	var response *genai.FunctionResponse
	r := newBench().runner(answers{reply(c), func(req *model.Request) (*model.Reply, error) {
		response = req.Contents[len(req.Contents)-1].Parts[0].FunctionResponse
		return says("went on")(req)
	}},
		newTool("fails", func(context.Context, *agent.Call) (*agent.Result, error) { return agent.Failure("no such issue"), nil }),
		newTool("panics", func(context.Context, *agent.Call) (*agent.Result, error) { panic("boom") }),
		newTool("breaks", func(context.Context, *agent.Call) (*agent.Result, error) { return nil, errors.New("no disk") }),
		newTool("empty", func(context.Context, *agent.Call) (*agent.Result, error) { return nil, nil }),
	)
	_, a := take(t, t.Context(), r, request("go"))
	return a, response
}

func TestLimits(t *testing.T) {
	loop := answers{reply(call("echo", nil))}
	for _, tt := range []struct {
		name string
		set  func(*config.Limits)
		want string
	}{
		{"model calls", func(l *config.Limits) { l.MaxModelCalls = 3 }, "limits.max_model_calls (3)"},
		{"tokens", func(l *config.Limits) { l.MaxTotalTokens = 25 }, "used 30 tokens, limits.max_total_tokens is 25"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench()
			tt.set(&b.cfg.Limits)
			_, a := take(t, t.Context(), b.runner(loop, newTool("echo", echo)), request("go"))
			if a.Problem == nil || a.Problem.Code != session.LimitReached || !strings.Contains(a.Problem.Message, tt.want) {
				t.Errorf("problem %+v, want %q", a.Problem, tt.want)
			}
		})
	}
	t.Run("time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench()
			start := time.Now()
			wait := newTool("wait", func(ctx context.Context, _ *agent.Call) (*agent.Result, error) { <-ctx.Done(); return nil, ctx.Err() })
			_, a := take(t, t.Context(), b.runner(answers{reply(call("wait", nil))}, wait), request("go"))
			if a.Problem == nil || a.Problem.Message != "the turn reached limits.timeout (1m0s) while running wait" {
				t.Errorf("problem %+v", a.Problem)
			}
			if took := time.Since(start); took != time.Minute {
				t.Errorf("took %v", took)
			}
		})
	})
	t.Run("thoughts", func(t *testing.T) {
		b := newBench()
		b.cfg.Limits.MaxModelCalls = 50
		events, a := take(t, t.Context(), b.runner(answers{reply(&genai.Part{Text: "hm", Thought: true})}), request("go"))
		if a.Problem == nil || a.Problem.Code != string(model.Empty) || len(events) != 12 {
			t.Errorf("problem %+v after %d events", a.Problem, len(events))
		}
	})
}

// TestBudgets: the call that reaches a limit may go beyond it, and none is made
// after it. Each call has 10 tokens and costs $0.25, and so does each tool.
func TestBudgets(t *testing.T) {
	priced := func(f func(*model.Request) (*model.Reply, error)) func(*model.Request) (*model.Reply, error) {
		return func(req *model.Request) (*model.Reply, error) {
			re, err := f(req)
			re.Usage.Cost = 0.25
			return re, err
		}
	}
	asks := newTool("asks", func(context.Context, *agent.Call) (*agent.Result, error) {
		return &agent.Result{Output: "x", Usage: &model.Usage{Total: 10, Cost: 0.25}}, nil
	})
	for _, tt := range []struct {
		name   string
		set    func(*config.Limits)
		calls  []int // of each turn that the model is asked for
		tokens int64 // of all
		want   string
	}{
		{"tokens", func(l *config.Limits) { l.MaxTotalTokens = 40 }, []int{2, 2}, 80, "the turn used 40 tokens, limits.max_total_tokens is 40"},
		{"a token more", func(l *config.Limits) { l.MaxTotalTokens = 41 }, []int{3, 3}, 120, "the turn used 60 tokens, limits.max_total_tokens is 41"},
		{"cost", func(l *config.Limits) { l.MaxCost = 1 }, []int{2, 2}, 80, "the turn cost $1, limits.max_cost is $1"},
		{"a cent more", func(l *config.Limits) { l.MaxCost = 1.01 }, []int{3, 3}, 120, "the turn cost $1.5, limits.max_cost is $1.01"},
		{"conversation's tokens", func(l *config.Limits) { l.MaxConversationTokens = 80; l.MaxModelCalls = 3 }, []int{3, 1, 0}, 80,
			"the conversation used 80 tokens, limits.max_conversation_tokens is 80; start a new conversation"},
		{"a token more in the conversation", func(l *config.Limits) { l.MaxConversationTokens = 81; l.MaxModelCalls = 3 }, []int{3, 2, 0}, 100,
			"the conversation used 100 tokens, limits.max_conversation_tokens is 81; start a new conversation"},
		{"conversation's cost", func(l *config.Limits) { l.MaxConversationCost = 2; l.MaxModelCalls = 3 }, []int{3, 1, 0}, 80,
			"the conversation cost $2, limits.max_conversation_cost is $2; start a new conversation"},
		{"a cent more in the conversation", func(l *config.Limits) { l.MaxConversationCost = 2.01; l.MaxModelCalls = 3 }, []int{3, 2, 0}, 100,
			"the conversation cost $2.5, limits.max_conversation_cost is $2.01; start a new conversation"},
	} {
		for _, again := range []bool{false, true} { // from the memo, and from the log each time
			t.Run(fmt.Sprintf("%s, again %v", tt.name, again), func(t *testing.T) {
				b := newBench()
				tt.set(&b.cfg.Limits)
				m := &watched{Model: answers{priced(reply(call("asks", nil)))}}
				var log []*session.Event
				var tokens int64
				last := ""
				for i, calls := range tt.calls {
					if again && i > 0 {
						transplant(t, b, encode(t, log))
					}
					m.requests = nil
					events, a := take(t, t.Context(), b.runner(m, asks), request("go"))
					log = append(log, events...)
					if tokens += a.Usage.Total; len(m.requests) != calls || a.Problem == nil || a.Problem.Code != session.LimitReached {
						t.Fatalf("turn %d: %d model calls, want %d; problem %+v", i, len(m.requests), calls, a.Problem)
					}
					last = a.Problem.Message
				}
				if tokens != tt.tokens || !strings.HasPrefix(last, tt.want) {
					t.Errorf("%d tokens, problem %q", tokens, last)
				}
			})
		}
	}
}

// TestSummariesCount: what summaries use counts towards the limits, and they are no
// step of max_model_calls.
func TestSummariesCount(t *testing.T) {
	for _, tt := range []struct {
		set       func(*config.Limits)
		summaries int
		want      string
	}{
		{func(l *config.Limits) { l.MaxModelCalls = 1 }, 1, ""},
		{func(l *config.Limits) { l.MaxTotalTokens = 11 }, 1, ""},
		{func(l *config.Limits) { l.MaxTotalTokens = 10 }, 1, "the turn used 10 tokens, limits.max_total_tokens is 10"},
		{func(l *config.Limits) { l.MaxConversationTokens = 20 }, 1, "the conversation used 20 tokens"},
		{func(l *config.Limits) { l.MaxConversationTokens = 10 }, 0, "the conversation used 10 tokens"},
	} {
		b, m := newBench(), chat()
		b.cfg.Compaction = &config.Compaction{CompactionInterval: 1}
		take(t, t.Context(), b.runner(m), request("one"))
		tt.set(&b.cfg.Limits)
		m.requests = nil
		events, a := take(t, t.Context(), b.runner(m), request("two"))
		got := ""
		if a.Problem != nil {
			got = a.Problem.Message
		}
		summaries := 0
		for _, e := range events {
			if e.Kind == session.Compacted {
				summaries++
			}
		}
		if summaries != tt.summaries || !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%d summaries, problem %q, want %q", summaries, got, tt.want)
		}
	}
}

func TestCancelLeavesAConsistentHistory(t *testing.T) {
	b := newBench()
	ctx, cancel := context.WithCancel(t.Context())
	wait := newTool("wait", func(ctx context.Context, c *agent.Call) (*agent.Result, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	var seen []*genai.Content
	r := b.runner(answers{func(req *model.Request) (*model.Reply, error) {
		if seen = req.Contents; len(seen) > 1 {
			return says("again")(req)
		}
		return reply(call("echo", nil), call("wait", nil))(req)
	}}, newTool("echo", echo), wait)
	events, a := take(t, ctx, r, request("one"))
	if a.Problem == nil || a.Problem.Code != session.Cancelled || a.Problem.Message != "the turn was stopped while running echo, wait" {
		t.Errorf("problem %+v", a.Problem)
	}
	if last := events[len(events)-1]; last.Kind != session.TurnEnded {
		t.Errorf("the last event is %v", last.Kind)
	}
	if _, a = take(t, t.Context(), r, request("two")); text(a) != "again" {
		t.Errorf("second turn: %+v", a)
	}
	if len(seen) != 4 || len(seen[2].Parts) != 2 || seen[2].Parts[0].FunctionResponse.Response["output"] == nil {
		t.Errorf("the second turn saw %v", seen)
	}
}

func TestNobodyListens(t *testing.T) {
	b := newBench()
	r := b.runner(answers{reply(call("echo", nil)), says("done")}, newTool("echo", echo))
	for e := range r.Run(t.Context(), request("go")) {
		if e.Kind == session.ToolStarted {
			break
		}
	}
	lease, err := b.store.Open(t.Context(), key, session.MustExist)
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	calls, last := 0, session.Kind("")
	for e, err := range lease.Load(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch last = e.Kind; e.Kind {
		case session.ToolStarted:
			calls++
		case session.ToolFinished:
			calls--
		}
	}
	if last != session.TurnEnded || calls != 0 {
		t.Errorf("%d calls have no response, the last event is %s", calls, last)
	}
}

func TestAnAnswerThatCameCounts(t *testing.T) {
	b := newBench()
	ctx, cancel := context.WithCancel(t.Context())
	a, err := answer.Collect(b.runner(answers{says("whole")}).Run(ctx, request("go")), func(e *session.Event) {
		if e.Kind == session.ModelReply {
			cancel()
		}
	})
	if err != nil || a.Problem != nil || text(a) != "whole" {
		t.Errorf("%v, %+v", err, a)
	}
}

// fullAt is a store whose n-th append finds the conversation full.
type fullAt struct {
	session.Store
	left int
}

type fullLease struct {
	session.Lease
	store *fullAt
}

func (s *fullAt) Open(ctx context.Context, k session.Key, m session.Mode) (session.Lease, error) {
	l, err := s.Store.Open(ctx, k, m)
	return &fullLease{l, s}, err
}

func (l *fullLease) Append(ctx context.Context, expect int64, events ...*session.Event) error {
	if l.store.left--; l.store.left == 0 && events[len(events)-1].Kind != session.TurnEnded {
		return session.ErrTooLarge
	}
	return l.Lease.Append(ctx, expect, events...)
}

// TestFullAtAnyAppend: whenever a conversation turns out to be full, the turn
// says so and leaves a history that a service takes.
func TestFullAtAnyAppend(t *testing.T) {
	for n := 2; n <= 7; n++ {
		b := newBench()
		echoed := newTool("echo", echo)
		m := answers{reply(call("echo", nil), call("echo", map[string]any{"n": 1})), reply(call("echo", nil)), says("done")}
		runner := func(store session.Store) *agent.Runner {
			return agent.NewRunner(&b.cfg, agent.Parts{Model: m, Tools: agent.Static{echoed}, Store: store, Now: time.Now,
				NewID: func() string { return fmt.Sprint(b.ids.Add(1)) }, Log: slog.New(slog.DiscardHandler)})
		}
		_, a := take(t, t.Context(), runner(&fullAt{b.store, n}), request("go"))
		if a.Problem == nil || a.Problem.Code != session.LimitReached {
			t.Errorf("append %d: problem %+v", n, a.Problem)
		}
		var seen []*genai.Content
		m = answers{func(req *model.Request) (*model.Reply, error) { seen = req.Contents; return says("fine")(req) }}
		if take(t, t.Context(), runner(b.store), request("next")); paired(seen) != "" {
			t.Errorf("append %d leaves a torn history: %s", n, paired(seen))
		}
	}
}

func TestTurnsOfAConversationQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		running := 0
		slow := newTool("slow", func(ctx context.Context, c *agent.Call) (*agent.Result, error) {
			if running++; running > 1 {
				t.Error("two turns of one conversation at the same time")
			}
			time.Sleep(time.Second)
			running--
			return echo(ctx, c)
		})
		r := b.runner(answers{reply(call("slow", nil)), says("done")}, slow)
		start := time.Now()
		done := make(chan string)
		for i := range 5 {
			go func() {
				_, a := take(t, t.Context(), r, request(fmt.Sprint(i)))
				done <- text(a)
			}()
		}
		for range 5 {
			if got := <-done; got != "done" {
				t.Errorf("answer %q", got)
			}
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestWaitingInLineHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		lease, err := b.store.Open(t.Context(), key, session.Create)
		if err != nil {
			t.Fatal(err)
		}
		defer lease.Release()
		_, err = answer.Collect(b.runner(answers{says("x")}).Run(t.Context(), request("go")), nil)
		if err == nil || !strings.Contains(err.Error(), "has not ended within 1m0s") {
			t.Errorf("error %v", err)
		}
	})
}

func TestProgressComesBeforeTheEndOfTheCall(t *testing.T) {
	b := newBench()
	talk := newTool("talk", func(ctx context.Context, c *agent.Call) (*agent.Result, error) {
		for i := range 50 {
			c.Progress(fmt.Sprint(i))
		}
		return echo(ctx, c)
	})
	r := b.runner(answers{reply(call("talk", nil)), says("done")}, talk)
	n, finished := 0, false
	for e, err := range r.Run(t.Context(), request("go")) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case session.Notice:
			if e.Text != fmt.Sprint(n) || finished {
				t.Errorf("notice %q, want %d", e.Text, n)
			}
			n++
		case session.ToolFinished:
			finished = true
		}
	}
	if n != 50 {
		t.Errorf("%d notices", n)
	}
}

func TestOutputKeyAndState(t *testing.T) {
	b := newBench()
	b.cfg.State = map[string]any{"lang": "Dutch", "n": 3}
	b.cfg.OutputKey = "last"
	b.cfg.Instruction = `Speak {lang} {{n}} {last?} {user:name?} {"a": 1} ${lang} {temp:x?}`
	var systems []string
	set := newTool("set", func(context.Context, *agent.Call) (*agent.Result, error) {
		return &agent.Result{Output: "ok", StateDelta: map[string]any{"lang": "French", "user:name": "Ann", "temp:x": map[string]any{"k": 1}}}, nil
	})
	r := b.runner(answers{func(req *model.Request) (*model.Reply, error) {
		systems = append(systems, req.System)
		if len(systems) == 1 {
			return reply(call("set", nil))(req)
		}
		return says("bonjour")(req)
	}}, set)
	take(t, t.Context(), r, request("one"))
	take(t, t.Context(), r, request("two"))
	want := []string{
		`Speak Dutch 3   {"a": 1} ${lang} `,
		`Speak French 3  Ann {"a": 1} ${lang} {"k":1}`,
		`Speak French 3 bonjour Ann {"a": 1} ${lang} `,
	}
	if d := cmp.Diff(want, systems); d != "" {
		t.Error(d)
	}
	b.cfg.Instruction = "Use {colour}."
	_, a := take(t, t.Context(), b.runner(answers{says("x")}), request("three"))
	if a.Problem == nil || !strings.Contains(a.Problem.Message, `tester.yaml names {colour}`) {
		t.Errorf("problem %+v", a.Problem)
	}
}

func TestCutReply(t *testing.T) {
	b := newBench()
	cut := func(req *model.Request) (*model.Reply, error) {
		re, _ := reply(&genai.Part{Text: "Once upon"}, call("echo", nil))(req)
		re.Problem = &model.Error{Code: model.MaxTokens, Message: "cut at the limit"}
		return re, nil
	}
	echoed := newTool("echo", echo)
	events, a := take(t, t.Context(), b.runner(answers{cut}, echoed), request("go"))
	if text(a) != "Once upon" || a.Problem == nil || a.Problem.Code != string(model.MaxTokens) {
		t.Errorf("answer %+v", a)
	}
	if len(echoed.runs) != 0 || len(events) != 3 {
		t.Errorf("a call of a cut reply ran: %v", kinds(events))
	}
}
