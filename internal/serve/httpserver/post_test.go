package httpserver

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// TestStatus: what comes back for what, of both protocols at one path.
func TestStatus(t *testing.T) {
	s := open(t, nil).serve()
	id := s.start()
	meta := func(body, meta string) string { return strings.Replace(body, modernMeta, meta, 1) }
	response := `{"jsonrpc":"2.0","id":"adkmcp-1","result":{}}`
	note := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	for name, tt := range map[string]struct {
		body   string
		header []string
		status int
		want   string
	}{
		"modern":                    {toolCall, modern("tools/call", "canary"), 200, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"anonymous","type":"text"}]}}` + "\n"},
		"modern, a session":         {toolCall, modern("tools/call", "canary", "Mcp-Session-Id", "made-up"), 200, "anonymous"},
		"modern, no _meta":          {meta(toolCall, `"_meta":{}`), modern("tools/call", "canary"), 400, "-32602"},
		"modern, no params":         {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, modern("tools/list", ""), 400, "-32602"},
		"modern, unknown version":   {strings.ReplaceAll(toolCall, "2026-07-28", "2027-01-01"), modern("tools/call", "canary", "Mcp-Protocol-Version", "2027-01-01"), 400, `"data":{"requested":"2027-01-01","supported":["2026-07-28",`},
		"modern, other versions":    {strings.ReplaceAll(toolCall, "2026-07-28", "2025-11-25"), modern("tools/call", "canary"), 400, "-32020"},
		"modern, unknown method":    {`{"jsonrpc":"2.0","id":1,"method":"x","params":{` + modernMeta + `}}`, modern("x", ""), 404, "-32601"},
		"modern, unknown tool":      {modernCall("nobody"), modern("tools/call", "nobody"), 400, "-32602"},
		"modern, panic":             {modernCall("panic"), modern("tools/call", "panic"), 500, "internal error"},
		"modern, notification":      {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,` + modernMeta + `}}`, []string{"Content-Type", "application/json"}, 202, ""},
		"modern, response":          {response, modern("", ""), 400, "-32600"},
		"modern, null id":           {strings.Replace(toolCall, `"id":1`, `"id":null`, 1), modern("tools/call", "canary"), 400, "-32600"},
		"no version 2.0":            {strings.Replace(toolCall, `"jsonrpc":"2.0",`, "", 1), modern("tools/call", "canary"), 400, `"id":1,"error":{"code":-32600`},
		"legacy":                    {callOf(2, "canary"), legacy(id), 200, "anonymous"},
		"legacy, no version header": {callOf(2, "canary"), legacy(id, "Mcp-Protocol-Version", ""), 200, "anonymous"},
		"legacy, unknown version":   {callOf(2, "canary"), legacy(id, "Mcp-Protocol-Version", "2025-01-01"), 400, "-32022"},
		"legacy, no session":        {callOf(2, "canary"), legacy(""), 400, "initialize first"},
		"legacy, unknown session":   {callOf(2, "canary"), legacy("made-up"), 404, "initialize again"},
		"legacy, another path's":    {callOf(2, "canary"), legacy("s_x"), 404, "initialize again"},
		"legacy, unknown tool":      {callOf(2, "nobody"), legacy(id), 200, "-32602"},
		"legacy, unknown method":    {`{"jsonrpc":"2.0","id":3,"method":"x"}`, legacy(id), 200, "-32601"},
		"legacy, notification":      {note, legacy(id), 202, ""},
		"legacy, nobody's":          {note, legacy("made-up"), 404, "initialize again"},
		"legacy, late response":     {response, legacy(id), 202, ""},
		"legacy, response, nobody":  {response, legacy("made-up"), 404, "initialize again"},
		"legacy, panic":             {callOf(4, "panic"), legacy(id), 500, `"id":4,"error"`},
	} {
		res, body := s.post(tt.body, tt.header...)
		if res.StatusCode != tt.status || !strings.Contains(body, tt.want) || (tt.want == "") != (body == "") || strings.Contains(body, "secret") {
			t.Errorf("%s: %d %q, want %d %q", name, res.StatusCode, body, tt.status, tt.want)
		}
		if res.Header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: a session was minted", name)
		}
	}
}

