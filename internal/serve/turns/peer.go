package turns

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/adkmcp/adkmcp/internal/agent"
)

// Peer is the one at the other end of an MCP request, as its transport knows it.
//
// It travels in the context of the request, because the MCP library offers no
// other way from a transport to a tool's handler. It is only read.
type Peer struct {
	Caller agent.Caller
	// Connection names the MCP connection, where the protocol has one that
	// means something; else it is empty.
	Connection string
	// Session is what that connection remembers; nil where every request stands
	// for itself.
	Session *Session
	// Notify sends one JSON-RPC notification to the caller of this very request.
	// KeepAlive sends what shows the caller that we live, if the transport has
	// such a thing. Both return soon, come from one goroutine only and do
	// nothing where the caller cannot take it; either may be nil.
	Notify    func(message []byte) error
	KeepAlive func() error
	// Ask sends a request to the client, within the request that is being
	// served, and gives the client's result (up to MCP 2025-11-25). The error is
	// ctx's, or says that the client refused or has gone. nil where the
	// transport cannot.
	Ask func(ctx context.Context, method string, params any) (json.RawMessage, error)
	// Gone is closed when the caller has hung up without asking to stop, which
	// does not cancel a call over streamable HTTP up to MCP 2025-11-25
	// (basic/transports). It is nil where hanging up does cancel: there the
	// request's context ends.
	Gone <-chan struct{}
	// Entered tells the transport that the call has its place in line, so that
	// the next one may come in; it may be called more than once, or be nil.
	Entered func()
}

type peerKey struct{}

// WithPeer gives a context that carries p.
func WithPeer(ctx context.Context, p *Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// PeerOf gives the peer that ctx carries, or one about which nothing is known.
func PeerOf(ctx context.Context) *Peer {
	if p, ok := ctx.Value(peerKey{}).(*Peer); ok {
		return p
	}
	return &Peer{}
}

// Client is what a client has said of itself: when its connection began, or
// with each request (MCP 2026-07-28).
type Client struct {
	// Name and Version are those of the program; may be empty.
	Name    string
	Version string
	// Protocol is the version of MCP in use; empty if it is not known yet.
	Protocol string
	// Elicits and ElicitsURL: it can put a form before its user, or open a page.
	Elicits    bool
	ElicitsURL bool
	// Samples and SamplesTools: it lets its own model be asked, also with tools.
	Samples      bool
	SamplesTools bool
	// Tasks: it understands the extension io.modelcontextprotocol/tasks.
	Tasks bool
	// LogLevel is from which level on it wants log messages; empty for none.
	LogLevel string
}

// Session is what an MCP connection up to 2025-11-25 remembers of its client.
// The zero value is ready; it is safe for concurrent use.
type Session struct {
	mu     sync.Mutex
	client Client
}

// Client gives what the client has said of itself so far.
func (s *Session) Client() Client {
	if s == nil {
		return Client{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// Introduce notes what the client says of itself. The log level stays.
func (s *Session) Introduce(c Client) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.LogLevel = s.client.LogLevel
	s.client = c
}

// SetLogLevel notes from which level on the client wants log messages.
func (s *Session) SetLogLevel(level string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client.LogLevel = level
}
