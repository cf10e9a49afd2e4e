package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/budget"
	"github.com/adkmcp/adkmcp/internal/agent/compaction"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// askModel makes one model call and records the reply, or has older contents
// summarised first.
func (t *turn) askModel(ctx context.Context) error {
	t.doing = "waiting for the model"
	if err := t.withinLimits(); err != nil {
		return err
	}
	if part := t.due(); part != nil {
		_, err := t.summarise(ctx, part)
		return err
	}
	req, err := t.request(ctx)
	if err != nil {
		return err
	}
	if t.windowed {
		req.Tokens = t.conversation().Estimate(req)
	}
	reply, err := t.generate(ctx, req, t.partial)
	if err != nil {
		return t.shrink(ctx, err)
	}
	if reply.Suspend != nil {
		e := t.event(session.Suspended)
		q := *reply.Suspend
		q.ID, e.Suspension, e.Usage, e.Model = t.NewID(), &q, reply.Usage, reply.Model
		return t.record(ctx, e)
	}
	calls := t.nameCalls(reply)
	e := t.event(session.ModelReply)
	e.Step++
	e.Content, e.FinishReason, e.Usage, e.Model, e.Opaque = reply.Content, reply.FinishReason, reply.Usage, reply.Model, reply.Opaque
	if reply.Problem != nil {
		e.Problem = t.modelProblem(reply.Problem)
	} else if calls == 0 && !onlyThoughts(e.Content) {
		t.conclude(e)
	}
	return t.record(ctx, e)
}

// withinLimits says why another model call may not be made.
func (t *turn) withinLimits() error {
	state := &t.h.turn
	if err := budget.Check(&t.cfg.Limits, &budget.Turn{Used: state.used, Calls: state.asks, Corrected: state.corrected}, &t.h.used); err != nil {
		return err
	}
	if state.thoughts >= maxThoughts {
		return &model.Error{Code: model.Empty, Message: fmt.Sprintf("the model replied %d times in a row with nothing but thoughts", state.thoughts)}
	}
	return nil
}

// notMatching begins the message of an answer that does not match.
const notMatching = "the answer does not match output_schema: "

// conclude holds an answer against output_schema and keeps it under output_key:
// the text, or the value that it is the JSON of.
func (t *turn) conclude(e *session.Event) {
	var value any
	if t.output != nil {
		var problem string
		if e.Structured, value, problem = t.output.Read(answer.Text(e.Content)); problem != "" {
			e.Problem = &session.Problem{Code: session.InvalidOutput, Message: notMatching + problem}
			return
		}
	} else if t.cfg.OutputKey != "" {
		value = answer.Text(e.Content)
	}
	if t.cfg.OutputKey != "" && value != "" {
		e.StateDelta = map[string]any{t.cfg.OutputKey: value}
	}
}

// correction asks the model to mend the answer that was rejected.
func (t *turn) correction() *session.Event {
	what := t.h.turn.reply.Problem.Message
	e := t.event(session.Correction)
	e.Text = what + "; the model is asked once more"
	e.Content = &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: "Your answer cannot be used: " +
		strings.TrimPrefix(what, notMatching) + ". Answer again, with nothing but one JSON object that matches the schema: no code fence, no other words."}}}
	return e
}

// conversation is what there is to show to the model.
func (t *turn) conversation() *compaction.Conversation { return t.h.shown(t.currentTurnOnly()) }

func (t *turn) currentTurnOnly() bool { return t.cfg.IncludeContents == "none" }

// due says what is to be summarised before the next model call, nil for nothing. A
// request that is to come again with an answer stays the same.
func (t *turn) due() *session.Compaction {
	state := &t.h.turn
	if t.cfg.Compaction == nil || state.unsummarised || state.answer != nil {
		return nil
	}
	return t.conversation().Due(t.cfg.Compaction, state.step == 0 && !t.currentTurnOnly())
}

// shrink has older contents summarised after a request that was more than the model
// takes, once a step. It gives back any other error, and this one where that did
// not help.
func (t *turn) shrink(ctx context.Context, err error) error {
	state := &t.h.turn
	var refused *model.Error
	if !errors.As(err, &refused) || refused.Code != model.ContextOverflow || t.cfg.Compaction == nil ||
		state.shrunk || state.unsummarised || state.answer != nil {
		return err
	}
	part := t.conversation().Overflowed(t.cfg.Compaction)
	if part == nil {
		return err
	}
	t.lost = refused.Usage
	if done, failed := t.summarise(ctx, part); done || failed != nil {
		return failed
	}
	return err
}

