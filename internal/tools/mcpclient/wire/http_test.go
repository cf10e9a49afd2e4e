package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

func TestAnswers(t *testing.T) {
	const late = `{"jsonrpc":"2.0","method":"late"}`
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   []string
	}{
		"JSON": {func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, result("a")) }, []string{result("a")}},
		"without type": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, result("a"))
		}, []string{result("a")}},
		"error without id": {func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w, 200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`)
		}, []string{`{"jsonrpc":"2.0","id":"a","error":{"code":-32700,"message":"m"}}`}},
		"events": {func(w http.ResponseWriter, _ *http.Request) {
			answerEvents(w, "event: message\n"+data(note(1)), data(note(2))+": keep-alive\n\n", "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata:\"id\":\"a\",\"result\":{}}\r\n\r\n")
		}, []string{note(1), note(2), "{\"jsonrpc\":\"2.0\",\n\"id\":\"a\",\"result\":{}}"}},
		"split anywhere": {func(w http.ResponseWriter, _ *http.Request) {
			answerEvents(w, strings.Split("id: 1\nretry: 5\ndata: \n\n"+data(note(1))+data(result("a")), "")...)
		}, []string{note(1), result("a")}},
		"other events": {func(w http.ResponseWriter, _ *http.Request) {
			answerEvents(w, "event: ping\n"+data("1"), data(result("a")))
		}, []string{result("a")}},
		"broken message": {func(w http.ResponseWriter, _ *http.Request) { answerEvents(w, data("{"), data(result("a"))) }, []string{result("a")}},
		"after the response": {func(w http.ResponseWriter, r *http.Request) {
			answerEvents(w, data(result("a")), data(late))
			<-r.Context().Done() // which is not waited for long
		}, []string{result("a"), late}},
		"of another request": {func(w http.ResponseWriter, _ *http.Request) {
			answerEvents(w, data(result("b")), data(result("a")))
		}, []string{result("a")}},
		"compressed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "application/json")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, result("a"))
			_ = z.Close()
		}, []string{result("a")}},
	} {
		t.Run(name, func(t *testing.T) {
			l := connect(t, NewHTTP, HTTPOptions{URL: serve(t, tt.answer)})
			if err := l.Send(t.Context(), request("a", "tools/call", "2026-07-28")); err != nil {
				t.Fatal(err)
			}
			for i := range tt.want {
				tt.want[i] = "a: " + tt.want[i]
			}
			if diff := cmp.Diff(tt.want, l.box.all()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNoAnswer: what does not end with the response is an error, and since the
// request has been sent, no *NotSentError.
func TestNoAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"nothing":   {func(http.ResponseWriter, *http.Request) {}, "there is nothing"},
		"accepted":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }, "there is nothing"},
		"another's": {func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, result("b")) }, "not what it was asked"},
		"another's number": {func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w, 200, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		}, "not what it was asked"},
		"a notification": {func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, note(1)) }, "not what it was asked"},
		"no message":     {func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, `{}`) }, "no JSON-RPC message"},
		"a page":         {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>secret</html>") }, `"text/html"`},
		"cut JSON": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			answerJSON(w, 200, result("a"))
			hangUp(w)
		}, "unexpected EOF"},
		"ended stream":    {func(w http.ResponseWriter, _ *http.Request) { answerEvents(w, data(note(1))) }, "before it was complete"},
		"cut stream":      {func(w http.ResponseWriter, _ *http.Request) { answerEvents(w, data(note(1))); hangUp(w) }, "EOF"},
		"half an event":   {func(w http.ResponseWriter, _ *http.Request) { answerEvents(w, "data: "+result("a")) }, "before it was complete"},
		"unread response": {func(w http.ResponseWriter, _ *http.Request) { answerEvents(w, data(`{"id":"a"}`)) }, "no JSON-RPC message"},
		"hang up":         {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
		"unknown encoding": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			answerJSON(w, 200, "x")
		}, `"br"`},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, tt.answer)
			err := connect(t, NewHTTP, HTTPOptions{URL: url}).Send(t.Context(), request("a", "tools/call", "2025-11-25"))
			secretless(t, err, url)
			var unsent *NotSentError
			if !strings.Contains(fmt.Sprint(err), tt.want) || errors.As(err, &unsent) {
				t.Errorf("got %T %v, want %q", err, err, tt.want)
			}
		})
	}
}

func TestNotSent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	var hits atomic.Int32
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { hits.Add(1); answerJSON(w, 200, result("a")) })
	broke := errors.New("log in first")
	for name, o := range map[string]HTTPOptions{
		"refused":      {URL: "http://" + l.Addr().String() + "/mcp?key=secret"},
		"no TLS":       {URL: strings.Replace(url, "http:", "https:", 1)},
		"link-local":   {URL: "http://169.254.169.254/mcp?key=secret"},
		"no authority": {URL: url, Authority: &authority{headers: func(int) (http.Header, error) { return nil, broke }}},
		"bad header":   {URL: url, Authority: &authority{headers: func(int) (http.Header, error) { return http.Header{"X": {"secret\n"}}, nil }}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			err := connect(t, NewHTTP, o).Send(ctx, request("a", "tools/call", ""))
			var unsent *NotSentError
			if !errors.As(err, &unsent) {
				t.Errorf("got %T %v", err, err)
			}
			if name == "no authority" {
				if !errors.Is(err, broke) {
					t.Errorf("got %v", err)
				}
				return
			}
			secretless(t, err, o.URL)
		})
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests have reached the server", n)
	}
	for _, bad := range []string{"", "mcp", "ftp://x/secret", "http://", "http://x:secret/", "://secret"} {
		c := NewHTTP(HTTPOptions{URL: bad})
		if err := c.Open(t.Context(), newBox()); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v", bad, err)
		}
		var unsent *NotSentError
		if err := c.Send(t.Context(), request("a", "tools/call", "")); !errors.As(err, &unsent) {
			t.Errorf("%q: got %v", bad, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// seen is what a server saw of a request.
type seen struct{ Method, Message, Session, Version, Token string }

func see(r *http.Request, m asked) seen {
	return seen{r.Method, m.Method, r.Header.Get("Mcp-Session-Id"), r.Header.Get("MCP-Protocol-Version"), r.Header.Get("Authorization")}
}

func TestSession(t *testing.T) {
	var mu sync.Mutex
	var got []seen
	sessions := 0
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		m := ask(r)
		got = append(got, see(r, m))
		switch m.Method {
		case "lost":
			answerJSON(w, 404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"session not found"}}`)
			return
		case "initialize":
			sessions++
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", sessions))
		default:
			w.Header().Set("Mcp-Session-Id", "another") // which only initialize gives
		}
		if m.ID == "" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answerJSON(w, 200, result(m.ID))
	})
	l := connect(t, NewHTTP, HTTPOptions{URL: url, Authority: &authority{}})
	for _, m := range []*Outgoing{
		request("1", "server/discover", "2026-07-28"), request("2", "initialize", ""), request("", "notifications/initialized", "2025-11-25"),
		request("3", "tools/list", "2025-11-25"), request("4", "tools/list", "2026-07-28"), request("5", "lost", "2025-11-25"),
		request("6", "tools/list", "2025-11-25"), request("7", "initialize", ""), request("8", "tools/list", "2025-06-18"),
	} {
		if err := l.Send(t.Context(), m); (m.ID == "5") != errors.Is(err, ErrSessionLost) || err != nil && m.ID != "5" {
			t.Errorf("%s: %v", m.ID, err)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	const token = "Bearer token-0"
	want := []seen{
		{"POST", "server/discover", "", "2026-07-28", token}, {"POST", "initialize", "", "", token},
		{"POST", "notifications/initialized", "s1", "2025-11-25", token}, {"POST", "tools/list", "s1", "2025-11-25", token},
		{"POST", "tools/list", "", "2026-07-28", token}, {"POST", "lost", "s1", "2025-11-25", token}, {"POST", "tools/list", "", "2025-11-25", token},
		{"POST", "initialize", "", "", token}, {"POST", "tools/list", "s2", "2025-06-18", token}, {"DELETE", "", "s2", "2025-06-18", token},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var unsent *NotSentError
	if err := l.Send(t.Context(), request("9", "tools/list", "")); !errors.As(err, &unsent) || !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestAuthority(t *testing.T) {
	login := errors.New("log in with: adkmcp tools list")
	for name, tt := range map[string]struct {
		statuses []int // the last one stays
		decide   func(int, *http.Response) (bool, error)
		tokens   string
		check    func(error) bool
	}{
		"again":        {[]int{401, 200}, nil, "token-0 token-1", func(err error) bool { return err == nil }},
		"403 again":    {[]int{403, 200}, nil, "token-0 token-1", func(err error) bool { return err == nil }},
		"only once":    {[]int{401}, nil, "token-0 token-1", isStatus(401)},
		"no better":    {[]int{401}, func(int, *http.Response) (bool, error) { return false, nil }, "token-0", isStatus(401)},
		"a person has": {[]int{401}, func(int, *http.Response) (bool, error) { return false, login }, "token-0", func(err error) bool { return errors.Is(err, login) }},
		"sees all": {[]int{401, 200}, func(_ int, res *http.Response) (bool, error) {
			body, err := io.ReadAll(res.Body)
			return res.Header.Get("WWW-Authenticate") == "Bearer" && strings.Contains(string(body), "denied"), err
		}, "token-0 token-1", func(err error) bool { return err == nil }},
	} {
		t.Run(name, func(t *testing.T) {
			var tokens []string
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				status := tt.statuses[min(len(tokens), len(tt.statuses)-1)]
				tokens = append(tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
				w.Header().Set("WWW-Authenticate", "Bearer")
				if status == 200 {
					answerJSON(w, 200, result("a"))
					return
				}
				answerJSON(w, status, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"denied"}}`)
			})
			l := connect(t, NewHTTP, HTTPOptions{URL: url, Authority: &authority{decide: tt.decide}})
			if err := l.Send(t.Context(), request("a", "tools/call", "")); !tt.check(err) {
				t.Errorf("got %v", err)
			}
			if got := strings.Join(tokens, " "); got != tt.tokens {
				t.Errorf("the server saw %s, want %s", got, tt.tokens)
			}
		})
	}
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	if err := connect(t, NewHTTP, HTTPOptions{URL: url}).Send(t.Context(), request("a", "initialize", "")); !isStatus(401)(err) {
		t.Errorf("without an authority: %v", err)
	}
}

func isStatus(code int) func(error) bool {
	return func(err error) bool {
		var s *StatusError
		return errors.As(err, &s) && s.Code == code
	}
}

func TestRedirects(t *testing.T) {
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("F02 F04 the redirect was followed") })
	for name, tt := range map[string]struct {
		status int
		to     string
		want   string // of the error; empty where it is followed
	}{
		"308 to a slash":    {308, "/mcp/", ""},
		"307 with a host":   {307, "HOST/mcp/", ""},
		"301":               {301, "/mcp/", "another path of the same server"},
		"303":               {303, "/mcp/", "another path of the same server"},
		"302 F02":           {302, elsewhere, strings.Split(elsewhere, "/mcp")[0]},
		"307 F04":           {307, elsewhere, strings.Split(elsewhere, "/mcp")[0]},
		"307 metadata":      {307, "http://169.254.169.254/latest?secret", "http://169.254.169.254,"},
		"307 file":          {307, "file:///etc/passwd", "file://"},
		"307 round":         {307, "/mcp", "another path"},
		"308 nowhere":       {308, "", "no address"},
		"307 other scheme":  {307, "https:HOST", "https://"},
		"307 user and host": {307, "http://127.0.0.1@evil.example/", "http://evil.example,"},
	} {
		t.Run(name, func(t *testing.T) {
			var paths []string
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				paths = append(paths, r.Method+" "+r.URL.Path)
				m := ask(r)
				if r.URL.Path == "/mcp/" {
					answerJSON(w, 200, result(m.ID))
					return
				}
				if tt.to != "" {
					to := strings.Replace(tt.to, "https:HOST", "https://"+r.Host, 1)
					w.Header().Set("Location", strings.Replace(to, "HOST", "http://"+r.Host, 1))
				}
				w.WriteHeader(tt.status)
			})
			err := connect(t, NewHTTP, HTTPOptions{URL: url, Authority: &authority{}}).Send(t.Context(), request("a", "initialize", ""))
			if tt.want == "" {
				if err != nil || strings.Join(paths, ", ") != "POST /mcp, POST /mcp/" {
					t.Errorf("%v, %v", paths, err)
				}
				return
			}
			secretless(t, err, url)
			if !isStatus(tt.status)(err) || !strings.Contains(err.Error(), tt.want) || len(paths) > 2 {
				t.Errorf("got %v after %v", err, paths)
			}
		})
	}
}

func TestStatuses(t *testing.T) {
	const failure = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no such version"}}`
	legacy := func(err error) bool { return errors.Is(err, ErrLegacySSE) }
	message := func(err error) bool { return err == nil } // is in the Inbox
	for name, tt := range map[string]struct {
		method string
		status int
		body   string
		check  func(error) bool
	}{
		"404 to initialize":       {rpc.Initialize, 404, "not found", legacy},
		"405 to discover":         {discover, 405, "", legacy},
		"400 to initialize":       {rpc.Initialize, 400, "<html>", legacy},
		"404 to something else":   {"tools/list", 404, "secret", isStatus(404)},
		"400 with an error":       {rpc.Initialize, 400, fmt.Sprintf(failure, `"a"`), message},
		"400 without an id":       {discover, 400, fmt.Sprintf(failure, `null`), message},
		"404 with an error":       {discover, 404, fmt.Sprintf(failure, `"a"`), message},
		"400 of another":          {"tools/list", 400, fmt.Sprintf(failure, `"b"`), isStatus(400)},
		"401 to initialize":       {rpc.Initialize, 401, fmt.Sprintf(failure, `"a"`), isStatus(401)},
		"403 to initialize":       {rpc.Initialize, 403, "", isStatus(403)},
		"500 to initialize":       {rpc.Initialize, 500, "", isStatus(500)},
		"503 with an error":       {"tools/list", 503, fmt.Sprintf(failure, `"a"`), isStatus(503)},
		"406 to initialize":       {rpc.Initialize, 406, "", isStatus(406)},
		"400 to notification":     {"", 400, fmt.Sprintf(failure, `null`), isStatus(400)},
		"304":                     {"tools/list", 304, "", isStatus(304)},
		"101 switching protocols": {"tools/list", 101, "", isStatus(101)},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, tt.status, tt.body) })
			l := connect(t, NewHTTP, HTTPOptions{URL: url})
			m := request("a", tt.method, "")
			if tt.method == "" {
				m = request("", initialized, "")
			}
			err := l.Send(t.Context(), m)
			if !tt.check(err) {
				t.Fatalf("got %v", err)
			}
			got := strings.Join(l.box.all(), "")
			if want := "a: " + fmt.Sprintf(failure, `"a"`); err == nil && got != want || err != nil && got != "" {
				t.Errorf("got %s", got)
			}
			if err != nil && strings.Contains(tt.body, "no such version") != strings.Contains(err.Error(), "no such version") {
				t.Errorf("the text is %q", err)
			}
		})
	}
	t.Run("404 to a second initialize", func(t *testing.T) {
		var n atomic.Int32
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if n.Add(1) == 1 {
				answerJSON(w, 200, result("a"))
				return
			}
			w.WriteHeader(http.StatusNotFound)
		})
		l := connect(t, NewHTTP, HTTPOptions{URL: url})
		if err := l.Send(t.Context(), request("a", rpc.Initialize, "")); err != nil {
			t.Fatal(err)
		}
		if err := l.Send(t.Context(), request("a", rpc.Initialize, "")); !isStatus(404)(err) {
			t.Errorf("got %v", err)
		}
	})
}

