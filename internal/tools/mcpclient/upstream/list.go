package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
)

// maxLists bounds the lists of one connection: one for each set of headers that
// callers have.
const maxLists = 100

// List is what a server is and lists. The same pointer is the same list.
type List struct {
	Server *protocol.Server
	Tools  *protocol.ToolList
}

// lists are those of one connection, by what callers' headers say. Server.mu
// guards them.
type lists struct {
	entries map[string]*entry
	uses    int
}

// entry is a list that is there, that is awaited, or that could not be had.
type entry struct {
	done chan struct{}
	// Once done:
	list     *List
	failure  *Failure
	until    time.Time // when to ask again; zero for never
	failures int       // in a row
	changes  int64     // those of the connection when it was asked for
	used     int       // larger for what was used later
}

func (e *entry) pending() bool {
	select {
	case <-e.done:
		return false
	default:
		return true
	}
}

// fresh reports whether an entry need not be asked for again.
func (e *entry) fresh(now time.Time, changes int64) bool {
	return e.changes == changes && (e.until.IsZero() || now.Before(e.until))
}

// List gives what the server lists for a caller with these headers, from memory as
// long as the connection lasts and the server says nothing else. It takes no longer
// than the start timeout. The error is a [*Failure] or ctx's.
func (s *Server) List(ctx context.Context, header http.Header) (*List, error) {
	by := time.Now().Add(s.o.StartTimeout)
	for again := true; ; again = false {
		c, err := s.acquire(ctx, header, by)
		if err != nil {
			return nil, err
		}
		e := s.entry(ctx, c, header, by)
		select {
		case <-e.done:
			if e.failure != nil {
				err = e.failure
			}
		case <-ctx.Done():
			err = ctx.Err()
		}
		s.release(c)
		var unknown *protocol.UnknownOutcomeError
		switch {
		case err == nil:
			return e.list, nil
		case ctx.Err() != nil:
			return nil, err
		case isLost(err):
			s.drop(c, again)
		case !errors.As(err, &unknown):
			return nil, err
		}
		if !again {
			return nil, err
		}
	}
}

// Start has the server connected and listed in the background. What goes wrong is
// said by the next List.
func (s *Server) Start(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.background(ctx, time.Now().Add(s.o.StartTimeout), func(ctx context.Context) {
		if _, err := s.List(ctx, nil); err != nil {
			s.o.Log.WarnContext(ctx, "an MCP server did not start", "error", err)
		}
	})
}

// Peek gives a list that is there already; nil if there is none.
func (s *Server) Peek(header http.Header) *List {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil
	}
	e := s.conn.lists.entries[KeyOf(header)]
	if e == nil || e.pending() || e.failure != nil {
		return nil
	}
	return e.list
}

// entry gives the list for some headers, and asks for it if need be.
func (s *Server) entry(ctx context.Context, c *conn, header http.Header, by time.Time) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := KeyOf(header)
	old := c.lists.entries[key]
	c.lists.uses++
	now, changes := s.o.Now(), c.changes.Load()
	if old != nil && (old.pending() || old.fresh(now, changes)) {
		old.used = c.lists.uses
		return old
	}
	e := &entry{done: make(chan struct{}), used: c.lists.uses, changes: changes}
	if old != nil {
		e.failures = old.failures
	}
	if s.closed {
		e.failure = errClosed
		close(e.done)
		return e
	}
	c.lists.put(key, e)
	c.users++
	s.background(ctx, by, func(ctx context.Context) {
		defer s.release(c)
		s.ask(ctx, c, header, e)
	})
	return e
}

// ask asks the server for its list.
func (s *Server) ask(ctx context.Context, c *conn, header http.Header, e *entry) {
	tools, err := c.client.Tools(ctx, header)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(e.done)
	switch now := s.o.Now(); {
	case err != nil:
		e.failures++
		e.until = now.Add(pause(e.failures))
		e.failure = s.newFailure(fmt.Errorf("its tools cannot be listed: %w", s.explain(ctx, err)))
	default:
		e.failures, e.list = 0, &List{Server: c.info, Tools: tools}
		if tools.TTL > 0 {
			e.until = now.Add(tools.TTL)
		}
	}
}

// put keeps an entry, in the place of the one that was used least recently if there
// are too many.
func (l *lists) put(key string, e *entry) {
	if l.entries == nil {
		l.entries = map[string]*entry{}
	}
	l.entries[key] = e
	if len(l.entries) <= maxLists {
		return
	}
	oldest := key
	for k, other := range l.entries {
		if other.used < l.entries[oldest].used {
			oldest = k
		}
	}
	delete(l.entries, oldest)
}

// changed hears from the server that a list has changed. It takes no lock, since
// whoever tells may hold one.
func (c *conn) changed(what string) {
	if what == "tools" {
		c.changes.Add(1)
	}
}

// KeyOf is the same for the same headers.
func KeyOf(header http.Header) string {
	var lines []string
	for name, values := range header {
		for _, v := range values {
			lines = append(lines, name+"\x00"+v)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\x01")
}
