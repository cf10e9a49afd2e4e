package httpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// endpoint serves one MCP server at its path.
type endpoint struct {
	server  *Server
	path    string
	library *mcpserver.StreamableHTTPServer
}

func (s *Server) endpoint(e Endpoint) http.Handler {
	p := &endpoint{server: s, path: e.Path}
	p.library = mcpserver.NewStreamableHTTPServer(e.Server,
		mcpserver.WithSessionIdManagerResolver(resolver{p}),
		mcpserver.WithDisableStreaming(true),
		mcpserver.WithStreamableHTTPLogger(s.cfg.Log))
	return p
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		e.post(w, r)
	case http.MethodDelete:
		e.delete(w, r)
	default:
		w.Header().Set("Allow", "POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, codeInvalidRequest, "this endpoint takes POST, and DELETE for the end of a session")
	}
}

// message is what we look at of a message.
type message struct {
	Method string          `json:"method"`
	ID     json.RawMessage `json:"id"`
	Params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	} `json:"params"`
}

// version gives the protocol version that a message itself names. As in the
// library its name counts in this very spelling only, which a struct's field
// would not, and a value that is no string is none.
func (m *message) version() string {
	var v string
	if json.Unmarshal(m.Params.Meta[mcp.MetaKeyProtocolVersion], &v) != nil {
		return ""
	}
	return v
}

// modern reports whether a message belongs to MCP 2026-07-28 or later. The
// library decides in the same way, and refuses those that contradict themselves.
func (m *message) modern(r *http.Request) bool {
	return mcp.IsModernProtocol(m.version()) || mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
}

func (e *endpoint) post(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, codeInvalidRequest, "the Content-Type must be application/json")
		return
	}
	body, ok := e.server.readBody(w, r)
	if !ok {
		return
	}
	if err := checkStrict(body); err != nil {
		refuse(w, http.StatusBadRequest, codeParse, err.Error())
		return
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		refuse(w, http.StatusBadRequest, codeInvalidRequest, "the message is no JSON-RPC message; batches are not supported")
		return
	}
	// Without a session nobody can say whose request such a notification
	// means, and the library would cancel anybody's with the same number. On
	// 2026-07-28 the client closes the response stream instead.
	modern := m.modern(r)
	if modern && m.Method == "notifications/cancelled" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	peer := &turns.Peer{Caller: agent.Caller{Principal: principalOf(r.Context()), Header: passedOn(r.Header)}}
	ctx, cancel := context.WithCancel(turns.WithPeer(r.Context(), peer))
	defer cancel()
	if !modern {
		leave, ok := e.admit(w, r, &m)
		if !ok {
			return
		}
		defer leave(context.WithoutCancel(ctx))
		if m.Method != string(mcp.MethodInitialize) {
			peer.Connection = r.Header.Get(mcpserver.HeaderKeySessionID)
		}
		// Up to 2025-11-25 a lost connection does not cancel a call.
		peer.Gone = ctx.Done()
		ctx = context.WithoutCancel(ctx)
	}
	s := newSink(w, r, func(err error) {
		e.server.clientGone(r.Context(), err)
		cancel()
	})
	if s.stream {
		peer.Notify, peer.KeepAlive = s.notify, s.keepAlive
	}
	e.library.Handle(s, &mcpserver.HTTPRequest{Method: r.Method, URL: r.URL, Header: r.Header, Body: body, Context: ctx})
}

// admit lets a message of MCP up to 2025-11-25 into its session, or makes sure
// that there is room for one. leave is to be called when it has been served.
func (e *endpoint) admit(w http.ResponseWriter, r *http.Request, m *message) (leave func(context.Context), ok bool) {
	principal := principalOf(r.Context())
	if m.Method == string(mcp.MethodInitialize) {
		old, err := e.server.sessions.room(principal)
		if err != nil {
			w.Header().Set("Retry-After", retryAfter)
			refuse(w, http.StatusServiceUnavailable, codeInternal, err.Error()+": try again later")
			return nil, false
		}
		if old != nil {
			e.server.evict(r.Context(), old)
		}
		return func(context.Context) {}, true
	}
	id := r.Header.Get(mcpserver.HeaderKeySessionID)
	if id == "" {
		refuse(w, http.StatusBadRequest, codeInvalidRequest, "the Mcp-Session-Id header is missing: initialize first, or speak MCP 2026-07-28")
		return nil, false
	}
	leave, err := e.server.sessions.enter(id, principal, e)
	if err != nil {
		refuse(w, http.StatusNotFound, codeInvalidRequest, "no such session: initialize again")
		return nil, false
	}
	return leave, true
}

// delete ends a session for its owner.
func (e *endpoint) delete(w http.ResponseWriter, r *http.Request) {
	if !mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
		leave, ok := e.admit(w, r, &message{})
		if !ok {
			return
		}
		defer leave(context.WithoutCancel(r.Context()))
	}
	s := newSink(w, r, func(err error) { e.server.clientGone(r.Context(), err) })
	e.library.Handle(s, &mcpserver.HTTPRequest{Method: r.Method, URL: r.URL, Header: r.Header, Context: r.Context()})
}

// clientGone is told when a client does not take its answer.
func (s *Server) clientGone(ctx context.Context, err error) {
	s.cfg.Log.DebugContext(ctx, "a client has gone before its answer was written", "error", err)
}

// readBody reads the body within its bounds on size and time, which has begun
// with the request. The bound on time stays if there is more that nobody wants.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	const tooLarge = "the message is larger than 4 MiB"
	if r.ContentLength > maxBodyBytes {
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusRequestEntityTooLarge, codeInvalidRequest, tooLarge)
		return nil, false
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, maxBodyBytes), r.ContentLength)
	var limit *http.MaxBytesError
	switch {
	case err == nil:
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		return body, true
	case errors.As(err, &limit):
		refuse(w, http.StatusRequestEntityTooLarge, codeInvalidRequest, tooLarge)
	case errors.Is(err, io.ErrUnexpectedEOF):
		refuse(w, http.StatusBadRequest, codeParse, "the message broke off")
	default:
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusRequestTimeout, codeInvalidRequest, "the message did not come in time")
	}
	return nil, false
}

// readAll reads to the end. It keeps what it reads in pieces, so that a body
// which turns out to be too large has cost its size once: a buffer that grows
// is copied again and again. length is -1 if it is not known.
func readAll(r io.Reader, length int64) ([]byte, error) {
	if length >= 0 {
		body := make([]byte, length)
		_, err := io.ReadFull(r, body)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return body, err
	}
	const piece = 64 << 10
	var pieces [][]byte
	p := make([]byte, 0, piece)
	for {
		n, err := r.Read(p[len(p):piece])
		p = p[:len(p)+n]
		switch {
		case errors.Is(err, io.EOF):
			return bytes.Join(append(pieces, p), nil), nil
		case err != nil:
			return nil, err
		case len(p) == piece:
			pieces, p = append(pieces, p), make([]byte, 0, piece)
		}
	}
}

// passedOn is what of the header an agent may see: not the secrets with which
// the caller opened this server.
func passedOn(h http.Header) http.Header {
	h = h.Clone()
	for name := range h {
		switch strings.ToLower(name) {
		case "authorization", "proxy-authorization", "cookie", "mcp-session-id":
			delete(h, name)
		}
	}
	return h
}
