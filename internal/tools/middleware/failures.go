package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/adkmcp/adkmcp/internal/agent"
)

// maxErrorBytes bounds an error's text in a result. An error says what went
// wrong; a tool's output has its own bound.
const maxErrorBytes = 4096

// failures turns an error or a panic of the tool into a result that the model
// can read, with whatever the tool gave beside its error. When the turn has
// ended there is no model to read anything, so the turn's own error goes on.
func failures(log *slog.Logger, secrets *redactor) Middleware {
	return func(spec *agent.Spec, next Handler) Handler {
		return func(ctx context.Context, call *agent.Call) (res *agent.Result, err error) {
			defer func() {
				p := recover()
				if p == nil {
					return
				}
				log.ErrorContext(ctx, "tool panicked", "agent", call.Agent, "tool", spec.Name, "call", call.ID,
					"panic", secrets.text(fmt.Sprint(p)), "stack", secrets.text(string(debug.Stack())))
				res, err = agent.Failure(spec.Name+" stopped because of a fault in the program, not in the arguments; the log has the details"), nil
			}()
			res, err = next(ctx, call)
			switch {
			case err != nil && ctx.Err() != nil:
				return nil, turnEnded(ctx, err)
			case err != nil:
				log.WarnContext(ctx, "tool failed", "agent", call.Agent, "tool", spec.Name, "call", call.ID, "error", err)
				return failed(cut(err.Error(), maxErrorBytes), res)
			case res == nil:
				return agent.Failure(spec.Name + " gave no result"), nil
			}
			return res, nil
		}
	}
}

// turnEnded is the error of a call that ended because its turn did: err, and
// in any case one that errors.Is knows as the context's.
func turnEnded(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w (%w)", ctx.Err(), err)
}

// failed is a failure with text first and then what the tool has given, if
// anything. What has failed asks nobody any more.
func failed(text string, res *agent.Result) (*agent.Result, error) {
	if res == nil {
		return agent.Failure(text), nil
	}
	out := *res
	out.IsError, out.Suspend = true, nil
	got, err := outputText(res.Output)
	if err != nil {
		return nil, err
	}
	if got != "" {
		text += "\n" + got
	}
	out.Output = text
	return &out, nil
}
