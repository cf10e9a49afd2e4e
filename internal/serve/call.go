package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// call serves one tools/call. Whatever goes wrong is a result that the model
// can read. The call's context ends when the caller asks to stop, or hangs up
// where that means the same.
func (s *Server) call(ctx context.Context, a *Agent, req *mcp.CallToolRequest) (result *mcp.CallToolResult) {
	defer func() {
		if p := recover(); p != nil {
			s.opts.Log.Error("a call panicked", "agent", a.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			result = failure("an internal error; the server's log says more")
		}
	}()
	if _, never := req.Params.Arguments.(withdrawn); never || ctx.Err() != nil {
		return failure("the call was cancelled")
	}
	in, problem := arguments(req)
	if problem != "" {
		return failure(problem)
	}
	peer := turns.PeerOf(ctx)
	th, err := s.thread(a, peer, in.handle, server.IsModernRequest(ctx))
	if err != nil {
		return s.startFailure(a, err)
	}
	p := newProgress(peer, progressToken(req))
	held, err := s.opts.Turns.Attach(ctx, turns.Request{
		Runner: a.Runner,
		Turn: agent.Turn{
			Key: th.key, Mode: th.mode, Caller: peer.Caller,
			Input: genai.NewContentFromText(in.request, genai.RoleUser),
		},
		Patience:  a.Timeout,
		Arguments: th.arguments(in),
		Observe:   p.observe,
	})
	if err != nil {
		return s.startFailure(a, err)
	}
	defer held.Leave(false)
	if th.once {
		s.drop(ctx, th.key)
	}
	if !p.wait(ctx, held) {
		held.Cancel()
		if th.fresh && th.tell { // nobody will ever know its handle
			s.drop(ctx, th.key)
		}
		return failure("the call was cancelled")
	}
	out := held.Outcome()
	held.Leave(!closed(peer.Gone))
	return s.result(a, th, out)
}

// withdrawn stands in place of the arguments of a call that was cancelled
// before it began.
type withdrawn struct{}

// input is what a call says.
type input struct {
	request string
	handle  string // empty, the word new or a handle
}

// arguments reads a call's arguments. problem is what the caller should read
// if they are wrong.
func arguments(req *mcp.CallToolRequest) (in input, problem string) {
	args := req.GetArguments()
	request, ok := args["request"].(string)
	switch {
	case args["request"] == nil:
		return in, "the argument request is missing: say what the agent should do, as a string"
	case !ok:
		return in, "the argument request must be a string"
	case strings.TrimSpace(request) == "":
		return in, "the argument request is empty: say what the agent should do"
	}
	handle, ok := args["conversation"].(string)
	if args["conversation"] != nil && !ok {
		return in, "the argument conversation must be a string: a handle from an earlier result, or new"
	}
	return input{request, strings.TrimSpace(handle)}, ""
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
