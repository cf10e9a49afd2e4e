package middleware

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

var (
	errLost = errors.New("connection lost")
	away    = agent.Result{Output: "away", IsError: true, Transient: true}
)

func trying(tries int) Options {
	o := options()
	o.Now = time.Now
	o.Retry = &config.Retry{Tries: tries, Delay: std(500 * time.Millisecond), MaxDelay: std(3 * time.Second)}
	return o
}

// outcomes is an idempotent tool that gives one after the other.
func outcomes(hints agent.Hints, o Options, steps ...func(context.Context) (*agent.Result, error)) (tool agent.Tool, at *[]time.Duration) {
	at, began := new([]time.Duration), time.Now()
	t := die(func(ctx context.Context, _ *agent.Call) (*agent.Result, error) {
		*at = append(*at, time.Since(began))
		return steps[min(len(*at), len(steps))-1](ctx)
	})
	t.spec.Hints = hints
	return Wrap(t, o), at
}

func lost(context.Context) (*agent.Result, error)      { return nil, errLost }
func transient(context.Context) (*agent.Result, error) { return &away, nil }
func fine(context.Context) (*agent.Result, error)      { return agent.Text("4"), nil }

func TestRetry(t *testing.T) {
	again, yes, no := agent.Hints{Idempotent: true}, true, false
	ms := func(n ...time.Duration) (list []time.Duration) {
		for _, d := range n {
			list = append(list, d*time.Millisecond)
		}
		return list
	}
	type step = func(context.Context) (*agent.Result, error)
	for _, tc := range []struct {
		name  string
		hints agent.Hints
		tries int
		steps []step
		at    []time.Duration
		want  string
	}{
		{"fine at once", again, 3, []step{fine}, ms(0), "4"},
		{"fine at the last try", again, 3, []step{lost, transient, fine}, ms(0, 500, 1500), "4"},
		{"too late", again, 3, []step{lost, lost, transient, fine}, ms(0, 500, 1500), "away"},
		{"an error to the end", again, 2, []step{lost}, ms(0, 500), "connection lost"},
		{"the pause has a bound", again, 6, []step{lost}, ms(0, 500, 1500, 3500, 6500, 9500), "connection lost"},
		{"read-only", agent.Hints{ReadOnly: true}, 2, []step{lost, fine}, ms(0, 500), "4"},
		{"neither", agent.Hints{NonDestructive: true, ClosedWorld: true}, 3, []step{lost, fine}, ms(0), "connection lost"},
		{"a failure of the tool", again, 3, []step{func(context.Context) (*agent.Result, error) { return agent.Failure("no"), nil }, fine}, ms(0), "no"},
		{"a question", again, 3, []step{func(context.Context) (*agent.Result, error) {
			return &agent.Result{Suspend: &session.Suspension{Kind: "question"}}, nil
		}, fine}, ms(0), "suspended"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tool, at := outcomes(tc.hints, trying(tc.tries), tc.steps...)
				res, err := tool.Call(t.Context(), roll(`{"sides":6}`))
				if err != nil {
					t.Fatal(err)
				}
				got := "suspended"
				if res.Suspend == nil {
					got = res.Output.(string)
				}
				if got != tc.want {
					t.Errorf("got %q", got)
				}
				if diff := cmp.Diff(tc.at, *at); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
	for hints, lever := range map[agent.Hints]*bool{again: &no, {ReadOnly: true}: &no, {}: &yes} {
		synctest.Test(t, func(t *testing.T) { // the agent file knows better than the tool
			o := trying(3)
			o.Idempotent = lever
			tool, at := outcomes(hints, o, lost, fine)
			if _, err := tool.Call(t.Context(), roll(`{"sides":6}`)); err != nil || (len(*at) == 2) != *lever {
				t.Errorf("%+v: %d calls, %v", hints, len(*at), err)
			}
		})
	}
}

func TestRetryTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := trying(4)
		o.Retry.Delay = std(time.Second)
		o.Secrets = []string{"sk-0123456789"}
		tool, _ := outcomes(agent.Hints{Idempotent: true}, o, lost)
		var said []string
		call := roll(`{"sides":6}`)
		call.Progress = func(text string) { said = append(said, text) }
		if _, err := tool.Call(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"trying again in 1s (2 of 4)", "trying again in 2s (3 of 4)", "trying again in 3s (4 of 4)"}, said); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRetryPausesDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := trying(3)
		o.Rand = func() float64 { return 0.5 }
		tool, at := outcomes(agent.Hints{Idempotent: true}, o, lost)
		if _, err := tool.Call(t.Context(), roll(`{"sides":6}`)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]time.Duration{0, 450 * time.Millisecond, 1350 * time.Millisecond}, *at); diff != "" {
			t.Error(diff)
		}
	})
}

// Each try has the whole timeout, and running into it is a failure on the way.
func TestRetryAfterATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := func(ctx context.Context) (*agent.Result, error) { <-ctx.Done(); return nil, ctx.Err() }
		tool, at := outcomes(agent.Hints{Idempotent: true}, trying(3), stuck, stuck, fine)
		res, err := tool.Call(t.Context(), roll(`{"sides":6}`))
		if err != nil || res.Output != "4" {
			t.Errorf("got %+v, %v", res, err)
		}
		if diff := cmp.Diff([]time.Duration{0, 60500 * time.Millisecond, 121500 * time.Millisecond}, *at); diff != "" {
			t.Error(diff)
		}
	})
}

// The turn's end is the end, whether it comes in a try or between two.
func TestRetryEndsWithTheTurn(t *testing.T) {
	for name, after := range map[string]time.Duration{"in the pause": 700 * time.Millisecond, "in the try": 0} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tool, at := outcomes(agent.Hints{Idempotent: true}, trying(9), func(ctx context.Context) (*agent.Result, error) {
				if after == 0 {
					cancel()
				}
				return lost(ctx)
			})
			if after > 0 {
				time.AfterFunc(after, cancel)
			}
			began := time.Now()
			res, err := tool.Call(ctx, roll(`{"sides":6}`))
			if !errors.Is(err, context.Canceled) || res != nil || time.Since(began) != after || len(*at) != map[bool]int{true: 1, false: 2}[after == 0] {
				t.Errorf("%s: got %+v, %v after %v and %d calls", name, res, err, time.Since(began), len(*at))
			}
		})
	}
}

// A call that is tried again keeps its slot and counts once for the rate limit.
func TestRetryIsOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := trying(3)
		o.RateLimit = &config.RateLimit{PerMinute: 1, Exceeded: "error", Per: "tool"}
		tool, at := outcomes(agent.Hints{Idempotent: true}, o, lost, lost, fine)
		if res, err := tool.Call(t.Context(), roll(`{"sides":6}`)); err != nil || res.Output != "4" || len(*at) != 3 {
			t.Errorf("got %+v, %v", res, err)
		}
		if res, err := tool.Call(t.Context(), roll(`{"sides":6}`)); err != nil || !strings.Contains(res.Output.(string), "rate-limited") {
			t.Errorf("got %+v, %v", res, err)
		}
	})
}
