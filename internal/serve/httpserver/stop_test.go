package httpserver

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

func contextWithCancel(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}

// slowTurn is an agent whose turn ends when it is released, or cancelled.
type slowTurn chan struct{}

func (s slowTurn) Run(ctx context.Context, _ agent.Turn) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		select {
		case <-s:
		case <-ctx.Done():
		}
		yield(nil, errors.New("ended"))
	}
}

// TestStop: while a turn runs the listener stays open, /readyz says no, new
// sessions and streams are turned away, and calls still come in. Then the streams
// end and the server too.
func TestStop(t *testing.T) {
	registry := turns.New(slog.New(slog.DiscardHandler), time.Now)
	s := open(t, func(c *Config) { c.Turns = registry }).serve()
	turn := make(slowTurn)
	if _, err := registry.Attach(t.Context(), turns.Request{Runner: turn, Turn: agent.Turn{Key: session.Key{Agent: "a"}}, Observe: func(*session.Event) {}}); err != nil {
		t.Fatal(err)
	}
	id, c := s.start(), s.connect("/sse")
	_, subscription := s.stream(http.MethodPost, s.url, strings.NewReader(listen), modern("subscriptions/listen", "", "Accept", both)...)
	subscription.want("acknowledged")
	c.post(202, listen)
	c.want("acknowledged")
	c.post(202, strings.Replace(modernCall("ask"), `"id":1`, `"id":2`, 1))
	c.want("cannot ask")
	_, question := s.stream(http.MethodPost, s.url, strings.NewReader(callOf(1, "ask")), legacy(id)...)
	question.want("elicitation/create")

	s.stop()
	waitFor(t, "draining", func() bool {
		res, _ := s.fetch(s.request(t.Context(), http.MethodGet, s.at("/readyz"), nil))
		return res.StatusCode == http.StatusServiceUnavailable
	})
	conn, err := net.Dial("tcp", s.addr) // the listener is open
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if res, _ := s.fetch(s.request(t.Context(), http.MethodGet, s.at("/livez"), nil)); res.StatusCode != http.StatusOK {
		t.Errorf("/livez: %d", res.StatusCode)
	}
	for name, req := range map[string]*http.Request{
		"initialize": s.request(t.Context(), http.MethodPost, s.url, strings.NewReader(initialize), "Content-Type", "application/json"),
		"listen":     s.request(t.Context(), http.MethodPost, s.url, strings.NewReader(listen), modern("subscriptions/listen", "", "Accept", both)...),
		"/sse":       s.request(t.Context(), http.MethodGet, s.at("/sse"), nil),
	} {
		if res, body := s.fetch(req); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %v %s", name, res.StatusCode, res.Header, body)
		}
	}
	s.expect(200) // the registry says what becomes of calls
	if status, body := s.list(id); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	c.post(202, callOf(3, "canary"))
	c.want("anonymous")

	close(turn)
	begun := time.Now()
	subscription.want(`"result":{"resultType":"complete"}`)
	subscription.end()
	question.want(turns.ErrStopping.Error())
	question.end()
	c.want(`"result":{"resultType":"complete"}`)
	c.end()
	for range 2 {
		if err := next(t, s.stopped); !errors.Is(err, turns.ErrStopping) {
			t.Error(err)
		}
	}
	s.waitEnd()
	if took := time.Since(begun); took > closeTimeout {
		t.Errorf("the end took %v", took)
	}
	if got := drain(s.ended); len(got) != 2 {
		t.Errorf("%v ended", got)
	}
}

// TestStopStreams: many open streams delay no end, which takes no longer than it
// took to open them on a busy machine.
func TestStopStreams(t *testing.T) {
	s := open(t, nil)
	s.server.listens.most = 250
	s.serve()
	begun := time.Now()
	for i := range 500 {
		method, path, body, header := http.MethodGet, "/sse", "", []string(nil)
		if i%2 == 0 {
			method, path, body, header = http.MethodPost, "/mcp", listen, modern("subscriptions/listen", "", "Accept", both)
		}
		_, e := s.stream(method, s.at(path), strings.NewReader(body), header...)
		if _, _, err := e.read(); err != nil {
			t.Fatal(err)
		}
	}
	opened := time.Now()
	s.stop()
	s.waitEnd()
	if took := time.Since(opened); took > max(2*time.Second, opened.Sub(begun)) || strings.Contains(s.log.String(), "cut at the end") {
		t.Errorf("took %v, opening them %v", took, opened.Sub(begun))
	}
}

// TestStopLastWords: what ends by itself just then still gets its answer.
func TestStopLastWords(t *testing.T) {
	s := open(t, nil).serve()
	c := s.connect("/sse")
	c.post(202, callOf(1, "wait"))
	next(t, s.started)
	s.stop()
	waitFor(t, "the end", func() bool {
		s.server.sse.mu.Lock()
		defer s.server.sse.mu.Unlock()
		return s.server.sse.ended
	})
	time.AfterFunc(50*time.Millisecond, func() { close(s.release) })
	c.want("released")
	c.end()
}

// TestStopBusyConnection: what a client of the old transport waits for is cut
// when it does not end.
func TestStopBusyConnection(t *testing.T) {
	s := open(t, nil).serve()
	c := s.connect("/sse")
	c.post(202, callOf(1, "ask"))
	c.want("elicitation/create")
	begun := time.Now()
	s.stop()
	c.want("notifications/cancelled") // of the question
	c.want(turns.ErrStopping.Error())
	c.end()
	s.waitEnd()
	if took := time.Since(begun); took > closeTimeout {
		t.Errorf("took %v", took)
	}
}

// TestStopSilentConnection: a connection that was opened ahead of need delays no
// end.
func TestStopSilentConnection(t *testing.T) {
	s := open(t, nil).serve()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s.expect(200) // so the one before it has been accepted
	begun := time.Now()
	s.stop()
	s.waitEnd()
	if took := time.Since(begun); took > closeTimeout-2*time.Second || strings.Contains(s.log.String(), "cut at the end") {
		t.Errorf("took %v", took)
	}
}

// TestStopIsBounded: a request that never becomes whole cannot keep a server
// without turns for longer than answers may take.
func TestStopIsBounded(t *testing.T) {
	s := open(t, func(c *Config) { c.DrainTimeout = time.Hour }).serve()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// The server asks for the body, so it is in the request then.
	_, err = io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n")
	if _, readErr := conn.Read(make([]byte, 100)); err != nil || readErr != nil {
		t.Fatal(err, readErr)
	}
	start := time.Now()
	s.stop()
	s.waitEnd()
	if took := time.Since(start); took > closeTimeout+3*time.Second {
		t.Errorf("took %v", took)
	}
}
