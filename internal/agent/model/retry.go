package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"google.golang.org/genai"
)

// The waits of [Retrying].
const (
	firstWait = time.Second      // upper bound of the first wait; doubles with each one
	topWait   = 30 * time.Second // upper bound of every wait that the service did not ask for
	maxWait   = 2 * time.Minute  // the longest wait that a service may ask for
)

// Policy says how [Retrying] tries again.
type Policy struct {
	// Retries is how often a call is repeated after rate limits and outages.
	Retries int
	// Rand gives numbers from 0 up to 1 and is safe for concurrent use. It
	// spreads the waits, so that callers who failed together do not come back
	// together.
	Rand func() float64
}

// Retrying makes a model that repeats calls of m which failed for a reason
// that may have passed: up to p.Retries times after [RateLimited] and
// [Unavailable], once after [StreamCut] and [Empty], twice after [Malformed].
// It says so through the request's Notice. What had been yielded of a call
// that is repeated was only partial and begins again.
//
// It waits at least as long as the service asked for, and never beyond ctx's
// deadline: if there is no time left to wait, the failure comes at once.
//
// A final reply that holds nothing becomes an [Empty] error here, for all
// providers alike. Thoughts are something: what to do about a reply of nothing
// else is the caller's to decide.
func Retrying(m Model, p Policy) Model { return &retrying{m, p} }

type retrying struct {
	inner  Model
	policy Policy
}

// Generate implements [Model].
func (r *retrying) Generate(ctx context.Context, req *Request) iter.Seq2[*Reply, error] {
	return func(yield func(*Reply, error) bool) {
		used := make(map[Code]int, 1) // retries so far
		var lost Usage                // of answers that were thrown away
		for attempts := 1; ; attempts++ {
			partial, err := r.attempt(ctx, req, &lost, yield)
			if err == nil {
				return
			}
			failed := err
			wait, err := r.plan(ctx, failed, used, attempts)
			if err != nil {
				yield(nil, WithUsage(err, &lost))
				return
			}
			lost.Add(UsageOf(failed))
			again := ""
			if partial {
				again = "; the answer starts again"
			}
			req.Notify(wait.text + again)
			if err := sleep(ctx, wait.length); err != nil {
				yield(nil, WithUsage(err, &lost))
				return
			}
		}
	}
}

// attempt makes one call and passes on what it yields. It returns a failure
// without passing it on, and whether there were partial replies before it.
func (r *retrying) attempt(ctx context.Context, req *Request, lost *Usage, yield func(*Reply, error) bool) (partial bool, err error) {
	for reply, err := range r.inner.Generate(ctx, req) {
		if err != nil {
			return partial, err
		}
		if !reply.Partial && isEmpty(reply) {
			return partial, &Error{Code: Empty, Reason: reply.FinishReason, Message: "the model gave an empty answer", Usage: reply.Usage}
		}
		if !reply.Partial {
			reply = counting(reply, lost)
		}
		if !yield(reply, nil) || !reply.Partial {
			return partial, nil
		}
		partial = true
	}
	return partial, &Error{Code: Empty, Message: "the model gave no answer"}
}

// counting is a reply that also counts what failed calls before it used.
func counting(reply *Reply, lost *Usage) *Reply {
	if *lost == (Usage{}) {
		return reply
	}
	own := *reply
	own.Usage = reply.Usage.After(lost)
	return &own
}

// pause is a wait before another attempt.
type pause struct {
	length time.Duration
	text   string
}

// plan decides whether a failed call is repeated, and gives the error to
// report if it is not.
func (r *retrying) plan(ctx context.Context, err error, used map[Code]int, attempts int) (pause, error) {
	var failure *Error
	if !errors.As(err, &failure) || ctx.Err() != nil {
		return pause{}, err
	}
	kind, budget, what := r.budget(failure.Code)
	if budget == 0 {
		return pause{}, err
	}
	n := used[kind]
	if n >= budget {
		return pause{}, failure.because(fmt.Sprintf("gave up after %d attempts", attempts))
	}
	used[kind]++
	wait := r.wait(failure.RetryAfter, n)
	if wait > maxWait {
		return pause{}, failure.because(fmt.Sprintf("the service asks to wait for %s, which is too long", brief(wait)))
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return pause{}, failure.because(fmt.Sprintf("there is no time left to wait for %s and try again", brief(wait)))
	}
	return pause{wait, fmt.Sprintf("%s; trying again in %s (attempt %d of %d)", what, brief(wait), n+2, budget+1)}, nil
}

// budget says which failures count together, how many retries they have, and
// how they are called.
func (r *retrying) budget(c Code) (kind Code, retries int, what string) {
	switch c {
	case RateLimited:
		return RateLimited, r.policy.Retries, "rate limited"
	case Unavailable:
		return RateLimited, r.policy.Retries, "the model's service is unavailable"
	case StreamCut:
		return c, 1, "the answer broke off"
	case Empty:
		return c, 1, "the answer was empty"
	case Malformed:
		return c, 2, "the model's tool call was malformed"
	}
	return c, 0, ""
}

// wait is how long to wait before retry n, counted from 0: anything up to a
// bound that doubles (full jitter), or what the service asked for and up to a
// tenth more.
func (r *retrying) wait(asked time.Duration, n int) time.Duration {
	bound := topWait
	if n < 5 { // 1s << 5 is beyond topWait
		bound = min(bound, firstWait<<n)
	}
	share := r.policy.Rand()
	return max(time.Duration(share*float64(bound)), asked+time.Duration(share*float64(asked)/10))
}

// because is the error with one more clause in its message.
func (e *Error) because(clause string) *Error {
	more := *e
	more.Message += "; " + clause
	return &more
}

// brief is d as people say it.
func brief(d time.Duration) string {
	if d >= 10*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// isEmpty reports whether a final reply holds nothing.
func isEmpty(r *Reply) bool {
	if r.Problem != nil || r.Suspend != nil {
		return false
	}
	if r.Content != nil {
		for _, p := range r.Content.Parts {
			if !IsBlank(p) && !isSpace(p) {
				return false
			}
		}
	}
	return true
}

// isSpace reports whether a part is nothing but blank text that is to be shown.
func isSpace(p *genai.Part) bool {
	rest := *p
	rest.Text = ""
	return !p.Thought && p.Text != "" && strings.TrimSpace(p.Text) == "" && IsBlank(&rest)
}
