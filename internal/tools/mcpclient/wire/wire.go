// Package wire carries JSON-RPC messages to and from one MCP server: over the
// standard streams of a child process, over streamable HTTP, or over the older
// HTTP+SSE. It knows nothing of what the messages mean.
//
// Start with [Transport]. Its implementations differ in one thing only: over HTTP
// a request has a stream of its own, which ends with its response.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

// Transport is one connection to a server. It is safe for concurrent use.
type Transport interface {
	// Open connects: it starts the child, or the stream that SSE needs; streamable
	// HTTP has nothing to do. What comes in goes to in until Close. ctx bounds
	// opening only.
	Open(ctx context.Context, in Inbox) error
	// Send sends a message. Over HTTP it returns after everything on the stream of
	// its request has been given to the Inbox, elsewhere as soon as the message has
	// been written; a stream that ends without the response is an error. When ctx ends, the sending or the stream does; telling the
	// server is up to the caller.
	//
	// The errors are [ErrSessionLost], [ErrLegacySSE], a [*StatusError], what an
	// [Authority] said, ctx's, or why the connection has ended. A request of which
	// the error is a [*NotSentError] has surely not reached the server.
	Send(ctx context.Context, m *Outgoing) error
	// Done is closed when the connection has ended by itself: the child has gone,
	// the stream of SSE has been cut. Err then says why, for the operator, with the
	// exit code and the last lines of the child's standard error.
	Done() <-chan struct{}
	Err() error
	// Close ends the connection, and the child with everything it has started. It
	// returns when nothing of it is left.
	Close() error
}

// Inbox takes what the server sends, in the order in which it came. It must not
// block for long: nothing else is read of that stream meanwhile.
type Inbox interface {
	// Receive takes a message, which [Parse] has read; of is the id of our request on whose stream it came,
	// empty where streams have no owner.
	Receive(m *rpc.Message, of string)
}

// Outgoing is a message to the server.
type Outgoing struct {
	Body json.RawMessage
	// ID is our request's; empty for a notification or a response.
	ID string
	// Version is the protocol version that HTTP headers say; empty before there is
	// one.
	Version string
	// Header goes along with this message only, over HTTP.
	Header http.Header
}

// Authority gives the headers that a connection's requests carry, and deals with
// a server that refuses them.
type Authority interface {
	// Headers are those of every request, credentials included. An error is one
	// that a person has to mend; nothing is sent then.
	Headers(ctx context.Context) (http.Header, error)
	// Challenged hears of a 401 or 403 and reports whether the request may be tried
	// again, once, with new headers. The error says what a person has to do.
	Challenged(ctx context.Context, res *http.Response) (again bool, err error)
}

// ErrSessionLost means that the server no longer knows the session: it was
// restarted, or has forgotten us. The request was not run.
var ErrSessionLost = errors.New("the server has lost the session")

// ErrLegacySSE means that the address does not speak streamable HTTP; it may be
// that of the older HTTP+SSE.
var ErrLegacySSE = errors.New("the server does not speak streamable HTTP")

// StatusError is an HTTP status that is no success.
type StatusError struct {
	Code int
	Text string // of the body, cut; may be empty
}

// NotSentError wraps why a request was surely not run: nothing of it has reached
// the server.
type NotSentError struct{ Err error }

// DeniedError wraps what an [Authority] says that a person has to mend: the
// connection is as good as it was.
type DeniedError struct{ Err error }

// Error implements error.
func (e *DeniedError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *DeniedError) Unwrap() error { return e.Err }

// Error implements error.
func (e *NotSentError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *NotSentError) Unwrap() error { return e.Err }

// Error implements error.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("the server answered %d %s", e.Code, http.StatusText(e.Code))
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}
