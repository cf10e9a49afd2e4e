package turns

import (
	"context"

	"github.com/adkmcp/adkmcp/internal/agent"
)

// Peer is the one at the other end of an MCP call, as its transport knows it.
//
// It travels in the context of the call, because the MCP library offers no
// other way from a transport to a tool's handler. It is only read.
type Peer struct {
	Caller agent.Caller
	// Connection names the MCP connection, where the protocol has one that
	// means something; else it is empty.
	Connection string
	// Notify sends one JSON-RPC notification to the caller of this very call.
	// KeepAlive sends what shows the caller that we live, if the transport has
	// such a thing. Both return soon, come from one goroutine only and do
	// nothing where the caller cannot take it; either may be nil.
	Notify    func(message []byte) error
	KeepAlive func() error
	// Gone is closed when the caller has hung up without asking to stop, which
	// up to MCP 2025-11-25 does not cancel a call (basic/transports). It is nil
	// where hanging up does cancel: there the call's context ends.
	Gone <-chan struct{}
	// Cancelled reports whether the caller has cancelled the request with this
	// id before it could start; nil where that cannot happen.
	Cancelled func(id any) bool
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
