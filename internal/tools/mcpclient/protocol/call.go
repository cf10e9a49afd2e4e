package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

const (
	// maxHeard is how much of a server's news and questions may wait for a call,
	// and maxAsks how many questions are answered at once.
	maxHeard = 256
	maxAsks  = 8
	// maxRounds is how often a server may want more input before it gives a
	// result, and maxInputs how much at once.
	maxRounds = 10
	maxInputs = 100
)

// running is a call that is being done.
type running struct {
	*Call
	version string
	token   string
	events  chan *rpc.Message // news of its progress and questions, in their order
}

// question is a request of the server's that waits for its answer. It is guarded by
// Client.mu.
type question struct {
	cancel    context.CancelFunc // ends the answering
	withdrawn bool
}

// busy is what a server is told that asks too much at once.
const busy = "the client is busy with other requests: try again later"

// hear takes an event, if there is room. Client.mu is held, so that nobody ends the
// call meanwhile.
func (r *running) hear(m *rpc.Message) bool {
	select {
	case r.events <- m:
		return true
	default:
		return false
	}
}

// Do makes a call and waits for its result: through questions that the server asks
// in between, and the tasks that it makes of calls. When ctx ends, the server is
// told, for which there are 2 seconds.
//
// The errors are an [*Error] of the server, a wire.NotSentError and
// wire.ErrSessionLost when the call was surely not run, an
// [*UnknownOutcomeError], a wire.StatusError, ctx's, that of [Call].Ask, or what
// is wrong with the server's result.
func (c *Client) Do(ctx context.Context, call *Call) (*Result, error) {
	r := c.begin(call)
	asking, stop := context.WithCancel(ctx)
	defer stop()
	attended := make(chan struct{})
	go func() {
		defer close(attended)
		c.attend(asking, r)
	}()
	raw, err := c.rounds(ctx, r)
	stop()
	c.conclude(r)
	<-attended // everything that came before the result has been told
	if err != nil {
		return nil, err
	}
	return &Result{Raw: raw}, nil
}

func (c *Client) begin(call *Call) *running {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &running{Call: call, version: c.version, token: c.next(), events: make(chan *rpc.Message, maxHeard)}
	c.running[r.token] = r
	if c.owner == nil {
		c.owner = &call.Owner
	}
	c.mixed = c.mixed || *c.owner != call.Owner
	return r
}

// conclude ends what a call hears.
func (c *Client) conclude(r *running) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, r.token)
	close(r.events)
}

// attend tells of progress and answers questions until the call has ended.
func (c *Client) attend(ctx context.Context, r *running) {
	var asks sync.WaitGroup
	defer asks.Wait()
	free := make(chan struct{}, maxAsks)
	for m := range r.events {
		if m.IsNotification() {
			r.report(progressText(m.Params))
			continue
		}
		select {
		case free <- struct{}{}:
			asks.Go(func() {
				c.ask(ctx, r, m)
				<-free
			})
		default:
			c.release(m)
			c.refuse(m, &rpc.Error{Code: rpc.CodeInternal, Message: busy})
		}
	}
}

// report tells of progress.
func (r *running) report(text string) {
	if r.Progress != nil && text != "" {
		r.Progress(text)
	}
}

// progressText puts news of progress in a line; empty for none that says something.
func progressText(params json.RawMessage) string {
	var p struct {
		Progress *float64 `json:"progress"`
		Total    *float64 `json:"total"`
		Message  string   `json:"message"`
	}
	if json.Unmarshal(params, &p) != nil {
		return ""
	}
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	switch text := line(p.Message); {
	case text != "":
		return text
	case p.Progress == nil:
		return ""
	case p.Total == nil:
		return number(*p.Progress)
	default:
		return number(*p.Progress) + " of " + number(*p.Total)
	}
}

// line puts text in one line.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }

