package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// Turn is one request to an agent.
type Turn struct {
	Key  session.Key
	Mode session.Mode
	// Input is the caller's message. Without one the conversation's open turn
	// goes on: from Answers if it is parked, else from where it broke off. If
	// only its end was missing, the recorded answer is yielded once more.
	Input   *genai.Content
	Answers []session.Answer
	Caller  Caller
	// State is put on top of the agent file's own where a conversation begins.
	State map[string]any
}

// ErrNothingOpen means that there is no open turn to go on with, or that none of
// its questions is the one that was answered.
var ErrNothingOpen = errors.New("the conversation has no open turn that this continues")

// Causes for which a turn's context ends.
var (
	errTurnTimeout = errors.New("limits.timeout")
	errNotHeard    = errors.New("nobody listens to the turn any more")
	errStepFailed  = errors.New("another call of the step failed")
)

// Run takes one turn and yields its events as they happen: the stored ones and,
// in between, Partial and Notice. The last one is TurnEnded, or Suspended when
// the turn is parked. It waits for earlier turns of the same conversation, for
// at most as long as a turn may take.
//
// The error, if any, comes last; it means that the turn did not start or could
// not be recorded: session.ErrNotFound and its siblings, ErrNothingOpen, or
// ctx's. Whatever goes wrong inside the turn is the Problem of TurnEnded.
// Ending ctx, or breaking off the iteration, stops the turn and closes it in
// the conversation.
func (r *Runner) Run(ctx context.Context, in Turn) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		lease, err := r.open(ctx, in)
		if err != nil {
			yield(nil, err)
			return
		}
		defer lease.Release()
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		ctx, cancel := context.WithTimeoutCause(ctx, r.cfg.Limits.Timeout.Std(), errTurnTimeout)
		defer cancel()
		t := &turn{Runner: r, in: in, lease: lease, yield: yield, stop: stop, doing: "starting"}
		err = t.take(ctx)
		switch {
		case err != nil && t.unheard:
			r.Log.Error("turn could not be recorded", "agent", r.cfg.Name, "error", err)
		case err != nil:
			yield(nil, err)
		}
	}
}

// open leases the conversation.
func (r *Runner) open(ctx context.Context, in Turn) (session.Lease, error) {
	limit := r.cfg.Limits.Timeout.Std()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTurnTimeout)
	defer cancel()
	lease, err := r.Store.Open(ctx, in.Key, in.Mode)
	if errors.Is(err, errTurnTimeout) {
		return nil, fmt.Errorf("an earlier turn of this conversation has not ended within %v: %w", limit, context.DeadlineExceeded)
	}
	return lease, err
}
