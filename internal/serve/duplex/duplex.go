// Package duplex serves MCP over a connection on which messages go both ways,
// such as a pair of pipes.
//
// Start with [Conn]: whoever owns the connection gives it every message that
// comes in, and it sends what goes out. It answers requests as they end, has
// requests of its own answered in between, and keeps what was cancelled quiet.
package duplex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// MaxPending is how many requests of a client may wait for their response.
const MaxPending = 10_000

// askPrefix begins the ids of our requests. They are texts, because some hosts
// take a number for the id of a request of their own.
const askPrefix = "adkmcp-"

// errCancelled is the cause for which a cancelled request's context ends.
var errCancelled = errors.New("the client cancelled the request")

// errClosed: the connection is closed, and nobody gets an answer.
var errClosed = &rpc.Error{Code: rpc.CodeInternal, Message: "the connection is closed"}

// Config makes a [Conn].
type Config struct {
	Handler rpc.Handler
	// Peer is what every request of the connection has in common; what the
	// connection itself gives is added.
	Peer turns.Peer
	// Send sends one message. It is safe for concurrent use, and after an error
	// whoever made the connection closes it.
	Send func(message []byte) error
	Log  *slog.Logger
}

// Conn is one connection. It is safe for concurrent use.
type Conn struct {
	cfg Config

	mu      sync.Mutex
	pending map[string]*request            // of the client, by id
	asked   map[string]chan<- *rpc.Message // of ours, by id
	last    int                            // number of our last request
	active  int                            // requests that end by themselves
	idle    chan struct{}                  // closed while active is 0
	running int                            // all requests, until their response is out
	closed  bool
	ended   chan struct{} // closed when closed and nothing runs
}

// request is one that is being served. It is guarded by Conn.mu.
type request struct {
	cancel    context.CancelCauseFunc
	cancelled bool
}

// New makes a connection.
func New(cfg Config) *Conn {
	c := &Conn{
		cfg:     cfg,
		pending: make(map[string]*request), asked: make(map[string]chan<- *rpc.Message), idle: make(chan struct{}), ended: make(chan struct{}),
	}
	close(c.idle)
	return c
}

// Close ends all requests for this cause; nothing is received any more. Wait for
// their end with [Conn.Wait].
func (c *Conn) Close(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.pending {
		r.cancel(cause)
	}
	if !c.closed {
		c.closed = true
		c.closeIfEnded()
	}
}

// closeIfEnded tells those who wait. c.mu is held.
func (c *Conn) closeIfEnded() {
	if c.closed && c.running == 0 {
		close(c.ended)
	}
}

// Wait waits until the connection is closed and every request has ended, or
// ctx has, which is an error.
func (c *Conn) Wait(ctx context.Context) error {
	select {
	case <-c.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Idle gives a channel that is closed as soon as no request is pending but those
// that never end by themselves. It is meant for when nothing comes in any more.
func (c *Conn) Idle() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.idle
}

// Receive takes a message that came in; a request ends with ctx at the latest. It returns when the next one may come:
// calls of tools take their place in line in the order in which they came.
func (c *Conn) Receive(ctx context.Context, data []byte) {
	m, bad := rpc.Parse(data)
	switch {
	case bad != nil && m.Method == "" && m.ID != nil && (m.Result != nil || m.Error != nil):
		c.cfg.Log.Debug("a response of the client cannot be read", "error", bad)
	case bad != nil:
		c.send(rpc.Fail(m.ID, bad).Body)
	case m.IsRequest():
		c.serve(ctx, m)
	case m.Method == rpc.Cancelled:
		c.cancelRequest(m.CancelledID())
	case m.Method == "":
		c.answered(m)
	}
}

// serve answers a request, on a goroutine of its own.
func (c *Conn) serve(ctx context.Context, m *rpc.Message) {
	ctx, cancel := context.WithCancelCause(ctx)
	key := rpc.Key(m.ID)
	passive := m.Method == rpc.Listen
	r := &request{cancel: cancel}
	switch bad := c.enter(key, r, passive); {
	case bad == errClosed:
		cancel(nil)
		return
	case bad != nil:
		cancel(nil)
		c.send(rpc.Fail(m.ID, bad).Body)
		return
	}
	entered := make(chan struct{})
	peer := c.cfg.Peer
	peer.Ask, peer.Entered = c.ask, sync.OnceFunc(func() { close(entered) })
	peer.Notify = func(message []byte) error {
		if ctx.Err() != nil { // nothing is said of a cancelled request any more
			return context.Cause(ctx)
		}
		return c.cfg.Send(message)
	}
	if m.Modern() {
		peer.Session, peer.Connection, peer.Ask = nil, "", nil
	}
	go func() {
		defer cancel(nil)
		defer peer.Entered()
		response := c.cfg.Handler.Handle(turns.WithPeer(ctx, &peer), m)
		if c.leave(key, r) {
			c.send(response.Body)
		} else {
			response.Unsent()
		}
		c.conclude(passive)
	}()
	if m.Method == rpc.CallTool {
		select {
		case <-entered:
		case <-ctx.Done():
		}
	}
}

// enter notes a request that has come in.
func (c *Conn) enter(key string, r *request, passive bool) *rpc.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return errClosed
	case len(c.pending) >= MaxPending:
		return &rpc.Error{Code: rpc.CodeInternal, Message: "too many requests are waiting: try again later"}
	case c.pending[key] != nil:
		return &rpc.Error{Code: rpc.CodeInvalidRequest, Message: fmt.Sprintf("the id %s belongs to a request that is still being served", key)}
	}
	c.pending[key] = r
	c.running++
	if !passive {
		if c.active == 0 {
			c.idle = make(chan struct{})
		}
		c.active++
	}
	return nil
}

// leave takes out a request that has ended; it reports whether its response may
// be sent.
func (c *Conn) leave(key string, r *request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, key)
	return !r.cancelled
}

// conclude notes that a request's response is out.
func (c *Conn) conclude(passive bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !passive {
		if c.active--; c.active == 0 {
			close(c.idle)
		}
	}
	c.running--
	c.closeIfEnded()
}

// cancelRequest stops a request, which gets no response then.
func (c *Conn) cancelRequest(id json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.pending[rpc.Key(id)]; r != nil {
		r.cancelled = true
		r.cancel(errCancelled)
	}
}

// ask sends a request of ours and waits for its response.
func (c *Conn) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	reply := make(chan *rpc.Message, 1)
	c.mu.Lock()
	c.last++
	id := askPrefix + strconv.Itoa(c.last)
	c.asked[id] = reply
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.asked, id)
		c.mu.Unlock()
	}()
	message, err := rpc.Request(id, method, params)
	if err != nil {
		return nil, err
	}
	if err := c.cfg.Send(message); err != nil {
		return nil, err
	}
	select {
	case m := <-reply:
		return m.Result, m.Failure()
	case <-ctx.Done():
		if note, err := rpc.Withdrawn(id, context.Cause(ctx)); err == nil {
			_ = c.cfg.Send(note) // the question stands open with the client else
		}
		return nil, context.Cause(ctx)
	}
}

// answered takes the response to a request of ours. One that nobody waits for is
// late, or made up.
func (c *Conn) answered(m *rpc.Message) {
	var id string
	if json.Unmarshal(m.ID, &id) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if reply := c.asked[id]; reply != nil {
		delete(c.asked, id)
		reply <- m
	}
}

func (c *Conn) send(message []byte) {
	if err := c.cfg.Send(message); err != nil {
		c.cfg.Log.Debug("a response could not be sent", "error", err)
	}
}
