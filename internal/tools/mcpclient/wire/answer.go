package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

const (
	// lastWords is how long a server may take to end a stream on which it has
	// answered. One that does leaves the connection usable.
	lastWords = 50 * time.Millisecond

	// A stream is taken up again maxTries times at most without anything new.
	maxTries     = 5
	defaultRetry = time.Second
	minRetry     = 100 * time.Millisecond
	maxRetry     = time.Minute
)

var (
	errCut      = errors.New("the server's answer ended before it was complete")
	errNoAnswer = errors.New("the server answered, but not what it was asked")
)

// reply is the answer to a request, wherever it comes.
type reply struct {
	*streamable
	session session
	id      string // the request's
	enough  func() // ends the request

	place    place
	heard    int  // events, and ids of events
	answered bool // the response has come
	// unread is what is wrong with a message that could not be read.
	unread error
}

// read gives everything that belongs to the request to the Inbox. It returns nil
// if the response was there.
func (r *reply) read(ctx context.Context, a *answer) error {
	defer func() { _ = a.Body.Close() }()
	if err := r.encoded(a); err != nil {
		return err
	}
	switch kind := mediaType(a); kind {
	case eventType:
		err := r.follow(ctx, a)
		if err == nil || r.place.id == "" || rpc.IsModern(r.session.version) || final(err) {
			return err
		}
		return r.resume(ctx, err)
	case jsonType, "":
		return r.readJSON(ctx, a)
	default:
		return r.errorf("the server answered with %q, which is neither JSON nor an event stream", excerpt(kind))
	}
}

func (r *reply) readJSON(ctx context.Context, a *answer) error {
	data, err := io.ReadAll(io.LimitReader(a.Body, r.MaxMessage+1))
	switch {
	case err != nil:
		return r.broken(ctx, err)
	case int64(len(data)) > r.MaxMessage:
		return r.errorf("%w: it has more than %d bytes", errMessageSize, r.MaxMessage)
	case len(data) == 0:
		return r.errorf("%w: there is nothing", errNoAnswer)
	}
	r.deliver(data)
	if !r.answered {
		return r.errorf("%w", errors.Join(errNoAnswer, r.unread))
	}
	return nil
}

// final reports whether a stream with this error says the same once more when it is
// taken up again.
func final(err error) bool { return errors.Is(err, errMessageSize) || errors.Is(err, errUnreadable) }

// deliver gives messages to the Inbox, and notes what is wrong with others.
func (r *reply) deliver(data []byte) {
	list, err := messages(data)
	for _, m := range list {
		r.receive(m)
	}
	if err != nil {
		r.unread = err
		r.Log.Warn("a message of an MCP server could not be read", "server", origin(r.url), "error", err)
	}
}

// receive gives a message to the Inbox, unless it is the response to another request.
// An error without an id is this one's, since it has come on its stream.
func (r *reply) receive(m *rpc.Message) {
	if own := refusal(m.Raw, r.id); m.Method == "" && m.ID == nil && own != nil {
		m = own
	}
	switch {
	case m.Method != "":
	case rpc.Key(m.ID) != quote(r.id):
		r.Log.Warn("an MCP server sent a response to another request", "server", origin(r.url))
		return
	default:
		r.answered = true
	}
	r.in.Receive(m, r.id)
}

// follow reads a stream to its end, or to the response and what comes with it.
func (r *reply) follow(ctx context.Context, a *answer) error {
	stream := newEvents(a.Body, r.MaxMessage, &r.place)
	for before := r.place.id; ; {
		ev, err := stream.next()
		if r.place.id != before {
			r.heard++
			before = r.place.id
		}
		switch {
		case errors.Is(err, io.EOF):
			return r.errorf("%w", errors.Join(errCut, r.unread))
		case errors.Is(err, errMessageSize):
			return r.errorf("%w: it has more than %d bytes", err, r.MaxMessage)
		case err != nil:
			return r.broken(ctx, err)
		}
		r.heard++
		r.event(ev)
		if r.answered {
			r.rest(stream)
			return nil
		}
		if errors.Is(r.unread, errUnreadable) { // which may have been the response
			return r.errorf("%w", r.unread)
		}
	}
}

func (r *reply) event(ev event) {
	if ev.name == "" || ev.name == "message" {
		r.deliver(ev.data)
	}
}

// rest reads what there is after the response. The stream is ended by the request's
// context, because a body must not be closed while it is read.
func (r *reply) rest(stream *events) {
	timer := time.AfterFunc(lastWords, r.enough)
	defer timer.Stop()
	for {
		ev, err := stream.next()
		if err != nil {
			return
		}
		r.event(ev)
	}
}

// resume takes a stream up again after the last event that came, until the
// response is there (2025-11-25, transports, "Resumability and Redelivery"). It is
// not known any more then whether the request was run, so its errors are plain
// ones, except for ctx's.
func (r *reply) resume(ctx context.Context, cut error) error {
	last := cut
	for tries := 0; tries < maxTries; tries++ {
		if err := pause(ctx, r.place.wait()); err != nil {
			return r.broken(ctx, err)
		}
		heard := r.heard
		a, err := r.do(ctx, r.again())
		switch {
		case err != nil && ctx.Err() != nil:
			return r.broken(ctx, err)
		case err != nil:
			last = err
		case a.refused() && a.StatusCode < 500:
			return r.lost(r.status(a))
		case a.refused():
			last = r.status(a)
		case mediaType(a) != eventType:
			a.drain()
			return r.lost(errNoAnswer)
		default:
			last = r.follow(ctx, a)
			_ = a.Body.Close()
		}
		if last == nil || ctx.Err() != nil || final(last) {
			return last
		}
		if r.heard > heard {
			tries = -1
		}
	}
	return r.lost(last)
}

func (r *reply) lost(why error) error {
	return r.errorf("the server's answer was cut, and could not be taken up again: %s", why.Error())
}

// again asks for a stream from where it has come to.
func (r *reply) again() *call {
	return &call{method: http.MethodGet, header: r.place.header(r.session)}
}

func (p *place) header(s session) http.Header {
	h := s.header(http.Header{"Accept": {eventType}})
	if p.id != "" {
		h[lastEventID] = []string{p.id}
	}
	return h
}

// wait is how long to wait before a stream is opened again.
func (p *place) wait() time.Duration {
	if p.retry == 0 {
		return defaultRetry
	}
	return min(max(p.retry, minRetry), maxRetry)
}

// pause waits, and gives ctx's error when that ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// refusal makes the response to a request out of a body that is a JSON-RPC error:
// a server that could not read a request does not know whose the error is. It is
// nil for any other body.
func refusal(body []byte, id string) *rpc.Message {
	failure, of := errorIn(body)
	if failure == nil || of != "" && of != quote(id) {
		return nil
	}
	m, err := Parse([]byte(`{"jsonrpc":"2.0","id":` + quote(id) + `,"error":` + string(failure) + `}`))
	if err != nil {
		return nil
	}
	return m
}

// errorIn gives the error in a JSON-RPC error, and the id beside it if there is
// one.
func errorIn(body []byte) (failure json.RawMessage, of string) {
	var m struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &m) != nil || m.JSONRPC != "2.0" || value(m.Error) == nil {
		return nil, ""
	}
	return m.Error, rpc.Key(value(m.ID))
}

// messageOf gives the text of a JSON-RPC error, empty if the body is none.
func messageOf(body []byte) string {
	failure, _ := errorIn(body)
	var e rpc.Error
	if failure == nil || json.Unmarshal(failure, &e) != nil {
		return ""
	}
	return e.Message
}
