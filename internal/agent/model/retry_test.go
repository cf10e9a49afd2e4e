package model_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outcomes is a model that plays one outcome per call, the last one again and
// again: some partial text, then a final reply or an error.
type outcomes struct {
	list  []outcome
	calls []time.Time
}

type outcome struct {
	partial string
	reply   *model.Reply
	err     error
}

func (o *outcomes) Generate(context.Context, *model.Request) iter.Seq2[*model.Reply, error] {
	return func(yield func(*model.Reply, error) bool) {
		now := o.list[min(len(o.calls), len(o.list)-1)]
		o.calls = append(o.calls, time.Now())
		if now.partial != "" && !yield(&model.Reply{Partial: true, Content: content(now.partial)}, nil) {
			return
		}
		if now.reply != nil || now.err != nil {
			yield(now.reply, now.err)
		}
	}
}

func content(text string) *genai.Content {
	return &genai.Content{Role: "model", Parts: []*genai.Part{{Text: text}}}
}

func fail(code model.Code) outcome {
	return outcome{err: &model.Error{Code: code, Message: string(code)}}
}

var done = outcome{reply: &model.Reply{Content: content("done")}}

// result is what came out of one Generate.
type result struct {
	partial string
	reply   *model.Reply
	err     error
	notices []string
	waits   []time.Duration // before each call but the first
}

func (r *result) code() model.Code {
	var e *model.Error
	if errors.As(r.err, &e) {
		return e.Code
	}
	return ""
}

func run(ctx context.Context, m *outcomes, p model.Policy) *result {
	r := &result{}
	req := &model.Request{Notice: func(text string) { r.notices = append(r.notices, text) }}
	for reply, err := range model.Retrying(m, p).Generate(ctx, req) {
		switch {
		case r.reply != nil || r.err != nil:
			panic("something after the end")
		case err != nil:
			r.err = err
		case reply.Partial:
			r.partial += reply.Content.Parts[0].Text
		default:
			r.reply = reply
		}
	}
	for i := 1; i < len(m.calls); i++ {
		r.waits = append(r.waits, m.calls[i].Sub(m.calls[i-1]))
	}
	return r
}

func half() float64 { return 0.5 }

func TestRetryBudgets(t *testing.T) {
	cases := []struct {
		code     model.Code
		attempts int
	}{
		{model.RateLimited, 4}, {model.Unavailable, 4}, {model.StreamCut, 2}, {model.Empty, 2}, {model.Malformed, 3},
		{model.Unauthorized, 1}, {model.NotFound, 1}, {model.InvalidRequest, 1}, {model.ContextOverflow, 1},
		{model.Blocked, 1}, {model.MaxTokens, 1}, {model.Timeout, 1}, {model.Misconfigured, 1},
	}
	for _, c := range cases {
		t.Run(string(c.code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &outcomes{list: []outcome{fail(c.code)}}
				r := run(t.Context(), m, model.Policy{Retries: 3, Rand: half})
				if len(m.calls) != c.attempts || r.code() != c.code || len(r.notices) != c.attempts-1 {
					t.Errorf("%d attempts, want %d; error %v; notices %q", len(m.calls), c.attempts, r.err, r.notices)
				}
				if tells := strings.Contains(r.err.Error(), fmt.Sprintf("gave up after %d attempts", c.attempts)); tells != (c.attempts > 1) {
					t.Errorf("message %q", r.err)
				}
				// One less and it would have succeeded.
				m = &outcomes{list: append(slices.Repeat([]outcome{fail(c.code)}, c.attempts-1), done)}
				if r := run(t.Context(), m, model.Policy{Retries: 3, Rand: half}); r.reply != done.reply || r.err != nil {
					t.Errorf("with success at last: %v, %v", r.reply, r.err)
				}
			})
		})
	}
}

func TestRetryCountsKindsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &outcomes{list: []outcome{
			fail(model.RateLimited), fail(model.StreamCut), fail(model.Unavailable), fail(model.Malformed),
			fail(model.RateLimited), fail(model.Unavailable), done,
		}}
		r := run(t.Context(), m, model.Policy{Retries: 3, Rand: half})
		if len(m.calls) != 6 || r.code() != model.Unavailable {
			t.Errorf("%d attempts, %v: rate limits and outages share their retries", len(m.calls), r.err)
		}
	})
}

func TestRetryWaits(t *testing.T) {
	asks := func(d time.Duration) outcome {
		return outcome{err: &model.Error{Code: model.RateLimited, RetryAfter: d}}
	}
	cases := []struct {
		name  string
		rand  float64
		list  []outcome
		waits []time.Duration
		says  string
	}{
		{"full jitter doubles", 0.5, []outcome{fail(model.Unavailable)},
			[]time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second, 15 * time.Second},
			"the model's service is unavailable; trying again in 500ms (attempt 2 of 8)"},
		{"down to nothing", 0, []outcome{fail(model.RateLimited), done}, []time.Duration{0}, "rate limited; trying again in 0s (attempt 2 of 8)"},
		{"the service's wish is the least", 0, []outcome{asks(2 * time.Second), done}, []time.Duration{2 * time.Second}, "rate limited; trying again in 2s (attempt 2 of 8)"},
		{"and a bit more for some", 0.5, []outcome{asks(20 * time.Second), done}, []time.Duration{21 * time.Second}, "rate limited; trying again in 21s (attempt 2 of 8)"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := run(t.Context(), &outcomes{list: c.list}, model.Policy{Retries: 7, Rand: func() float64 { return c.rand }})
				if !slices.Equal(r.waits, c.waits) || len(r.notices) == 0 || r.notices[0] != c.says {
					t.Errorf("waits %v, want %v; notices %q", r.waits, c.waits, r.notices)
				}
			})
		})
	}
}

