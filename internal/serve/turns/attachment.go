package turns

import (
	"context"

	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// Attachment is one call's hold on a turn.
type Attachment struct {
	registry *Registry
	turn     *turn
	observe  func(*session.Event)
	ask      func(context.Context, []*session.Suspension) []session.Answer
	holds    func() bool
	ended    func(context.Context)
	left     chan struct{} // closed when it is detached
	absent   bool          // guarded like turn.attached
}

// Done is closed when the turn has ended; all its events have been observed
// by then.
func (a *Attachment) Done() <-chan struct{} { return a.turn.done }

// Outcome says how the turn ended. Call it only after Done is closed.
func (a *Attachment) Outcome() Outcome { return a.turn.outcome }

// Leave ends the attachment; only the first call of Leave or Cancel counts.
// delivered says whether the caller gets the answer. An answer that nobody
// gets is kept for the same request, sent again.
func (a *Attachment) Leave(delivered bool) {
	r, t := a.registry, a.turn
	r.mu.Lock()
	defer r.mu.Unlock()
	if !t.detach(a) {
		return
	}
	t.delivered = t.delivered || delivered
	if len(t.attached) > 0 || !t.over {
		return
	}
	if t.delivered {
		r.drop(t)
	} else {
		r.keep(t)
	}
}

// Absent says that the caller has gone without asking to stop. The turn goes
// on, but no longer for this caller's sake: see Cancel.
func (a *Attachment) Absent() {
	a.registry.mu.Lock()
	defer a.registry.mu.Unlock()
	a.turn.watchMu.Lock()
	defer a.turn.watchMu.Unlock()
	a.absent = true
}

// Cancel ends the attachment because the caller asked for it. The turn is
// stopped, unless another caller who is still there waits for it too.
func (a *Attachment) Cancel() {
	r, t := a.registry, a.turn
	r.mu.Lock()
	defer r.mu.Unlock()
	if !t.detach(a) {
		return
	}
	if !t.abandoned() {
		return
	}
	r.drop(t)
	t.cancel(ErrCancelled)
}

// answer asks whoever waits, for as long as he does.
func (a *Attachment) answer(ctx context.Context, questions []*session.Suspension) []session.Answer {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-a.left:
			stop()
		case <-ctx.Done(): // at the latest when we return
		}
	}()
	return a.ask(ctx, questions)
}

// detach reports whether a was still attached.
func (t *turn) detach(a *Attachment) bool {
	t.watchMu.Lock()
	defer t.watchMu.Unlock()
	_, ok := t.attached[a]
	if ok {
		delete(t.attached, a)
		close(a.left)
	}
	return ok
}
