package httpserver

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

const (
	// sessionIdle is how long a session lives without a request, at least: it
	// takes its conversations with it, which may be kept for longer.
	sessionIdle = 30 * time.Minute
	sweepEvery  = time.Minute
	// maxSessions is how many sessions one principal may have. Past it the one
	// that has been idle longest goes, since many hosts never end theirs.
	maxSessions = 1000

	sessionPrefix = "s_"
	nonceSize     = 16
)

var (
	errNoSession       = errors.New("no such session")
	errTooManySessions = errors.New("every session of this caller has a running call")
)

// sessions are those of MCP up to 2025-11-25. An id is sealed: it says for
// whom and for which endpoint it was made, so that one that was made up, or
// belongs to somebody else, is the same as one that never was.
type sessions struct {
	key     []byte // of this process
	random  io.Reader
	now     func() time.Time
	idleTTL time.Duration
	ended   func(context.Context, string)

	mu   sync.Mutex
	open map[string]*mcpSession
}

// mcpSession is guarded by sessions.mu. One that is over stays until its last
// call has ended.
type mcpSession struct {
	id        string
	principal string
	endpoint  *endpoint
	used      time.Time
	calls     int
	over      bool
}

func newSessions(random io.Reader, now func() time.Time, ended func(context.Context, string)) (*sessions, error) {
	t := &sessions{key: make([]byte, sha256.Size), random: random, now: now, idleTTL: sessionIdle, ended: ended, open: make(map[string]*mcpSession)}
	if _, err := io.ReadFull(random, t.key); err != nil {
		return nil, fmt.Errorf("no random bytes for session ids: %w", err)
	}
	return t, nil
}

// create makes a session.
func (t *sessions) create(principal string, e *endpoint) (string, error) {
	nonce := make([]byte, nonceSize)
	if _, err := io.ReadFull(t.random, nonce); err != nil {
		return "", fmt.Errorf("no random bytes for a session id: %w", err)
	}
	id := sessionPrefix + base64.RawURLEncoding.EncodeToString(append(nonce, t.seal(nonce, principal, e)...))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[id] = &mcpSession{id: id, principal: principal, endpoint: e, used: t.now()}
	return id, nil
}

// seal binds a nonce to a principal and an endpoint.
func (t *sessions) seal(nonce []byte, principal string, e *endpoint) []byte {
	owner := sha256.Sum256([]byte(principal))
	mac := hmac.New(sha256.New, t.key)
	mac.Write(nonce)
	mac.Write(owner[:])
	mac.Write([]byte(e.path))
	return mac.Sum(nil)
}

// enter begins a call of a session; leave ends it. A call keeps its session.
func (t *sessions) enter(id, principal string, e *endpoint) (leave func(context.Context), err error) {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(id, sessionPrefix))
	if err != nil || len(raw) != nonceSize+sha256.Size || !hmac.Equal(raw[nonceSize:], t.seal(raw[:nonceSize], principal, e)) {
		return nil, errNoSession
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.open[id]
	if s == nil || s.over {
		return nil, errNoSession
	}
	s.calls++
	s.used = t.now()
	return func(ctx context.Context) {
		t.mu.Lock()
		s.calls--
		s.used = t.now()
		t.mu.Unlock()
		t.clear(ctx, s)
	}, nil
}

// terminate marks a session as over. Whoever does it calls clear, or is a call
// of the session itself, whose leave does.
func (t *sessions) terminate(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.open[id]; s != nil {
		s.over = true
	}
}

// retire marks a session as over, unless it has a call.
func (t *sessions) retire(s *mcpSession) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.over || s.calls > 0 {
		return false
	}
	s.over = true
	return true
}

// clear forgets a session that is over and has no calls.
func (t *sessions) clear(ctx context.Context, s *mcpSession) {
	t.mu.Lock()
	gone := s.over && s.calls == 0 && t.open[s.id] == s
	if gone {
		delete(t.open, s.id)
	}
	t.mu.Unlock()
	if gone {
		t.ended(ctx, s.id)
	}
}