func TestRetryNeverBeyondTheDeadline(t *testing.T) {
	cases := []struct {
		name     string
		deadline time.Duration
		asked    time.Duration
		says     string
	}{
		{"deadline", 3 * time.Second, 5 * time.Second, "no time left to wait for 5s"},
		{"deadline that is just met", 5 * time.Second, 5 * time.Second, "no time left to wait for 5s"},
		{"absurd wish", 0, 3 * time.Hour, "asks to wait for 3h0m0s, which is too long"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				start := time.Now()
				m := &outcomes{list: []outcome{{err: &model.Error{Code: model.RateLimited, Message: "slow down", RetryAfter: c.asked}}, done}}
				r := run(ctx, m, model.Policy{Retries: 3, Rand: func() float64 { return 0 }})
				if r.code() != model.RateLimited || !strings.Contains(r.err.Error(), "slow down; ") || !strings.Contains(r.err.Error(), c.says) {
					t.Errorf("error %v", r.err)
				}
				if waited := time.Since(start); waited != 0 || len(m.calls) != 1 {
					t.Errorf("waited %v, %d calls", waited, len(m.calls))
				}
			})
		})
	}
}

func TestRetryStopsWhenCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("the caller has gone")
		time.AfterFunc(time.Second, func() { cancel(reason) })
		m := &outcomes{list: []outcome{{err: &model.Error{Code: model.RateLimited, RetryAfter: time.Minute}}, done}}
		start := time.Now()
		r := run(ctx, m, model.Policy{Retries: 3, Rand: half})
		if !errors.Is(r.err, reason) || time.Since(start) != time.Second || len(m.calls) != 1 {
			t.Errorf("error %v after %v, %d calls", r.err, time.Since(start), len(m.calls))
		}
	})
}

func TestRetryStartsTheAnswerAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := fail(model.StreamCut)
		cut.partial = "half an ans"
		good := done
		good.partial = "done"
		r := run(t.Context(), &outcomes{list: []outcome{cut, good}}, model.Policy{Rand: half})
		want := "the answer broke off; trying again in 500ms (attempt 2 of 2); the answer starts again"
		if !slices.Equal(r.notices, []string{want}) || r.partial != "half an ansdone" || r.reply != done.reply {
			t.Errorf("notices %q, partial %q, reply %v", r.notices, r.partial, r.reply)
		}
	})
}

func TestEmptyReplies(t *testing.T) {
	parts := func(p ...*genai.Part) *model.Reply {
		return &model.Reply{FinishReason: "STOP", Content: &genai.Content{Role: "model", Parts: p}}
	}
	problem := parts()
	problem.Problem = &model.Error{Code: model.MaxTokens}
	cases := []struct {
		name  string
		reply *model.Reply
		empty bool
	}{
		{"no content", &model.Reply{}, true},
		{"no parts", parts(), true},
		{"an empty part", parts(&genai.Part{}), true},
		{"a signature alone", parts(&genai.Part{ThoughtSignature: []byte("s")}), true},
		{"nothing at all", nil, true},
		{"thoughts", parts(&genai.Part{Text: "hm", Thought: true}), false},
		{"a call", parts(&genai.Part{FunctionCall: &genai.FunctionCall{Name: "f"}}), false},
		{"an image", parts(&genai.Part{InlineData: &genai.Blob{}}), false},
		{"a problem", problem, false},
		{"a suspension", &model.Reply{Suspend: &model.Suspension{}}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &outcomes{list: []outcome{{reply: c.reply}}}
				r := run(t.Context(), m, model.Policy{Rand: half})
				if got := r.code() == model.Empty; got != c.empty || c.empty && len(m.calls) != 2 || !c.empty && r.reply != c.reply {
					t.Errorf("error %v after %d calls", r.err, len(m.calls))
				}
			})
		})
	}
}

func TestRetryOtherErrorsPass(t *testing.T) {
	plain := errors.New("not the model's")
	m := &outcomes{list: []outcome{{err: plain}}}
	if r := run(t.Context(), m, model.Policy{Retries: 3, Rand: half}); !errors.Is(r.err, plain) || len(m.calls) != 1 {
		t.Errorf("error %v after %d calls", r.err, len(m.calls))
	}
}

func TestRetryBrokenOffIteration(t *testing.T) {
	m := &outcomes{list: []outcome{{partial: "a", err: &model.Error{Code: model.Unavailable}}}}
	for range model.Retrying(m, model.Policy{Retries: 3, Rand: half}).Generate(t.Context(), &model.Request{}) {
		break
	}
	if len(m.calls) != 1 {
		t.Errorf("%d calls after the consumer had gone", len(m.calls))
	}
}
