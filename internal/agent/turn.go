package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/budget"
	"github.com/adkmcp/adkmcp/internal/agent/instruction"
	"github.com/adkmcp/adkmcp/internal/agent/memory"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// Bounds that no agent file can change.
const (
	maxThoughts     = 10  // replies in a row that hold nothing but thoughts
	maxCallsPerStep = 128 // tool calls of one model reply
	storeTimeout    = 5 * time.Second
)

// turn is a turn while it runs. All of it belongs to the goroutine that
// iterates over the run.
type turn struct {
	*Runner
	in      Turn
	lease   session.Lease
	yield   func(*session.Event, error) bool
	stop    context.CancelCauseFunc
	unheard bool // the consumer broke off

	h     *history
	tools []Tool       // of this step; nil before the toolset was asked
	lost  *model.Usage // by the call that ended the turn
	doing string       // what a turn that is cut was at
}

// take does what the events call for until the turn is over or parked. The
// error is one that could not be recorded.
func (t *turn) take(ctx context.Context) error {
	if err := t.load(ctx); err != nil {
		return err
	}
	if err := t.begin(ctx); err != nil {
		return err
	}
	for {
		var err error
		state := &t.h.turn
		switch {
		case state.final: // an answer that came before the turn was stopped counts
			return t.end(ctx, state.reply.Problem)
		case state.parked():
			return nil
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case state.rejected:
			err = t.record(ctx, t.correction())
		case state.working():
			err = t.callTools(ctx)
		default:
			err = t.askModel(ctx)
		}
		switch {
		case errors.Is(err, session.ErrNotFound), errors.Is(err, session.ErrConflict), errors.Is(err, session.ErrClosed):
			return err // nothing can be recorded any more
		case err != nil:
			t.lost = model.UsageOf(err)
			return t.end(ctx, t.problem(ctx, err))
		}
	}
}

// load brings the history up to date. It is kept beside the conversation, so
// that a turn costs the same at any length of it.
func (t *turn) load(ctx context.Context) error {
	memo := t.lease.Memo()
	h, ok := (*memo).(*history)
	if !ok || h.version > t.lease.Version() {
		h = &history{}
	}
	for e, err := range t.lease.Load(ctx, h.version) {
		if err != nil {
			return err
		}
		h.apply(e)
	}
	t.h, *memo = h, h
	return nil
}

// begin records what starts or continues the turn.
func (t *turn) begin(ctx context.Context) error {
	state := &t.h.turn
	if t.in.Input == nil {
		return t.resume(ctx)
	}
	if state.open {
		p := &session.Problem{Code: session.Interrupted, Message: "the turn was interrupted"}
		if state.parked() {
			p.Message = "a new request came instead of an answer"
		}
		if err := t.end(ctx, p); err != nil {
			return err
		}
	}
	e := t.event(session.UserMessage)
	e.Invocation, e.Step, e.Author, e.Content = "e-"+t.NewID(), 0, "user", t.in.Input
	if t.h.version == 0 {
		e.StateDelta = t.initialState()
	}
	return t.record(ctx, e)
}

// initialState is that of a conversation which begins.
func (t *turn) initialState() map[string]any {
	if len(t.in.State) == 0 {
		return t.cfg.State
	}
	state := maps.Clone(t.in.State)
	for k, v := range t.cfg.State {
		if _, given := state[k]; !given {
			state[k] = v
		}
	}
	return state
}

// resume goes on with the open turn.
func (t *turn) resume(ctx context.Context) error {
	state := &t.h.turn
	var events []*session.Event
	for i := range t.in.Answers {
		for _, q := range state.pending() {
			if a := &t.in.Answers[i]; q.CallID == a.CallID && (a.ID == "" || a.ID == q.ID) {
				given := t.in.Answers[i]
				given.Kind = q.Kind
				e := t.event(session.Answered)
				e.Author, e.Answer = "user", &given
				events = append(events, e)
			}
		}
	}
	if !state.open || len(events) == 0 && state.parked() {
		return ErrNothingOpen
	}
	resumed := t.event(session.Resumed)
	var err error
	if resumed.Earlier, err = t.earlier(ctx); err != nil {
		return err
	}
	t.send(resumed)
	if state.final { // recorded, but perhaps never delivered
		t.send(state.reply)
	}
	return t.record(ctx, events...)
}

// earlier gives the stored events of the open turn, without its answer.
func (t *turn) earlier(ctx context.Context) ([]*session.Event, error) {
	var events []*session.Event
	for e, err := range t.lease.Load(ctx, t.h.turn.begun-1) {
		if err != nil {
			return nil, err
		}
		if t.h.turn.final && e.Seq == t.h.turn.reply.Seq {
			break
		}
		for _, q := range t.h.turn.pending() { // the store has not kept all of it, see Kept
			if e.Kind == session.Suspended && e.Suspension.ID == q.ID {
				whole := *e
				whole.Suspension, e = q, &whole
			}
		}
		events = append(events, e)
	}
	return events, nil
}

