package wire

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

const (
	discover    = "server/discover"
	initialized = "notifications/initialized"

	// farewellTime is how long the end of a session may take.
	farewellTime = 2 * time.Second
)

var errClosed = errors.New("the connection is closed")

// NewHTTP makes a connection over streamable HTTP. It has no end of its own: Done
// is never closed.
func NewHTTP(o HTTPOptions) Transport {
	return &streamable{client: newClient(o), open: newGroup()}
}

// streamable is streamable HTTP (transports, "Streamable HTTP"). Each message is a
// POST whose answer is JSON or a stream of events. Up to 2025-11-25 there may be a
// session, a stream for what belongs to no request, and streams that go on after
// they were cut.
type streamable struct {
	client
	in   Inbox
	open *group // requests and streams

	mu      sync.Mutex
	spoken  bool // the server has shown that it speaks streamable HTTP
	session session
	hush    func() // ends listening; nil while nobody listens
}

// session is what a connection of MCP up to 2025-11-25 has agreed on.
type session struct {
	id      string // empty where the server keeps none
	version string // the last that was spoken
	// end tells the server that it is over; nil without an id.
	end func(session)
}

// Open implements Transport. There is nothing to connect yet.
func (t *streamable) Open(_ context.Context, in Inbox) error {
	t.in = in
	return t.bad
}

// Done implements Transport.
func (t *streamable) Done() <-chan struct{} { return nil }

// Err implements Transport.
func (t *streamable) Err() error { return nil }

// Close ends all streams, then the session.
func (t *streamable) Close() error {
	t.open.close(errClosed)
	t.mu.Lock()
	s := t.session
	t.session = session{}
	t.mu.Unlock()
	if s.end != nil {
		s.end(s)
	}
	t.closeIdle()
	return nil
}

// Send implements Transport.
func (t *streamable) Send(ctx context.Context, m *Outgoing) error {
	ctx, leave, err := t.open.enter(ctx)
	if err != nil {
		return &NotSentError{err}
	}
	defer leave()
	if t.bad != nil {
		return &NotSentError{t.bad}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	method := methodOf(m.Body)
	s := t.current(method, m.Version)
	a, err := t.do(ctx, &call{
		method: http.MethodPost, body: m.Body, caller: m.Header,
		header: s.header(http.Header{"Accept": {jsonType + ", " + eventType}, "Content-Type": {jsonType}}),
	})
	switch {
	case err != nil:
		return err
	case a.refused():
		return t.refused(m, method, s.id, a)
	}
	t.accepted(ctx, method, s, a)
	if m.ID == "" {
		a.drain()
		return nil
	}
	return (&reply{streamable: t, session: s, id: m.ID, enough: stop}).read(ctx, a)
}

// methodOf gives a message's method, empty for a response.
func methodOf(body json.RawMessage) string {
	var m struct {
		Method string `json:"method"`
	}
	_ = json.Unmarshal(body, &m) // the message is ours
	return m.Method
}

// quote gives the id of a request as it stands in messages.
func quote(id string) string {
	b, _ := json.Marshal(id) //nolint:errchkjson // a text always has a form in JSON
	return string(b)
}

// current gives the session that a message belongs to.
func (t *streamable) current(method, version string) session {
	if method == rpc.Initialize || rpc.IsModern(version) {
		return session{version: version}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if version != "" {
		t.session.version = version
	}
	return t.session
}

// header adds the session's headers.
func (s session) header(h http.Header) http.Header {
	if s.id != "" {
		h[sessionHeader] = []string{s.id}
	}
	if s.version != "" {
		h[versionHeader] = []string{s.version}
	}
	return h
}

// refused deals with a status that is no success.
func (t *streamable) refused(m *Outgoing, method, session string, a *answer) error {
	if a.StatusCode == http.StatusNotFound && session != "" {
		t.forget(session)
		return t.errorf("%w", ErrSessionLost)
	}
	denied := a.StatusCode == http.StatusUnauthorized || a.StatusCode == http.StatusForbidden
	if a.StatusCode/100 == 4 && !denied && m.ID != "" {
		if message := refusal(a.refusal, m.ID); message != nil {
			t.speaks()
			t.in.Receive(message, m.ID)
			return nil
		}
	}
	switch a.StatusCode {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		if first := method == rpc.Initialize || method == discover; first && !t.spoke() {
			return t.errorf("%w (it answered %d)", ErrLegacySSE, a.StatusCode)
		}
	}
	return t.status(a)
}

// forget drops a session that the server does not know any more.
func (t *streamable) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session.id == id {
		t.session = session{version: t.session.version}
	}
}

func (t *streamable) speaks() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spoken = true
}

func (t *streamable) spoke() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spoken
}

// accepted keeps what an answer means for the session.
func (t *streamable) accepted(ctx context.Context, method string, s session, a *answer) {
	t.speaks()
	switch method {
	case rpc.Initialize:
		t.begin(ctx, a.Header.Get(sessionHeader))
	case initialized:
		if t.Listen && !rpc.IsModern(s.version) {
			t.listen(ctx, s)
		}
	}
}

// begin begins a session, which takes the place of one before.
func (t *streamable) begin(ctx context.Context, id string) {
	ctx = context.WithoutCancel(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hush != nil {
		t.hush()
		t.hush = nil
	}
	t.session = session{id: id}
	if id != "" {
		t.session.end = func(s session) { t.farewell(ctx, s) }
	}
}

// farewell ends a session. A server that does not let clients do that says so, and
// one that cannot be reached has no use for it.
func (t *streamable) farewell(ctx context.Context, s session) {
	ctx, cancel := context.WithTimeout(ctx, farewellTime)
	defer cancel()
	a, err := t.do(ctx, &call{method: http.MethodDelete, header: s.header(http.Header{})})
	if err != nil {
		t.Log.DebugContext(ctx, "the session could not be ended", "error", err)
		return
	}
	a.drain()
}
