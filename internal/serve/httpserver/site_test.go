package httpserver

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	limit      = 20 * time.Second
	both       = "application/json, Text/Event-Stream;q=0.9"
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	toolCall   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"canary","arguments":{},` + modernMeta + `}}`
	listen     = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},` + modernMeta + `}}`
)

// site is a running server with tools that do what a test wants:
//
//	canary  counts its calls and names its caller
//	panic   panics
//	tell    sends three notifications and fails
//	wait    waits for release, or its end
//	ask     asks the client and gives its answer
//	flood   sends notifications until they are not taken any more
type site struct {
	t       testing.TB
	server  *Server
	url     string
	addr    string
	stop    func() // begins the end
	done    chan error
	calls   atomic.Int32
	ended   chan string // connections
	started chan *turns.Peer
	stopped chan error // causes for which waiting calls ended
	release chan struct{}
	log     lockedBuffer
}

// lockedBuffer is a log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func open(t testing.TB, change func(*Config)) *site {
	t.Helper()
	s := &site{t: t, ended: make(chan string, 10_000), started: make(chan *turns.Peer, 10_000), stopped: make(chan error, 10_000), release: make(chan struct{})}
	log := slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := Config{
		Addr: "127.0.0.1:0", Endpoints: []Endpoint{{"/mcp", s}, {"/mcp/canary", s}}, SSE: true, DrainTimeout: limit, Turns: turns.New(log, time.Now),
		Ended: func(_ context.Context, id string) { s.ended <- id }, Random: rand.Reader, Log: log, Now: time.Now,
	}
	if change != nil {
		change(&c)
	}
	var err error
	if s.server, err = New(c); err != nil {
		t.Fatal(err)
	}
	return s
}

// Handle implements rpc.Handler.
func (s *site) Handle(ctx context.Context, m *rpc.Message) *rpc.Response {
	peer := turns.PeerOf(ctx)
	switch m.Method {
	case rpc.Initialize:
		if strings.Contains(string(m.Params), `"refuse"`) {
			return rpc.Fail(m.ID, &rpc.Error{Code: rpc.CodeInvalidParams, Message: "refused"})
		}
		peer.Session.Introduce(turns.Client{Name: "c", Protocol: "2025-11-25"})
		return rpc.Succeed(m.ID, map[string]any{"protocolVersion": "2025-11-25"})
	case "tools/list":
		return rpc.Succeed(m.ID, map[string]any{"tools": []any{}, "client": peer.Session.Client().Name})
	case rpc.Listen:
		if err := peer.Notify([]byte(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}`)); err != nil {
			return rpc.Fail(m.ID, &rpc.Error{Code: rpc.CodeInternal, Message: err.Error()})
		}
		<-ctx.Done()
		s.stopped <- context.Cause(ctx)
		return rpc.Succeed(m.ID, map[string]string{"resultType": "complete"})
	case rpc.CallTool:
		return s.call(ctx, peer, m)
	}
	return rpc.Fail(m.ID, &rpc.Error{Code: rpc.CodeNoMethod, Message: "no such method"})
}

func (s *site) call(ctx context.Context, peer *turns.Peer, m *rpc.Message) *rpc.Response {
	s.calls.Add(1)
	var params struct{ Name string }
	if err := json.Unmarshal(m.Params, &params); err != nil {
		return rpc.Fail(m.ID, &rpc.Error{Code: rpc.CodeInvalidParams, Message: err.Error()})
	}
	answer := func(text string) *rpc.Response {
		return rpc.Succeed(m.ID, map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}})
	}
	switch params.Name {
	case "canary":
		return answer(peer.Caller.Principal)
	case "panic":
		panic("a secret of the program")
	case "tell":
		for i := range 3 {
			if peer.Notify != nil {
				_ = peer.Notify(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":%d}}`, i))
			}
		}
		return rpc.Fail(m.ID, &rpc.Error{Code: rpc.CodeInvalidParams, Message: "told"})
	case "wait":
		if peer.Entered != nil {
			peer.Entered()
		}
		s.started <- peer
		select {
		case <-ctx.Done():
			s.stopped <- context.Cause(ctx)
			return answer("stopped: " + context.Cause(ctx).Error())
		case <-s.release:
			return answer("released")
		}
	case "flood":
		if peer.Entered != nil {
			peer.Entered()
		}
		message := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":%q}}`, strings.Repeat("x", 64<<10))
		var err error
		for range 4000 { // 256 MB
			if err = peer.Notify(message); err != nil {
				break
			}
		}
		s.stopped <- err
		return answer("flooded")
	case "ask":
		if peer.Entered != nil {
			peer.Entered()
		}
		if peer.Ask == nil {
			return answer("cannot ask")
		}
		s.started <- peer
		result, err := peer.Ask(ctx, "elicitation/create", map[string]any{
			"message": "Sure?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}}})
		if err != nil {
			return answer("not answered: " + err.Error())
		}
		return answer(string(result))
	}
	return rpc.Fail(m.ID, &rpc.Error{Code: rpc.CodeInvalidParams, Message: "no such tool"})
}

