package middleware

import (
	"context"
	"log/slog"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
)

// observe writes a debug line when a call begins and one when it ends, with
// its duration and the size of its result, never the contents.
func observe(log *slog.Logger, now func() time.Time) Middleware {
	return func(spec *agent.Spec, next Handler) Handler {
		return func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
			if !log.Enabled(ctx, slog.LevelDebug) {
				return next(ctx, call)
			}
			log := log.With("agent", call.Agent, "tool", spec.Name, "call", call.ID, "invocation", call.Invocation)
			log.DebugContext(ctx, "tool call begins", "argument_bytes", len(call.Args))
			start := now()
			res, err := next(ctx, call)
			log.DebugContext(ctx, "tool call ends", append([]any{"duration", now().Sub(start)}, outcome(res, err)...)...)
			return res, err
		}
	}
}

// outcome gives the log attributes of how a call ended.
func outcome(res *agent.Result, err error) []any {
	switch {
	case err != nil:
		return []any{"error", err}
	case res.Suspend != nil:
		return []any{"suspended", res.Suspend.Kind}
	}
	text, err := outputText(res.Output)
	if err != nil {
		return []any{"error", err}
	}
	media := 0
	for _, m := range res.Media {
		media += len(m.Data)
	}
	return []any{"is_error", res.IsError, "bytes", len(text), "media_bytes", media}
}
