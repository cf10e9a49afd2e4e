package httpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

const (
	// maxAsked is how many questions a session's client may have before it.
	maxAsked = 100
	// askPrefix begins the ids of our requests. They are texts, because some
	// hosts take a number for the id of a request of their own.
	askPrefix = "adkmcp-"
)

var (
	errTooManyAsked = errors.New("the client has too many questions to answer")
	errGone         = errors.New("the client has hung up")
)

// call is a request of a session that is being served. It is guarded by
// sessions.mu.
type call struct {
	key       string // of its id
	cancel    context.CancelCauseFunc
	cancelled bool // by the client, who wants no response then
}

// begin notes a request; end takes it out.
func (t *sessions) begin(s *mcpSession, id json.RawMessage, cancel context.CancelCauseFunc) *call {
	c := &call{key: rpc.Key(id), cancel: cancel}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.calls == nil {
		s.calls = make(map[*call]struct{}, 1)
	}
	s.calls[c] = struct{}{}
	if s.over {
		cancel(errSessionEnded)
	}
	return c
}

func (t *sessions) end(s *mcpSession, c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(s.calls, c)
}

func (t *sessions) cancelled(c *call) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.cancelled
}

// cancel stops a session's requests with this id. There is more than one when
// the client has sent a request again after its connection was lost.
func (t *sessions) cancel(s *mcpSession, id json.RawMessage) {
	key := rpc.Key(id)
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range s.calls {
		if c.key == key {
			c.cancelled = true
			c.cancel(turns.ErrCancelled)
		}
	}
}

// asker asks a session's client on the stream of one of its requests.
type asker struct {
	sessions *sessions
	session  *mcpSession
	out      *sink
	gone     <-chan struct{} // closed when that stream has no reader any more
}

// ask is turns.Peer's Ask. The answer comes in a POST of its own, see answered.
func (a *asker) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	reply := make(chan *rpc.Message, 1)
	id, err := a.sessions.expect(a.session, reply)
	if err != nil {
		return nil, err
	}
	defer a.sessions.forget(a.session, id)
	message, err := rpc.Request(id, method, params)
	if err != nil {
		return nil, err
	}
	if err := a.out.notify(message); err != nil {
		return nil, fmt.Errorf("%w: %w", errGone, err)
	}
	select {
	case m, ok := <-reply:
		if !ok {
			return nil, turns.ErrStopping
		}
		return m.Result, m.Failure()
	case <-a.gone:
		return nil, errGone
	case <-ctx.Done():
		if note, err := rpc.Withdrawn(id, context.Cause(ctx)); err == nil {
			_ = a.out.notify(note) // the question stands open with the client else
		}
		return nil, context.Cause(ctx)
	}
}

// expect gives the id for a request to the client whose response goes to reply.
func (t *sessions) expect(s *mcpSession, reply chan<- *rpc.Message) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.hungUp:
		return "", turns.ErrStopping
	case len(s.asked) >= maxAsked:
		return "", errTooManyAsked
	case s.asked == nil:
		s.asked = make(map[string]chan<- *rpc.Message, 1)
	}
	s.last++
	id := fmt.Sprint(askPrefix, s.last)
	s.asked[id] = reply
	return id, nil
}

func (t *sessions) forget(s *mcpSession, id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(s.asked, id)
}

// answered takes a client's response. One that nobody waits for is late, or made
// up.
func (t *sessions) answered(s *mcpSession, m *rpc.Message) {
	var id string
	if json.Unmarshal(m.ID, &id) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if reply := s.asked[id]; reply != nil {
		delete(s.asked, id)
		reply <- m
	}
}

// hangUp ends all waiting for responses of clients.
func (t *sessions) hangUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hungUp = true
	for _, s := range t.open {
		for id, reply := range s.asked {
			delete(s.asked, id)
			close(reply)
		}
	}
}
