package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/httpserver"
	"github.com/adkmcp/adkmcp/internal/serve/stdio"
)

// limit is how long a test waits for something that must happen.
const limit = 20 * time.Second

// modernMeta is the _meta of a request of MCP 2026-07-28.
func modernMeta(token string) map[string]any {
	m := map[string]any{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}
	if token != "" {
		m["progressToken"] = token
	}
	return m
}

// pipe is a host that speaks to a stdio server.
type pipe struct {
	t     testing.TB
	mu    sync.Mutex
	in    *io.PipeWriter
	lines chan string
	done  chan error
	stop  context.CancelFunc
	rec   *recorder
}

// openStdio serves f on pipes. What was started ends with the test.
func openStdio(t testing.TB, f *fixture) *pipe {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	p := &pipe{t: t, in: inW, lines: make(chan string, 10_000), done: make(chan error, 1), stop: cancel, rec: newRecorder(t)}
	go func() {
		p.done <- stdio.Run(ctx, stdio.Config{Handler: f.server.All(), In: inR, Out: outW, Turns: f.turns, Ended: f.server.End, Log: quiet()})
		outW.Close()
		inR.Close()
	}()
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(p.lines)
		for s := bufio.NewReader(outR); ; {
			line, err := s.ReadString('\n')
			if err != nil {
				return
			}
			p.lines <- line
		}
	})
	t.Cleanup(func() {
		cancel()
		inW.Close()
		reading.Wait()
	})
	return p
}

func (p *pipe) write(v any) {
	p.t.Helper()
	data, ok := v.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(v); err != nil {
			p.t.Fatal(err)
		}
	}
	p.rec.sent(data)
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.in.Write(append(data, '\n')); err != nil {
		p.t.Fatal(err)
	}
}

// read gives the next message; every line must be one.
func (p *pipe) read() map[string]any {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.t.Fatal("the output has ended")
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil || m["jsonrpc"] != "2.0" {
			p.t.Fatalf("not a message: %q", line)
		}
		p.rec.came([]byte(line))
		return m
	case <-time.After(limit):
		p.t.Fatal("no message")
	}
	return nil
}

// wait gives the error of Run.
func (p *pipe) wait() error {
	p.t.Helper()
	select {
	case err := <-p.done:
		return err
	case <-time.After(limit):
		p.t.Fatal("Run did not return")
	}
	return nil
}

// web is a running HTTP server.
type web struct {
	t      testing.TB
	url    string
	server *httpserver.Server
	client *http.Client
	done   chan error
	stop   context.CancelFunc
}

func openHTTP(t testing.TB, f *fixture, change func(*httpserver.Config)) *web {
	t.Helper()
	c := httpserver.Config{Addr: "127.0.0.1:0", Endpoints: f.server.Endpoints(), DrainTimeout: limit,
		Turns: f.turns, Ended: f.server.End, Random: rand.Reader, Log: quiet(), Now: time.Now}
	if change != nil {
		change(&c)
	}
	s, err := httpserver.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	w := &web{t: t, url: "http://" + l.Addr().String(), server: s, client: &http.Client{Transport: transport}, done: make(chan error, 1), stop: cancel}
	go func() { w.done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
		select {
		case <-w.done:
		case <-time.After(limit):
			t.Error("Serve did not return")
		}
	})
	return w
}

// reply is what came back on one request.
type reply struct {
	status   int
	kind     string
	header   http.Header
	messages []map[string]any
	comments int
	body     string
	rec      *recorder
}

// post sends one message. header holds pairs.
func (w *web) post(ctx context.Context, path string, body any, header ...string) (*reply, error) {
	data, ok := body.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	return w.do(req, header...)
}

func (w *web) do(req *http.Request, header ...string) (*reply, error) {
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	res, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	rec := newRecorder(w.t)
	if rec != nil && req.GetBody != nil {
		if again, err := req.GetBody(); err == nil {
			sent, _ := io.ReadAll(again)
			rec.sent(sent)
		}
	}
	r := &reply{rec: rec, status: res.StatusCode, kind: kind, header: res.Header, body: string(data)}
	return r, r.parse(data)
}

func (r *reply) parse(data []byte) error {
	add := func(text string) error {
		var m map[string]any
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			return fmt.Errorf("not a message: %q", text)
		}
		r.rec.came([]byte(text))
		r.messages = append(r.messages, m)
		return nil
	}
	switch r.kind {
	case "application/json":
		return add(string(data))
	case "text/event-stream":
		for event := range strings.SplitSeq(string(data), "\n\n") {
			if strings.HasPrefix(event, ":") {
				r.comments++
				continue
			}
			if _, text, ok := strings.Cut(event, "data: "); ok {
				if err := add(text); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// mustPost is post in the test's own goroutine.
func (w *web) mustPost(path string, body any, header ...string) *reply {
	w.t.Helper()
	r, err := w.post(w.t.Context(), path, body, header...)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// initialize opens a session of MCP 2025-11-25.
func (w *web) initialize(path string, header ...string) (session string) {
	w.t.Helper()
	r := w.mustPost(path, initialize(), header...)
	if session = r.header.Get("Mcp-Session-Id"); session == "" {
		w.t.Fatalf("no session: %d %s", r.status, r.body)
	}
	return session
}

func initialize() map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}}}
}

// call makes a tools/call of the parrot; a nil meta is left out.
func call(id any, request string, meta map[string]any, more ...string) map[string]any {
	args := map[string]any{"request": request}
	for i := 0; i+1 < len(more); i += 2 {
		args[more[i]] = more[i+1]
	}
	params := map[string]any{"name": "parrot", "arguments": args}
	if meta != nil {
		params["_meta"] = meta
	}
	return map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
}

// modernHeader is the header of a call on MCP 2026-07-28.
func modernHeader() []string {
	return []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "parrot"}
}

// result digs a tools/call result out of a message.
func result(t testing.TB, m map[string]any) (texts []string, isError bool, r map[string]any) {
	t.Helper()
	r, ok := m["result"].(map[string]any)
	if !ok {
		t.Fatalf("no result: %v", m)
	}
	for _, c := range r["content"].([]any) {
		if text, ok := c.(map[string]any)["text"].(string); ok {
			texts = append(texts, text)
		}
	}
	isError, _ = r["isError"].(bool)
	return texts, isError, r
}

// handle gives the conversation that a result names.
func handle(t testing.TB, m map[string]any) string {
	t.Helper()
	_, _, r := result(t, m)
	meta, _ := r["_meta"].(map[string]any)
	h, _ := meta["adkmcp/conversation"].(string)
	return h
}

// last gives the last message of a reply.
func (r *reply) last() map[string]any { return r.messages[len(r.messages)-1] }

func newRequest(t testing.TB, method, url string, body []byte) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	return req
}
