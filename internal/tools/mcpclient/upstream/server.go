// Package upstream keeps the connection to one MCP server: it connects when
// somebody needs it, once for all who wait, gives up a connection that nobody uses,
// and tries again, with patience, where one has broken.
//
// Start with [Server]. list.go remembers what the server lists; dial.go is how a
// connection is made from the configuration.
package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
)

// Client is what is needed of a [protocol.Client].
type Client interface {
	Tools(ctx context.Context, header http.Header) (*protocol.ToolList, error)
	Do(ctx context.Context, c *protocol.Call) (*protocol.Result, error)
	Done() <-chan struct{}
	Err() error
	Close() error
}

// Dial connects. Everything that is started ends with the client's Close; ctx
// bounds connecting only. changed is told of lists that have changed.
type Dial func(ctx context.Context, header http.Header, changed func(what string)) (Client, *protocol.Server, error)

// Options are what a [Server] needs; all are required.
type Options struct {
	Dial Dial
	// StartTimeout bounds connecting and listing together.
	StartTimeout time.Duration
	// IdleTimeout is how long a connection is kept that nobody uses.
	IdleTimeout time.Duration
	Now         func() time.Time
	Log         *slog.Logger // with the server's name
	// Redact takes secrets out of what is said of failures.
	Redact func(string) string
}

// How long a server is left alone that cannot be reached or that has crashed. The
// time doubles with each failure, until a connection has lasted for a while.
const (
	firstPause = time.Second
	maxPause   = 30 * time.Second
	healthy    = time.Minute
)

// Failure is why a server cannot be used now, in words that hold no secrets. The
// same pointer is given until it has been tried again.
type Failure struct {
	text string
	err  error
}

// Error implements error.
func (f *Failure) Error() string { return f.text }

// Unwrap gives the cause, whose text may hold secrets.
func (f *Failure) Unwrap() error { return f.err }

// errUnsteady is why a server is left alone that answers, but loses connections.
var errUnsteady = errors.New("it loses the connection again and again")

// errClosed is said to whoever comes too late.
var errClosed = &Failure{text: "the program is about to end"}

// Server is one server, connected or not. It is safe for concurrent use.
type Server struct {
	o Options

	mu       sync.Mutex
	conn     *conn    // nil while there is none
	attempt  *attempt // to connect; nil while there is none
	failures int      // in a row
	failure  *Failure // the last one
	retryAt  time.Time
	closed   bool

	running sync.WaitGroup
	cancels map[int]context.CancelFunc // of what runs in the background
	last    int                        // key in cancels
}

// attempt is one that several may wait for.
type attempt struct {
	done chan struct{}
	err  error // once done
}

// conn is one connection. Server.mu guards it.
type conn struct {
	client  Client
	info    *protocol.Server
	born    time.Time
	users   int
	idle    *time.Timer
	retired chan struct{} // closed when it is not the server's connection any more
	ended   bool          // somebody closes it
	lists   lists
	changes atomic.Int64 // how often the server has said that its tools have changed
}

// New makes a server; nothing is contacted before somebody needs it.
func New(o Options) *Server { return &Server{o: o, cancels: map[int]context.CancelFunc{}} }

// Close ends the connection and everything that goes on, and returns when nothing
// is left. A second Close only waits.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for _, cancel := range s.cancels {
		cancel()
	}
	if c := s.conn; c != nil {
		s.retire(c)
		s.end(c)
	}
	s.mu.Unlock()
	s.running.Wait()
}

// Busy reports whether anybody uses the server just now.
func (s *Server) Busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attempt != nil || s.conn != nil && s.conn.users > 0
}

// background runs work until by at most, whoever has asked for it, and until
// Close. mu is held, and the server is not closed.
func (s *Server) background(ctx context.Context, by time.Time, work func(ctx context.Context)) {
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), by)
	s.last++
	key := s.last
	s.cancels[key] = cancel
	s.running.Go(func() {
		defer func() {
			cancel()
			s.mu.Lock()
			delete(s.cancels, key)
			s.mu.Unlock()
		}()
		work(ctx)
	})
}

// Do makes a call. One that surely has not run because the connection was lost is
// made again, once, on a new connection, and so is a repeatable one of which that is
// not known. The error is a [*Failure] if there is no connection to be had, else the
// client's.
func (s *Server) Do(ctx context.Context, call *protocol.Call, repeatable bool) (*protocol.Result, error) {
	for again := true; ; again = false {
		c, err := s.acquire(ctx, call.Header, time.Now().Add(s.o.StartTimeout))
		if err != nil {
			return nil, err
		}
		res, err := c.client.Do(ctx, call)
		s.release(c)
		var unknown *protocol.UnknownOutcomeError
		switch {
		case err == nil || ctx.Err() != nil:
			return res, err
		case isLost(err):
			s.drop(c, again)
		case !repeatable || !errors.As(err, &unknown):
			return nil, err
		}
		if !again {
			return nil, err
		}
	}
}

