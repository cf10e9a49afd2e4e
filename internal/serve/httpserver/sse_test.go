package httpserver

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adkmcp/adkmcp/internal/config"
)

// sseClient is a client of the transport of MCP 2024-11-05.
type sseClient struct {
	*eventReader
	s   *site
	url string // where its messages go
	id  string
}

// connect opens a connection.
func (s *site) connect(path string, header ...string) *sseClient {
	s.t.Helper()
	res, e := s.stream(http.MethodGet, s.at(path), nil, header...)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("X-Accel-Buffering") != "no" {
		s.t.Fatal(res.StatusCode, res.Header)
	}
	name, data, err := e.read()
	before, id, ok := strings.Cut(data, "?sessionId=")
	path, _, _ = strings.Cut(path, "?")
	if name != "endpoint" || err != nil || !ok || before != strings.Replace(path, "/sse", "/message", 1) {
		s.t.Fatal(name, data, err)
	}
	return &sseClient{e, s, s.at(data), id}
}

// post sends a message and wants a status.
func (c *sseClient) post(status int, body string, header ...string) string {
	c.t.Helper()
	res, answer := c.s.fetch(c.s.request(c.t.Context(), http.MethodPost, c.url, strings.NewReader(body), append([]string{"Content-Type", "application/json"}, header...)...))
	if res.StatusCode != status {
		c.t.Errorf("%.80s: %d %s, want %d", body, res.StatusCode, answer, status)
	}
	if status == http.StatusServiceUnavailable && res.Header.Get("Retry-After") == "" {
		c.t.Errorf("no Retry-After: %v", res.Header)
	}
	return answer
}