// TestStream: events in order, the response as the last, in both protocols. An
// error that comes after a stream has begun has its status no more.
func TestStream(t *testing.T) {
	s := open(t, nil).serve()
	id := s.start()
	events := func() (all string) {
		for i := range 3 {
			all += fmt.Sprintf("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":%d}}\n\n", i)
		}
		return all + "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"told\"}}\n\n"
	}()
	for name, header := range map[string][]string{"modern": modern("tools/call", "tell", "Accept", both), "legacy": legacy(id)} {
		body := map[string]string{"modern": modernCall("tell"), "legacy": callOf(1, "tell")}[name]
		res, got := s.post(body, header...)
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("X-Accel-Buffering") != "no" || got != events {
			t.Errorf("%s: %d %v %q", name, res.StatusCode, res.Header, got)
		}
		res, got = s.post(body, append(header, "Accept", "application/json, */*")...)
		if res.Header.Get("Content-Type") != "application/json" || !strings.Contains(got, "told") || strings.Contains(got, "progress") {
			t.Errorf("%s without a stream: %q", name, got)
		}
	}
}

// TestJSONOnly: one document whatever the client takes, and no questions.
func TestJSONOnly(t *testing.T) {
	s := open(t, func(c *Config) { c.JSONOnly = true }).serve()
	id := s.start()
	for tool, want := range map[string]string{"tell": "told", "ask": "cannot ask"} {
		for body, header := range map[string][]string{modernCall(tool): modern("tools/call", tool, "Accept", both), callOf(1, tool): legacy(id)} {
			res, got := s.post(body, header...)
			if res.Header.Get("Content-Type") != "application/json" || !strings.Contains(got, want) || strings.Contains(got, "progress") {
				t.Errorf("%s: %v %q", tool, res.Header, got)
			}
		}
	}
	if res, got := s.post(listen, modern("subscriptions/listen", "", "Accept", both)...); res.StatusCode != http.StatusNotFound || !strings.Contains(got, "-32601") {
		t.Errorf("listen: %d %s", res.StatusCode, got)
	}
}

// TestClosedStreamCancels on 2026-07-28, and nobody else's call.
func TestClosedStreamCancels(t *testing.T) {
	s := open(t, nil).serve()
	other := s.background(modernCall("wait"), modern("tools/call", "wait")...)
	next(t, s.started)
	ctx, cancel := contextWithCancel(t)
	lost := make(chan error, 1)
	go func() {
		res, err := http.DefaultClient.Do(s.request(ctx, http.MethodPost, s.url, strings.NewReader(modernCall("wait")), modern("tools/call", "wait")...))
		if err == nil {
			res.Body.Close()
		}
		lost <- err
	}()
	next(t, s.started)
	cancel()
	if err := next(t, lost); err == nil {
		t.Error("the connection was not lost")
	}
	next(t, s.stopped)
	close(s.release)
	if got := next(t, other); !strings.Contains(got, "released") {
		t.Error(got)
	}
}

// TestNothingAfterClose: whatever the handler says of a cancelled request, nothing
// of it is written any more.
func TestNothingAfterClose(t *testing.T) {
	s := open(t, nil)
	for _, accept := range []string{"application/json", both} {
		ctx, cancel := contextWithCancel(t)
		w := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.server.ServeHTTP(w, s.request(ctx, http.MethodPost, "http://localhost/mcp", strings.NewReader(modernCall("wait")), modern("tools/call", "wait", "Accept", accept)...))
		}()
		peer := next(t, s.started)
		cancel()
		<-done
		if peer.Notify != nil && peer.Notify([]byte("{}")) == nil {
			t.Error("a notification was taken")
		}
		if w.Body.Len() != 0 {
			t.Errorf("%s: wrote %q", accept, w.Body)
		}
	}
}