// ask has a question of the server answered, unless the call ends or the server
// takes it back.
func (c *Client) ask(ctx context.Context, r *running, m *rpc.Message) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.take(m, cancel)
	var result json.RawMessage
	err := ctx.Err()
	if err == nil {
		result, err = r.Ask(ctx, m.Method, m.Params)
	}
	var refused *Error
	switch c.release(m); {
	case ctx.Err() != nil:
	case err == nil:
		c.respond(rpc.Succeed(m.ID, orEmpty(result)).Body, r.Header)
	case errors.As(err, &refused):
		c.respond(rpc.Fail(m.ID, &rpc.Error{Code: refused.Code, Message: refused.Message}).Body, r.Header)
	default: // what went wrong here is none of the server's business
		c.o.Log.Debug("a request of an MCP server could not be answered", "method", m.Method, "error", err)
		c.respond(rpc.Fail(m.ID, &rpc.Error{Code: rpc.CodeInternal, Message: "the request could not be answered"}).Body, r.Header)
	}
}

// take notes how the answering of a question can be ended.
func (c *Client) take(m *rpc.Message, cancel context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.asked[rpc.Key(m.ID)]
	q.cancel = cancel
	if q.withdrawn {
		cancel()
	}
}

// release lets go of a question.
func (c *Client) release(m *rpc.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, rpc.Key(m.ID))
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// partial is what is looked at of a result to see whether it is one already.
type partial struct {
	Type   string                  `json:"resultType"`
	Inputs map[string]inputRequest `json:"inputRequests"`
	State  json.RawMessage         `json:"requestState"`
	Task   json.RawMessage         `json:"task"` // up to 2025-11-25
}

// inputRequest is a question in a result (basic/patterns/mrtr, "InputRequests").
type inputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// rounds sends a call until there is a result (basic/patterns/mrtr).
func (c *Client) rounds(ctx context.Context, r *running) (json.RawMessage, error) {
	params := maps.Clone(r.Params)
	modern := rpc.IsModern(r.version)
	if r.Task && !modern {
		params = with(params, map[string]any{"task": struct{}{}})
	}
	for round := 0; ; round++ {
		raw, err := c.exchange(ctx, r.request(params))
		if err != nil || !modern && !r.Task {
			return raw, err
		}
		var p partial
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, fmt.Errorf("the server's result cannot be read: %w", err)
		}
		switch {
		case !modern && p.Task != nil:
			return c.await(ctx, r, p.Task)
		case !modern, p.Type == "", p.Type == "complete":
			return raw, nil
		case p.Type == "task":
			return c.await(ctx, r, raw)
		case p.Type != "input_required":
			return nil, fmt.Errorf("the server gave a result of type %q, which is not known here", p.Type)
		case round == maxRounds:
			return nil, fmt.Errorf("the server wants more input after %d rounds", maxRounds)
		}
		more := make(map[string]any, 2)
		if len(p.Inputs) > 0 {
			if more["inputResponses"], err = c.inputs(ctx, r, p.Inputs); err != nil {
				return nil, err
			}
		}
		if p.State != nil {
			more["requestState"] = p.State
		}
		params = with(r.Params, more)
	}
}

// with gives params with some more.
func with(params, more map[string]any) map[string]any {
	all := make(map[string]any, len(params)+len(more))
	maps.Copy(all, params)
	maps.Copy(all, more)
	return all
}

// request is the call as a request.
func (r *running) request(params map[string]any) *request {
	meta := maps.Clone(r.Meta)
	if r.Progress != nil {
		meta = with(meta, map[string]any{"progressToken": r.token})
	}
	return &request{method: r.Method, version: r.version, params: params, meta: meta, header: r.Header, owner: r}
}

// inputs has the questions in a result answered, in the order of their keys.
func (c *Client) inputs(ctx context.Context, r *running, requests map[string]inputRequest) (map[string]json.RawMessage, error) {
	if len(requests) > maxInputs {
		return nil, fmt.Errorf("the server asks %d questions at once; %d are the most", len(requests), maxInputs)
	}
	ctx, stop := c.whileOpen(ctx)
	defer stop()
	responses := make(map[string]json.RawMessage, len(requests))
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		q := requests[key]
		switch {
		case !c.declares(q.Method):
			return nil, fmt.Errorf("the server wants %q of us, which was not offered", q.Method)
		case q.Method == methodRoots:
			responses[key] = c.roots()
			continue
		case r.Ask == nil:
			return nil, fmt.Errorf("the server wants %q, and nobody can be asked during this call", q.Method)
		}
		result, err := r.Ask(ctx, q.Method, q.Params)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("answer the server's %s: %w", q.Method, err)
		}
		responses[key] = orEmpty(result)
	}
	return responses, nil
}
