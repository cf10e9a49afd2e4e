package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

// fake is a tool that does what a test says.
type fake struct {
	spec *agent.Spec
	call Handler
}

func (f *fake) Spec() *agent.Spec { return f.spec }

func (f *fake) Call(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	return f.call(ctx, call)
}

const dieSchema = `{"type":"object","properties":{"sides":{"type":"integer","minimum":2,"maximum":1000,"description":"Number of sides"}},"required":["sides"],"additionalProperties":false}`

func die(call Handler) *fake {
	return &fake{&agent.Spec{Name: "roll_die", Parameters: json.RawMessage(dieSchema)}, call}
}

func gives(res *agent.Result, err error) Handler {
	return func(context.Context, *agent.Call) (*agent.Result, error) { return res, err }
}

// frozen is a clock that moves a second at every look.
func frozen() func() time.Time {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return func() time.Time { at = at.Add(time.Second); return at }
}

func logTo(b *bytes.Buffer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: level}))
}

func options() Options {
	return Options{Log: slog.New(slog.DiscardHandler), Now: frozen(), Timeout: time.Minute, MaxResultBytes: 65536}
}

func roll(args string) *agent.Call {
	return &agent.Call{ID: "c1", Name: "roll_die", Args: json.RawMessage(args), Agent: "dice", Invocation: "i1", Progress: func(string) {}}
}

func TestChainCallsTheFirstOutermost(t *testing.T) {
	var order []string
	note := func(name string) Middleware {
		return func(_ *agent.Spec, next Handler) Handler {
			return func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
				order = append(order, name)
				defer func() { order = append(order, "/"+name) }()
				return next(ctx, call)
			}
		}
	}
	tool := die(func(context.Context, *agent.Call) (*agent.Result, error) {
		order = append(order, "tool")
		return agent.Text("4"), nil
	})
	chained := Chain(tool, note("a"), note("b"))
	if chained.Spec() != tool.spec {
		t.Error("the chain has another spec than its tool")
	}
	if _, err := chained.Call(t.Context(), roll(`{}`)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b", "tool", "/b", "/a"}, order); diff != "" {
		t.Error(diff)
	}
}

// What Wrap puts together holds in the order that it documents.
func TestWrapOrder(t *testing.T) {
	t.Run("bad arguments reach no tool", func(t *testing.T) {
		called := false
		tool := Wrap(die(func(context.Context, *agent.Call) (*agent.Result, error) { called = true; return nil, nil }), options())
		res, err := tool.Call(t.Context(), roll(`{"sides":1}`))
		if err != nil || called || !res.IsError {
			t.Errorf("called %v, result %+v, error %v", called, res, err)
		}
	})
	t.Run("a secret at the cut is hidden whole", func(t *testing.T) {
		const secret = "sk-0123456789abcdef"
		o := options()
		o.Secrets, o.MaxResultBytes = []string{secret}, 1000
		for pad := 500; pad < 700; pad++ {
			out := strings.Repeat("x", pad) + secret + strings.Repeat("y", 2000)
			res, err := Wrap(die(gives(agent.Text(out), nil)), o).Call(t.Context(), roll(`{"sides":6}`))
			if err != nil {
				t.Fatal(err)
			}
			if text := res.Output.(string); strings.Contains(text, secret[:6]) || len(text) > 1000 {
				t.Fatalf("padding %d: %q", pad, text)
			}
		}
	})
	t.Run("the output that a timeout keeps is bounded", func(t *testing.T) {
		o := options()
		o.Timeout, o.MaxResultBytes = time.Nanosecond, 1000
		tool := die(func(ctx context.Context, _ *agent.Call) (*agent.Result, error) {
			<-ctx.Done()
			return agent.Text(strings.Repeat("x", 5000)), ctx.Err()
		})
		res, err := Wrap(tool, o).Call(t.Context(), roll(`{"sides":6}`))
		if err != nil {
			t.Fatal(err)
		}
		text := res.Output.(string)
		if !strings.HasPrefix(text, "timed out after 0.000000001s\nxxx") || len(text) > 1000 || !res.IsError {
			t.Errorf("%d bytes, error %v: %.80q", len(text), res.IsError, text)
		}
	})
	t.Run("a suspension passes untouched", func(t *testing.T) {
		want := &agent.Result{Output: strings.Repeat("x", 100), Suspend: &session.Suspension{
			Kind: "question", Message: strings.Repeat("why? ", 100), Payload: json.RawMessage(`{ "schema": {"n": 1.0} }`),
		}}
		o := options()
		o.Secrets, o.MaxResultBytes = []string{"sk-0123456789"}, 50
		res, err := Wrap(die(gives(want, nil)), o).Call(t.Context(), roll(`{"sides":6}`))
		if err != nil || res != want {
			t.Errorf("got %+v, %v", res, err)
		}
	})
}

func TestObserve(t *testing.T) {
	var log bytes.Buffer
	o := options()
	o.Log = logTo(&log, slog.LevelDebug)
	tool := Wrap(die(gives(&agent.Result{Output: "PRIVATE-RESULT"}, nil)), o)
	if _, err := tool.Call(t.Context(), roll(`{"sides":77}`)); err != nil {
		t.Fatal(err)
	}
	text := log.String()
	for _, want := range []string{"tool call begins", "argument_bytes=12", "tool call ends", "duration=1s", "bytes=14", "is_error=false", "agent=dice", "tool=roll_die", "call=c1", "invocation=i1"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %q:\n%s", want, text)
		}
	}
	for _, private := range []string{"PRIVATE", "sides", "=77", ":77"} {
		if strings.Contains(text, private) {
			t.Errorf("the log shows %q:\n%s", private, text)
		}
	}
}

