package httpserver

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/duplex"
	"github.com/adkmcp/adkmcp/internal/serve/guard"
	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

const (
	// keepAliveEvery is how long the client of a stream hears nothing at most.
	keepAliveEvery = 15 * time.Second
	// maxQueued and maxQueuedBytes bound what waits for a client that reads
	// slowly. One message may be larger, if it waits alone.
	maxQueued      = 1000
	maxQueuedBytes = 8 << 20
	// lastWords is how long the requests of a connection may take to end when the
	// server stops and no turn runs any more, and again when they are cancelled.
	lastWords = time.Second

	mcpPath     = "/mcp"
	ssePath     = "/sse"
	messagePath = "/message"
	sessionID   = "sessionId" // in the query of messagePath
)

var errSlow = errors.New("the client does not read what is sent to it")

// channel serves the transport of MCP 2024-11-05, at two paths: the client reads
// one stream at the first and posts its messages to the second.
type channel struct {
	server           *Server
	listen, messages string
	handler          rpc.Handler
}

// serveSSE adds the transport for an endpoint.
func (s *Server) serveSSE(e Endpoint) {
	rest, ok := strings.CutPrefix(e.Path, mcpPath)
	if !ok || rest != "" && rest[0] != '/' {
		return
	}
	c := &channel{server: s, listen: ssePath + rest, messages: messagePath + rest, handler: gated{s, e.Handler}}
	s.mux.HandleFunc(c.listen, c.open)
	s.mux.HandleFunc(c.messages, c.post)
}

// gated lets so many calls of tools through as Config says.
type gated struct {
	server  *Server
	handler rpc.Handler
}

// Handle implements rpc.Handler.
func (g gated) Handle(ctx context.Context, m *rpc.Message) *rpc.Response {
	if m.Method == rpc.CallTool {
		if !g.server.calls.enter() {
			return rpc.Fail(m.ID, &rpc.Error{Code: rpc.CodeInternal, Message: "too many calls are being served: try again later"})
		}
		defer g.server.calls.leave()
	}
	response, _ := g.server.handle(ctx, g.handler, m)
	return response
}

// open opens a connection and serves its stream until either side ends it.
func (c *channel) open(w http.ResponseWriter, r *http.Request) {
	s := c.server
	if r.Method != http.MethodGet {
		notAllowed(w, "GET")
		return
	}
	principal := guard.PrincipalOf(r.Context())
	id, err := s.seal.make(principal, c.listen)
	if err != nil {
		s.cfg.Log.Error("no session id", "error", err)
		refuse(w, http.StatusInternalServerError, rpc.CodeInternal, "internal error")
		return
	}
	p := &pump{id: id, out: outbox{ready: make(chan struct{}, 1)}, ending: make(chan struct{}), server: s}
	peer := peerOf(r)
	peer.Connection, peer.Session = id, &turns.Session{}
	peer.Caller.Header.Del(versionHeader) // of this request, not of those that come as messages
	p.conn = duplex.New(duplex.Config{Handler: c.handler, Peer: *peer, Send: p.send, Log: s.cfg.Log})
	st := &stream{principal: principal, id: id, conn: p.conn, end: sync.OnceFunc(func() { close(p.ending) })}
	if err = s.sse.enter(st); err == nil && s.draining.Load() {
		s.sse.leave(st)
		err = turns.ErrStopping
	}
	if err != nil {
		turnAway(w, nil, err.Error())
		return
	}
	defer s.cfg.Ended(context.WithoutCancel(r.Context()), id)
	defer s.sse.leave(st) // before that: who is told of the end finds it no more

	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // nothing more is to come
	p.run(r.Context(), newEvents(w, s.write), c.messages)
}

