package httpserver

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/config"
)

func TestA01Origin(t *testing.T) {
	s := open(t, func(c *Config) { c.AllowOrigins = []string{"https://App.example"} }).serve()
	s.expect(200)
	s.expect(200, "Origin", strings.TrimSuffix(s.url, "/mcp"))
	s.expect(200, "Origin", "https://app.example")
	for _, origin := range []string{"http://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil.example", "https://app.example.evil", "http://app.example", "http://127.0.0.1"} {
		s.expect(403, "Origin", origin)
	}
	mcpURL := s.url
	for _, path := range []string{"/livez", "/readyz", "/nowhere", "/sse", "/sse/canary", "/message?sessionId=x", "/message/canary"} {
		s.url = strings.TrimSuffix(mcpURL, "/mcp") + path
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if res, _ := s.send(method, nil, "Origin", "http://evil.example"); res.StatusCode != http.StatusForbidden {
				t.Errorf("%s %s: %d", method, path, res.StatusCode)
			}
		}
	}
	s.url = mcpURL
}

// TestA05Preflight: the browser's question beforehand.
func TestA05Preflight(t *testing.T) {
	s := open(t, func(c *Config) { c.AllowOrigins = []string{"https://app.example"} }).serve()
	for _, path := range []string{"/mcp", "/sse", "/message"} {
		ask := func(origin, headers string) http.Header {
			res, _ := s.fetch(s.request(t.Context(), http.MethodOptions, s.at(path), nil,
				"Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", headers))
			if want := map[bool]int{true: http.StatusNoContent, false: http.StatusForbidden}[origin == "https://app.example"]; res.StatusCode != want {
				t.Errorf("%s %s: %d, want %d", path, origin, res.StatusCode, want)
			}
			return res.Header
		}
		if h := ask("http://evil.example", "mcp-method"); h.Get("Access-Control-Allow-Origin") != "" || h.Get("Access-Control-Allow-Headers") != "" {
			t.Errorf("foreign preflight: %v", h)
		}
		h := ask("https://app.example", "content-type,mcp-param-region, Mcp-Param-Tenant,mcp-param-,mcp-param-a b,x-evil,*")
		if h.Get("Access-Control-Allow-Origin") != "https://app.example" || !slices.Contains(h.Values("Vary"), "Origin") {
			t.Errorf("allowed preflight: %v", h)
		}
		allowed := strings.Split(h.Get("Access-Control-Allow-Headers"), ", ")
		for _, name := range []string{"Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Authorization", "mcp-param-region", "Mcp-Param-Tenant"} {
			if !slices.Contains(allowed, name) {
				t.Errorf("%s is not allowed: %v", name, allowed)
			}
		}
		for _, name := range []string{"*", "x-evil", "mcp-param-", "mcp-param-a b"} {
			if slices.Contains(allowed, name) {
				t.Errorf("%s is allowed", name)
			}
		}
	}
	if res, _ := s.send(http.MethodPost, strings.NewReader(toolCall), "Origin", "https://app.example"); !strings.Contains(res.Header.Get("Access-Control-Expose-Headers"), "Mcp-Session-Id") {
		t.Errorf("the page may read %v", res.Header)
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
				for method, path := range map[string]string{http.MethodGet: "/sse", http.MethodPost: "/message"} {
					if res, _ := s.fetch(s.request(t.Context(), method, s.at(path), nil, "Host", host)); res.StatusCode != http.StatusForbidden {
						t.Errorf("%s for %s: %d", path, host, res.StatusCode)
					}
				}
			}
		})
	}
}

func TestA04ContentType(t *testing.T) {
	s := open(t, nil).serve()
	s.expect(200, "Content-Type", "application/json; charset=utf-8")
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/jsonx"} {
		s.expect(415, "Content-Type", kind)
		c := s.connect("/sse")
		if res, _ := s.fetch(s.request(t.Context(), http.MethodPost, c.url, strings.NewReader(toolCall), "Content-Type", kind)); res.StatusCode != http.StatusUnsupportedMediaType {
			t.Errorf("/message with %q: %d", kind, res.StatusCode)
		}
	}
	if s.calls.Load() != 1 {
		t.Errorf("%d calls", s.calls.Load())
	}
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	return copy(p, strings.Repeat(" ", 64<<10)), nil
}

