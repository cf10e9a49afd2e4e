package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/content"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/listing"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/parking"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/upstream"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
)

// taskRequired is said of a tool that runs as a task only.
const taskRequired = "required"

// Bounds of texts, in bytes.
const (
	maxFailure  = 4 << 10
	maxProgress = 500
)

// tool is one tool of a server, or one of ours for its resources and prompts.
type tool struct {
	set  *Toolset
	spec agent.Spec
	// request makes the request of a call; problem says what is wrong with its
	// arguments.
	request func(args json.RawMessage) (req *protocol.Call, problem string)
	// read makes the result of what comes back.
	read func(raw json.RawMessage) *agent.Result
	// repeatable is set where a call may be made again of which it is not known
	// whether it has run.
	repeatable bool
}

// newTool makes a tool of one that the server lists.
func (s *Toolset) newTool(e listing.Entry) *tool {
	t := e.Tool
	made := &tool{set: s, spec: *e.Spec, read: content.OfTool, repeatable: e.Spec.Hints.Idempotent || e.Spec.Hints.ReadOnly}
	if s.cfg.Idempotent != nil {
		made.repeatable = *s.cfg.Idempotent
	}
	made.request = func(args json.RawMessage) (*protocol.Call, string) {
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		return &protocol.Call{
			Method: "tools/call", Params: map[string]any{"name": t.Name, "arguments": args},
			Schema: t.InputSchema, Task: t.Execution.TaskSupport == taskRequired,
		}, ""
	}
	return made
}

// Spec implements [agent.Tool].
func (t *tool) Spec() *agent.Spec { return &t.spec }

// Call implements [agent.Tool]. What the server asks a person suspends the turn;
// the call goes on meanwhile, and is found again with the answer.
func (t *tool) Call(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	by := parking.Caller{Owner: ownerOf(call), Principal: call.Caller.Principal, Progress: call.Progress}
	if call.Answer != nil && call.Answer.Kind == model.Question {
		return t.resume(ctx, by, call)
	}
	hops := call.Caller.Hops + 1
	if hops > agent.MaxHops {
		return agent.NotRun(fmt.Sprintf("not run: %d agents have called each other in a row, and no more may", call.Caller.Hops)), nil
	}
	req, problem := t.request(call.Args)
	if problem != "" {
		return agent.Failure(problem), nil
	}
	req.Owner = call.Caller.Principal
	req.Header, req.Meta = t.set.header(call.Caller), map[string]any{agent.MetaHops: hops}
	return t.set.pool.lot.Run(ctx, by, func(ctx context.Context, c *parking.Call) (*agent.Result, error) {
		return t.run(ctx, c, req)
	})
}

// resume goes on with a call that has asked.
func (t *tool) resume(ctx context.Context, by parking.Caller, call *agent.Call) (*agent.Result, error) {
	var opaque json.RawMessage
	if call.Asked != nil {
		opaque = call.Asked.Opaque
	}
	r, err := t.set.pool.lot.Resume(ctx, by, opaque, call.Answer)
	if errors.Is(err, parking.ErrGone) {
		return agent.Failure(fmt.Sprintf("the question of the server %s is no longer open; whether %s took effect is unknown. Check before calling it again.", t.set.name, t.spec.Name)), nil
	}
	return r, err
}

// ownerOf is the same for a call and its repetition with an answer only.
func ownerOf(c *agent.Call) string {
	return strings.Join([]string{c.Key.Principal, c.Key.Agent, c.Key.Handle, c.Invocation, c.ID, c.Name}, "\x00")
}

// run makes one call at the server.
func (t *tool) run(ctx context.Context, c *parking.Call, req *protocol.Call) (*agent.Result, error) {
	q := &inquiry{tool: t, call: c}
	req.Ask = q.ask
	req.Progress = func(text string) { c.Progress(listing.Clean(text, maxProgress)) }
	var res *protocol.Result
	server, err := t.set.server.of(req.Header)
	if err == nil {
		res, err = server.Do(ctx, req, t.repeatable)
	}
	var r *agent.Result
	switch {
	case err == nil:
		r = t.read(res.Raw)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	default:
		r = t.failure(err)
	}
	for _, note := range q.taken() {
		r = content.Note(r, note)
	}
	return r, nil
}

// failure says what went wrong with a call.
func (t *tool) failure(err error) *agent.Result {
	if r, refused := content.OfError(err); refused {
		r.Output = t.set.redact(fmt.Sprint(r.Output))
		return r
	}
	var unknown *protocol.UnknownOutcomeError
	var down *upstream.Failure
	var text string
	switch {
	case errors.As(err, &unknown):
		text = fmt.Sprintf("the connection to the server %s was lost while %s ran; whether it took effect is unknown. Check before calling it again.", t.set.name, t.spec.Name)
	case errors.As(err, &down):
		text = fmt.Sprintf("not run: the server %s cannot be used now: %s", t.set.name, down)
	default:
		text = fmt.Sprintf("the server %s gave no result: %s", t.set.name, t.set.redact(err.Error()))
	}
	r := agent.Failure(listing.Clean(text, maxFailure))
	r.Transient = unknown != nil || down != nil || isTransient(err)
	return r
}

// isTransient reports whether the way to the server may be better the next time.
func isTransient(err error) bool {
	var unsent *wire.NotSentError
	var denied *wire.DeniedError
	var status *wire.StatusError
	switch {
	case errors.As(err, &denied):
		return false
	case errors.As(err, &unsent), errors.Is(err, wire.ErrSessionLost):
		return true
	case errors.As(err, &status):
		return status.Code >= http.StatusInternalServerError || status.Code == http.StatusTooManyRequests || status.Code == http.StatusRequestTimeout
	}
	return false
}
