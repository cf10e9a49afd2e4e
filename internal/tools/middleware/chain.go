// Package middleware holds the work that is the same for every tool: looking
// on, checking arguments, turning failures into results, bounding results,
// ending what takes too long. No kind of tool does any of it itself.
//
// Start with [Wrap], the only place that knows the order.
package middleware

import (
	"context"
	"log/slog"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
)

// Handler is a tool's Call, or a part of the chain around it.
type Handler func(ctx context.Context, call *agent.Call) (*agent.Result, error)

// Middleware puts something around a call of the tool that spec describes. It
// is asked once per tool; what it gives is safe for concurrent use. It neither
// changes the Call nor the Result that it is given, but makes its own, and
// passes a Result with Suspend set on untouched; only redact looks into it.
type Middleware func(spec *agent.Spec, next Handler) Handler

// Options are what the chain of one tool needs to know.
type Options struct {
	// Log hears of calls (debug), of errors (warning) and of panics (error);
	// never of arguments or results.
	Log *slog.Logger
	// Now is the clock that durations are measured with.
	Now func() time.Time
	// Secrets are values that no result, error or progress may show. Those of
	// fewer than six characters are left alone, since they would turn up by
	// chance.
	Secrets []string
	// Approve lets a person decide on each call before it runs.
	Approve bool
	// Timeout bounds one call.
	Timeout time.Duration
	// Concurrency is how many calls run at the same time, 0 for any number.
	Concurrency int
	// MaxResultBytes bounds the text of a result, or its JSON.
	MaxResultBytes int
}

// Wrap puts everything around t that every tool has. The outermost comes first:
//
//	observe    sees what the caller of the tool sees
//	           (here: deny and allow rules)
//	arguments  before anything is done for the call, and anybody is asked
//	failures   errors and panics of everything below become results
//	limit      the size of the result
//	redact     before limit, which could cut a secret in half
//	approve    outside of slots: who waits for a person keeps nobody waiting
//	           (here: cache, rate, retry)
//	slots      outside of timeout: waiting for other calls is not the tool's time
//	timeout    of one try
func Wrap(t agent.Tool, o Options) agent.Tool {
	secrets := newRedactor(o.Secrets)
	return Chain(t,
		observe(o.Log, o.Now),
		arguments(),
		failures(o.Log, secrets),
		limit(o.MaxResultBytes),
		redact(secrets),
		approve(o.Approve, secrets),
		slots(o.Concurrency),
		timeout(o.Timeout),
	)
}

// Chain gives a tool that is t with m around its Call, the first one outermost.
func Chain(t agent.Tool, m ...Middleware) agent.Tool {
	spec, handle := t.Spec(), Handler(t.Call)
	for i := len(m) - 1; i >= 0; i-- {
		handle = m[i](spec, handle)
	}
	return &chained{spec: spec, handle: handle}
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