// TestNotificationWithStream: what comes for a notification is not waited for.
func TestNotificationWithStream(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answerEvents(w, data(note(1)))
		<-r.Context().Done()
	})
	if err := connect(t, NewHTTP, HTTPOptions{URL: url}).Send(t.Context(), request("", initialized, "2025-11-25")); err != nil {
		t.Error(err)
	}
}

// TestHeaders: ten callers at once, each with headers of its own.
func TestHeaders(t *testing.T) {
	var mu sync.Mutex
	got := map[string]http.Header{}
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		m := ask(r)
		mu.Lock()
		got[m.ID] = r.Header.Clone()
		got[m.ID].Set("Host", r.Host)
		mu.Unlock()
		answerJSON(w, 200, result(m.ID))
	})
	given := http.Header{"authorization": {"Bearer ours"}, "X-Tenant": {"ours"}, "X-Two": {"1", "2"}, "Mcp-Session-Id": {"forged"}, "Accept-Encoding": {"br"}}
	l := connect(t, NewHTTP, HTTPOptions{URL: url, Authority: &authority{headers: func(int) (http.Header, error) { return given, nil }}})
	const callers, calls = 10, 20
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for n := range calls {
				id := fmt.Sprint(caller, "-", n)
				m := request(id, "tools/call", "2026-07-28")
				m.Header = http.Header{
					"X-Caller": {fmt.Sprint(caller)}, fmt.Sprint("X-Only-", caller): {"here"}, "Mcp-Method": {"tools/call"}, "x-tenant": {"theirs"},
					"authorization": {"Bearer theirs"}, "Cookie": {"theirs"}, "Host": {"theirs"}, "Content-Type": {"theirs"}, "Content-Length": {"3"},
					"Mcp-Session-Id": {"theirs"}, "Mcp-Protocol-Version": {"theirs"}, "Transfer-Encoding": {"theirs"}, "Proxy-Authorization": {"theirs"},
					"Accept": {"theirs"}, "Accept-Encoding": {"theirs"}, "Connection": {"theirs"}, "Last-Event-Id": {"theirs"},
				}
				if err := l.Send(t.Context(), m); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if len(got) != callers*calls {
		t.Fatalf("%d requests", len(got))
	}
	for id, h := range got {
		caller, _, _ := strings.Cut(id, "-")
		want := http.Header{
			"X-Caller": {caller}, "X-Only-" + caller: {"here"}, "Mcp-Method": {"tools/call"}, "X-Tenant": {"ours"}, "X-Two": {"1", "2"},
			"Authorization": {"Bearer ours"}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {"2026-07-28"}, "User-Agent": {"adkmcp"},
			"Accept-Encoding": {"gzip"}, "Content-Length": h["Content-Length"], "Host": {strings.Split(url, "/")[2]},
		}
		if diff := cmp.Diff(want, h); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestBounds(t *testing.T) {
	const most = 1 << 20
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	stopped := make(chan struct{}, 1)
	pour := func(kind, begin string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, begin)
			for sent := 0; sent < 1<<30; sent += len(chunk) {
				if _, err := w.Write(chunk); err != nil {
					break
				}
			}
			stopped <- struct{}{}
		}
	}
	bomb := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		_, _ = z.Write(make([]byte, 64<<20))
		_ = z.Close()
		stopped <- struct{}{}
	}
	for name, h := range map[string]http.HandlerFunc{
		"F06 G06 JSON": pour("application/json", `{"jsonrpc":"2.0","id":"a","result":"`), "G06 an event": pour("text/event-stream", "id: 1\ndata: "),
		"a comment": pour("text/event-stream", "id: 1\n\n: "), "F06 gzip": bomb,
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, h)
			l := connect(t, NewHTTP, HTTPOptions{URL: url, MaxMessage: most})
			err := l.Send(t.Context(), request("a", "tools/call", "2025-11-25"))
			secretless(t, err, url)
			if !errors.Is(err, errMessageSize) || len(l.box.all()) > 0 {
				t.Errorf("got %v", err)
			}
			select {
			case <-stopped:
			case <-time.After(limit):
				t.Error("the server could go on")
			}
		})
	}
	t.Run("F06 header", func(t *testing.T) {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			for i := range 100 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 10_000))
			}
		})
		secretless(t, connect(t, NewHTTP, HTTPOptions{URL: url}).Send(t.Context(), request("a", "tools/call", "")), url)
	})
	t.Run("a refusal without end", func(t *testing.T) {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			pour("text/plain", "")(w, r)
		})
		err := connect(t, NewHTTP, HTTPOptions{URL: url}).Send(t.Context(), request("a", "tools/call", ""))
		if !isStatus(500)(err) || len(err.Error()) > 1000 {
			t.Errorf("got %v", err)
		}
		<-stopped
	})
}

