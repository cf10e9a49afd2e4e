package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// forwarding is an agent that asks a shared server about the team that it is asked
// about.
const forwarding = `
name: teams
description: Asks about teams.
instruction: Ask.
model:
  provider: scripted
  script:
    - match: '(?P<team>team-\d+)'
      steps: [{call: [{who: {team: "{team}"}}]}, {reply: "{who}"}]
mcp_servers:
  board:
    url: %s
    headers: {X-Static: "${STATIC}"}
    forward_headers: [X-Team]
    idle_timeout: 10m
tools:
  - mcp: board
`

// seen is a request that the board got.
type seen struct {
	method string // of HTTP
	rpc    string // of JSON-RPC; empty where there is no message
	header http.Header
	team   string // the argument of a call
}

// board is an MCP server over HTTP, of one era or the other, which answers a call
// with the team that the request's header names. It lets nobody through until as
// many calls as there are callers have come, once.
type board struct {
	modern  bool
	listens bool // it has a stream for what it says by itself
	callers int
	full    chan struct{}

	mu       sync.Mutex
	requests []seen
	calls    int
}

func (b *board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Arguments struct{ Team string } }
	}
	if len(body) > 0 && json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	b.requests = append(b.requests, seen{r.Method, m.Method, r.Header.Clone(), m.Params.Arguments.Team})
	if m.Method == "tools/call" {
		if b.calls++; b.calls == b.callers {
			close(b.full)
		}
	}
	b.mu.Unlock()
	var result any
	switch {
	case r.Method == http.MethodDelete:
		return
	case r.Method == http.MethodGet && b.listens:
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case b.modern && m.Method == "server/discover":
		result = map[string]any{"resultType": "complete", "supportedVersions": []string{"2026-07-28"}, "capabilities": map[string]any{"tools": struct{}{}}}
	case !b.modern && m.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", "session-of-"+r.Header.Get("X-Team"))
		result = map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": struct{}{}}, "serverInfo": map[string]any{"name": "board", "version": "1"}}
	case m.Method == "tools/list":
		result = map[string]any{"resultType": "complete", "tools": []any{map[string]any{"name": "who", "annotations": map[string]any{"readOnlyHint": true},
			"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"team": map[string]any{"type": "string"}}}}}}
	case m.Method == "tools/call":
		select {
		case <-b.full:
		case <-r.Context().Done():
			return
		}
		result = map[string]any{"resultType": "complete", "content": []any{map[string]any{"type": "text", "text": strings.Join(r.Header.Values("X-Team"), " and ")}}}
	default:
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
}

// count is how many requests came with a method of HTTP.
func (b *board) count(method string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		if r.method == method {
			n++
		}
	}
	return n
}

// Ten callers at the same time, each with a token and a team of its own, share a
// server: all that goes there for a caller, from the first word to the end of the
// session, has the caller's header and nobody else's, and no credentials that were
// meant for us.
func TestForwardedHeaders(t *testing.T) {
	for _, modern := range []bool{false, true} {
		t.Run(map[bool]string{false: "2025-11-25", true: "2026-07-28"}[modern], func(t *testing.T) {
			const callers, calls = 10, 4
			b := &board{modern: modern, callers: callers, full: make(chan struct{})}
			upstream := httptest.NewServer(b)
			defer upstream.Close()
			env, flags := []string{"STATIC=static0value"}, []string{"--drain-timeout", "1s"}
			for i := range callers {
				env = append(env, fmt.Sprintf("TOKEN_%d=canary0key-%d", i, i))
				flags = append(flags, "--auth-token", fmt.Sprintf("caller%d=TOKEN_%d", i, i))
			}
			s := openSite(t, env, agentFile(t, fmt.Sprintf(forwarding, upstream.URL)), flags...)
			var group sync.WaitGroup
			for i := range callers {
				group.Go(func() {
					team := fmt.Sprintf("team-%d", i)
					body, header := modernCall("teams", map[string]any{"request": "about " + team})
					header = append(header, "Authorization", fmt.Sprintf("Bearer canary0key-%d", i), "X-Team", team,
						"Cookie", "canary0auth", "X-Static", "of a caller", "X-Other", "of a caller")
					for range calls {
						req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(body))
						if err != nil {
							t.Error(err)
							return
						}
						if _, answer := s.do(req, header...); !strings.Contains(answer, `"text":"`+team+`"`) {
							t.Errorf("%s gets %s", team, answer)
						}
					}
				})
			}
			group.Wait()
			if err := s.cmd.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			s.cmd.ends(t, 20*time.Second)
			b.check(t, callers, calls)
			noLeaks(t, map[string]string{"the log": s.log.String()})
		})
	}
}

// check looks at everything that came.
func (b *board) check(t *testing.T, callers, calls int) {
	t.Helper()
	count, listed := map[string]int{}, map[string]bool{}
	for _, r := range b.requests {
		what := strings.TrimSpace(r.method + " " + r.rpc)
		count[what]++
		if got := r.header.Values("X-Static"); !slices.Equal(got, []string{"static0value"}) {
			t.Errorf("%s has the static header %q", what, got)
		}
		if text := fmt.Sprint(r.header); strings.Contains(text, "canary") || strings.Contains(text, "of a caller") || r.header.Get("Authorization") != "" {
			t.Errorf("%s shows what is none of its business: %s", what, text)
		}
		teams := r.header.Values("X-Team")
		if len(teams) != 1 {
			t.Errorf("%s has the header %q", what, teams)
			continue
		}
		if id := r.header.Get("Mcp-Session-Id"); id != "" && id != "session-of-"+teams[0] {
			t.Errorf("%s of %s uses the session %s", what, teams[0], id)
		}
		switch r.rpc {
		case "tools/call":
			if teams[0] != r.team {
				t.Errorf("a call for %s has the header %q", r.team, teams)
			}
		case "tools/list":
			listed[teams[0]] = true
		}
	}
	want := []string{"POST initialize", "POST notifications/initialized", "DELETE"}
	if b.modern {
		want = []string{"POST server/discover"}
	}
	for _, what := range want {
		if count[what] != callers {
			t.Errorf("%s came %d times", what, count[what])
		}
	}
	if count["POST tools/call"] != callers*calls || count["POST tools/list"] != callers || len(listed) != callers {
		t.Errorf("came %v, lists for %v", count, listed)
	}
}
