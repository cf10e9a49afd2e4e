package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/serve/guard"
	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// endpoint serves streamable HTTP at one path.
type endpoint struct {
	server  *Server
	path    string
	handler rpc.Handler
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		e.post(w, r)
	case rpc.IsModern(r.Header.Get(versionHeader)):
		notAllowed(w, "POST")
	case r.Method == http.MethodDelete:
		e.delete(w, r)
	default:
		notAllowed(w, "POST, DELETE")
	}
}

func (e *endpoint) post(w http.ResponseWriter, r *http.Request) {
	if !isJSON(r) {
		refuseKind(w)
		return
	}
	m := e.server.receive(w, r)
	switch {
	case m == nil:
	case isModern(r.Header, m):
		e.stateless(w, r, m)
	case m.Method == rpc.Initialize && m.IsRequest():
		e.initialize(w, r, m)
	default:
		e.inSession(w, r, m)
	}
}

// stateless takes a message of MCP 2026-07-28 or later, which stands for itself.
// The core of that version has no notifications from the client: it cancels by
// closing the response stream.
func (e *endpoint) stateless(w http.ResponseWriter, r *http.Request, m *rpc.Message) {
	switch {
	case m.IsNotification():
		w.WriteHeader(http.StatusAccepted)
		return
	case !m.IsRequest():
		refuse(w, http.StatusBadRequest, rpc.CodeInvalidRequest, "a response: the server asks nothing in this protocol version")
		return
	}
	if bad := checkHeaders(r.Header, m); bad != nil {
		fail(w, httpStatus(bad.Code), m.ID, bad)
		return
	}
	e.answer(w, r, m, nil)
}

// initialize begins a session of MCP up to 2025-11-25.
func (e *endpoint) initialize(w http.ResponseWriter, r *http.Request, m *rpc.Message) {
	s := e.server
	if s.draining.Load() {
		turnAway(w, m.ID, turns.ErrStopping.Error())
		return
	}
	session, err := s.sessions.create(r.Context(), guard.PrincipalOf(r.Context()), e.path)
	switch {
	case errors.Is(err, errTooManySessions):
		turnAway(w, m.ID, err.Error())
		return
	case err != nil:
		s.cfg.Log.Error("no session id", "error", err)
		fail(w, http.StatusInternalServerError, m.ID, &rpc.Error{Code: rpc.CodeInternal, Message: "internal error"})
		return
	}
	defer s.sessions.leave(context.WithoutCancel(r.Context()), session)
	peer := peerOf(r)
	peer.Connection, peer.Session = session.id, &session.client
	response, status := s.handle(turns.WithPeer(r.Context(), peer), e.handler, m)
	if response.Code != 0 {
		s.sessions.terminate(session)
	} else {
		w.Header().Set(sessionHeader, session.id)
	}
	e.sink(w, r, func() {}).respond(status, response.Body)
}

// inSession takes a message of a session.
func (e *endpoint) inSession(w http.ResponseWriter, r *http.Request, m *rpc.Message) {
	if version := r.Header.Get(versionHeader); version != "" {
		if bad := checkVersion(version); bad != nil {
			fail(w, http.StatusBadRequest, m.ID, bad)
			return
		}
	}
	t := e.server.sessions
	session := e.enter(w, r)
	if session == nil {
		return
	}
	defer t.leave(context.WithoutCancel(r.Context()), session)
	switch {
	case m.IsRequest():
		e.answer(w, r, m, session)
		return
	case m.Method == rpc.Cancelled:
		t.cancel(session, m.CancelledID())
	case m.Method == "":
		t.answered(session, m)
	}
	w.WriteHeader(http.StatusAccepted)
}

// enter lets a request into the session that it names, or answers it.
func (e *endpoint) enter(w http.ResponseWriter, r *http.Request) *mcpSession {
	id := r.Header.Get(sessionHeader)
	if id == "" {
		refuse(w, http.StatusBadRequest, rpc.CodeInvalidRequest, "the Mcp-Session-Id header is missing: initialize first, or speak MCP 2026-07-28")
		return nil
	}
	session, err := e.server.sessions.enter(id, guard.PrincipalOf(r.Context()), e.path)
	if err != nil {
		refuse(w, http.StatusNotFound, rpc.CodeInvalidRequest, err.Error()+": initialize again")
		return nil
	}
	return session
}

