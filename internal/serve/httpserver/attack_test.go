package httpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	limit      = 20 * time.Second
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	toolCall   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"canary","arguments":{},` + modernMeta + `}}`
)

// site is a running server whose one tool counts its calls.
type site struct {
	t      testing.TB
	server *Server
	url    string
	addr   string
	calls  atomic.Int32
	ended  chan string // sessions, as our own table says
	freed  chan string // and as the library says
}

func open(t testing.TB, change func(*Config)) *site {
	t.Helper()
	s := &site{t: t, ended: make(chan string, 100), freed: make(chan string, 100)}
	hooks := &mcpserver.Hooks{}
	hooks.AddOnUnregisterSession(func(_ context.Context, gone mcpserver.ClientSession) { s.freed <- gone.SessionID() })
	m := mcpserver.NewMCPServer("canary", "1", mcpserver.WithHooks(hooks))
	m.AddTool(mcp.NewTool("canary"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.calls.Add(1)
		return mcp.NewToolResultText(turns.PeerOf(ctx).Caller.Principal), nil
	})
	m.AddTool(mcp.NewTool("panic"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		panic("a secret of the program")
	})
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	c := Config{
		Addr: "127.0.0.1:0", Endpoints: []Endpoint{{"/mcp", m}}, DrainTimeout: limit, Turns: turns.New(log, time.Now),
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
	done := make(chan error, 1)
	go func() { done <- s.server.Serve(ctx, l) }()
	s.t.Cleanup(func() {
		cancel()
		http.DefaultClient.CloseIdleConnections()
		select {
		case err := <-done:
			if err != nil {
				s.t.Error(err)
			}
		case <-time.After(limit):
			s.t.Error("Serve did not return")
		}
	})
	return s
}

// send makes one request; header holds pairs, and replaces what a good call
// of MCP 2026-07-28 has.
func (s *site) send(method string, body io.Reader, header ...string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url, body)
	if err != nil {
		s.t.Fatal(err)
	}
	pairs := []string{"Content-Type", "application/json", "Accept", "application/json", "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "canary"}
	pairs = append(pairs, header...)
	for i := 0; i < len(pairs); i += 2 {
		req.Header.Set(pairs[i], pairs[i+1])
		if pairs[i] == "Host" {
			req.Host = pairs[i+1]
		}
		if pairs[i+1] == "" {
			req.Header.Del(pairs[i])
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res, string(data)
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

func TestA01Origin(t *testing.T) {
	s := open(t, func(c *Config) { c.AllowOrigins = []string{"https://App.example"} }).serve()
	s.expect(200)
	s.expect(200, "Origin", strings.TrimSuffix(s.url, "/mcp"))
	s.expect(200, "Origin", "https://app.example")
	for _, origin := range []string{"http://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil.example", "https://app.example.evil", "http://app.example", "http://127.0.0.1"} {
		s.expect(403, "Origin", origin)
	}
	mcpURL := s.url
	for _, path := range []string{"/livez", "/readyz", "/nowhere"} {
		s.url = strings.TrimSuffix(mcpURL, "/mcp") + path
		if res, _ := s.send(http.MethodGet, nil, "Origin", "http://evil.example"); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	s.url = mcpURL
	// A05: the browser's question beforehand.
	ask := func(origin string) (*http.Response, string) {
		return s.send(http.MethodOptions, nil, "Origin", origin, "Access-Control-Request-Method", "POST")
	}
	if res, _ := ask("http://evil.example"); res.StatusCode != http.StatusForbidden || res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("foreign preflight: %d %v", res.StatusCode, res.Header)
	}
	if res, _ := ask("https://app.example"); res.StatusCode != http.StatusNoContent || res.Header.Get("Access-Control-Allow-Origin") != "https://app.example" ||
		!strings.Contains(res.Header.Get("Access-Control-Allow-Headers"), "Mcp-Session-Id") {
		t.Errorf("allowed preflight: %d %v", res.StatusCode, res.Header)
	}
}

func TestA03Host(t *testing.T) {
	for _, bind := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		t.Run(bind, func(t *testing.T) {
			s := open(t, func(c *Config) { c.Addr, c.InsecureNoAuth, c.AllowHosts = bind, true, []string{"Agents.example.com"} }).serve()
			s.expect(200)
			for _, host := range []string{"localhost", "localhost:8080", "127.0.0.1", "[::1]:80", "10.1.2.3:80", "agents.example.com:443", "AGENTS.example.com."} {
				s.expect(200, "Host", host)
			}
			for _, host := range []string{"evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "agents.example.com.evil"} {
				s.expect(403, "Host", host)
				s.expect(403, "Host", host, "Origin", "http://"+host)
			}
		})
	}
}

func TestA04ContentType(t *testing.T) {
	s := open(t, nil).serve()
	s.expect(200, "Content-Type", "application/json; charset=utf-8")
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/jsonx"} {
		s.expect(415, "Content-Type", kind)
	}
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	return copy(p, strings.Repeat(" ", 64<<10)), nil
}

func TestA06BodyBound(t *testing.T) {
	s := open(t, nil).serve()
	full := toolCall + strings.Repeat(" ", maxBodyBytes-len(toolCall))
	for name, tt := range map[string]struct {
		body   io.Reader
		status int
	}{
		"at the limit":             {strings.NewReader(full), 200},
		"over the limit":           {strings.NewReader(full + " "), 413},
		"over the limit, chunked":  {io.MultiReader(strings.NewReader(full + " ")), 413},
		"far over the limit":       {io.LimitReader(zeros{}, 200<<20), 413},
		"nothing":                  {strings.NewReader(""), 400},
		"less than it says it has": {nil, 400},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			if tt.body == nil {
				raw(t, s.addr, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{", tt.status)
				return
			}
			res, body := s.send(http.MethodPost, tt.body)
			runtime.ReadMemStats(&after)
			if res.StatusCode != tt.status {
				t.Errorf("status %d, want %d: %.200s", res.StatusCode, tt.status, body)
			}
			if grown := int64(after.HeapSys) - int64(before.HeapSys); tt.status == 413 && grown > 2*maxBodyBytes {
				t.Errorf("the heap grew by %d", grown)
			}
		})
	}
}

// raw sends bytes, closes its side and wants a status.
func raw(t *testing.T, addr, text string, status int) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	_ = conn.SetReadDeadline(time.Now().Add(limit))
	answer, _ := io.ReadAll(conn)
	if want := fmt.Sprintf("HTTP/1.1 %d ", status); !strings.HasPrefix(string(answer), want) {
		t.Errorf("got %.80q, want %q", answer, want)
	}
}

// TestA07SlowClients: bodies that trickle are cut, and others are served
// meanwhile. That headers are cut is the library's ReadHeaderTimeout.
func TestA07SlowClients(t *testing.T) {
	s := open(t, nil)
	s.server.body = 300 * time.Millisecond
	s.serve()
	const slow = 50
	cut := make(chan error, slow)
	for i := range slow {
		kind := []string{"application/json", "text/plain"}[i%2] // one that is read, and one that is refused before
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer conn.Close()
			_, err := io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+kind+"\r\nContent-Length: 100\r\n\r\n")
			_ = conn.SetReadDeadline(time.Now().Add(limit))
			for range 3 {
				time.Sleep(50 * time.Millisecond)
				_, _ = io.WriteString(conn, " ")
			}
			answer, readErr := io.ReadAll(conn)
			if !strings.HasPrefix(string(answer), "HTTP/1.1 4") || readErr != nil {
				err = errors.Join(err, readErr, fmt.Errorf("not cut: %.60q", answer))
			}
			cut <- err
		}()
	}
	for range 20 {
		start := time.Now()
		s.expect(200)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("a call took %v", took)
		}
	}
	for range slow {
		if err := <-cut; err != nil {
			t.Error(err)
		}
	}
}

func TestA09Strict(t *testing.T) {
	s := open(t, nil).serve()
	wrap := func(arguments string) string { return strings.Replace(toolCall, `{},`, arguments+",", 1) }
	for name, body := range map[string]string{
		"deep":                 wrap(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)),
		"deep enough":          wrap(`{"a":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `}`),
		"open":                 strings.Repeat(`{"a":`, 10_000),
		"large number":         wrap(`{"a":1e999}`),
		"no UTF-8":             wrap(`{"a":"` + "\xff" + `"}`),
		"lone high surrogate":  wrap(`{"a":"\ud800"}`),
		"lone low surrogate":   wrap(`{"a":"\udc00x"}`),
		"high, then something": wrap(`{"a":"\ud83d\u0041"}`),
		"NUL in a name":        wrap(`{"a\u0000":1}`),
		"name twice":           wrap(`{"a":1,"b":2,"a":3}`),
		"name twice, escaped":  wrap(`{"a":1,"\u0061":3}`),
		"names by case":        wrap(`{"request":1,"REQUEST":2}`),
		"names by long s":      wrap(`{"request":1,"reque` + "\u017f" + `t":2}`),
		"method twice":         `{"method":"tools/list",` + toolCall[1:],
		"METHOD":               strings.Replace(toolCall, `"method"`, `"METHOD"`, 1),
		"NAME":                 strings.Replace(toolCall, `"name"`, `"NAME"`, 1),
		"_META":                strings.Replace(toolCall, `"_meta"`, `"_META"`, 1),
		"PARAMS":               strings.Replace(toolCall, `"params"`, `"PARAMS"`, 1),
		"Id":                   strings.Replace(toolCall, `"id"`, `"Id"`, 1),
		"two documents":        toolCall + toolCall,
		"a list":               "[" + toolCall + "]",
		"a text":               `"tools/call"`,
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			res, answer := s.send(http.MethodPost, strings.NewReader(body))
			if res.StatusCode != http.StatusBadRequest || !strings.Contains(answer, `"code":-32`) || s.calls.Load() != 0 {
				t.Errorf("%d %s, %d calls", res.StatusCode, answer, s.calls.Load())
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
	for name, body := range map[string]string{
		"pair":       wrap(`{"a":"\ud83d\ude00 \\ud800 é"}`),
		"siblings":   wrap(`[{"a":1},{"a":2},{"A":{"a":"a"}}]`),
		"numbers":    wrap(`{"a":[-0,1E+2,3.5e-7,9007199254740993]}`),
		"text":       wrap(`{"a":"a:b,{\"a\":1}"}`),
		"whitespace": " \n" + toolCall + "\t\n",
	} {
		t.Run("fine "+name, func(t *testing.T) {
			if res, answer := s.send(http.MethodPost, strings.NewReader(body)); res.StatusCode != http.StatusOK {
				t.Errorf("%d %s", res.StatusCode, answer)
			}
		})
	}
}

