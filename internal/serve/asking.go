package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/serve/elicit"
	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

// Approve says what becomes of tools that need an approval.
type Approve string

// The policies. Where nobody can be asked, Ask denies.
const (
	Ask   Approve = "ask" // default
	Deny  Approve = "deny"
	Allow Approve = "allow"
)

// ask has the questions of the turn answered: by the operator's policy, by the
// person or the model behind the client, or, where the client brings the answers
// with its next call, not yet.
func (c *call) ask(ctx context.Context, questions []*session.Suspension) []session.Answer {
	var decided []session.Answer
	for _, q := range questions {
		if a := c.decide(q); a != nil {
			decided = append(decided, *a)
		}
	}
	if decided != nil {
		return decided // and the others come again
	}
	c.mu.Lock()
	t := c.task
	c.parked = t == nil && c.request.Modern()
	parked := c.parked
	c.mu.Unlock()
	switch {
	case t != nil:
		defer c.progress.Asking(elicit.Doing(questions[0]))()
		return t.Ask(ctx, questions)
	case parked:
		return nil
	}
	return c.askNow(ctx, questions)
}

// decide answers a question for which nobody is asked; nil if somebody is.
func (c *call) decide(q *session.Suspension) *session.Answer {
	a := &session.Answer{CallID: q.CallID, ID: q.ID, Action: model.Cancel}
	switch {
	case q.Kind == model.Approval && c.opts.Approve == Allow:
		a.Action = model.Accept
	case q.Kind == model.Approval && c.opts.Approve == Deny:
		a.Action, a.Reason = model.Decline, "the operator of this server allows no tool that needs an approval"
	default:
		if a.Reason = c.cannotAsk(q); a.Reason == "" {
			return nil
		}
	}
	return a
}

// cannotAsk says why a question cannot be put to this caller; empty if it can.
func (c *call) cannotAsk(q *session.Suspension) string {
	why := elicit.Unfit(q, &c.request.client)
	if why == "" && !c.request.Modern() && c.request.peer.Ask == nil {
		return "nobody can be asked: the answer does not come as an event stream, which alone carries questions"
	}
	return why
}

// holds reports whether questions of the turn can be put to this caller without
// the turn ending first.
func (c *call) holds() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.task != nil || !c.request.Modern()
}

// askNow asks while the call is served, as MCP does up to 2025-11-25. It gives no
// answers if the caller has gone: then somebody else may be asked.
func (c *call) askNow(ctx context.Context, questions []*session.Suspension) []session.Answer {
	peer := c.request.peer
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	go func() {
		select {
		case <-peer.Gone:
			gone(errAskerGone)
		case <-ctx.Done(): // at the latest when we return
		}
	}()
	answers := make([]session.Answer, len(questions))
	for i, q := range questions {
		result, err := c.askOne(ctx, q)
		switch {
		case ctx.Err() != nil || closed(peer.Gone):
			return nil
		case err != nil:
			answers[i] = elicit.Unanswered(q, c.whyNot(err), rpc.CodeOf(err))
		default:
			answers[i] = elicit.Answer(q, result)
		}
	}
	return answers
}

// askOne puts one question to the client, which has its time for it.
func (c *call) askOne(ctx context.Context, q *session.Suspension) (json.RawMessage, error) {
	defer c.progress.Asking(elicit.Doing(q))()
	ctx, cancel := context.WithTimeoutCause(ctx, c.opts.AskTimeout, errNoAnswer)
	defer cancel()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r := elicit.For(q, &c.request.client)
	return c.request.peer.Ask(ctx, r.Method, r.Params)
}

// Causes for which a question gets no answer.
var (
	errNoAnswer  = errors.New("nobody answered in time")
	errAskerGone = errors.New("the caller has gone")
)

// whyNot says in words for the model why there is no answer.
func (c *call) whyNot(err error) string {
	switch {
	case errors.Is(err, errNoAnswer):
		return fmt.Sprintf("nobody answered within %s", c.opts.AskTimeout)
	case errors.Is(err, rpc.ErrRefused):
		return err.Error()
	}
	c.opts.Log.Warn("a question could not be asked", "agent", c.agent.Name, "error", err)
	return "the question could not be asked"
}

// inputRequired is the result that puts questions to the client and makes it call
// again with the answers (MCP 2026-07-28, basic/patterns/mrtr). Without any it asks
// again for those of the call's own state.
func (c *call) inputRequired(questions ...*session.Suspension) *mcp.CallToolResult {
	c.input.asked = append(c.input.asked, questions...)
	state := elicit.State{Key: c.thread.key, Arguments: c.input.digest, Expires: c.input.expires}
	if len(questions) > 0 {
		state.Expires = c.opts.Now().Add(c.opts.AskTimeout)
	}
	requests := make(map[string]elicit.Request, len(c.input.asked))
	keys := elicit.Keys(c.input.asked)
	for i, q := range c.input.asked {
		requests[keys[i]] = elicit.For(q, &c.request.client)
		state.Questions = append(state.Questions, *q)
	}
	sealed, err := c.opts.Sealer.Seal(state)
	if err != nil {
		return c.startFailure(c.agent, err)
	}
	c.request.answer = map[string]any{"resultType": "input_required", "inputRequests": requests, "requestState": sealed}
	return nil
}

// answers reads the answers that a call brings to the questions of its state,
// and finds the conversation in which they were asked. It gives none if there are
// none, so that the client is asked again.
func (c *call) answers(sealed string) ([]session.Answer, *rpc.Error) {
	state, err := c.opts.Sealer.Open(sealed, c.request.peer.Caller.Principal, c.agent.Name, c.input.digest)
	if err != nil {
		return nil, &rpc.Error{Code: rpc.CodeInvalidParams, Message: err.Error()}
	}
	var params struct {
		Responses map[string]json.RawMessage `json:"inputResponses"`
	}
	if json.Unmarshal(c.request.Params, &params) != nil {
		return nil, &rpc.Error{Code: rpc.CodeInvalidParams, Message: "inputResponses must be an object: the names of the questions, each with its answer"}
	}
	c.thread = c.agent.thread(c.request.peer, c.request.Modern())
	c.thread.key = state.Key
	c.input.expires = state.Expires
	for i := range state.Questions {
		c.input.asked = append(c.input.asked, &state.Questions[i])
	}
	answers := make([]session.Answer, 0, len(state.Questions))
	var sampling []session.Answer
	for i, key := range elicit.Keys(c.input.asked) {
		q := c.input.asked[i]
		if response := params.Responses[key]; response != nil {
			answers = append(answers, elicit.Answer(q, response))
		} else if q.Kind == model.Sampling {
			sampling = append(sampling, elicit.Unanswered(q, "it called again without an answer", elicit.UserRejected))
		}
	}
	if len(answers) == 0 { // and the state cannot ask a model once more
		answers = sampling
	}
	if len(answers) == 0 {
		return nil, nil
	}
	c.input.asked = nil // what is not answered yet is asked again
	return answers, nil
}
