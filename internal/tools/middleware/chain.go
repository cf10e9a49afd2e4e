// Package middleware holds the work that is the same for every tool: looking
// on, forbidding calls, checking arguments, turning failures into results, bounding
// results, asking for approval, remembering, limiting, trying again, ending what
// takes too long. No kind of tool does any of it itself.
//
// Start with [Wrap], the only place that knows the order.
package middleware

import (
	"context"
	"log/slog"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
)

// Handler is a tool's Call, or a part of the chain around it.
type Handler func(ctx context.Context, call *agent.Call) (*agent.Result, error)

// Middleware puts something around a call of the tool that spec describes. It
// is asked once per tool; what it gives is safe for concurrent use. It neither
// changes the Call nor the Result that it is given, but makes its own, and
// passes a Result with Suspend set on untouched; only redact looks into it.
type Middleware func(spec *agent.Spec, next Handler) Handler

// Options are what the chain of one tool needs to know. What is not set is off.
type Options struct {
	// Log hears of calls (debug), of errors (warning) and of panics (error);
	// never of arguments or results.
	Log *slog.Logger
	// Now is the clock that durations, ages and limits are measured with.
	Now func() time.Time
	// Rand gives numbers from 0 up to 1, by which the pauses of retries differ; nil
	// is always 0.
	Rand func() float64
	// Secrets are values that no result, error or progress may show. Those of
	// fewer than six characters are left alone, since they would turn up by
	// chance.
	Secrets []string
	// Allow and Deny are rules on which calls run.
	Allow, Deny []config.CallRule
	// Approve says which calls a person decides on before they run.
	Approve *config.Condition
	// Cache are the results to be given again; nil is none.
	Cache *config.Cache
	// CacheBy are headers of the caller's request that change what a call gives.
	CacheBy []string
	// CacheState keeps the results of each state apart, for a tool that sees the
	// session's state, such as an agent; temp: keys don't count.
	CacheState bool
	// RateLimit bounds the calls of a minute, Retry the tries of a call; nil is no
	// bound, and one try.
	RateLimit *config.RateLimit
	Retry     *config.Retry
	// Idempotent overrides what the tool says of itself. A tool that is said not to
	// be is never tried again, even if it changes nothing.
	Idempotent *bool
	// Timeout bounds one try of a call.
	Timeout time.Duration
	// Concurrency is how many calls run at the same time, 0 for any number.
	Concurrency int
	// MaxResultTokens and MaxResultBytes bound the text of a result, or its JSON.
	// A token is taken for four bytes; 0 tokens is any number.
	MaxResultTokens, MaxResultBytes int
	// AnswerMedia makes the media of results part of the agent's answer.
	AnswerMedia bool
}

// Wrap puts everything around t that every tool has. The outermost comes first:
//
//	observe    sees what the caller of the tool sees
//	arguments  all that decides about a call should see what the tool will see
//	rules      what is forbidden is so whatever else is set
//	failures   errors and panics of everything below become results
//	attach     what of the result is for the caller of the agent
//	limit      the size of the result
//	redact     before limit, which could cut a secret in half
//	approve    before cache: who may not run a tool may not read what it gave
//	cache      before rate: what does not run counts for no limit
//	rate       after approve, so that who waits for a person takes no turn; outside of
//	           timeout: waiting for other calls is not the tool's time
//	retry      inside of rate: what is tried again is still the same call
//	timeout    of one try
//
// rate is about calls of a minute and about calls at the same time at once: a call
// waits for the minute without keeping others from running, and its own minute
// counts from when it really begins, after it has waited for those that run.
func Wrap(t agent.Tool, o Options) agent.Tool {
	secrets := newRedactor(o.Secrets)
	if o.Idempotent != nil && !*o.Idempotent {
		o.Retry = nil
	}
	decided := o.Approve != nil || o.Cache != nil
	return Chain(withHint(t, o.Idempotent),
		observe(o.Log, o.Now),
		arguments(),
		rules(o.Allow, o.Deny, decided),
		failures(o.Log, secrets),
		attach(o.AnswerMedia),
		limit(o.MaxResultBytes, o.MaxResultTokens),
		redact(secrets),
		approve(o.Approve, secrets),
		cache(o.Cache, &o),
		rate(o.RateLimit, o.Concurrency, o.Now),
		retry(o.Retry, o.Rand),
		timeout(o.Timeout),
	)
}

// Chain gives a tool that is t with m around its Call, the first one outermost.
func Chain(t agent.Tool, m ...Middleware) agent.Tool {
	spec, handle := t.Spec(), Handler(t.Call)
	for i := len(m) - 1; i >= 0; i-- {
		handle = m[i](spec, handle)
	}
	return like(t, &chained{spec: spec, handle: handle})
}

type chained struct {
	spec   *agent.Spec
	handle Handler
}

// Spec implements [agent.Tool].
func (c *chained) Spec() *agent.Spec { return c.spec }

// Call implements [agent.Tool].
func (c *chained) Call(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	return c.handle(ctx, call)
}

// instructing is a chained [agent.Instructor]; nothing is around its instruction.
type instructing struct {
	*chained
	by agent.Instructor
}

// Instruct implements [agent.Instructor].
func (i *instructing) Instruct(ctx context.Context, q *agent.Query) (string, error) {
	return i.by.Instruct(ctx, q)
}

// withHint gives t with another hint about whether it is idempotent.
func withHint(t agent.Tool, idempotent *bool) agent.Tool {
	if idempotent == nil || t.Spec().Hints.Idempotent == *idempotent {
		return t
	}
	spec := *t.Spec()
	spec.Hints.Idempotent = *idempotent
	return like(t, &chained{spec: &spec, handle: t.Call})
}

// like gives what was made of t the instruction that t has.
func like(t agent.Tool, made *chained) agent.Tool {
	if by, ok := t.(agent.Instructor); ok {
		return &instructing{chained: made, by: by}
	}
	return made
}
