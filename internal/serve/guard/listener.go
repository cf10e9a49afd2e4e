package guard

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"golang.org/x/net/netutil"
)

// spareConnections is how many connections past the bound are open at once, to
// be told that there are too many. Further ones wait.
const spareConnections = 100

// counter counts the connections of a listener and marks those past a bound.
type counter struct {
	net.Listener
	most int64
	open atomic.Int64
}

// Count lets most connections of a listener be open, and marks some more so that
// they can be told; see [IsSurplus].
func Count(l net.Listener, most int) net.Listener {
	return &counter{Listener: netutil.LimitListener(l, most+spareConnections), most: int64(most)}
}

// Accept implements net.Listener.
func (c *counter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &counted{Conn: conn, surplus: c.open.Add(1) > c.most, gone: sync.OnceFunc(func() { c.open.Add(-1) })}, nil
}

// counted is a connection that is counted until it is closed.
type counted struct {
	net.Conn
	surplus bool
	gone    func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.gone()
	return c.Conn.Close()
}

type surplusKey struct{}

// Mark carries the mark into the requests of a connection. It is for
// http.Server's ConnContext.
func Mark(ctx context.Context, c net.Conn) context.Context {
	if secured, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = secured.NetConn()
	}
	if c, ok := c.(*counted); ok && c.surplus {
		return context.WithValue(ctx, surplusKey{}, true)
	}
	return ctx
}

// IsSurplus reports whether a request came on a connection past the bound, by its
// context.
func IsSurplus(ctx context.Context) bool { return ctx.Value(surplusKey{}) != nil }

// Silent holds the connections of a server that have not sent anything yet, for
// which its Shutdown would wait some seconds. The zero value is ready.
type Silent struct {
	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

// Watch is for http.Server's ConnState.
func (s *Silent) Watch(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(s.conns, c)
	case s.closed:
		_ = c.Close() // nothing was under way
	default:
		if s.conns == nil {
			s.conns = make(map[net.Conn]struct{})
		}
		s.conns[c] = struct{}{}
	}
}

// Close closes them, and those that are yet to come.
func (s *Silent) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for c := range s.conns {
		_ = c.Close()
	}
}