// room reports whether the principal may have another session; if one has to
// go for it, that is evict.
func (t *sessions) room(principal string) (evict *mcpSession, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, s := range t.open {
		if s.principal != principal || s.over {
			continue
		}
		n++
		if s.calls == 0 && (evict == nil || s.used.Before(evict.used)) {
			evict = s
		}
	}
	switch {
	case n < maxSessions:
		return nil, nil
	case evict == nil:
		return nil, errTooManySessions
	}
	return evict, nil
}

// idle lists the sessions that have had no call for idleTTL.
func (t *sessions) idle() []*mcpSession {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*mcpSession
	for _, s := range t.open {
		if s.calls == 0 && !s.over && t.now().Sub(s.used) >= t.idleTTL {
			list = append(list, s)
		}
	}
	return list
}

// endAll ends every session.
func (t *sessions) endAll(ctx context.Context) {
	t.mu.Lock()
	all := make([]*mcpSession, 0, len(t.open))
	for _, s := range t.open {
		s.over = true
		all = append(all, s)
	}
	t.mu.Unlock()
	for _, s := range all {
		t.clear(ctx, s)
	}
}

// sweep ends idle sessions until ctx ends.
func (s *Server) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, idle := range s.sessions.idle() {
				s.evict(ctx, idle)
			}
		}
	}
}

// evict ends a session that its client has left behind, here and in the
// library, which frees what it holds when a DELETE comes. One that has got a
// call meanwhile stays.
func (s *Server) evict(ctx context.Context, old *mcpSession) {
	if !s.sessions.retire(old) {
		return
	}
	s.cfg.Log.Info("a session was idle and has ended", "principal", old.principal)
	old.endpoint.library.Handle(nowhere{}, &mcpserver.HTTPRequest{
		Method: http.MethodDelete, Header: http.Header{mcpserver.HeaderKeySessionID: {old.id}}, Context: ctx,
	})
	s.sessions.clear(ctx, old)
}

// resolver gives the library a manager for each request.
type resolver struct{ endpoint *endpoint }

// ResolveSessionIdManager implements the library's SessionIdManagerResolver.
func (r resolver) ResolveSessionIdManager(req *http.Request) mcpserver.SessionIdManager { //nolint:revive // the library's spelling
	m := manager{endpoint: r.endpoint}
	if req != nil {
		m.principal = principalOf(req.Context())
		m.entered = turns.PeerOf(req.Context()).Connection
	}
	return m
}

// manager gives the library our sessions, for one request. Who may use which
// session has been checked before, by enter.
type manager struct {
	endpoint  *endpoint
	principal string
	entered   string // the session that the request has entered, if any
}

// Generate makes the session of an initialize.
func (m manager) Generate() string {
	id, err := m.endpoint.server.sessions.create(m.principal, m.endpoint)
	if err != nil {
		m.endpoint.server.cfg.Log.Error("no session id", "error", err)
	}
	return id
}

// Validate accepts the session that the request has entered and no other.
func (m manager) Validate(id string) (terminated bool, err error) {
	if id == "" || id != m.entered {
		return false, errNoSession
	}
	return false, nil
}

// Terminate ends a session.
func (m manager) Terminate(id string) (notAllowed bool, err error) {
	m.endpoint.server.sessions.terminate(id)
	return false, nil
}

// nowhere is where answers go that nobody waits for. It implements the
// library's HTTPResponseWriter.
type nowhere struct{}

// Header gives a header that is thrown away.
func (nowhere) Header() http.Header { return http.Header{} }

// WriteHeader does nothing.
func (nowhere) WriteHeader(int) {}

// Write writes nothing.
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// Flush does nothing.
func (nowhere) Flush() {}

// CanStream says no.
func (nowhere) CanStream() bool { return false }
