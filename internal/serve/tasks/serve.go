package tasks

import (
	"context"
	"encoding/json"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// Request is one that is about tasks, and who makes it.
type Request struct {
	*rpc.Message
	Peer   *turns.Peer
	Client turns.Client
}

// params are those of all methods of the extension.
type params struct {
	ID        string                     `json:"taskId"`
	Responses map[string]json.RawMessage `json:"inputResponses"`
}

// find finds the task that a request names. One that belongs to somebody else is
// the same as none.
func (tt *Table) find(r *Request) (*Task, params, *rpc.Error) {
	var p params
	switch {
	case !r.Modern():
		return nil, p, &rpc.Error{Code: rpc.CodeNoMethod, Message: "tasks came with protocol version " + rpc.Stateless}
	case !r.Client.Tasks:
		return nil, p, &rpc.Error{
			Code: rpc.CodeMissingCap, Message: "the client does not declare the extension " + Extension,
			Data: map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{Extension: struct{}{}}}},
		}
	case json.Unmarshal(r.Params, &p) != nil || p.ID == "":
		return nil, p, &rpc.Error{Code: rpc.CodeInvalidParams, Message: "taskId is missing"}
	}
	if found := tt.of(r.Peer.Caller.Principal, []string{p.ID}); len(found) == 1 {
		return found[0], p, nil
	}
	return nil, p, &rpc.Error{Code: rpc.CodeInvalidParams, Message: "there is no such task, or it has expired: call the tool again"}
}

// Get serves tasks/get.
func (tt *Table) Get(_ context.Context, r *Request) (any, *rpc.Error) {
	t, _, bad := tt.find(r)
	if bad != nil {
		return nil, bad
	}
	state, _, _ := t.detailed()
	return state, nil
}

// Update serves tasks/update, which brings answers to a task's questions.
func (tt *Table) Update(_ context.Context, r *Request) (any, *rpc.Error) {
	t, p, bad := tt.find(r)
	if bad != nil {
		return nil, bad
	}
	t.answer(p.Responses)
	return struct{}{}, nil
}

// Cancel serves tasks/cancel.
func (tt *Table) Cancel(ctx context.Context, r *Request) (any, *rpc.Error) {
	t, _, bad := tt.find(r)
	if bad != nil {
		return nil, bad
	}
	t.Cancel(ctx)
	return struct{}{}, nil
}
