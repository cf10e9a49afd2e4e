package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"google.golang.org/genai"

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
	tools []Tool // of this step; nil before the toolset was asked
	doing string // what a turn that is cut was at
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
				answer := t.in.Answers[i]
				answer.Kind = q.Kind
				e := t.event(session.Answered)
				e.Author, e.Answer = "user", &answer
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
		events = append(events, e)
	}
	return events, nil
}

// askModel makes one model call and records the reply.
func (t *turn) askModel(ctx context.Context) error {
	t.doing = "waiting for the model"
	if err := t.withinLimits(); err != nil {
		return err
	}
	req, err := t.request(ctx)
	if err != nil {
		return err
	}
	reply, err := t.generate(ctx, req)
	if err != nil {
		return err
	}
	if reply.Suspend != nil {
		e := t.event(session.Suspended)
		q := *reply.Suspend
		q.ID, e.Suspension = t.NewID(), &q
		return t.record(ctx, e)
	}
	calls := t.nameCalls(reply)
	e := t.event(session.ModelReply)
	e.Step++
	e.Content, e.FinishReason, e.Usage, e.Opaque = reply.Content, reply.FinishReason, reply.Usage, reply.Opaque
	if p := reply.Problem; p != nil {
		e.Problem = &session.Problem{Code: string(p.Code), Message: p.Error()}
	} else if calls == 0 && !onlyThoughts(e.Content) {
		t.conclude(e)
	}
	return t.record(ctx, e)
}

// withinLimits says which limit of the agent file forbids another model call.
func (t *turn) withinLimits() error {
	state, limits := &t.h.turn, &t.cfg.Limits
	switch {
	case state.step >= limits.MaxModelCalls && state.corrected:
		return &limitError{fmt.Sprintf("the turn reached limits.max_model_calls (%d) without an answer that matches output_schema", limits.MaxModelCalls)}
	case state.step >= limits.MaxModelCalls:
		return &limitError{fmt.Sprintf("the turn reached limits.max_model_calls (%d) without an answer", limits.MaxModelCalls)}
	case state.tokens >= limits.MaxTotalTokens:
		return &limitError{fmt.Sprintf("the turn used %d tokens, limits.max_total_tokens is %d", state.tokens, limits.MaxTotalTokens)}
	case state.thoughts >= maxThoughts:
		return &model.Error{Code: model.Empty, Message: fmt.Sprintf("the model replied %d times in a row with nothing but thoughts", state.thoughts)}
	}
	return nil
}

// generate runs one model call and passes on what comes before its end.
func (t *turn) generate(ctx context.Context, req *model.Request) (*model.Reply, error) {
	for reply, err := range t.Model.Generate(ctx, req) {
		if err != nil {
			return nil, err
		}
		if !reply.Partial {
			if reply.Suspend == nil && reply.Problem == nil && (reply.Content == nil || len(reply.Content.Parts) == 0) {
				break
			}
			return reply, nil
		}
		e := t.event(session.Partial)
		e.Step++
		e.Content = reply.Content
		if t.send(e); t.unheard {
			return nil, errNotHeard
		}
	}
	return nil, &model.Error{Code: model.Empty, Message: "the model gave no reply"}
}

// nameCalls gives every call of a fresh reply an id of its own and counts
// them. A reply that did not come to its own end loses its calls.
func (t *turn) nameCalls(reply *model.Reply) int {
	if reply.Content == nil {
		return 0
	}
	if reply.Problem != nil {
		kept := reply.Content.Parts[:0:0]
		for _, p := range reply.Content.Parts {
			if p.FunctionCall == nil {
				kept = append(kept, p)
			}
		}
		reply.Content = &genai.Content{Role: reply.Content.Role, Parts: kept}
		return 0
	}
	n := 0
	for i, p := range reply.Content.Parts {
		if p.FunctionCall == nil {
			continue
		}
		n++
		for _, earlier := range reply.Content.Parts[:i] {
			if earlier.FunctionCall != nil && earlier.FunctionCall.ID == p.FunctionCall.ID {
				p.FunctionCall.ID = ""
			}
		}
		if p.FunctionCall.ID == "" {
			p.FunctionCall.ID = "adk-" + t.NewID()
		}
	}
	return n
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
	if ctx.Err() != nil { // what has happened is recorded all the same
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
	}
	if err := t.lease.Append(ctx, t.h.version, events...); err != nil {
		return err
	}
	for _, e := range events {
		t.h.apply(e)
		t.send(e)
	}
	return nil
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
	e.Problem = p
	if err := t.record(ctx, append(events, e)...); err != nil {
		return err
	}
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
	asked.Author, asked.Text = "user", answerText(t.h.contents[t.h.turn.first])
	said.Author, said.Text = t.cfg.Name, answerText(t.h.turn.reply.Content)
	if err := t.Memory.Add(ctx, asked, said); err != nil {
		t.Log.Warn("the turn is not remembered", "agent", t.cfg.Name, "error", err)
	}
}

// limitError is a limit of the agent file that the turn ran into.
type limitError struct{ message string }

func (e *limitError) Error() string { return e.message }

// problem says why the turn ends, for the one who asked.
func (t *turn) problem(ctx context.Context, err error) *session.Problem {
	var (
		byModel *model.Error
		limit   *limitError
		missing *missingState
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
		return &session.Problem{Code: string(byModel.Code), Message: byModel.Error()}
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
