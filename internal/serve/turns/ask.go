package turns

import (
	"context"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// ask has one of those who wait answer the questions of a parked turn, or
// whoever comes within patience.
func (t *turn) ask(ctx context.Context, patience time.Duration, questions []*session.Suspension) []session.Answer {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		a, joined := t.asker()
		if a == nil {
			select {
			case <-joined:
				continue
			case <-late.C:
			case <-ctx.Done():
			}
			return nil
		}
		answers := a.answer(ctx, questions)
		if len(answers) > 0 || !t.isGone(a) || ctx.Err() != nil {
			return answers
		}
	}
}

// asker gives one of those who wait and are there, best one who holds questions;
// nil if nobody is, with a channel that is closed when somebody comes.
func (t *turn) asker() (*Attachment, <-chan struct{}) {
	t.watchMu.Lock()
	defer t.watchMu.Unlock()
	var found *Attachment
	for a := range t.attached {
		if a.ask == nil || a.absent {
			continue
		}
		if found = a; a.holds != nil && a.holds() {
			break
		}
	}
	if found == nil && t.joined == nil {
		t.joined = make(chan struct{})
	}
	return found, t.joined
}

// isGone reports whether somebody who waited does not any more.
func (t *turn) isGone(a *Attachment) bool {
	t.watchMu.Lock()
	defer t.watchMu.Unlock()
	_, attached := t.attached[a]
	return !attached || a.absent
}
