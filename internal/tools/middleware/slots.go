package middleware

import (
	"context"
	"fmt"

	"github.com/adkmcp/adkmcp/internal/agent"
)

// slots lets n calls of a tool run at the same time; 0 means any number. The
// others wait for as long as their context allows.
func slots(n int) Middleware {
	return func(_ *agent.Spec, next Handler) Handler {
		if n <= 0 {
			return next
		}
		taken := make(chan struct{}, n) // holds one element per running call
		return func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
			select {
			case taken <- struct{}{}:
				defer func() { <-taken }()
				return next(ctx, call)
			case <-ctx.Done():
				return nil, fmt.Errorf("waiting for earlier calls of the tool: %w", ctx.Err())
			}
		}
	}
}
