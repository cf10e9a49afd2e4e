package middleware

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
)

// errTimedOut tells the tool's own deadline from one of the turn.
var errTimedOut = errors.New("the tool's timeout")

// timeout gives a call at most d. It relies on the tool to end when its context
// does, because a goroutine left behind would outlive the call.
//
// A tool that was stopped reports an error, and beside it what it has so far,
// which is kept. One that gives a result alone has made it in time, or has
// found its own words for what became of it.
func timeout(d time.Duration) Middleware {
	return func(_ *agent.Spec, next Handler) Handler {
		return func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
			timed, cancel := context.WithTimeoutCause(ctx, d, errTimedOut)
			defer cancel()
			res, err := next(timed, call)
			if err == nil || !errors.Is(context.Cause(timed), errTimedOut) {
				return res, err
			}
			res, err = failed("timed out after "+seconds(d), res)
			if res != nil {
				res.Transient = true
			}
			return res, err
		}
	}
}

// seconds writes d as an agent file would: 60s rather than 1m0s.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}
