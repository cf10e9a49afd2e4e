package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/serve/progress"
	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/serve/tasks"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// methods are those that we answer ourselves, since the MCP library does not
// know them or answers them in a way that clients miss.
var methods = map[string]func(*Server, context.Context, *request) (any, *rpc.Error){
	"logging/setLevel": (*Server).setLogLevel,
	rpc.Listen:         aboutTasks((*tasks.Table).Listen),
	"tasks/get":        aboutTasks((*tasks.Table).Get),
	"tasks/update":     aboutTasks((*tasks.Table).Update),
	"tasks/cancel":     aboutTasks((*tasks.Table).Cancel),
}

// aboutTasks leaves a request to the tasks.
func aboutTasks(do func(*tasks.Table, context.Context, *tasks.Request) (any, *rpc.Error)) func(*Server, context.Context, *request) (any, *rpc.Error) {
	return func(s *Server, ctx context.Context, r *request) (any, *rpc.Error) {
		return do(s.tasks, ctx, &tasks.Request{Message: r.Message, Peer: r.peer, Client: r.client})
	}
}

// request is one that is being served.
type request struct {
	*rpc.Message
	peer   *turns.Peer
	client turns.Client
	// answer, when it is set by the handler of a tool, goes out in place of the
	// library's: a result that the library has no type for, or an error.
	answer any
	failed *rpc.Error
	// lost is called if the answer does not reach the client.
	lost func()
}

// hops counts the agents that have called each other to come here. What does not
// count comes from no agent of ours.
func (r *request) hops() int {
	var n int
	if json.Unmarshal(r.Meta[agent.MetaHops], &n) != nil || n < 0 {
		return 0
	}
	return n
}

type requestKey struct{}

// requestOf gives the request that ctx belongs to.
func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{Message: &rpc.Message{}, peer: turns.PeerOf(ctx)}
}

// endpoint is an MCP server of the library, with our own methods before it. It
// implements rpc.Handler.
type endpoint struct {
	serve   *Server
	library *server.MCPServer
	name    string
}