// isLost reports whether an error means that nothing has run, and that a new
// connection may help.
func isLost(err error) bool {
	var unsent *wire.NotSentError
	var denied *wire.DeniedError
	return errors.Is(err, wire.ErrSessionLost) || errors.As(err, &unsent) && !errors.As(err, &denied)
}

// acquire gives the connection, and connects until by if there is none. Whoever
// gets it releases it.
func (s *Server) acquire(ctx context.Context, header http.Header, by time.Time) (*conn, error) {
	for {
		c, a, err := s.current(ctx, header, by)
		if c != nil || err != nil {
			return c, err
		}
		select {
		case <-a.done:
			if a.err != nil {
				return nil, a.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// current gives the connection, or the attempt to get one.
func (s *Server) current(ctx context.Context, header http.Header, by time.Time) (*conn, *attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, errClosed
	}
	if c := s.conn; c != nil && !s.crashed(c) {
		c.users++
		c.idle.Stop()
		return c, nil, nil
	}
	if s.attempt == nil {
		if s.failure != nil && s.o.Now().Before(s.retryAt) {
			return nil, nil, s.failure
		}
		a := &attempt{done: make(chan struct{})}
		s.attempt = a
		s.background(ctx, by, func(ctx context.Context) { s.connect(ctx, header, a) })
	}
	return nil, s.attempt, nil
}

// connect makes one attempt.
func (s *Server) connect(ctx context.Context, header http.Header, a *attempt) {
	c := &conn{retired: make(chan struct{})}
	client, info, err := s.o.Dial(ctx, header, c.changed)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempt = nil
	defer close(a.done)
	switch {
	case err != nil && s.closed:
		a.err = errClosed
	case err != nil:
		a.err = s.failed(s.explain(ctx, err))
	case s.closed:
		a.err = errClosed
		c.client = client
		s.end(c)
	default:
		c.client, c.info, c.born = client, info, s.o.Now()
		c.idle = time.AfterFunc(s.o.IdleTimeout, func() { s.tire(c) })
		s.conn = c
		s.running.Go(func() { s.watch(c) })
		s.o.Log.Debug("connected to an MCP server", "version", info.Version, "protocol", info.Protocol)
	}
}

// explain says of an error that came of our own deadline whose that was.
func (s *Server) explain(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it was not ready within %s; raise its start_timeout if it needs longer: %w", s.o.StartTimeout, err)
	}
	return err
}

// failed notes that the server could not be reached, and when to try again. mu is
// held.
func (s *Server) failed(err error) *Failure {
	s.failures++
	s.retryAt = s.o.Now().Add(pause(s.failures))
	s.failure = s.newFailure(err)
	return s.failure
}

func (s *Server) newFailure(err error) *Failure { return &Failure{s.o.Redact(err.Error()), err} }

// pause is how long to wait after so many failures.
func pause(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	return min(firstPause<<min(failures-1, 10), maxPause)
}

// watch notices a connection that ends by itself.
func (s *Server) watch(c *conn) {
	select {
	case <-c.client.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		s.crashed(c)
	case <-c.retired:
	}
}

// crashed reports whether a connection has ended by itself, and takes note of it.
// The first time the server is started again as soon as somebody needs it; if it
// crashes soon after that, it has to wait. mu is held.
func (s *Server) crashed(c *conn) bool {
	select {
	case <-c.client.Done():
	default:
		return false
	}
	if s.conn != c {
		return true
	}
	s.retire(c)
	s.retryAt = s.o.Now().Add(pause(s.failures))
	s.failures++
	err := c.client.Err()
	if err == nil {
		err = errors.New("it has hung up")
	}
	s.failure = s.newFailure(err)
	s.o.Log.Warn("the connection to an MCP server has ended", "error", s.failure.text)
	return true
}

// retire has nobody use a connection any more who does not use it already. mu is
// held, and c is the server's connection.
func (s *Server) retire(c *conn) {
	s.conn = nil
	c.idle.Stop()
	close(c.retired)
	if s.o.Now().Sub(c.born) >= healthy {
		s.failures = 0
	}
	if c.users == 0 {
		s.end(c)
	}
}

// end closes a connection. mu is held.
func (s *Server) end(c *conn) {
	if c.ended {
		return
	}
	c.ended = true
	s.running.Go(func() {
		if err := c.client.Close(); err != nil {
			s.o.Log.Debug("the connection to an MCP server did not close well", "error", s.o.Redact(err.Error()))
		}
	})
}

// drop gives up a connection that is of no use. If it is not the first one, a new
// one has to wait.
func (s *Server) drop(c *conn, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != c || s.crashed(c) {
		return
	}
	s.retire(c)
	if !first {
		_ = s.failed(errUnsteady)
	}
}

// tire gives up a connection that nobody has used for a while.
func (s *Server) tire(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == c && c.users == 0 && !s.closed {
		s.o.Log.Debug("the connection to an MCP server is closed until it is needed again")
		s.retire(c)
	}
}

// release gives back what acquire gave.
func (s *Server) release(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.users--
	switch {
	case c.users > 0 || s.closed:
	case s.conn == c:
		c.idle.Reset(s.o.IdleTimeout)
	default:
		s.end(c)
	}
}
