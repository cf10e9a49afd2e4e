package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
)

var (
	errStreamCut  = errors.New("the server's event stream has ended")
	errNoStream   = errors.New("there is no event stream at the server's url")
	errNoEndpoint = errors.New("the server did not say where to send messages to, or named another server")
)

// NewSSE makes a connection over the HTTP+SSE transport of MCP 2024-11-05: the
// server's messages come on one stream, and ours go to an address that it names.
// Options' Listen means nothing here.
func NewSSE(o HTTPOptions) Transport {
	return &sse{client: newClient(o), open: newGroup(), done: make(chan struct{})}
}

type sse struct {
	client
	open *group // the stream, and requests
	done chan struct{}

	mu       sync.Mutex
	err      error    // why done is closed
	endpoint *url.URL // where messages go
}

// Open implements Transport. It returns when the server has said where messages
// go.
func (t *sse) Open(ctx context.Context, in Inbox) error {
	if t.bad != nil {
		return t.bad
	}
	stream, leave, err := t.open.enter(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	stream, end := context.WithCancelCause(stream)
	ready := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		defer leave()
		err := t.run(stream, in, ready)
		end(nil)
		ended <- err
		select {
		case <-ready:
			t.fail(err)
		default: // Open says it
		}
	}()
	select {
	case <-ready:
		return nil
	case err := <-ended:
		return err
	case <-ctx.Done():
		end(context.Cause(ctx))
		return <-ended
	}
}

// run reads the stream to its end, which is always an error. It closes ready when
// messages can be sent.
func (t *sse) run(ctx context.Context, in Inbox, ready chan<- struct{}) error {
	a, err := t.do(ctx, &call{method: http.MethodGet, header: http.Header{"Accept": {eventType}, "Cache-Control": {"no-cache"}}})
	if err != nil {
		return err
	}
	defer func() { _ = a.Body.Close() }()
	switch {
	case a.refused():
		return t.status(a)
	case mediaType(a) != eventType:
		return t.errorf("%w", errNoStream)
	}
	if err := t.encoded(a); err != nil {
		return err
	}
	stream := newEvents(a.Body, t.MaxMessage, &place{})
	for {
		ev, err := stream.next()
		switch {
		case errors.Is(err, io.EOF):
			return t.errorf("%w", errStreamCut)
		case errors.Is(err, errMessageSize):
			return t.errorf("%w: it has more than %d bytes", err, t.MaxMessage)
		case err != nil:
			return t.broken(ctx, err)
		case ev.name != "endpoint":
			if err := t.receive(in, ev); errors.Is(err, errUnreadable) {
				return t.errorf("%w", err) // a call may wait for it
			}
		case ready != nil:
			if err := t.connect(ev.data); err != nil {
				return err
			}
			close(ready)
			ready = nil
		}
	}
}

// connect takes the address for messages. It has to be at the same server, since
// credentials go there.
func (t *sse) connect(data []byte) error {
	to, err := t.url.Parse(string(data))
	if err != nil || origin(to) != origin(t.url) {
		return t.errorf("%w", errNoEndpoint)
	}
	to.User, to.Fragment, to.RawFragment = nil, "", ""
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endpoint = to
	return nil
}

// fail ends the connection, unless we have ended it.
func (t *sse) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil && !errors.Is(err, errClosed) {
		t.err = err
		close(t.done)
	}
}

// Done implements Transport.
func (t *sse) Done() <-chan struct{} { return t.done }

// Err implements Transport.
func (t *sse) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Close implements Transport.
func (t *sse) Close() error {
	t.open.close(errClosed)
	t.closeIdle()
	return nil
}

// Send implements Transport.
func (t *sse) Send(ctx context.Context, m *Outgoing) error {
	ctx, leave, err := t.open.enter(ctx)
	if err != nil {
		return &NotSentError{err}
	}
	defer leave()
	t.mu.Lock()
	endpoint, ended := t.endpoint, t.err
	t.mu.Unlock()
	switch {
	case ended != nil:
		return &NotSentError{ended}
	case endpoint == nil:
		return &NotSentError{errNoEndpoint}
	}
	header := session{version: m.Version}.header(http.Header{"Accept": {jsonType}, "Content-Type": {jsonType}})
	a, err := t.do(ctx, &call{method: http.MethodPost, url: endpoint, body: m.Body, caller: m.Header, header: header})
	if err != nil {
		return err
	}
	a.drain()
	switch {
	case !a.refused():
		return nil
	case a.StatusCode == http.StatusNotFound: // the stream that is left belongs to nobody
		t.fail(t.errorf("%w", ErrSessionLost))
		return t.errorf("%w", ErrSessionLost)
	}
	return t.status(a)
}