// Handle answers one request.
func (e *endpoint) Handle(ctx context.Context, m *rpc.Message) (response *rpc.Response) {
	defer func() {
		if p := recover(); p != nil {
			e.serve.opts.Log.Error("a request panicked", "method", m.Method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			response = rpc.Fail(m.ID, &rpc.Error{Code: rpc.CodeInternal, Message: "internal error"})
		}
	}()
	r := &request{Message: m, peer: turns.PeerOf(ctx)}
	if bad := r.introduce(); bad != nil {
		return rpc.Fail(m.ID, bad)
	}
	ctx = context.WithValue(ctx, requestKey{}, r)
	if own := methods[m.Method]; own != nil {
		result, bad := own(e.serve, ctx, r)
		if bad != nil {
			return rpc.Fail(m.ID, bad)
		}
		return rpc.Succeed(m.ID, e.complete(r, result))
	}
	if bad := e.checkParamHeaders(r); bad != nil {
		return rpc.Fail(m.ID, bad)
	}
	answer := e.library.HandleMessage(e.library.WithContext(ctx, &clientSession{id: r.peer.Connection}), m.Raw)
	switch {
	case r.failed != nil:
		return rpc.Fail(m.ID, r.failed)
	case r.answer != nil:
		response = rpc.Succeed(m.ID, e.complete(r, r.answer))
		response.Lost = r.lost
		return response
	}
	code := 0
	switch a := answer.(type) {
	case mcp.JSONRPCError:
		code = a.Error.Code
		if code == rpc.CodeInvalidRequest { // it could not read the params, and would name its own types
			return rpc.Fail(m.ID, &rpc.Error{Code: rpc.CodeInvalidParams, Message: "the params of " + m.Method + " do not have the form that MCP gives them"})
		}
	case mcp.JSONRPCResponse:
		if welcome, ok := a.Result.(mcp.InitializeResult); ok { // which knows no extensions
			welcome.Capabilities.Extensions = nil
			a.Result = welcome
			answer = a
		}
	}
	body, err := json.Marshal(answer)
	if err != nil {
		e.serve.opts.Log.Error("an answer cannot be written as JSON", "method", m.Method, "error", err)
		return rpc.Fail(m.ID, &rpc.Error{Code: rpc.CodeInternal, Message: "internal error"})
	}
	return &rpc.Response{Body: body, Code: code}
}

// introduce finds out who the client is: from the request itself since MCP
// 2026-07-28, before from what its connection began with.
func (r *request) introduce() *rpc.Error {
	switch {
	case r.Modern():
		if !slices.Contains(mcp.ValidProtocolVersions, r.Version()) {
			return &rpc.Error{Code: rpc.CodeVersion, Message: "protocol version " + r.Version() + " is not supported",
				Data: map[string]any{"supported": mcp.ValidProtocolVersions, "requested": r.Version()}}
		}
		if r.Meta[rpc.MetaCapabilities] == nil {
			return &rpc.Error{Code: rpc.CodeInvalidParams, Message: "missing or invalid _meta field " + rpc.MetaCapabilities}
		}
		r.client = clientOf(r.Version(), r.Meta[rpc.MetaClientInfo], r.Meta[rpc.MetaCapabilities])
		_ = json.Unmarshal(r.Meta[rpc.MetaLogLevel], &r.client.LogLevel)
	case r.Method == rpc.Initialize:
		var params struct {
			Version      string          `json:"protocolVersion"`
			Info         json.RawMessage `json:"clientInfo"`
			Capabilities json.RawMessage `json:"capabilities"`
		}
		if json.Unmarshal(r.Params, &params) == nil { // else the library says what is wrong
			r.peer.Session.Introduce(clientOf(mcp.NegotiateLegacyVersion(params.Version), params.Info, params.Capabilities))
		}
	default:
		r.client = r.peer.Session.Client()
	}
	return nil
}

// clientOf reads what a client says of itself. What cannot be read counts as not
// said: the client is asked nothing then.
func clientOf(version string, info, capabilities json.RawMessage) turns.Client {
	var who struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	_ = json.Unmarshal(info, &who)
	var can struct {
		Elicitation *struct {
			Form *struct{} `json:"form"`
			URL  *struct{} `json:"url"`
		} `json:"elicitation"`
		Sampling *struct {
			Tools *struct{} `json:"tools"`
		} `json:"sampling"`
		Extensions map[string]json.RawMessage `json:"extensions"`
	}
	_ = json.Unmarshal(capabilities, &can)
	c := turns.Client{Name: who.Name, Version: who.Version, Protocol: version, Tasks: can.Extensions[tasks.Extension] != nil}
	if e := can.Elicitation; e != nil { // empty means forms (client/elicitation, "Capabilities")
		c.Elicits = e.Form != nil || e.URL == nil
		c.ElicitsURL = e.URL != nil
	}
	if s := can.Sampling; s != nil {
		c.Samples, c.SamplesTools = true, s.Tools != nil
	}
	return c
}

// complete adds to a result of ours what the library adds to its own since MCP
// 2026-07-28: that it is complete, and whose it is.
func (e *endpoint) complete(r *request, result any) any {
	if !r.Modern() {
		return result
	}
	fields, err := toFields(result)
	if err != nil {
		return result // which fails again where it is written
	}
	if fields["resultType"] == nil {
		fields["resultType"] = json.RawMessage(`"complete"`)
	}
	var meta map[string]any
	_ = json.Unmarshal(fields["_meta"], &meta)
	if meta == nil {
		meta = make(map[string]any, 1)
	}
	meta[rpc.MetaServerInfo] = map[string]string{"name": e.name, "version": e.serve.opts.Version}
	if fields["_meta"], err = json.Marshal(meta); err != nil {
		return result
	}
	return fields
}

func toFields(result any) (map[string]json.RawMessage, error) {
	data, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	fields := make(map[string]json.RawMessage)
	return fields, json.Unmarshal(data, &fields)
}

// checkParamHeaders checks the headers that mirror arguments of a tool, where
// its schema asks for them (basic/transports, "Mcp-Param"). The library would,
// if it had read the request from HTTP itself.
func (e *endpoint) checkParamHeaders(r *request) *rpc.Error {
	header := r.peer.Caller.Header
	if r.Method != rpc.CallTool || header.Get(mcp.HeaderProtocolVersion) == "" || !r.Modern() {
		return nil // it did not come as a request of HTTP of its own
	}
	var params struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(r.Params, &params) // the library says what is wrong
	tool := e.library.GetTool(params.Name)
	if tool == nil {
		return nil
	}
	lookup := func(name string) (string, bool) {
		values := header.Values(name)
		if len(values) == 0 {
			return "", false
		}
		return values[0], true
	}
	if err := mcp.ValidateParamHeadersLookup(lookup, &tool.Tool, r.Params); err != nil {
		return &rpc.Error{Code: rpc.CodeHeaderMismatch, Message: err.Error()}
	}
	return nil
}

// setLogLevel notes from which level on the client wants log messages.
func (s *Server) setLogLevel(_ context.Context, r *request) (any, *rpc.Error) {
	var params struct {
		Level string `json:"level"`
	}
	switch {
	case r.Modern():
		return nil, &rpc.Error{Code: rpc.CodeNoMethod, Message: "logging/setLevel was removed in protocol version " + rpc.Stateless + ": name the level in _meta"}
	case json.Unmarshal(r.Params, &params) != nil || !progress.IsLogLevel(params.Level):
		return nil, &rpc.Error{Code: rpc.CodeInvalidParams, Message: "the level must be one of debug, info, notice, warning, error, critical, alert and emergency"}
	}
	r.peer.Session.SetLogLevel(params.Level)
	return struct{}{}, nil
}

// clientSession stands for the client where the library wants one. It sends
// nothing: what there is to say goes out through [turns.Peer].
type clientSession struct{ id string }

// Initialize does nothing.
func (*clientSession) Initialize() {}

// Initialized says yes.
func (*clientSession) Initialized() bool { return true }

// NotificationChannel gives one that nobody can send on.
func (*clientSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }

// SessionID names the connection.
func (c *clientSession) SessionID() string { return c.id }
