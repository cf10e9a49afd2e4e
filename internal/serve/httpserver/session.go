package httpserver

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
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
	// errSessionEnded is the cause for which a request ends with its session.
	errSessionEnded = errors.New("the session has ended")
)

// seal makes ids that say for whom and for which path they were made, so that
// one that was made up, or belongs to somebody else, is the same as one that
// never was.
type seal struct {
	key    []byte // of this process
	random io.Reader
}

func newSeal(random io.Reader) (*seal, error) {
	s := &seal{key: make([]byte, sha256.Size), random: random}
	if _, err := io.ReadFull(random, s.key); err != nil {
		return nil, fmt.Errorf("no random bytes for session ids: %w", err)
	}
	return s, nil
}

// make makes an id.
func (s *seal) make(principal, path string) (string, error) {
	nonce := make([]byte, nonceSize)
	if _, err := io.ReadFull(s.random, nonce); err != nil {
		return "", fmt.Errorf("no random bytes for a session id: %w", err)
	}
	return sessionPrefix + base64.RawURLEncoding.EncodeToString(append(nonce, s.mac(nonce, principal, path)...)), nil
}

// fits reports whether an id was made for this principal and path.
func (s *seal) fits(id, principal, path string) bool {
	text, ok := strings.CutPrefix(id, sessionPrefix)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	return ok && err == nil && len(raw) == nonceSize+sha256.Size && hmac.Equal(raw[nonceSize:], s.mac(raw[:nonceSize], principal, path))
}

func (s *seal) mac(nonce []byte, principal, path string) []byte {
	owner := sha256.Sum256([]byte(principal))
	mac := hmac.New(sha256.New, s.key)
	mac.Write(nonce)
	mac.Write(owner[:])
	mac.Write([]byte(path))
	return mac.Sum(nil)
}

// sessions are those of MCP up to 2025-11-25 over streamable HTTP.
type sessions struct {
	seal    *seal
	now     func() time.Time
	idleTTL time.Duration
	ended   func(context.Context, string)
	log     *slog.Logger

	mu     sync.Mutex
	open   map[string]*mcpSession
	hungUp bool // the client is asked nothing any more
}

// mcpSession is guarded by sessions.mu, apart from what never changes and from
// client. One that is over stays until nobody is inside.
type mcpSession struct {
	id, principal string
	client        turns.Session

	used   time.Time
	inside int // POSTs that are being served
	over   bool
	calls  map[*call]struct{}             // requests that are being served
	asked  map[string]chan<- *rpc.Message // requests to the client, by id
	last   int                            // number of the last of those
}

func newSessions(ids *seal, c *Config) *sessions {
	return &sessions{seal: ids, now: c.Now, idleTTL: max(sessionIdle, c.IdleTTL), ended: c.Ended, log: c.Log, open: make(map[string]*mcpSession)}
}

// create makes a session and enters it. If its principal has too many, the one
// that has been idle longest ends; if none is idle, that is errTooManySessions.
func (t *sessions) create(ctx context.Context, principal, path string) (*mcpSession, error) {
	id, err := t.seal.make(principal, path)
	if err != nil {
		return nil, err
	}
	s := &mcpSession{id: id, principal: principal, inside: 1}
	old, err := t.admit(s)
	if old != nil {
		t.cleared(ctx, old)
	}
	return s, err
}

// admit takes a session in. evicted had to go for it.
func (t *sessions) admit(s *mcpSession) (evicted *mcpSession, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, other := range t.open {
		if other.principal != s.principal || other.over {
			continue
		}
		n++
		if other.inside == 0 && (evicted == nil || other.used.Before(evicted.used)) {
			evicted = other
		}
	}
	switch {
	case n < maxSessions:
		evicted = nil
	case evicted == nil:
		return nil, errTooManySessions
	default:
		evicted.over = true
	}
	s.used = t.now()
	t.open[s.id] = s
	return evicted, nil
}

// enter lets a POST into its session; leave lets it out. Somebody inside keeps
// a session from being idle.
func (t *sessions) enter(id, principal, path string) (*mcpSession, error) {
	if !t.seal.fits(id, principal, path) {
		return nil, errNoSession
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.open[id]
	if s == nil || s.over {
		return nil, errNoSession
	}
	s.inside++
	s.used = t.now()
	return s, nil
}

func (t *sessions) leave(ctx context.Context, s *mcpSession) {
	t.mu.Lock()
	s.inside--
	s.used = t.now()
	t.mu.Unlock()
	t.clear(ctx, s)
}

// terminate ends a session and what runs in it: nobody can ask for that any
// more. It is called by somebody inside.
func (t *sessions) terminate(s *mcpSession) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.over = true
	for c := range s.calls {
		c.cancel(errSessionEnded)
	}
}

// clear forgets a session that is over and has nobody inside.
func (t *sessions) clear(ctx context.Context, s *mcpSession) {
	t.mu.Lock()
	gone := s.over && s.inside == 0 && t.open[s.id] == s
	if gone {
		delete(t.open, s.id)
	}
	t.mu.Unlock()
	if gone {
		t.ended(ctx, s.id)
	}
}

// cleared is clear for a session that its client has left behind.
func (t *sessions) cleared(ctx context.Context, s *mcpSession) {
	t.log.Info("a session was idle and has ended", "principal", s.principal)
	t.clear(ctx, s)
}

// expire takes out the sessions that have had nobody inside for idleTTL.
func (t *sessions) expire(ctx context.Context) {
	t.mu.Lock()
	var idle []*mcpSession
	for _, s := range t.open {
		if s.inside == 0 && !s.over && t.now().Sub(s.used) >= t.idleTTL {
			s.over = true
			idle = append(idle, s)
		}
	}
	t.mu.Unlock()
	for _, s := range idle {
		t.cleared(ctx, s)
	}
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
			s.sessions.expire(ctx)
		}
	}
}
