// Package rpc is JSON-RPC 2.0 as MCP speaks it: what comes in, strictly read,
// and what goes out.
//
// Start with [Parse] and [Message]. A transport parses what its client sends,
// gives requests to a [Handler] and writes the [Response]; which protocol
// version a message belongs to is said by the message itself.
package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Stateless is the first protocol version without connections that mean
// something: every request says what the client is (basic/index, "Statelessness").
const Stateless = "2026-07-28"

// Keys of a request's _meta (basic/index, "_meta").
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo   = "io.modelcontextprotocol/clientInfo"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel     = "io.modelcontextprotocol/logLevel"
	MetaServerInfo   = "io.modelcontextprotocol/serverInfo"
	MetaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// Methods that transports look at.
const (
	Initialize = "initialize"
	Cancelled  = "notifications/cancelled"
	CallTool   = "tools/call"
	Listen     = "subscriptions/listen"
)

// Error codes of JSON-RPC and of MCP.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeNoMethod       = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeHeaderMismatch = -32020
	CodeMissingCap     = -32021 // a capability that the client did not declare
	CodeVersion        = -32022 // a protocol version that is not spoken
)

// Error is a JSON-RPC error.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Response is the answer to a request, as it goes out.
type Response struct {
	Body json.RawMessage
	// Code is that of the error in it, 0 for a result.
	Code int
	// Lost, if it is set, is called when the response is not sent because the
	// client has cancelled the request or hung up.
	Lost func()
}

// Unsent is called by a transport that does not send the response.
func (r *Response) Unsent() {
	if r.Lost != nil {
		r.Lost()
	}
}

// Handler answers requests. The end of ctx is the client's, or the server's,
// wish to stop. It is safe for concurrent use.
type Handler interface {
	Handle(ctx context.Context, m *Message) *Response
}

// Message is a message that was received. It is only read.
type Message struct {
	Raw    json.RawMessage
	ID     json.RawMessage // nil for a notification
	Method string          // empty for a response
	Params json.RawMessage
	Result json.RawMessage // of a response, with Error
	Error  json.RawMessage
	// Meta is the _meta of the params; nil where there is none.
	Meta map[string]json.RawMessage
}

// Parse reads a message. On an error the message is there as far as it could be
// read, for its id.
func Parse(data []byte) (*Message, *Error) {
	m := &Message{Raw: data}
	if err := checkStrict(data); err != nil {
		return m, &Error{Code: CodeParse, Message: err.Error()}
	}
	var envelope struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(data, &envelope); err != nil {
		return m, &Error{Code: CodeInvalidRequest, Message: "the message is no JSON-RPC message; batches are not supported"}
	}
	m.ID, m.Params, m.Result, m.Error = envelope.ID, envelope.Params, envelope.Result, envelope.Error
	if envelope.Method != nil {
		m.Method = *envelope.Method
	}
	if m.ID != nil && !isID(m.ID) {
		m.ID = nil
		return m, &Error{Code: CodeInvalidRequest, Message: "the id of a message must be a string or a number"}
	}
	switch {
	case envelope.JSONRPC != "2.0":
		return m, &Error{Code: CodeInvalidRequest, Message: `the message lacks "jsonrpc": "2.0"`}
	case m.Method == "" && (m.ID == nil || m.Result == nil && m.Error == nil):
		return m, &Error{Code: CodeInvalidRequest, Message: "the message is neither a request nor a response: it has no method"}
	case m.Method != "" && (m.Result != nil || m.Error != nil):
		return m, &Error{Code: CodeInvalidRequest, Message: "the message has a method and a result; it can be one of a request and a response"}
	}
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if first(m.Params) == '{' {
		if err := json.Unmarshal(m.Params, &params); err != nil {
			return m, &Error{Code: CodeInvalidParams, Message: "the _meta of the params must be an object"}
		}
	}
	m.Meta = params.Meta
	return m, nil
}