// TestCancelled up to 2025-11-25: a session's own calls only, and without a
// response.
func TestCancelled(t *testing.T) {
	s := open(t, nil).serve()
	mine, other := s.start(), s.start()
	cancel := func(id string, header ...string) int {
		res, _ := s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`, header...)
		return res.StatusCode
	}
	begin := func(header ...string) <-chan string {
		got := s.background(callOf(1, "wait"), header...)
		next(t, s.started)
		return got
	}
	stream, plain, text := begin(legacy(mine)...), begin(legacy(other, "Accept", "application/json")...), begin(legacy(mine)...)
	modernOne := s.background(modernCall("wait"), modern("tools/call", "wait")...)
	next(t, s.started)
	for _, id := range []string{`"1"`, "2", "null", "{}"} { // none of them is 1
		if status := cancel(id, legacy(mine)...); status != 202 {
			t.Errorf("%s: %d", id, status)
		}
	}
	s.server.sessions.mu.Lock()
	if n := len(s.server.sessions.open[mine].calls); n != 2 {
		t.Errorf("%d calls are left: another id cancels", n)
	}
	s.server.sessions.mu.Unlock()
	if len(s.stopped) != 0 {
		t.Error("another id cancels")
	}
	if status := cancel("1", "Content-Type", "application/json"); status != 400 {
		t.Errorf("without a session: %d", status)
	}
	if status := cancel("1", modern("notifications/cancelled", "")...); status != 202 {
		t.Errorf("modern: %d", status)
	}
	if status := cancel(" 1 ", legacy(mine)...); status != 202 {
		t.Errorf("%d", status)
	}
	for range 2 {
		if err := next(t, s.stopped); !errors.Is(err, turns.ErrCancelled) {
			t.Error(err)
		}
	}
	for _, got := range []<-chan string{stream, text} {
		if got := next(t, got); got != "200 " {
			t.Errorf("a cancelled call got %q", got)
		}
	}
	cancel("1", legacy(other)...)
	if got := next(t, plain); got != "202 " {
		t.Errorf("a cancelled call without a stream got %q", got)
	}
	<-s.stopped
	close(s.release)
	if got := next(t, modernOne); !strings.Contains(got, "released") {
		t.Errorf("the modern call got %q", got)
	}
}

// TestLostConnection up to 2025-11-25 cancels nothing; the session can still
// cancel, and its end does.
func TestLostConnection(t *testing.T) {
	s := open(t, nil).serve()
	id := s.start()
	lose := func(n int) {
		ctx, cancel := contextWithCancel(t)
		go func() {
			res, err := http.DefaultClient.Do(s.request(ctx, http.MethodPost, s.url, strings.NewReader(callOf(n, "wait")), legacy(id)...))
			if err == nil {
				res.Body.Close()
			}
		}()
		peer := next(t, s.started)
		cancel()
		<-peer.Gone
		if len(s.stopped) != 0 {
			t.Error("the call was cancelled")
		}
	}
	lose(1)
	if res, _ := s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, legacy(id)...); res.StatusCode != http.StatusAccepted {
		t.Error(res.StatusCode)
	}
	next(t, s.stopped)
	lose(2)
	running := s.background(callOf(3, "wait"), legacy(id)...)
	next(t, s.started)
	if res, _ := s.fetch(s.request(t.Context(), http.MethodDelete, s.url, nil, legacy(id)...)); res.StatusCode != http.StatusOK {
		t.Error(res.StatusCode)
	}
	for range 2 {
		if err := next(t, s.stopped); !errors.Is(err, errSessionEnded) {
			t.Error(err)
		}
	}
	if got := next(t, running); !strings.Contains(got, errSessionEnded.Error()) {
		t.Errorf("the caller who is still there got %q", got)
	}
	if got := next(t, s.ended); got != id {
		t.Errorf("%s ended", got)
	}
}

// TestAsk: the question goes out on the call's own stream, and only its
// session's answer counts.
func TestAsk(t *testing.T) {
	s := open(t, nil).serve()
	mine, other := s.start(), s.start()
	answer := func(session, id, rest string) {
		t.Helper()
		if res, body := s.post(`{"jsonrpc":"2.0","id":`+id+`,`+rest+`}`, legacy(session)...); res.StatusCode != http.StatusAccepted || body != "" {
			t.Errorf("%d %s", res.StatusCode, body)
		}
	}
	ask := func(n int) *eventReader {
		_, e := s.stream(http.MethodPost, s.url, strings.NewReader(callOf(n, "ask")), legacy(mine)...)
		e.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":"adkmcp-%d","method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"properties":{},"type":"object"}}}`, n))
		return e
	}
	one, two := ask(1), ask(2)
	answer(other, `"adkmcp-1"`, `"result":{"from":"another session"}`)
	answer(mine, `"adkmcp-3"`, `"result":{}`)
	answer(mine, `1`, `"result":{}`)
	answer(mine, `"adkmcp-2"`, `"result":{"action":"accept"}`)
	two.want(`"id":2,"result":{"content":[{"text":"{\"action\":\"accept\"}","type"`)
	two.end()
	answer(mine, `"adkmcp-1"`, `"error":{"code":-1,"message":"no form here"}`)
	one.want("not answered: the client refused the request: no form here (-1)")
	answer(mine, `"adkmcp-1"`, `"result":{}`) // late

	// Who hangs up is asked nothing any more.
	ask(3).close()
	waitFor(t, "the end of the question", func() bool {
		s.server.sessions.mu.Lock()
		defer s.server.sessions.mu.Unlock()
		return len(s.server.sessions.open[mine].asked) == 0
	})
	for body, header := range map[string][]string{callOf(4, "ask"): legacy(mine, "Accept", "application/json"), modernCall("ask"): modern("tools/call", "ask", "Accept", both)} {
		if _, got := s.post(body, header...); !strings.Contains(got, "cannot ask") {
			t.Errorf("%s: %s", body, got)
		}
	}
}