// summarise has the model summarise a part of the conversation. Where it cannot,
// that is recorded too: the turn goes on without and does not try again. The error
// is one that ends the turn.
func (t *turn) summarise(ctx context.Context, part *session.Compaction) (done bool, err error) {
	t.doing = "summarising the conversation"
	t.notice("summarising the older part of the conversation")
	part.TurnOnly = t.currentTurnOnly()
	req := t.conversation().Request(part, t.cfg.Model.ContextWindow)
	req.Notice = t.notice
	e := t.event(session.Compacted)
	e.Compaction = part
	reply, err := t.generate(ctx, req, func(*genai.Content) {})
	if err == nil {
		e.Usage, e.Model = reply.Usage, reply.Model
		e.Content, err = compaction.Read(reply)
	}
	if err != nil && ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil {
		if e.Usage == nil {
			e.Usage = model.UsageOf(err)
		}
		e.Problem = t.problem(ctx, err)
		t.Log.Warn("the conversation is not summarised", "agent", t.cfg.Name, "invocation", e.Invocation, "error", err)
		t.notice("the older part could not be summarised, the turn goes on with all of it: " + e.Problem.Message)
	}
	e.Usage, t.lost = model.Sum(t.lost, e.Usage), nil // the request that was too long counts here
	return err == nil, t.record(ctx, e)
}

// modelProblem says what the model's service reported, and what to do about it
// where only we know.
func (t *turn) modelProblem(e *model.Error) *session.Problem {
	p := &session.Problem{Code: string(e.Code), Message: e.Error()}
	if e.Code == model.ContextOverflow {
		p.Message += "; start a new conversation"
		if t.cfg.Compaction == nil {
			p.Message += ", or set events_compaction_config in the agent file"
		}
	}
	return p
}

// generate runs one model call and passes on what comes before its end.
func (t *turn) generate(ctx context.Context, req *model.Request, partial func(*genai.Content)) (*model.Reply, error) {
	if !t.Log.Enabled(ctx, slog.LevelDebug) {
		return t.hear(ctx, req, partial)
	}
	start := t.Now()
	reply, err := t.hear(ctx, req, partial)
	t.logCall(ctx, t.Now().Sub(start), reply, err)
	return reply, err
}

// hear gives the whole reply to a request, and passes on its pieces.
func (t *turn) hear(ctx context.Context, req *model.Request, partial func(*genai.Content)) (*model.Reply, error) {
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
		if partial(reply.Content); t.unheard {
			return nil, errNotHeard
		}
	}
	return nil, &model.Error{Code: model.Empty, Message: "the model gave no reply"}
}

// partial passes on a piece of a reply.
func (t *turn) partial(piece *genai.Content) {
	e := t.event(session.Partial)
	e.Step++
	e.Content = piece
	t.send(e)
}

// logCall writes a line on a model call that has ended, never what was said.
func (t *turn) logCall(ctx context.Context, took time.Duration, reply *model.Reply, err error) {
	log := t.Log.With("agent", t.cfg.Name, "invocation", t.h.turn.invocation, "step", t.h.turn.step+1, "duration", took)
	if err != nil {
		log.DebugContext(ctx, "model call ends", "error", err)
		return
	}
	name := cmp.Or(reply.Model, t.cfg.Model.Provider+"/"+t.cfg.Model.Name)
	log.DebugContext(ctx, "model call ends", append([]any{"model", name, "finish_reason", reply.FinishReason}, reply.Usage.Log()...)...)
}

// logEnd writes a line on a turn that has ended.
func (t *turn) logEnd(ctx context.Context, p *session.Problem) {
	if !t.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	state, problem := &t.h.turn, ""
	if p != nil {
		problem = p.Code
	}
	t.Log.DebugContext(ctx, "turn ends", "agent", t.cfg.Name, "invocation", state.invocation, "steps", state.step,
		"tokens", state.used.Tokens, "cost", state.used.Cost, "problem", problem)
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
