package middleware

import (
	"context"
	"fmt"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
)

// retry makes a call again, as r says, whose way to the tool failed: with an error,
// or a result that is marked so. Only a tool that is idempotent or changes nothing
// is called again; nil is none. Pauses double, and are up to a fifth shorter, so
// that callers who failed together don't come back together.
func retry(r *config.Retry, random func() float64) Middleware {
	return func(spec *agent.Spec, next Handler) Handler {
		if r == nil || !spec.Hints.Idempotent && !spec.Hints.ReadOnly {
			return next
		}
		if random == nil {
			random = func() float64 { return 0 }
		}
		return func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
			pause := min(r.Delay.Std(), r.MaxDelay.Std())
			for try := 1; ; try++ {
				res, err := next(ctx, call)
				if try >= r.Tries || !lostOnTheWay(res, err) || ctx.Err() != nil {
					return res, err
				}
				wait := pause - time.Duration(random()*float64(pause)/5)
				call.Progress(fmt.Sprintf("trying again in %s (%d of %d)", seconds(wait.Round(100*time.Millisecond)), try+1, r.Tries))
				if over := sleep(ctx, wait); over != nil {
					return nil, fmt.Errorf("waiting to try again: %w", over)
				}
				pause = min(2*pause, r.MaxDelay.Std())
			}
		}
	}
}

func lostOnTheWay(res *agent.Result, err error) bool {
	return err != nil || res != nil && res.IsError && res.Transient
}