func TestB10Tokens(t *testing.T) {
	s := open(t, func(c *Config) {
		c.Tokens = []Token{{"ann", config.NewSecret("ann-secret")}, {"bob", config.NewSecret("bob-secret")}}
	}).serve()
	for _, who := range []string{"ann", "bob"} {
		if body := s.expect(200, "Authorization", "bearer "+who+"-secret"); !strings.Contains(body, `"text":"`+who+`"`) {
			t.Errorf("%s is %s", who, body)
		}
	}
	for _, wrong := range []string{"", "Bearer", "Bearer ", "Bearer x", "Bearer ann-secre", "Bearer ann-secrett", "Basic ann-secret", "ann-secret", "Bearer " + strings.Repeat("a", 10_000)} {
		s.expect(401, "Authorization", wrong)
	}
	// B06: not in the query string.
	s.url += "?access_token=ann-secret&token=ann-secret"
	s.expect(401)
	if res, _ := s.send(http.MethodPost, nil); res.Header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("header %v", res.Header)
	}
}

func TestPanicTellsNothing(t *testing.T) {
	s := open(t, nil).serve()
	res, body := s.send(http.MethodPost, strings.NewReader(strings.ReplaceAll(toolCall, "canary", "panic")), "Mcp-Name", "panic")
	if res.StatusCode != http.StatusInternalServerError || strings.Contains(body, "secret") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	s.expect(200)
}

func TestMethods(t *testing.T) {
	s := open(t, nil).serve()
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodOptions} {
		if res, _ := s.send(method, nil, "Mcp-Protocol-Version", ""); res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") == "" {
			t.Errorf("%s: %d %v", method, res.StatusCode, res.Header)
		}
	}
	s.url = strings.TrimSuffix(s.url, "/mcp") + "/livez"
	for _, path := range []string{"/livez", "/readyz"} {
		s.url = s.url[:strings.LastIndex(s.url, "/")] + path
		if res, body := s.send(http.MethodGet, nil, "Host", "probe.internal"); res.StatusCode != http.StatusOK || body != "ok\n" {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
}