// serve makes the site listen until the test ends.
func (s *site) serve() *site {
	s.t.Helper()
	l, err := s.server.Listen(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = l.Addr().String()
	_, port, _ := net.SplitHostPort(s.addr)
	s.url = "http://127.0.0.1:" + port + "/mcp"
	ctx, cancel := context.WithCancel(context.Background())
	s.stop, s.done = cancel, make(chan error, 1)
	go func() { s.done <- s.server.Serve(ctx, l) }()
	s.t.Cleanup(func() {
		cancel()
		http.DefaultClient.CloseIdleConnections()
		s.waitEnd()
	})
	return s
}

// waitEnd waits until Serve has returned.
func (s *site) waitEnd() {
	s.t.Helper()
	select {
	case err := <-s.done:
		if err != nil {
			s.t.Error(err)
		}
		s.done <- nil // for the next who asks
	case <-time.After(limit):
		s.t.Error("Serve did not return")
	}
}

// at gives the URL of another path.
func (s *site) at(path string) string { return strings.TrimSuffix(s.url, "/mcp") + path }

func (s *site) request(ctx context.Context, method, url string, body io.Reader, header ...string) *http.Request {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		if header[i+1] == "" {
			req.Header.Del(header[i])
		}
	}
	return req
}

// modern gives header pairs for a request of MCP 2026-07-28; more replaces some.
func modern(method, name string, more ...string) []string {
	return append([]string{"Content-Type", "application/json", "Accept", "application/json", "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name}, more...)
}

// legacy gives header pairs for a request of MCP 2025-11-25.
func legacy(session string, more ...string) []string {
	return append([]string{"Content-Type", "application/json", "Accept", both, "Mcp-Protocol-Version", "2025-11-25", "Mcp-Session-Id", session}, more...)
}

// send makes one request; header holds pairs, and replaces what a good call
// of MCP 2026-07-28 has.
func (s *site) send(method string, body io.Reader, header ...string) (*http.Response, string) {
	s.t.Helper()
	return s.fetch(s.request(s.t.Context(), method, s.url, body, modern("tools/call", "canary", header...)...))
}

func (s *site) fetch(req *http.Request) (*http.Response, string) {
	s.t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Error(err)
		return &http.Response{}, ""
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Error(err)
	}
	return res, string(data)
}

// post sends a message with these headers alone.
func (s *site) post(body string, header ...string) (*http.Response, string) {
	s.t.Helper()
	return s.fetch(s.request(s.t.Context(), http.MethodPost, s.url, strings.NewReader(body), header...))
}

// background is post on a goroutine; the channel gives the status and the body.
func (s *site) background(body string, header ...string) <-chan string {
	got := make(chan string, 1)
	go func() {
		res, text := s.post(body, header...)
		got <- fmt.Sprint(res.StatusCode, " ", text)
	}()
	return got
}

// expect makes a tools/call and wants a status, and the tool to run only at 200.
func (s *site) expect(status int, header ...string) string {
	s.t.Helper()
	before := s.calls.Load()
	res, body := s.send(http.MethodPost, strings.NewReader(toolCall), header...)
	if res.StatusCode != status || (s.calls.Load() != before) != (status == http.StatusOK) {
		s.t.Errorf("%v: status %d, want %d; tool ran %d times: %s", header, res.StatusCode, status, s.calls.Load()-before, body)
	}
	if res.Header.Get("Access-Control-Allow-Origin") == "*" {
		s.t.Error("every origin is allowed")
	}
	return body
}

// start opens a session over HTTP.
func (s *site) start(header ...string) string {
	s.t.Helper()
	res, body := s.send(http.MethodPost, strings.NewReader(initialize), append([]string{"Mcp-Protocol-Version", ""}, header...)...)
	if res.StatusCode != http.StatusOK || res.Header.Get("Mcp-Session-Id") == "" {
		s.t.Fatal(res.StatusCode, body)
	}
	return res.Header.Get("Mcp-Session-Id")
}

// callOf makes a tools/call of MCP up to 2025-11-25.
func callOf(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id, tool)
}

// modernCall makes one of MCP 2026-07-28.
func modernCall(tool string) string { return strings.ReplaceAll(toolCall, "canary", tool) }

// next waits for something that must come.
func next[T any](t testing.TB, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(limit):
		t.Fatal("it did not come")
	}
	return v
}

// event reads events and comments of a stream.
type eventReader struct {
	t      testing.TB
	body   io.ReadCloser
	lines  *bufio.Reader
	cancel context.CancelFunc
}

// stream makes a request whose response is a stream.
func (s *site) stream(method, url string, body io.Reader, header ...string) (*http.Response, *eventReader) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	res, err := http.DefaultClient.Do(s.request(ctx, method, url, body, header...))
	if err != nil {
		cancel()
		s.t.Fatal(err)
	}
	e := &eventReader{s.t, res.Body, bufio.NewReader(res.Body), cancel}
	s.t.Cleanup(e.close)
	return res, e
}

func (e *eventReader) close() {
	e.cancel()
	e.body.Close()
}

// read gives the name and data of the next event, or a comment as its name. The
// error is that of the stream.
func (e *eventReader) read() (name, data string, err error) {
	for {
		line, err := e.lines.ReadString('\n')
		if err != nil {
			return name, data, err
		}
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == "":
			return name, data, nil
		case strings.HasPrefix(line, ":"):
			name = line
		default:
			field, value, _ := strings.Cut(line, ": ")
			if field == "event" {
				name = value
			} else {
				data = value
			}
		}
	}
}

// want wants the next event's data to hold a text.
func (e *eventReader) want(text string) string {
	e.t.Helper()
	name, data, err := e.read()
	if err != nil || name != "message" || !strings.Contains(data, text) {
		e.t.Fatalf("got %s %q, %v, want %q", name, data, err, text)
	}
	return data
}

// end wants the stream to end.
func (e *eventReader) end() {
	e.t.Helper()
	if name, data, err := e.read(); !errors.Is(err, io.EOF) {
		e.t.Fatalf("got %s %q, %v after the end", name, data, err)
	}
}