func TestA06BodyBound(t *testing.T) {
	s := open(t, nil).serve()
	c := s.connect("/sse")
	full := toolCall + strings.Repeat(" ", maxBodyBytes-len(toolCall))
	for name, tt := range map[string]struct {
		body   func() io.Reader
		status int
	}{
		"at the limit":             {func() io.Reader { return strings.NewReader(full) }, 200},
		"over the limit":           {func() io.Reader { return strings.NewReader(full + " ") }, 413},
		"over the limit, chunked":  {func() io.Reader { return io.MultiReader(strings.NewReader(full + " ")) }, 413},
		"far over the limit":       {func() io.Reader { return io.LimitReader(zeros{}, 200<<20) }, 413},
		"nothing":                  {func() io.Reader { return strings.NewReader("") }, 400},
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
			res, body := s.send(http.MethodPost, tt.body())
			runtime.ReadMemStats(&after)
			if res.StatusCode != tt.status {
				t.Errorf("status %d, want %d: %.200s", res.StatusCode, tt.status, body)
			}
			if grown := int64(after.HeapSys) - int64(before.HeapSys); tt.status == 413 && grown > 2*maxBodyBytes {
				t.Errorf("the heap grew by %d", grown)
			}
			if tt.status != 200 {
				res, body := s.fetch(s.request(t.Context(), http.MethodPost, c.url, tt.body(), "Content-Type", "application/json"))
				if res.StatusCode != tt.status {
					t.Errorf("/message: status %d, want %d: %.200s", res.StatusCode, tt.status, body)
				}
			}
		})
	}
}

// TestA06Announced: memory is taken for what has come, not for what is announced.
func TestA06Announced(t *testing.T) {
	s := open(t, nil).serve()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 50 {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		// The server asks for the body, so it is about to read it then.
		_, err = fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", maxBodyBytes)
		if _, readErr := conn.Read(make([]byte, 100)); err != nil || readErr != nil {
			t.Fatal(err, readErr)
		}
	}
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 50*(1<<20) {
		t.Errorf("50 bodies that do not come took %d bytes", taken)
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
	endpoint := strings.TrimPrefix(s.connect("/sse").url, s.at(""))
	for i := range slow {
		kind := []string{"application/json", "text/plain"}[i%2] // one that is read, and one that is refused before
		path := []string{"/mcp", endpoint, "/sse"}[i%3]
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer conn.Close()
			_, err := io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+kind+"\r\nContent-Length: 100\r\n\r\n")
			_ = conn.SetReadDeadline(time.Now().Add(limit))
			for range 3 {
				time.Sleep(50 * time.Millisecond)
				_, _ = io.WriteString(conn, " ")
			}
			answer, readErr := io.ReadAll(conn)
			if errors.Is(readErr, syscall.ECONNRESET) { // bytes that nobody read were under way
				readErr = nil
			}
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

// TestA09Strict: what rpc.Parse refuses gets 400 wherever it comes in, and runs
// nothing. What it refuses is its own test.
func TestA09Strict(t *testing.T) {
	s := open(t, nil).serve()
	c := s.connect("/sse")
	wrap := func(arguments string) string { return strings.Replace(toolCall, `{},`, arguments+",", 1) }
	for name, body := range map[string]string{
		"deep":           wrap(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)),
		"large number":   wrap(`{"a":1e999}`),
		"no UTF-8":       wrap(`{"a":"` + "\xff" + `"}`),
		"lone surrogate": wrap(`{"a":"\ud800"}`),
		"NUL in a name":  wrap(`{"a\u0000":1}`),
		"method twice":   `{"method":"tools/list",` + toolCall[1:],
		"METHOD":         strings.Replace(toolCall, `"method"`, `"METHOD"`, 1),
		"a list":         "[" + toolCall + "]",
		"a text":         `"tools/call"`,
	} {
		for _, url := range []string{s.url, c.url} {
			start := time.Now()
			res, answer := s.fetch(s.request(t.Context(), http.MethodPost, url, strings.NewReader(body), modern("tools/call", "canary")...))
			if res.StatusCode != http.StatusBadRequest || !strings.Contains(answer, `"code":-32`) || s.calls.Load() != 0 {
				t.Errorf("%s: %d %s, %d calls", name, res.StatusCode, answer, s.calls.Load())
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("%s took %v", name, took)
			}
		}
	}
}

// TestA11Headers: headers that say something else than the message, in every way
// in which a name can be written.
func TestA11Headers(t *testing.T) {
	s := open(t, nil).serve()
	sentinel := func(text string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?=" }
	s.expect(200, "Mcp-Name", sentinel("canary"))
	for _, name := range []string{
		"echo", "Canary", "canary2", "", sentinel("echo"), sentinel(""), "=?base64?%%%?=", "=?BASE64?Y2FuYXJ5?=", "=?base64?Y2FuYXJ5", "Y2FuYXJ5",
		sentinel(sentinel("canary")), "=?base64?Y2FuYXJ5?=?=", "can\u00e4ry",
	} {
		if body := s.expect(400, "Mcp-Name", name); !strings.Contains(body, "-32020") {
			t.Errorf("%q: %s", name, body)
		}
	}
	for _, header := range [][]string{
		{"Mcp-Method", "tools/list"}, {"Mcp-Method", ""}, {"Mcp-Method", "Tools/call"}, {"Mcp-Protocol-Version", ""}, {"Mcp-Protocol-Version", "2027-01-01"},
		{"Mcp-Protocol-Version", "2025-11-25"}, {"Last-Event-ID", "1"},
	} {
		if body := s.expect(400, header...); !strings.Contains(body, "-32020") || !strings.Contains(body, `"id":1`) {
			t.Errorf("%v: %s", header, body)
		}
	}
	// One header for us and one for the proxy before us.
	for name, value := range map[string]string{"Mcp-Name": "echo", "Mcp-Method": "tools/list", "Mcp-Protocol-Version": "2025-11-25"} {
		req := s.request(t.Context(), http.MethodPost, s.url, strings.NewReader(toolCall), modern("tools/call", "canary")...)
		req.Header.Add(name, value)
		if res, body := s.fetch(req); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "-32020") {
			t.Errorf("two of %s: %d %s", name, res.StatusCode, body)
		}
	}
	if n := s.calls.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// TestA11NameOf: which of the params Mcp-Name mirrors.
func TestA11NameOf(t *testing.T) {
	s := open(t, nil).serve()
	for method, field := range nameFields {
		if method == "tools/call" {
			continue
		}
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%q:"x é",%s}}`, method, field, modernMeta)
		for name, status := range map[string]int{"=?base64?eCDDqQ==?=": 404, "x": 400, "": 400} { // the site has no such methods
			if res, answer := s.post(body, modern(method, name)...); res.StatusCode != status || (status == 400) != strings.Contains(answer, "-32020") {
				t.Errorf("%s with %q: %d %s", method, name, res.StatusCode, answer)
			}
		}
		none := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%q:7,%s}}`, method, field, modernMeta)
		if res, answer := s.post(none, modern(method, "7")...); res.StatusCode != http.StatusBadRequest || !strings.Contains(answer, "-32020") {
			t.Errorf("%s without a name: %d %s", method, res.StatusCode, answer)
		}
	}
}

