package wire

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// ErrBrokenOff says that the one who iterates over an answer has stopped; a [Call]
// returns it when partial gives false.
var ErrBrokenOff = errors.New("iteration broken off")

// Call makes one call of a model: it gives the pieces to partial, and returns the
// whole answer.
type Call func(ctx context.Context, partial func(*model.Reply) bool) (*model.Reply, error)

// Generate makes of a call what [model.Model] wants: it bounds the call by timeout
// (0 for no bound), and replaces the errors of a call whose time ran out or that
// was stopped by those that say so.
func Generate(ctx context.Context, timeout time.Duration, call Call) iter.Seq2[*model.Reply, error] {
	return func(yield func(*model.Reply, error) bool) {
		bounded := ctx
		if timeout > 0 {
			var cancel context.CancelFunc
			bounded, cancel = context.WithTimeout(ctx, timeout)
			defer cancel()
		}
		reply, err := call(bounded, func(r *model.Reply) bool { return yield(r, nil) })
		switch {
		case errors.Is(err, ErrBrokenOff):
		case err != nil:
			yield(nil, whyStopped(ctx, bounded, timeout, err))
		default:
			yield(reply, nil)
		}
	}
}

func whyStopped(ctx, bounded context.Context, timeout time.Duration, err error) error {
	switch {
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return context.Cause(ctx)
	case ctx.Err() != nil:
		return &model.Error{Code: model.Timeout, Message: "the time for this turn ran out while the model was answering", Err: context.Cause(ctx)}
	case bounded.Err() != nil:
		return &model.Error{
			Code:    model.Timeout,
			Message: fmt.Sprintf("the model did not finish its answer within model.timeout (%s)", timeout),
			Err:     context.DeadlineExceeded,
		}
	}
	return err
}
