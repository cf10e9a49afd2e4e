package httpserver

import (
	"errors"
	"sync"

	"github.com/adkmcp/adkmcp/internal/serve/duplex"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

var errTooManyStreams = errors.New("this caller has too many streams open")

// streams are those of one kind that are open, until the client or the server
// ends them.
type streams struct {
	most int // of one principal

	mu    sync.Mutex
	open  map[*stream]struct{}
	byID  map[string]*stream
	of    map[string]int // how many a principal has
	ended bool
}

// stream is one of them.
type stream struct {
	principal string
	end       func() // ends it, soon; may be called more than once
	// id and conn are those of a connection of MCP 2024-11-05.
	id   string
	conn *duplex.Conn
}

func newStreams(most int) *streams {
	return &streams{most: most, open: make(map[*stream]struct{}), byID: make(map[string]*stream), of: make(map[string]int)}
}

// enter takes a stream in; leave takes it out.
func (t *streams) enter(s *stream) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended:
		return turns.ErrStopping
	case t.of[s.principal] >= t.most:
		return errTooManyStreams
	}
	t.of[s.principal]++
	t.open[s] = struct{}{}
	if s.id != "" {
		t.byID[s.id] = s
	}
	return nil
}

func (t *streams) leave(s *stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, s)
	delete(t.byID, s.id)
	if t.of[s.principal]--; t.of[s.principal] == 0 {
		delete(t.of, s.principal)
	}
}

// find gives the stream with this id, nil if there is none.
func (t *streams) find(id string) *stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

// endAll ends every stream; none comes after it.
func (t *streams) endAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	for s := range t.open {
		s.end()
	}
}