func TestB10Tokens(t *testing.T) {
	s := open(t, func(c *Config) {
		c.Tokens = []Token{{Principal: "ann", Secret: config.NewSecret("ann-secret")}, {Principal: "bob", Secret: config.NewSecret("bob-secret")}}
	}).serve()
	for _, who := range []string{"ann", "bob"} {
		if body := s.expect(200, "Authorization", "bearer "+who+"-secret"); !strings.Contains(body, `"text":"`+who+`"`) {
			t.Errorf("%s is %s", who, body)
		}
	}
	for _, wrong := range []string{"", "Bearer", "Bearer ", "Bearer x", "Bearer ann-secre", "Bearer ann-secrett", "Basic ann-secret", "ann-secret", "Bearer " + strings.Repeat("a", 10_000)} {
		s.expect(401, "Authorization", wrong)
	}
}

// TestB06QueryTokens: a token in the query string opens nothing, and the query
// is never logged.
func TestB06QueryTokens(t *testing.T) {
	s := open(t, func(c *Config) { c.Tokens = []Token{{Principal: "ann", Secret: config.NewSecret("ann-secret")}} }).serve()
	mcpURL := s.url
	for method, path := range map[string]string{http.MethodPost: "/mcp", http.MethodGet: "/sse", http.MethodPut: "/message"} {
		s.url = strings.TrimSuffix(mcpURL, "/mcp") + path + "?access_token=ann-secret&token=ann-secret&sessionId=s_secret"
		res, _ := s.send(method, nil)
		if res.StatusCode != http.StatusUnauthorized || res.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: %d %v", path, res.StatusCode, res.Header)
		}
	}
	s.url = mcpURL + "?access_token=ann-secret"
	s.post(modernCall("panic"), modern("tools/call", "panic", "Authorization", "Bearer ann-secret")...)
	if log := s.log.String(); !strings.Contains(log, "panicked") || strings.Contains(log, "-secret") || strings.Contains(log, "s_secret") {
		t.Errorf("the log: %s", log)
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
	for path, methods := range map[string][]string{
		"/mcp":     {http.MethodGet, http.MethodHead, http.MethodPut, http.MethodOptions},
		"/sse":     {http.MethodPost, http.MethodHead, http.MethodDelete},
		"/message": {http.MethodGet, http.MethodDelete},
	} {
		for _, method := range methods {
			if res, _ := s.fetch(s.request(t.Context(), method, s.at(path), nil)); res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") == "" {
				t.Errorf("%s %s: %d %v", method, path, res.StatusCode, res.Header)
			}
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		if res, _ := s.send(method, nil); res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != "POST" {
			t.Errorf("%s of 2026-07-28: %d %v", method, res.StatusCode, res.Header)
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
