package wire

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// maxListenPause is the longest time between two tries to listen.
const maxListenPause = 30 * time.Second

// listen opens the stream for what belongs to no request, once in a session
// (2025-11-25, transports, "Listening for Messages from the Server").
func (t *streamable) listen(ctx context.Context, s session) {
	ctx, leave, err := t.open.enter(context.WithoutCancel(ctx))
	if err != nil {
		return
	}
	ctx, hush := context.WithCancel(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hush != nil || t.session.id != s.id {
		hush()
		leave()
		return
	}
	t.hush = hush
	go func() {
		defer leave()
		defer hush()
		t.overhear(ctx, s)
	}()
}

// overhear listens until ctx ends or the server has no such stream.
func (t *streamable) overhear(ctx context.Context, s session) {
	var p place
	for failures := 0; ; failures++ {
		heard, over := t.hear(ctx, s, &p)
		if over {
			return
		}
		if heard {
			failures = 0
		}
		wait := p.wait()
		if wait < maxListenPause {
			wait = min(wait<<min(failures, 10), maxListenPause)
		}
		if pause(ctx, wait) != nil {
			return
		}
	}
}

// hear listens to one stream. It reports whether anything came, and whether there
// is no point in trying again.
func (t *streamable) hear(ctx context.Context, s session, p *place) (heard, over bool) {
	a, err := t.do(ctx, &call{method: http.MethodGet, header: p.header(s)})
	if err != nil {
		t.Log.DebugContext(ctx, "an MCP server cannot be listened to", "error", err)
		var broken *brokenError
		var unsent *NotSentError
		return false, ctx.Err() != nil || !errors.As(err, &broken) && !errors.As(err, &unsent)
	}
	defer func() { _ = a.Body.Close() }()
	if a.refused() || mediaType(a) != eventType {
		t.Log.DebugContext(ctx, "an MCP server says nothing outside of requests", "server", origin(t.url), "status", a.StatusCode)
		return false, a.StatusCode < http.StatusInternalServerError
	}
	stream := newEvents(a.Body, t.MaxMessage, p)
	before := p.id
	for {
		ev, err := stream.next()
		heard = heard || err == nil || p.id != before
		if err != nil {
			return heard, ctx.Err() != nil || errors.Is(err, errMessageSize)
		}
		_ = t.receive(t.in, ev) // no call waits for what comes here
	}
}

// receive gives messages that belong to no request to the Inbox, and what is wrong
// with others.
func (c *client) receive(in Inbox, ev event) error {
	if ev.name != "" && ev.name != "message" {
		return nil
	}
	list, err := messages(ev.data)
	for _, m := range list {
		in.Receive(m, "")
	}
	if err != nil {
		c.Log.Warn("a message of an MCP server could not be read", "server", origin(c.url), "error", err)
	}
	return err
}
