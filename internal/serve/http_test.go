package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve/httpserver"
)

// TestHTTPClientsAtOnce: 20 clients, half of them on each protocol, each with
// its own secret in every request and its own progress tokens.
func TestHTTPClientsAtOnce(t *testing.T) {
	w := openHTTP(t, newFixture(t, config.PerConnection), nil)
	const clients, calls = 20, 15
	var all sync.WaitGroup
	for i := range clients {
		header := modernHeader()
		if i%2 == 0 {
			header = []string{"Mcp-Session-Id", w.initialize("/mcp")}
		}
		all.Go(func() {
			for n := range calls {
				secret, token := fmt.Sprintf("secret-%d-%d", i, n), fmt.Sprintf("token-%d-%d", i, n)
				meta := map[string]any{"progressToken": token}
				if i%2 != 0 {
					meta = modernMeta(token)
				}
				r, err := w.post(t.Context(), "/mcp", call(1, "tool "+secret, meta), header...) // everybody has the same request id
				if err != nil {
					t.Error(err)
					return
				}
				if err := checkStream(r, secret, token); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// checkStream wants exactly the progress and the answer of one call, in order.
func checkStream(r *reply, secret, token string) error {
	if len(r.messages) < 2 {
		return fmt.Errorf("%d: %s", r.status, r.body)
	}
	var told []string
	value := 0.0
	for _, m := range r.messages[:len(r.messages)-1] {
		params, _ := m["params"].(map[string]any)
		v, _ := params["progress"].(float64)
		if m["method"] != "notifications/progress" || params["progressToken"] != token || v <= value {
			return fmt.Errorf("%s: foreign or late: %v", token, m)
		}
		value = v
		told = append(told, params["message"].(string))
	}
	want := fmt.Sprintf("started · noting %[1]s · Looking at %[1]s · running look · look done", secret)
	if got := strings.Join(told, " · "); got != want {
		return fmt.Errorf("%s: progress %q", token, got)
	}
	answer, _ := r.last()["result"].(map[string]any)
	content, _ := answer["content"].([]any)
	if len(content) == 0 || content[0].(map[string]any)["text"] != "Saw "+secret {
		return fmt.Errorf("%s: answer %v", token, r.last())
	}
	return nil
}

// waitFor waits until the fake agent has had so many turns cancelled.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

// TestHTTPSomethingIsSentAtOnce, whether or not there is a progress token.
func TestHTTPSomethingIsSentAtOnce(t *testing.T) {
	f := newFixture(t, config.PerConnection)
	w := openHTTP(t, f, nil)
	defer close(f.agent.release)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"parrot","arguments":{"request":"wait long"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	req := newRequest(t, http.MethodPost, w.url+"/mcp", []byte(body))
	h := modernHeader()
	for i := 0; i < len(h); i += 2 {
		req.Header.Set(h[i], h[i+1])
	}
	res, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	line, err := bufio.NewReader(res.Body).ReadString('\n')
	if err != nil || line != ": keep-alive\n" || res.Header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("%q, %v, %v", line, err, res.Header)
	}
}

// TestHTTPClosedStreamCancels on 2026-07-28.
func TestHTTPClosedStreamCancels(t *testing.T) {
	f := newFixture(t, config.PerConnection)
	f.agent.started = make(chan string, 1)
	w := openHTTP(t, f, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-f.agent.started
		cancel()
	}()
	if _, err := w.post(ctx, "/mcp", call(1, "wait for it", modernMeta("")), modernHeader()...); err == nil {
		t.Error("the stream was not closed")
	}
	waitFor(t, "the cancel", func() bool { _, ended := f.agent.counts(); return ended == 1 })
}

// TestHTTPLostConnection up to 2025-11-25: the turn goes on, the same request
// gets its answer, and an explicit cancel still stops it.
func TestHTTPLostConnection(t *testing.T) {
	f := newFixture(t, config.PerConnection)
	f.agent.started = make(chan string, 10)
	w := openHTTP(t, f, nil)
	session := w.initialize("/mcp")
	lose := func(id int, request string) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-f.agent.started
			cancel()
		}()
		if _, err := w.post(ctx, "/mcp", call(id, request, nil), "Mcp-Session-Id", session); err == nil {
			t.Error("the connection was not lost")
		}
	}
	lose(1, "wait for it")
	if r := w.mustPost("/mcp", map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": 1}}, "Mcp-Session-Id", session); r.status != http.StatusAccepted {
		t.Error(r.status)
	}
	waitFor(t, "the cancel", func() bool { _, ended := f.agent.counts(); return ended == 1 })

	lose(2, "wait for rain")
	time.Sleep(300 * time.Millisecond) // the server notices, and tells nobody
	time.AfterFunc(100*time.Millisecond, func() { close(f.agent.release) })
	r := w.mustPost("/mcp", call(3, "wait for rain", nil), "Mcp-Session-Id", session)
	if texts, isError, _ := result(t, r.last()); isError || texts[0] != "Waited for for rain" {
		t.Error(texts)
	}
	f.agent.mu.Lock()
	defer f.agent.mu.Unlock()
	if n := len(f.agent.callers); n != 2 {
		t.Errorf("%d turns, want 2", n)
	}
}

// TestHTTPNobodyCancelsForOthers: request ids are everybody's own.
func TestHTTPNobodyCancelsForOthers(t *testing.T) {
	f := newFixture(t, config.PerConnection)
	f.agent.started = make(chan string, 10)
	w := openHTTP(t, f, nil)
	mine, other := w.initialize("/mcp"), w.initialize("/mcp")
	replies := make(chan *reply, 2)
	for _, header := range [][]string{modernHeader(), {"Mcp-Session-Id", mine}} {
		meta := modernMeta("")
		if header[0] == "Mcp-Session-Id" {
			meta = nil
		}
		go func() {
			r, err := w.post(t.Context(), "/mcp", call(1, "wait here", meta), header...)
			if err != nil {
				t.Error(err)
			}
			replies <- r
		}()
		<-f.agent.started
	}
	cancel := map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": 1}}
	modernCancel := map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": 1, "_meta": modernMeta("")}}
	for _, tt := range []struct {
		body   any
		header []string
		status int
	}{
		{cancel, nil, http.StatusBadRequest},
		{cancel, []string{"Mcp-Session-Id", "made-up"}, http.StatusNotFound},
		{cancel, []string{"Mcp-Session-Id", other}, http.StatusAccepted},
		{modernCancel, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "notifications/cancelled"}, http.StatusAccepted},
		{modernCancel, []string{"Mcp-Session-Id", mine}, http.StatusAccepted},
	} {
		if r := w.mustPost("/mcp", tt.body, tt.header...); r.status != tt.status {
			t.Errorf("%v: %d, want %d", tt.header, r.status, tt.status)
		}
	}
	close(f.agent.release)
	for range 2 {
		r := <-replies
		if texts, isError, _ := result(t, r.last()); isError || texts[0] != "Waited for here" {
			t.Error(texts)
		}
	}
}

// TestHTTPDrain: running turns may end, others are told, and then cancelled.
func TestHTTPDrain(t *testing.T) {
	for name, tt := range map[string]struct {
		timeout time.Duration
		release bool
		want    string
	}{
		"in time":  {limit, true, "Waited for it"},
		"too long": {100 * time.Millisecond, false, "the server is stopping (cancelled)"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, config.PerConnection)
			f.agent.started = make(chan string, 10)
			w := openHTTP(t, f, func(c *httpserver.Config) { c.DrainTimeout = tt.timeout })
			session := w.initialize("/mcp")
			replies := make(chan *reply, 1)
			go func() {
				r, err := w.post(t.Context(), "/mcp", call(1, "wait it", nil), "Mcp-Session-Id", session)
				if err != nil {
					t.Error(err)
				}
				replies <- r
			}()
			<-f.agent.started
			w.stop()
			// Whoever asks hears that the server is not ready, while turns go on.
			waitFor(t, "refusal", func() bool {
				res, err := w.client.Get(w.url + "/readyz")
				if err != nil {
					return false
				}
				res.Body.Close()
				return res.StatusCode == http.StatusServiceUnavailable
			})
			if tt.release {
				close(f.agent.release)
			}
			r := <-replies
			if texts, _, _ := result(t, r.last()); texts[0] != tt.want {
				t.Error(texts)
			}
			if err := <-w.done; err != nil {
				t.Error(err)
			}
			w.done <- nil
			if active, _ := f.agent.counts(); active != 0 || len(f.agent.deleted) != 1 {
				t.Errorf("%d turns active, %d conversations deleted", active, len(f.agent.deleted))
			}
		})
	}
}