// TestAskIsBounded in each session.
func TestAskIsBounded(t *testing.T) {
	table := newTable(t, time.Now, nil)
	s, err := table.create(t.Context(), "ann", "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	for range maxAsked {
		if _, err := table.expect(s, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := table.expect(s, nil); !errors.Is(err, errTooManyAsked) {
		t.Error(err)
	}
}

// TestMaxCalls: further calls are turned away before they begin, wherever they
// come in; others are served.
func TestMaxCalls(t *testing.T) {
	s := open(t, func(c *Config) { c.MaxCalls = 3 }).serve()
	id, c := s.start(), s.connect("/sse")
	running := []<-chan string{s.background(modernCall("wait"), modern("tools/call", "wait")...), s.background(callOf(1, "wait"), legacy(id)...)}
	c.post(202, callOf(1, "wait"))
	for range 3 {
		next(t, s.started)
	}
	for body, header := range map[string][]string{toolCall: modern("tools/call", "canary"), callOf(2, "canary"): legacy(id)} {
		res, got := s.post(body, header...)
		if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || !strings.Contains(got, `"error":{"code":-32603`) || !strings.Contains(got, `"id":`) {
			t.Errorf("%d %v %s", res.StatusCode, res.Header, got)
		}
	}
	c.post(503, callOf(2, "canary"))
	if status, body := s.list(id); status != 200 {
		t.Errorf("tools/list: %d %s", status, body)
	}
	if n := s.calls.Load(); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
	close(s.release)
	for _, got := range running {
		if got := next(t, got); !strings.Contains(got, "released") {
			t.Error(got)
		}
	}
	c.want("released")
	waitFor(t, "room", func() bool { return len(s.server.calls) == 0 })
	s.expect(200)
}

// TestA14Listens: the open subscriptions of one caller are bounded.
func TestA14Listens(t *testing.T) {
	s := open(t, nil).serve()
	var open []*eventReader
	for range maxListens {
		_, e := s.stream(http.MethodPost, s.url, strings.NewReader(listen), modern("subscriptions/listen", "", "Accept", both)...)
		e.want("acknowledged")
		open = append(open, e)
	}
	res, got := s.post(listen, modern("subscriptions/listen", "", "Accept", both)...)
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || !strings.Contains(got, `"id":1,"error"`) {
		t.Errorf("%d %v %s", res.StatusCode, res.Header, got)
	}
	s.expect(200)
	if len(s.stopped) != 0 {
		t.Error("an open one has ended")
	}
	open[0].close()
	next(t, s.stopped)
	waitFor(t, "room", func() bool {
		s.server.listens.mu.Lock()
		defer s.server.listens.mu.Unlock()
		return len(s.server.listens.open) < maxListens
	})
	_, e := s.stream(http.MethodPost, s.url, strings.NewReader(listen), modern("subscriptions/listen", "", "Accept", both)...)
	e.want("acknowledged")
	if res, _ := s.post(listen, modern("subscriptions/listen", "")...); res.StatusCode != http.StatusNotAcceptable {
		t.Errorf("without a stream: %d", res.StatusCode)
	}
}