func first(raw json.RawMessage) byte {
	if raw = bytes.TrimLeft(raw, " \t\r\n"); len(raw) > 0 {
		return raw[0]
	}
	return 0
}

func isID(raw json.RawMessage) bool {
	c := first(raw)
	return c == '"' || c == '-' || c >= '0' && c <= '9'
}

// IsRequest reports whether the message wants a response.
func (m *Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsNotification reports whether the message is one that wants none.
func (m *Message) IsNotification() bool { return m.Method != "" && m.ID == nil }

// Version is the protocol version that the message names; empty up to
// 2025-11-25, whose messages name none.
func (m *Message) Version() string {
	var v string
	if json.Unmarshal(m.Meta[MetaVersion], &v) != nil {
		return ""
	}
	return v
}

// Modern reports whether the message belongs to [Stateless] or a later version.
func (m *Message) Modern() bool { return IsModern(m.Version()) }

// IsModern reports whether a protocol version is [Stateless] or a later one.
// Versions are dates, which compare as text.
func IsModern(version string) bool { return version >= Stateless }

// Key makes ids comparable: a number and a string never are the same.
func Key(id json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, id) != nil {
		return ""
	}
	return b.String()
}

// CancelledID gives the id of the request that a notification of [Cancelled]
// names, nil if it names none.
func (m *Message) CancelledID() json.RawMessage {
	var params struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &params) != nil || !isID(params.ID) {
		return nil
	}
	return params.ID
}

// Fail makes the response to a request, or with a nil id to what could not be
// read as one.
func Fail(id json.RawMessage, e *Error) *Response {
	return &Response{Code: e.Code, Body: encode(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *Error          `json:"error"`
	}{"2.0", orNull(id), e})}
}

// Succeed makes the response that carries a result. A result that cannot be
// written as JSON is an internal error.
func Succeed(id json.RawMessage, result any) *Response {
	body, err := marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", orNull(id), result})
	if err != nil {
		return Fail(id, &Error{Code: CodeInternal, Message: "the result cannot be written as JSON"})
	}
	return &Response{Body: body}
}

// Request makes a request of ours.
func Request(id, method string, params any) ([]byte, error) {
	return marshal(struct {
		JSONRPC string `json:"jsonrpc"`
		ID      string `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}{"2.0", id, method, params})
}

// Notification makes a notification.
func Notification(method string, params any) ([]byte, error) {
	return marshal(struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}{"2.0", method, params})
}

// Withdrawn is the notification that nobody waits for the answer to a request of ours
// any more (basic/utilities/cancellation).
func Withdrawn(id string, why error) ([]byte, error) {
	return Notification(Cancelled, map[string]string{"requestId": id, "reason": why.Error()})
}

// ErrRefused says that the client answered a request of ours with an error.
var ErrRefused = errors.New("the client refused the request")

// Failure is the error of a response; nil if it carries a result.
func (m *Message) Failure() error {
	if m.Error == nil {
		return nil
	}
	var e Error
	if json.Unmarshal(m.Error, &e) != nil {
		return ErrRefused
	}
	return &refusal{e}
}

// refusal is an [ErrRefused] with what the client said.
type refusal struct{ said Error }

func (r *refusal) Error() string {
	return fmt.Sprintf("%v: %s (%d)", ErrRefused, r.said.Message, r.said.Code)
}

// Is makes it an ErrRefused.
func (r *refusal) Is(target error) bool { return target == ErrRefused }

// CodeOf is the code of the error with which a client answered a request of ours; 0
// for any other error.
func CodeOf(err error) int {
	var r *refusal
	if errors.As(err, &r) {
		return r.said.Code
	}
	return 0
}

func orNull(id json.RawMessage) json.RawMessage {
	if id == nil {
		return json.RawMessage("null")
	}
	return id
}

// encode writes what always has a form in JSON.
func encode(v any) json.RawMessage {
	b, err := marshal(v)
	if err != nil {
		return json.RawMessage(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`)
	}
	return b
}

// marshal leaves <, > and & as they are: the reader is a program.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