// TestSSE: a whole connection, of both protocols.
func TestSSE(t *testing.T) {
	s := open(t, nil).serve()
	for _, path := range []string{"/sse", "/sse/canary"} {
		c := s.connect(path)
		c.post(202, initialize)
		c.want(`"id":1,"result":{"protocolVersion":"2025-11-25"}`)
		c.post(202, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		c.post(202, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		c.want(`"client":"c"`)
		c.post(202, callOf(3, "tell"))
		for i := range 3 {
			c.want(fmt.Sprintf(`"progress":%d`, i))
		}
		c.want(`"id":3,"error":{"code":-32602`)

		// We ask, and only the connection's own answers count.
		c.post(202, callOf(4, "ask"))
		c.want(`"id":"adkmcp-1","method":"elicitation/create"`)
		c.post(202, `{"jsonrpc":"2.0","id":"adkmcp-7","result":{"action":"accept"}}`)
		c.post(202, `{"jsonrpc":"2.0","id":"adkmcp-1","result":{"action":"decline"}}`)
		c.want(`"id":4,"result":{"content":[{"text":"{\"action\":\"decline\"}"`)

		// A cancelled call gets no response.
		c.post(202, callOf(5, "wait"))
		c.post(202, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
		next(t, s.stopped)
		c.post(202, callOf(6, "canary"))
		c.want(`"id":6,"result":{"content":[{"text":"anonymous"`)

		// Modern messages are modern here too: no session, no questions.
		c.post(202, `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{`+modernMeta+`}}`)
		c.want(`"client":""`)
		c.post(202, modernCall("ask"))
		c.want("cannot ask")
		c.post(202, `{"jsonrpc":"2.0","id":8,"method":"nonsense","params":{`+modernMeta+`}}`)
		c.want("-32601")
		c.post(202, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"panic"}}`)
		if data := c.want("internal error"); strings.Contains(data, "secret") {
			t.Error(data)
		}
		c.post(202, listen)
		c.want("acknowledged")
	}
}

// TestSSEEnd: a client that hangs up cancels what it asked for, and its
// connection ends.
func TestSSEEnd(t *testing.T) {
	s := open(t, nil).serve()
	c, other := s.connect("/sse"), s.connect("/sse")
	c.post(202, callOf(1, "wait"))
	c.post(202, strings.Replace(modernCall("wait"), `"id":1`, `"id":2`, 1))
	other.post(202, callOf(1, "wait"))
	for range 3 {
		next(t, s.started)
	}
	c.close()
	for range 2 {
		next(t, s.stopped)
	}
	if got := next(t, s.ended); got != c.id {
		t.Errorf("%s ended, want %s", got, c.id)
	}
	c.post(404, callOf(2, "canary"))
	close(s.release)
	other.want("released")
}

// TestC01SSE and C02: ids are for one caller and one path, and never adopted.
func TestC01SSE(t *testing.T) {
	s := open(t, func(c *Config) {
		c.Tokens = []Token{{Principal: "ann", Secret: config.NewSecret("ann-secret")}, {Principal: "bob", Secret: config.NewSecret("bob-secret")}}
	}).serve()
	ann, bob := []string{"Authorization", "Bearer ann-secret"}, []string{"Authorization", "Bearer bob-secret"}
	c := s.connect("/sse", ann...)
	session := s.start(ann...)
	own := c.url
	c.post(202, callOf(1, "canary"), ann...)
	c.want(`"text":"ann"`)
	c.post(401, callOf(1, "canary"))
	foreign := c.post(404, callOf(1, "canary"), bob...)
	for name, url := range map[string]string{
		"made up":      s.at("/message?sessionId=mine"),
		"well-formed":  s.at("/message?sessionId=s_" + base64.RawURLEncoding.EncodeToString(make([]byte, 48))),
		"none":         s.at("/message"),
		"another path": strings.Replace(own, "/message", "/message/canary", 1),
		"a session":    s.at("/message?sessionId=" + session),
	} {
		c.url = url
		if unknown := c.post(404, callOf(1, "canary"), ann...); unknown != foreign {
			t.Errorf("%s: %s, want %s", name, unknown, foreign)
		}
	}
	if res, _ := s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, legacy(c.id, ann...)...); res.StatusCode != http.StatusNotFound {
		t.Errorf("an id of /sse on /mcp: %d", res.StatusCode)
	}
	fixed := s.connect("/sse?sessionId=mine", ann...)
	if fixed.id == "mine" {
		t.Error("an id was adopted")
	}
	if n := s.calls.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// TestA14SSE: the connections of one caller are bounded, and those that are open
// live on.
func TestA14SSE(t *testing.T) {
	s := open(t, func(c *Config) {
		c.Tokens = []Token{{Principal: "ann", Secret: config.NewSecret("ann-secret")}, {Principal: "bob", Secret: config.NewSecret("bob-secret")}}
	})
	s.server.sse.most = 3
	s.serve()
	ann := []string{"Authorization", "Bearer ann-secret"}
	var all []*sseClient
	for range 3 {
		all = append(all, s.connect("/sse", ann...))
	}
	res, _ := s.fetch(s.request(t.Context(), http.MethodGet, s.at("/sse"), nil, ann...))
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	s.connect("/sse", "Authorization", "Bearer bob-secret")
	for i, c := range all {
		c.post(202, callOf(i, "canary"), ann...)
		c.want("ann")
	}
	all[0].close()
	next(t, s.ended)
	waitFor(t, "room", func() bool {
		s.server.sse.mu.Lock()
		defer s.server.sse.mu.Unlock()
		return s.server.sse.of["ann"] == 2
	})
	s.connect("/sse", ann...)
}

func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

func TestOutboxIsBounded(t *testing.T) {
	large := make([]byte, maxQueuedBytes+1)
	for name, tt := range map[string]struct {
		fill int
		with []byte
		last []byte
		room bool
	}{
		"many":                {maxQueued - 1, []byte("{}"), []byte("{}"), true},
		"too many":            {maxQueued, []byte("{}"), []byte("{}"), false},
		"large alone":         {0, nil, large, true},
		"large after another": {1, []byte("{}"), large, false},
		"something after":     {1, large, []byte("{}"), false},
	} {
		o := outbox{ready: make(chan struct{}, 1)}
		for range tt.fill {
			if !o.put(tt.with) {
				t.Errorf("%s: no room at all", name)
			}
		}
		if o.put(tt.last) != tt.room {
			t.Errorf("%s: room is %v", name, !tt.room)
		}
		got := 0
		m, ok := o.take()
		for ; m != nil; m, ok = o.take() {
			got++
		}
		if want := map[bool]int{true: tt.fill + 1}[tt.room]; ok != tt.room || got != want || o.bytes != 0 {
			t.Errorf("%s: %d messages, %v, %d bytes left", name, got, ok, o.bytes)
		}
	}
}

// TestSSELong: a stream outlives the time that a body has to arrive.
func TestSSELong(t *testing.T) {
	s := open(t, nil)
	s.server.body = 100 * time.Millisecond
	s.serve()
	c := s.connect("/sse")
	time.Sleep(5 * s.server.body)
	c.post(202, callOf(1, "canary"))
	c.want("anonymous")
}

// TestSSEKeepAlive: comments when nothing else is sent, and an end when the
// client has gone.
func TestSSEKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.server.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/sse", nil))
		}()
		time.Sleep(2*keepAliveEvery + time.Second)
		cancel()
		<-done
		if got := strings.Count(w.Body.String(), ": keep-alive\n\n"); got != 2 || len(drain(s.ended)) != 1 {
			t.Errorf("%q", w.Body)
		}
	})
}
