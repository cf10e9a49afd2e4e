package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/serve/progress"
	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/serve/tasks"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// call is one tools/call while it is served.
type call struct {
	*Server
	agent    *Agent
	request  *request
	input    input
	thread   thread
	progress *progress.Reporter
	held     *turns.Attachment

	mu     sync.Mutex
	task   *tasks.Task // what the call has become, if it has
	parked bool        // the turn waits for an answer that comes with another call
}

// call serves one tools/call. Whatever goes wrong is a result that the model
// can read, apart from what only the client itself can get wrong. The call's
// context ends when the caller asks to stop, or hangs up where that means the
// same.
func (s *Server) call(ctx context.Context, a *Agent, req *mcp.CallToolRequest) (result *mcp.CallToolResult) {
	defer func() {
		if p := recover(); p != nil {
			s.opts.Log.Error("a call panicked", "agent", a.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			result = failure("an internal error; the server's log says more")
		}
	}()
	if ctx.Err() != nil {
		return failure("the call was cancelled")
	}
	c := &call{Server: s, agent: a, request: requestOf(ctx)}
	in, problem := a.arguments(ctx, s, req)
	if problem != "" {
		return failure(problem)
	}
	c.input = in
	turn, bad, err := c.turn(req)
	switch {
	case bad != nil:
		c.request.failed = bad
		return nil
	case err != nil:
		return c.startFailure(a, err)
	case turn == nil: // asked again for what is missing
		return c.inputRequired()
	}
	return c.take(ctx, req, turn)
}

// turn decides what the call asks for: a new turn, or with the answers to its
// questions one that is parked. It gives nil if there are answers missing.
func (c *call) turn(req *mcp.CallToolRequest) (*agent.Turn, *rpc.Error, error) {
	peer, caller := c.request.peer, c.request.peer.Caller
	caller.Hops = c.request.hops()
	if req.Params.RequestState != "" {
		answers, bad := c.answers(req.Params.RequestState)
		if bad != nil || answers == nil {
			return nil, bad, nil
		}
		return &agent.Turn{Key: c.thread.key, Mode: session.MustExist, Caller: caller, Answers: answers}, nil, nil
	}
	th, err := c.newThread(c.agent, peer, c.input.handle, c.request.Modern())
	if err != nil {
		return nil, nil, err
	}
	c.thread = th
	return &agent.Turn{
		Key: th.key, Mode: th.mode, Caller: caller,
		Input: &genai.Content{Role: genai.RoleUser, Parts: c.input.parts},
	}, nil, nil
}

// take attaches to the turn and waits for what comes of it.
func (c *call) take(ctx context.Context, req *mcp.CallToolRequest, turn *agent.Turn) *mcp.CallToolResult {
	c.progress = progress.New(c.request.peer, progressToken(req), c.request.client.LogLevel)
	held, err := c.opts.Turns.Attach(ctx, turns.Request{
		Runner: c.agent.Runner, Turn: *turn,
		Patience:   c.agent.Patience,
		Arguments:  c.thread.arguments(c.input),
		Wanted:     func() bool { return ctx.Err() == nil },
		Ask:        c.ask,
		Holds:      c.holds,
		AskTimeout: c.opts.AskTimeout,
		Observe:    c.observe,
		Ended:      c.ended,
	})
	if entered := c.request.peer.Entered; entered != nil {
		entered()
	}
	if err != nil {
		return c.startFailure(c.agent, err)
	}
	c.held = held
	return c.wait(ctx)
}

// wait waits for the turn to end, or for what ends the call before.
func (c *call) wait(ctx context.Context) *mcp.CallToolResult {
	until := progress.Until{Overdue: c.limit(), BecomeTask: c.becomeTask}
	if c.request.Modern() && c.request.client.Tasks {
		until.TaskAfter = c.agent.TaskAfter
	}
	switch c.progress.Wait(ctx, c.held, until) {
	case progress.Ended:
		out := c.held.Outcome()
		c.held.Leave(!closed(c.request.peer.Gone))
		switch {
		case parked(out) && c.request.Modern():
			return c.inputRequired(out.Answer.Questions...)
		case parked(out): // it was stopped while somebody was asked
			c.forget(ctx, false)
			return failure("the agent's question was not answered before its turn was stopped: make the request again")
		}
		c.forget(ctx, false)
		return c.result(ctx, out)
	case progress.Task:
		ctx = context.WithoutCancel(ctx)
		c.request.lost = func() { c.task.Cancel(ctx) } // nobody has heard of it
		c.request.answer = c.task.Created()
		return nil
	case progress.Overdue:
		return c.overdue(ctx)
	}
	c.stop(ctx)
	return failure("the call was cancelled")
}

// stop stops the turn for the caller's sake.
func (c *call) stop(ctx context.Context) {
	c.held.Cancel()
	c.forget(ctx, true)
}

// parked reports whether a turn waits for answers.
func parked(out turns.Outcome) bool {
	return out.Err == nil && len(out.Answer.Questions) > 0
}

// forget deletes the conversation if nobody can go on with it; of a call that
// was cancelled nobody will ever know a new handle.
func (c *call) forget(ctx context.Context, cancelled bool) {
	if c.thread.once || cancelled && c.thread.fresh && c.thread.tell {
		c.drop(ctx, c.thread.key)
	}
}

// overdue is the result of a call whose time to wait is over. The turn goes on,
// and the same request again gets its answer.
func (c *call) overdue(ctx context.Context) *mcp.CallToolResult {
	doing := c.progress.Doing()
	if c.thread.once { // there is no coming back
		c.stop(ctx)
		return failure(fmt.Sprintf("no answer within %s (serve.timeout); the agent was %s and has been stopped", c.limit(), doing))
	}
	c.held.Leave(false)
	r := failure(fmt.Sprintf("no answer within %s (serve.timeout): the agent is still %s and goes on. "+
		"To get its answer, call again with the very same request and conversation %s", c.limit(), doing, c.thread.key.Handle))
	r.Meta = &mcp.Meta{AdditionalFields: map[string]any{MetaConversation: c.thread.key.Handle}}
	return r
}

// observe sees what happens in the turn. It is called by the turn and never
// waits.
func (c *call) observe(e *session.Event) {
	c.progress.Observe(e)
	c.mu.Lock()
	defer c.mu.Unlock()
	if line := progress.Describe(e); c.task != nil && line != "" {
		c.task.Observe(line)
	}
}

const (
	taskPrefix = "tk_"
	// taskKept is how long a task is kept after it is over.
	taskKept = time.Hour
)

// becomeTask makes a task of a call whose turn still runs. It is there for
// tasks/get before anybody hears of it.
func (c *call) becomeTask() bool {
	id, err := c.newID(taskPrefix)
	if err != nil {
		c.opts.Log.Error("no task", "error", err)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parked || closed(c.held.Done()) {
		return false
	}
	c.task = c.tasks.Add(tasks.Spec{
		ID: id, Principal: c.thread.key.Principal, Kept: taskKept, Expected: c.agent.Patience,
		Message: c.progress.Doing(), Client: c.request.client, Stop: c.stop,
	})
	return c.task != nil
}

// ended is told by the registry that the turn has ended. What has become a task
// keeps its result.
func (c *call) ended(ctx context.Context) {
	c.mu.Lock()
	t := c.task
	c.mu.Unlock()
	if t == nil {
		return
	}
	out := c.held.Outcome()
	result := c.result(ctx, out)
	if parked(out) {
		result = failure("nobody answered the agent's question")
	}
	result.ResultType = mcp.ResultTypeComplete
	body, err := json.Marshal(result)
	if err != nil {
		c.opts.Log.Error("the result of a task cannot be written as JSON", "error", err)
		body = json.RawMessage(`{"resultType":"complete","isError":true,"content":[{"type":"text","text":"internal error"}]}`)
	}
	c.held.Leave(true)
	c.forget(ctx, false)
	t.Finish(body)
}

// limit is how long the caller waits for the answer; 0 for as long as it takes.
func (c *call) limit() time.Duration {
	switch wait := c.agent.Wait; {
	case !wait.Auto:
		return wait.Limit.Std()
	default:
		return progress.HostLimit(c.request.client.Name)
	}
}

// progressToken gives the token under which the caller wants progress, as JSON;
// nil if it wants none.
func progressToken(req *mcp.CallToolRequest) json.RawMessage {
	if req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
		return nil
	}
	token, err := json.Marshal(req.Params.Meta.ProgressToken)
	if err != nil {
		return nil
	}
	return token
}

// closed reports whether c is closed; a nil channel never is.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