// post takes a message of the client, whose response goes to its stream.
func (c *channel) post(w http.ResponseWriter, r *http.Request) {
	s := c.server
	switch {
	case r.Method != http.MethodPost:
		notAllowed(w, "POST")
		return
	case !isJSON(r):
		refuseKind(w)
		return
	}
	id := r.URL.Query().Get(sessionID)
	var st *stream
	if s.seal.fits(id, guard.PrincipalOf(r.Context()), c.listen) {
		st = s.sse.find(id)
	}
	if st == nil {
		refuse(w, http.StatusNotFound, rpc.CodeInvalidRequest, errNoSession.Error()+": open the event stream again")
		return
	}
	m := s.receive(w, r)
	if m == nil {
		return
	}
	if m.Method == rpc.CallTool && s.calls.full() {
		turnAway(w, m.ID, "too many calls are being served")
		return
	}
	relax(http.NewResponseController(w)) // a call may have to wait for its place in line
	st.conn.Receive(context.WithoutCancel(r.Context()), m.Raw)
	w.WriteHeader(http.StatusAccepted)
}

// pump carries what a connection sends to its client.
type pump struct {
	id     string
	server *Server
	conn   *duplex.Conn
	out    outbox
	ending chan struct{} // closed when the server stops and no turn runs any more
}

// send is the connection's way out. A client that lets too much pile up is given
// up.
func (p *pump) send(message []byte) error {
	if !p.out.put(message) {
		p.conn.Close(errSlow)
		return errSlow
	}
	return nil
}

// run serves the stream until the client has gone, which ends all that it asked
// for, or the server stops.
func (p *pump) run(ctx context.Context, e events, messages string) {
	log := p.server.cfg.Log
	err := p.carry(ctx, e, messages)
	if err != nil {
		log.DebugContext(ctx, "a client's stream has ended", "cause", err)
		p.conn.Close(err)
	} else {
		p.conn.Close(turns.ErrStopping)
	}
	if err == nil { // what was cancelled just now says so, to a client that still listens
		_ = p.wait(ctx, lastWords)
		_ = p.flush(&e)
	}
	p.out.close()
	if p.wait(ctx, closeTimeout) != nil {
		log.Error("requests of a connection that has gone do not end", "principal", guard.PrincipalOf(ctx))
	}
}

// wait waits for the end of the connection's requests.
func (p *pump) wait(ctx context.Context, most time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()
	return p.conn.Wait(ctx)
}

// carry sends what there is to send. It returns nil when the server stops and
// what the client waits for has been sent.
func (p *pump) carry(ctx context.Context, e events, messages string) error {
	e.begin()
	query := url.Values{sessionID: {p.id}}
	if err := e.send("endpoint", []byte(messages+"?"+query.Encode())); err != nil {
		return err
	}
	silence := time.NewTimer(keepAliveEvery)
	defer silence.Stop()
	ending := p.ending
	var idle <-chan struct{}
	var patience <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.out.ready:
			if err := p.flush(&e); err != nil {
				return err
			}
			silence.Reset(keepAliveEvery)
		case <-silence.C:
			if err := e.keepAlive(); err != nil {
				return err
			}
			silence.Reset(keepAliveEvery)
		case <-ending:
			ending, idle, patience = nil, p.conn.Idle(), time.After(lastWords)
		case <-idle:
			return nil
		case <-patience:
			return nil
		}
	}
}

// flush sends what is queued.
func (p *pump) flush(e *events) error {
	for {
		m, ok := p.out.take()
		if !ok {
			return errSlow
		}
		if m == nil {
			return nil
		}
		if err := e.message(m); err != nil {
			return err
		}
	}
}

// outbox is the queue of a stream.
type outbox struct {
	ready chan struct{} // holds a token while there is something to look at

	mu       sync.Mutex
	messages [][]byte
	bytes    int
	full     bool // for good: something has been lost
}

// put queues a message; it reports false if there is no room.
func (o *outbox) put(message []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.full || len(o.messages) >= maxQueued || len(o.messages) > 0 && o.bytes+len(message) > maxQueuedBytes {
		o.full, o.messages, o.bytes = true, nil, 0
	} else {
		o.messages = append(o.messages, message)
		o.bytes += len(message)
	}
	select {
	case o.ready <- struct{}{}:
	default:
	}
	return !o.full
}

// take gives the next message, nil if there is none; it reports false if
// something has been lost.
func (o *outbox) take() ([]byte, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.messages) == 0 {
		o.messages = nil
		return nil, !o.full
	}
	m := o.messages[0]
	o.messages[0], o.messages = nil, o.messages[1:]
	o.bytes -= len(m)
	return m, true
}

// close frees the queue; nothing is taken any more.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.full, o.messages = true, nil
}