// event starts an event of this turn.
func (t *turn) event(k session.Kind) *session.Event {
	return &session.Event{
		Kind: k, Time: t.Now(), Invocation: t.h.turn.invocation, Step: t.h.turn.step,
		Author: t.cfg.Name, Definition: t.cfg.Definition,
	}
}

// record stores events, takes them into the history and passes them on.
func (t *turn) record(ctx context.Context, events ...*session.Event) error {
	if len(events) == 0 {
		return nil
	}
	if err := t.store(ctx, events...); err != nil {
		return err
	}
	for _, e := range events {
		t.h.apply(e)
		t.send(e)
	}
	return nil
}

// store appends events to the conversation.
func (t *turn) store(ctx context.Context, events ...*session.Event) error {
	if ctx.Err() != nil { // what has happened is recorded all the same
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
	}
	kept := make([]*session.Event, len(events))
	for i, e := range events {
		kept[i] = e.Kept()
	}
	err := t.lease.Append(ctx, t.h.version, kept...)
	for i, e := range events {
		e.V, e.Seq = kept[i].V, kept[i].Seq
	}
	return err
}

// send passes an event to the consumer. When the consumer has gone, the turn's
// context ends and the rest of the turn closes it.
func (t *turn) send(e *session.Event) {
	if !t.unheard && !t.yield(e, nil) {
		t.unheard = true
		t.stop(errNotHeard)
	}
}

func (t *turn) notice(text string) {
	e := t.event(session.Notice)
	e.Text = text
	t.send(e)
}

// end closes the turn. Calls that are still open get responses that say so, for
// services refuse a history in which a call has none.
func (t *turn) end(ctx context.Context, p *session.Problem) error {
	var events []*session.Event
	for i := range t.h.turn.calls {
		c := &t.h.turn.calls[i]
		if c.response != nil {
			continue
		}
		text := "not run: the turn ended before"
		if c.started {
			text = "the turn ended while this ran; whether it took effect is unknown"
		}
		events = append(events, t.finished(c.call, Failure(text)))
	}
	e := t.event(session.TurnEnded)
	e.Problem, e.Usage = p, t.lost
	if err := t.record(ctx, append(events, e)...); err != nil {
		return err
	}
	t.logEnd(ctx, p)
	if p == nil {
		t.remember(ctx)
	}
	return nil
}

// remember gives the memory what was said in the turn.
func (t *turn) remember(ctx context.Context) {
	if t.Memory == nil {
		return
	}
	entry := memory.Entry{Owner: memory.Owner{Principal: t.in.Key.Principal, Agent: t.in.Key.Agent}, Conversation: t.in.Key.Handle, Time: t.Now()}
	asked, said := entry, entry
	asked.Author, asked.Text = "user", answer.Text(t.h.talk.Contents[t.h.turn.first])
	said.Author, said.Text = t.cfg.Name, answer.Text(t.h.turn.reply.Content)
	if err := t.Memory.Add(ctx, asked, said); err != nil {
		t.Log.Warn("the turn is not remembered", "agent", t.cfg.Name, "error", err)
	}
}

// problem says why the turn ends, for the one who asked.
func (t *turn) problem(ctx context.Context, err error) *session.Problem {
	var (
		byModel *model.Error
		limit   *budget.Error
		missing *instruction.MissingState
		setup   *SetupError
	)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTurnTimeout):
		return &session.Problem{Code: session.TurnTimeout, Message: fmt.Sprintf("the turn reached limits.timeout (%v) while %s", t.cfg.Limits.Timeout, t.doing)}
	case cause != nil:
		message := "the turn was stopped while " + t.doing
		if !errors.Is(cause, context.Canceled) { // somebody said why
			message += ": " + cause.Error()
		}
		return &session.Problem{Code: session.Cancelled, Message: message}
	case errors.As(err, &byModel):
		return t.modelProblem(byModel)
	case errors.As(err, &setup):
		return &session.Problem{Code: session.BadSetup, Message: setup.Error()}
	case errors.As(err, &limit):
		return &session.Problem{Code: session.LimitReached, Message: err.Error()}
	case errors.As(err, &missing):
		return &session.Problem{Code: session.MissingState, Message: err.Error()}
	case errors.Is(err, session.ErrStateFull):
		return &session.Problem{Code: session.LimitReached, Message: "the app: and user: state of the agent is full; nothing more can be kept there"}
	case errors.Is(err, session.ErrTooLarge):
		return &session.Problem{Code: session.LimitReached, Message: "the conversation has reached its size limit (--max-conversation-bytes); start a new one"}
	}
	t.Log.Error("turn failed", "agent", t.cfg.Name, "invocation", t.h.turn.invocation, "error", err)
	return &session.Problem{Code: session.InternalError, Message: "an internal error while " + t.doing + "; the server's log says more"}
}