// delete ends a session for its owner, with all that runs in it.
func (e *endpoint) delete(w http.ResponseWriter, r *http.Request) {
	session := e.enter(w, r)
	if session == nil {
		return
	}
	e.server.sessions.terminate(session)
	e.server.sessions.leave(context.WithoutCancel(r.Context()), session)
}

// answer answers a request; session is nil where there are none.
func (e *endpoint) answer(w http.ResponseWriter, r *http.Request, m *rpc.Message, session *mcpSession) {
	s := e.server
	if m.Method == rpc.CallTool {
		if !s.calls.enter() {
			turnAway(w, m.ID, "too many calls are being served")
			return
		}
		defer s.calls.leave()
	}
	gone, hangUp := context.WithCancel(r.Context())
	defer hangUp()
	out := e.sink(w, r, hangUp)
	peer := peerOf(r)
	parent := gone
	if session != nil { // up to 2025-11-25 a lost connection does not cancel a call
		parent = context.WithoutCancel(gone)
		peer.Gone, peer.Connection, peer.Session = gone.Done(), session.id, &session.client
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	var c *call
	if session != nil {
		c = s.sessions.begin(session, m.ID, cancel)
		defer s.sessions.end(session, c)
	}
	if m.Method == rpc.Listen {
		leave := e.listen(w, m, out, &stream{principal: guard.PrincipalOf(ctx), end: func() { cancel(turns.ErrStopping) }})
		if leave == nil {
			return
		}
		defer leave()
	}
	if out.stream {
		peer.Notify = func(message []byte) error { return unless(ctx, func() error { return out.notify(message) }) }
		peer.KeepAlive = func() error { return unless(ctx, out.keepAlive) }
		if session != nil {
			peer.Ask = (&asker{s.sessions, session, out, gone.Done()}).ask
		}
	}
	relax(out.rc)
	response, status := s.handle(turns.WithPeer(ctx, peer), e.handler, m)
	if session == nil && response.Code != 0 && status == http.StatusOK {
		status = httpStatus(response.Code)
	}
	switch {
	case gone.Err() != nil: // and nothing is written any more
		response.Unsent()
	case c != nil && s.sessions.cancelled(c):
		response.Unsent()
		out.quit()
	default:
		out.respond(status, response.Body)
	}
}

// listen takes a stream in that lasts until one side ends it, or answers in its
// place.
func (e *endpoint) listen(w http.ResponseWriter, m *rpc.Message, out *sink, st *stream) (leave func()) {
	s := e.server
	switch {
	case s.cfg.JSONOnly:
		fail(w, http.StatusNotFound, m.ID, &rpc.Error{Code: rpc.CodeNoMethod, Message: m.Method + ": this server sends no streams"})
		return nil
	case !out.stream:
		fail(w, http.StatusNotAcceptable, m.ID, &rpc.Error{Code: rpc.CodeInvalidRequest, Message: m.Method + " needs a client that accepts text/event-stream"})
		return nil
	}
	err := s.listens.enter(st)
	if err == nil && s.draining.Load() {
		s.listens.leave(st)
		err = turns.ErrStopping
	}
	if err != nil {
		turnAway(w, m.ID, err.Error())
		return nil
	}
	return func() { s.listens.leave(st) }
}

// unless does nothing of what a client is told once its request has ended.
func unless(ctx context.Context, do func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return do()
}

// peerOf is what is known of whoever sent a request.
func peerOf(r *http.Request) *turns.Peer {
	return &turns.Peer{Caller: agent.Caller{Principal: guard.PrincipalOf(r.Context()), Header: passedOn(r.Header)}}
}

// sink is where the response to a request goes; lost is called when the client
// does not take it.
func (e *endpoint) sink(w http.ResponseWriter, r *http.Request, lost func()) *sink {
	s := e.server
	stream := !s.cfg.JSONOnly && accepts(r, "text/event-stream")
	return newSink(newEvents(w, s.write), stream, func(err error) {
		s.cfg.Log.DebugContext(r.Context(), "a client has gone before its answer was written", "error", err)
		lost()
	})
}

// handle lets the handler answer. What goes wrong in it is told to the log only.
func (s *Server) handle(ctx context.Context, h rpc.Handler, m *rpc.Message) (response *rpc.Response, status int) {
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Log.Error("a request panicked", "method", m.Method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			response = rpc.Fail(m.ID, &rpc.Error{Code: rpc.CodeInternal, Message: "internal error"})
			status = http.StatusInternalServerError
		}
	}()
	return h.Handle(ctx, m), http.StatusOK
}
