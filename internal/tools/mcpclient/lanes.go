package mcpclient

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/credential"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/upstream"
)

// maxLanes bounds the connections to one server.
const maxLanes = 100

var errManyLanes = errors.New("too many callers with headers of their own use it at the same time")

// shared is a server that as many toolsets use. Callers whose requests bring other
// headers along have connections of their own: a server may tie what a session may
// do to the headers that it began with, and one caller's bad headers are no reason
// to leave another one alone.
type shared struct {
	options   upstream.Options
	authority *credential.Authority // nil for a child
	key       key
	users     int // Pool.mu guards it

	mu      sync.Mutex
	lanes   map[string]*lane // by the headers
	uses    int
	closed  bool
	closing sync.WaitGroup // lanes that have been given up
}

// lane is the connection of callers with the same headers.
type lane struct {
	*upstream.Server
	used int // larger for what was used later
}

// of gives the server as callers with these headers have it.
func (s *shared) of(header http.Header) (*upstream.Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := upstream.KeyOf(header)
	s.uses++
	l := s.lanes[k]
	if l == nil {
		if len(s.lanes) >= maxLanes && !s.makeRoom() {
			return nil, errManyLanes
		}
		l = &lane{Server: upstream.New(s.options)}
		if s.closed {
			l.Close() // it says so to whoever uses it
		}
		s.lanes[k] = l
	}
	l.used = s.uses
	return l.Server, nil
}

// makeRoom gives up the connection that nobody has used for the longest time. mu is
// held.
func (s *shared) makeRoom() bool {
	oldest := ""
	var found *lane
	for k, l := range s.lanes {
		if !l.Busy() && (found == nil || l.used < found.used) {
			oldest, found = k, l
		}
	}
	if found == nil {
		return false
	}
	delete(s.lanes, oldest)
	s.closing.Go(found.Close)
	return true
}

// list is what the server lists for callers with these headers.
func (s *shared) list(ctx context.Context, header http.Header) (*upstream.List, error) {
	server, err := s.of(header)
	if err != nil {
		return nil, err
	}
	return server.List(ctx, header)
}

// peek is what it has listed; nil for nothing.
func (s *shared) peek(header http.Header) *upstream.List {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lanes[upstream.KeyOf(header)]; l != nil {
		return l.Peek(header)
	}
	return nil
}

// close ends all connections, and returns when nothing of them is left. A second
// close only waits.
func (s *shared) close() error {
	s.mu.Lock()
	s.closed = true
	for _, l := range s.lanes {
		s.closing.Go(l.Close)
	}
	s.mu.Unlock()
	s.closing.Wait()
	if s.authority == nil {
		return nil
	}
	return s.authority.Close()
}
