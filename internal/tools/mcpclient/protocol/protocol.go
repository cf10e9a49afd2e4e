// Package protocol speaks MCP to one server as its client, in both eras: up to
// 2025-11-25 with a handshake, and 2026-07-28 without. It takes nothing for
// granted that a server says: lists are read tool by tool, pages end, and what is
// not understood is kept as it came.
//
// Start with [Connect]. It stands on package wire, and does not use the client of
// mcp-go: that one loses keywords of schemas and whole lists for one bad tool,
// limits what a server asks a person to 30 seconds, cannot be asked over SSE, and
// takes a server's ping for the answer to a call.
package protocol

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
)

// Options say how to speak to a server. Transport and Log are required.
type Options struct {
	Transport wire.Transport
	// ClientVersion is the version of ours that the server is told.
	ClientVersion string
	// Version is a protocol version, or empty to ask the server: a short probe
	// (server/discover) and then, if need be, the handshake.
	Version string
	// ProbeTimeout bounds the probe; 0 is 2 seconds.
	ProbeTimeout time.Duration
	// Header goes with the messages of connecting.
	Header http.Header
	// Roots are folders, as file URIs, that the server may ask for.
	Roots []string
	// Elicitation and Sampling declare that a [Call] with Ask can answer such
	// requests; without them the server is not told of the capability.
	Elicitation, Sampling bool
	// Changed is told that the server's "tools", "resources" or "prompts" have
	// changed. It must not block and may be nil.
	Changed func(what string)
	Log     *slog.Logger
}

// Server is what a server says of itself.
type Server struct {
	Name, Version string
	Protocol      string // the version that is spoken
	Instructions  string
	// Capabilities as they came; Tools, Resources and Prompts are there or not.
	Capabilities map[string]json.RawMessage
}

// Tool is a tool as the server lists it. InputSchema and OutputSchema are JSON as
// it came.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  map[string]any  `json:"annotations"`
	Execution    struct {
		TaskSupport string `json:"taskSupport"` // forbidden, optional, required
	} `json:"execution"`
}

// ToolList is what came of a tools/list over all its pages.
type ToolList struct {
	Tools []Tool
	// Warnings name the tools that could not be read, and pages that repeat.
	Warnings []string
	// TTL is how long the server says the list is good for; 0 for nothing said.
	TTL time.Duration
}

// Call is one tools/call, resources/read or prompts/get.
type Call struct {
	Method string // tools/call
	// Params are the request's, without _meta.
	Params map[string]any
	// Schema is the tool's input schema, whose x-mcp-header properties are
	// mirrored as headers (2026-07-28).
	Schema json.RawMessage
	// Header goes with every message of this call, over HTTP.
	Header http.Header
	// Owner says for whom the call is. What a server asks without saying during
	// which call is passed on only while a connection has served one owner.
	Owner string
	// Meta is added to _meta.
	Meta map[string]any
	// Task asks for the call to be run as a task, which is then awaited; for tools
	// that require it.
	Task bool
	// Progress hears what the server says of its progress, before the result; nil
	// for no interest.
	Progress func(text string)
	// Ask answers a request of the server that belongs to this call
	// (elicitation/create, sampling/createMessage): it gets the request's params
	// and gives the result. It may take as long as it needs until its context ends.
	// With 2026-07-28 it is asked for each input request in turn.
	Ask func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}

// Result is what a call gave.
type Result struct {
	// Raw is the whole result as it came.
	Raw json.RawMessage
}

// Error is a JSON-RPC error of the server.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *Error) Error() string { return e.Message }

// UnknownOutcomeError wraps why it is not known whether a call took effect: it was
// sent, and then the connection ended.
type UnknownOutcomeError struct{ Err error }

// Error implements error.
func (e *UnknownOutcomeError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }
