package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/serve"
	"github.com/adkmcp/adkmcp/internal/serve/httpserver"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

const isolatedAgent = `
name: keeper
instruction: Keep secrets.
model:
  provider: scripted
  script:
    - match: '(?P<secret>secret-\d+-\d+)'
      steps:
        - {say: "working on {secret}", call: [{repeat: {text: "{secret}"}}, {repeat: {text: "{secret}"}}]}
        - {reply: "kept {repeat}"}
tools:
  - name: repeat
    description: Repeats.
    parameters: {text: {type: string, description: The text}}
    shell: [echo, "{text}"]
`

var secret = regexp.MustCompile(`secret-(\d+)-\d+`)

// spy checks that no request to the model holds secrets of two callers.
type spy struct {
	inner model.Model
	t     *testing.T

	mu       sync.Mutex
	requests int
}

func (s *spy) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	text, err := json.Marshal(req.Contents)
	if err != nil {
		s.t.Error(err)
	}
	owners := map[string]bool{}
	for _, m := range secret.FindAllSubmatch(text, -1) {
		owners[string(m[1])] = true
	}
	if len(owners) != 1 {
		s.t.Errorf("the model sees the secrets of %d callers: %s", len(owners), text)
	}
	s.mu.Lock()
	s.requests++
	s.mu.Unlock()
	return s.inner.Generate(ctx, req)
}

// TestCallersAreIsolated has 20 callers at the same time, in both eras of the
// protocol, each with secrets of its own: the model sees only one caller's, and
// every caller gets its own answers and its own progress, all of it.
func TestCallersAreIsolated(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keeper.yaml")
	if err := os.WriteFile(file, []byte(isolatedAgent), 0o600); err != nil {
		t.Fatal(err)
	}
	h := openHouse(t, map[string]string{}, file)
	r := h.Residents[0]
	watch := &spy{inner: r.Runner.Model, t: t}
	parts := r.Runner.Parts
	parts.Model = watch
	r.Runner = agent.NewRunner(r.Config, parts)
	server := serveHouse(t, h)

	const callers, calls = 20, 5
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			c := &caller{t: t, url: server.URL + "/mcp", modern: i%2 == 1}
			c.initialize()
			for n := range calls {
				c.ask(fmt.Sprintf("secret-%d-%d", i, n), fmt.Sprintf("token-%d-%d", i, n))
			}
		})
	}
	wg.Wait()
	if want := callers * calls * 2; watch.requests != want {
		t.Errorf("%d model calls, want %d", watch.requests, want)
	}
}

func serveHouse(t *testing.T, h *opened) *httptest.Server {
	t.Helper()
	registry := turns.New(h.log, time.Now)
	s, err := serve.New(serve.Options{Agents: served(t.Context(), h), Version: "1", HTTP: true, IdleExpiry: time.Hour,
		Turns: registry, Delete: h.Store.Delete, Random: rand.Reader, Log: h.log})
	if err != nil {
		t.Fatal(err)
	}
	front, err := httpserver.New(httpserver.Config{Addr: ":0", Endpoints: s.Endpoints(), Turns: registry, Ended: s.End,
		Random: rand.Reader, Log: h.log, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(front)
	t.Cleanup(func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := registry.Stop(ctx, 0, nil); err != nil {
			t.Error(err)
		}
	})
	return server
}

// caller is an MCP client that looks at every message.
type caller struct {
	t       *testing.T
	url     string
	modern  bool
	session string
	handle  string
}

func (c *caller) initialize() {
	if c.modern {
		return
	}
	header, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, nil)
	if c.session = header.Get("Mcp-Session-Id"); c.session == "" {
		c.t.Error("no session id")
	}
	c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil)
}

// ask makes one call and checks everything that comes back.
func (c *caller) ask(secret, token string) {
	meta := map[string]any{"progressToken": token}
	header := map[string]string{}
	arguments := map[string]any{"request": secret}
	if c.modern {
		meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28"
		meta["io.modelcontextprotocol/clientCapabilities"] = map[string]any{}
		header = map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "keeper"}
		if c.handle != "" {
			arguments["conversation"] = c.handle
		}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": "tools/call",
		"params": map[string]any{"name": "keeper", "arguments": arguments, "_meta": meta}})
	if err != nil {
		c.t.Error(err)
	}
	_, messages := c.post(string(body), header)
	progress, last := 0, 0.0
	for i, m := range messages {
		if m.Method == "" {
			c.answer(m, secret)
			if i != len(messages)-1 {
				c.t.Errorf("%d messages came after the answer to %s", len(messages)-1-i, secret)
			}
			continue
		}
		progress++
		if m.Params.ProgressToken != token {
			c.t.Errorf("progress of %s on the stream of %s", m.Params.ProgressToken, token)
		}
		if m.Params.Progress <= last && progress > 1 {
			c.t.Errorf("progress went from %v to %v", last, m.Params.Progress)
		}
		last = m.Params.Progress
	}
	text := fmt.Sprint(messages)
	if !strings.Contains(text, "working on "+secret) || !strings.Contains(text, "repeat done") {
		c.t.Errorf("progress was lost: %s", text)
	}
}

func (c *caller) answer(m message, secret string) {
	if m.Result.IsError || len(m.Result.Content) == 0 || strings.TrimSpace(m.Result.Content[0].Text) != "kept "+secret {
		c.t.Errorf("the answer to %s is %+v", secret, m)
	}
	c.handle, _ = m.Result.Meta["adkmcp/conversation"].(string)
}

type message struct {
	JSONRPC string
	ID      json.RawMessage
	Method  string
	Params  struct {
		ProgressToken string
		Progress      float64
		Message       string
	}
	Result struct {
		IsError bool
		Content []struct{ Text string }
		Meta    map[string]any `json:"_meta"`
	}
	Error struct{ Message string }
}

// post sends a message and reads the whole answer.
func (c *caller) post(body string, header map[string]string) (http.Header, []message) {
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return nil, nil
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Error(err)
		return nil, nil
	}
	defer res.Body.Close()
	var messages []message
	add := func(data []byte) {
		var m message
		if err := json.Unmarshal(data, &m); err != nil {
			c.t.Errorf("%q: %v", data, err)
		}
		messages = append(messages, m)
	}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		data, err := io.ReadAll(res.Body)
		if err != nil {
			c.t.Error(err)
		}
		if len(data) > 0 {
			add(data)
		}
		return res.Header, messages
	}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
			add([]byte(data))
		}
	}
	return res.Header, messages
}