func TestObserveOutcomes(t *testing.T) {
	for name, tc := range map[string]struct {
		call Handler
		want string
	}{
		"suspended":   {gives(&agent.Result{Suspend: &session.Suspension{Kind: "approval"}}, nil), "suspended=approval"},
		"unwritable":  {gives(&agent.Result{Output: func() {}}, nil), "is_error=true"},
		"tool's fail": {gives(agent.Failure("no"), nil), "is_error=true bytes=2"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			o := options()
			o.Log = logTo(&log, slog.LevelDebug)
			if _, err := Wrap(die(tc.call), o).Call(t.Context(), roll(`{"sides":6}`)); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(log.String(), tc.want) {
				t.Errorf("the log lacks %q:\n%s", tc.want, log.String())
			}
		})
	}
}

// The chain's own allocations: a turn may use 175 in all.
func TestWrapAllocations(t *testing.T) {
	res := agent.Text("4")
	tool := Wrap(die(gives(res, nil)), options())
	call := roll(`{"sides":6}`)
	n := testing.AllocsPerRun(100, func() {
		if got, err := tool.Call(t.Context(), call); err != nil || got != res {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
	if n > 25 {
		t.Errorf("a call of a tool with one argument allocates %v times, want at most 25", n)
	}
}

// instructor is a tool with an instruction.
type instructor struct{ *fake }

func (instructor) Instruct(_ context.Context, q *agent.Query) (string, error) {
	return "for " + q.Agent, nil
}

func TestWrapKeepsTheInstruction(t *testing.T) {
	yes := true
	for _, idempotent := range []*bool{nil, &yes} {
		o := options()
		o.Idempotent = idempotent
		by, ok := Wrap(instructor{die(gives(agent.Text("4"), nil))}, o).(agent.Instructor)
		if !ok {
			t.Fatal("the instruction is lost")
		}
		if text, err := by.Instruct(t.Context(), &agent.Query{Agent: "dice"}); err != nil || text != "for dice" {
			t.Errorf("got %q, %v", text, err)
		}
		if res, err := by.Call(t.Context(), roll(`{"sides":6}`)); err != nil || res.Output != "4" {
			t.Errorf("got %+v, %v", res, err)
		}
	}
	if _, ok := Wrap(die(gives(agent.Text("4"), nil)), options()).(agent.Instructor); ok {
		t.Error("a tool without an instruction has got one")
	}
}

func TestIdempotentLever(t *testing.T) {
	yes, no := true, false
	for _, tc := range []struct {
		own   bool
		lever *bool
		want  bool
	}{{true, nil, true}, {false, nil, false}, {true, &no, false}, {false, &yes, true}, {true, &yes, true}} {
		bare := die(gives(agent.Text("4"), nil))
		bare.spec.Hints = agent.Hints{Idempotent: tc.own, ClosedWorld: true}
		o := options()
		o.Idempotent = tc.lever
		tool := Wrap(bare, o)
		spec := tool.Spec()
		if spec.Hints != (agent.Hints{Idempotent: tc.want, ClosedWorld: true}) || spec.Name != "roll_die" || bare.spec.Hints.Idempotent != tc.own {
			t.Errorf("%+v: %+v", tc, spec.Hints)
		}
		if again := tool.Spec(); again != spec {
			t.Error("the spec is another pointer each time")
		}
	}
}

func BenchmarkWrap(b *testing.B) {
	levers := options()
	levers.Now = time.Now
	levers.Deny = []config.CallRule{{Args: map[string]string{"sides": "1000"}}}
	levers.Approve = &config.Condition{Expr: "args.sides > 100"}
	levers.RateLimit = &config.RateLimit{PerMinute: 1_000_000, Exceeded: "wait", MaxWait: std(time.Minute), Per: "caller"}
	levers.Retry = &config.Retry{Tries: 3, Delay: std(time.Second), MaxDelay: std(time.Second)}
	levers.MaxResultTokens, levers.Concurrency = 100, 4
	cached := levers
	cached.Cache = &config.Cache{TTL: std(time.Hour), Entries: 9, MaxBytes: 1024}
	for name, tc := range map[string]struct {
		schema, args string
		o            Options
	}{
		"one argument": {dieSchema, `{"sides":6}`, options()},
		"full validator": {
			`{"type":"object","properties":{"sides":{"anyOf":[{"type":"integer","minimum":2},{"type":"string"}]}}}`, `{"sides":6}`, options(),
		},
		"levers":            {dieSchema, `{"sides":6}`, levers},
		"levers, remembers": {dieSchema, `{"sides":6}`, cached},
	} {
		b.Run(name, func(b *testing.B) {
			tool := Wrap(&fake{&agent.Spec{Name: "t", Parameters: json.RawMessage(tc.schema), Hints: agent.Hints{ReadOnly: true}}, gives(agent.Text("4"), nil)}, tc.o)
			call, ctx := roll(tc.args), b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tool.Call(ctx, call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