// TestEnds: a stream ends with its context, and with the connection.
func TestEnds(t *testing.T) {
	for _, how := range []string{"cancel", "deadline", "close"} {
		for name, first := range map[string]string{"silence": "", "in the stream": "id: 1\n" + data(note(1)), "in an event": "id: 1\ndata: {"} {
			t.Run(how+", "+name, func(t *testing.T) {
				gone, reached := make(chan struct{}), make(chan struct{})
				url := serve(t, func(w http.ResponseWriter, r *http.Request) {
					if first != "" {
						answerEvents(w, first)
					} else {
						_, _ = io.Copy(io.Discard, r.Body) // only then the server notices
					}
					close(reached)
					<-r.Context().Done()
					close(gone)
				})
				l := connect(t, NewHTTP, HTTPOptions{URL: url})
				ctx, cancel := context.WithCancel(t.Context())
				want := context.Canceled
				if how == "deadline" {
					ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
					want = context.DeadlineExceeded
				}
				defer cancel()
				go func() {
					<-reached
					switch how {
					case "cancel":
						cancel()
					case "close":
						_ = l.Close()
					}
				}()
				if how == "close" {
					want = errClosed
				}
				err := l.Send(ctx, request("a", "tools/call", "2025-11-25"))
				secretless(t, err, url)
				var unsent *NotSentError
				if !errors.Is(err, want) || errors.As(err, &unsent) {
					t.Errorf("got %v", err)
				}
				select {
				case <-gone:
				case <-time.After(limit):
					t.Error("the server did not notice")
				}
			})
		}
	}
}
