package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/tools/process/processtest"
)

// What the program does on the network and with processes, as a whole: the
// attacks of the security cases, by number, against serve --http with the flags
// that people give, and calls that are stopped while their tools run.

// site is the program, serving over HTTP.
type site struct {
	t   *testing.T
	cmd *running
	url string // of /mcp
	log *lockedBuffer
}

var servingAt = regexp.MustCompile(`url=(http://\S+)`)

// openSite starts serve --http on an address of its own choice.
func openSite(t *testing.T, env []string, file string, flags ...string) *site {
	t.Helper()
	cmd := command(t, env, "adkmcp", append([]string{"serve", "--http", "127.0.0.1:0", "--log-level", "debug", file}, flags...)...)
	s := &site{t: t, cmd: &running{cmd: cmd, stdout: bufio.NewReader(strings.NewReader(""))}, log: &lockedBuffer{}}
	cmd.Stderr = s.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("log: %.3000s", s.log)
		}
	})
	for deadline := time.Now().Add(patience); s.url == ""; time.Sleep(5 * time.Millisecond) {
		if m := servingAt.FindStringSubmatch(s.log.String()); m != nil {
			s.url = m[1]
		} else if time.Now().After(deadline) {
			t.Fatalf("the server did not start: %s", s.log)
		}
	}
	return s
}

// post sends a body; header holds pairs.
func (s *site) post(body io.Reader, header ...string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url, body)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.do(req, header...)
}

func (s *site) do(req *http.Request, header ...string) (*http.Response, string) {
	s.t.Helper()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Error(err)
		return &http.Response{Header: http.Header{}}, ""
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Error(err)
	}
	return res, string(data)
}

// modernCall is a call of MCP 2026-07-28, with its header.
func modernCall(tool string, arguments map[string]any) (body string, header []string) {
	return mustJSON(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
			"name": tool, "arguments": arguments, "_meta": map[string]any{
				"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{}}}}),
		[]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool}
}

// plainAgent remembers and says what it was asked.
const plainAgent = `
name: plain
instruction: Answer.
model: {provider: scripted, script: [{match: '(?s)(?P<all>.*)', steps: [{reply: "you said {all}"}]}]}
`

func TestServeHTTPGuards(t *testing.T) {
	s := openSite(t, []string{"ANN_TOKEN=canary0key-ann", "BOB_TOKEN=canary0key-bob"}, agentFile(t, plainAgent),
		"--auth-token", "ann=ANN_TOKEN", "--auth-token", "bob=BOB_TOKEN", "--allow-host", "agents.example.com", "--allow-origin", "https://app.example.com")
	body, modern := modernCall("plain", map[string]any{"request": "canary0query"})
	ann := append([]string{"Authorization", "Bearer canary0key-ann"}, modern...)
	bob := append([]string{"Authorization", "Bearer canary0key-bob"}, modern...)
	for _, tt := range []struct {
		name   string
		status int
		header []string
	}{
		{"A01 no origin", 200, nil},
		{"A01 an allowed origin", 200, []string{"Origin", "https://app.example.com"}},
		{"A01 a foreign origin", 403, []string{"Origin", "http://evil.example"}},
		{"A03 an allowed host", 200, []string{"Host", "agents.example.com"}},
		{"A03 a foreign host", 403, []string{"Host", "evil.example"}},
		{"A03 a foreign host and its origin", 403, []string{"Host", "evil.example", "Origin", "http://evil.example"}},
		{"B10 no token", 401, []string{"Authorization", ""}},
		{"B10 a wrong token", 401, []string{"Authorization", "Bearer canary0key-anne"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, answer := s.post(strings.NewReader(body), append(ann, tt.header...)...)
			if res.StatusCode != tt.status || strings.Contains(answer, "you said") != (tt.status == 200) {
				t.Errorf("%d %s, want %d", res.StatusCode, answer, tt.status)
			}
		})
	}
	t.Run("A06", func(t *testing.T) {
		const limit = 4 << 20
		filler, _ := modernCall("plain", map[string]any{"request": "x"})
		for name, tt := range map[string]struct {
			body   io.Reader
			status int
		}{
			"at the limit":                      {strings.NewReader(filler + strings.Repeat(" ", limit-len(filler))), 200},
			"one byte over":                     {strings.NewReader(filler + strings.Repeat(" ", limit-len(filler)+1)), 413},
			"one byte over, without its length": {io.MultiReader(strings.NewReader(filler + strings.Repeat(" ", limit-len(filler)+1))), 413},
		} {
			if res, answer := s.post(tt.body, ann...); res.StatusCode != tt.status {
				t.Errorf("%s: %d %.200s", name, res.StatusCode, answer)
			}
		}
	})
	t.Run("C01 a foreign handle is as good as one that never was", func(t *testing.T) {
		_, answer := s.post(strings.NewReader(body), ann...)
		handle := regexp.MustCompile(`cv_[\w-]{22}`).FindString(answer)
		ask := func(handle string, header []string) string {
			body, _ := modernCall("plain", map[string]any{"request": "again", "conversation": handle})
			_, answer := s.post(strings.NewReader(body), header...)
			return answer
		}
		foreign, unknown := ask(handle, bob), ask("cv_AAAAAAAAAAAAAAAAAAAAAA", bob)
		if handle == "" || foreign != unknown || !strings.Contains(foreign, "no such conversation") {
			t.Errorf("handle %q: %s\n%s", handle, foreign, unknown)
		}
		if own := ask(handle, ann); !strings.Contains(own, "you said again") {
			t.Errorf("its owner gets %s", own)
		}
	})
	t.Run("H02 and B06", func(t *testing.T) {
		s.url += "?access_token=canary0key-ann"
		if res, _ := s.post(strings.NewReader(body), append(modern, "Cookie", "canary0auth")...); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("a token in the query: %d", res.StatusCode)
		}
		s.post(strings.NewReader(`{"canary0shell`), ann...)
		s.post(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"canary0shell"}`), ann...)
		wantLog(t, s.log.String(), "level=DEBUG")
		noLeaks(t, map[string]string{"the log": s.log.String()})
	})
}

// busySite serves the agent whose tool never ends, and gives the marker of its
// processes.
func busyFile(t *testing.T) (file, marker string) {
	t.Helper()
	marker = fmt.Sprintf("busy-%d-%d", os.Getpid(), time.Now().UnixNano())
	return agentFile(t, fmt.Sprintf(busyAgent, marker)), marker
}

// shell.md, case 12, over HTTP: whoever ends the call, the tree is gone, and
// the server goes on where it was not told to end.
func TestServeHTTPStops(t *testing.T) {
	file, marker := busyFile(t)
	s := openSite(t, nil, file, "--drain-timeout", "100ms")
	body, modern := modernCall("busy", map[string]any{"request": "go"})

	t.Run("12 the stream of 2026-07-28 is closed", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		go s.abandoned(ctx, body, modern)
		awaitProcesses(t, marker, 4)
		cancel()
		processtest.NoneWith(t, marker)
	})
	t.Run("12 notifications/cancelled of 2025-11-25", func(t *testing.T) {
		res, _ := s.post(strings.NewReader(strings.Split(handshake, "\n")[0]))
		session := []string{"Mcp-Session-Id", res.Header.Get("Mcp-Session-Id")}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.abandoned(ctx, strings.TrimSpace(callOf(7, "busy", "go")), session)
		awaitProcesses(t, marker, 4)
		s.post(strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`), session...)
		processtest.NoneWith(t, marker)
	})
	t.Run("12 SIGTERM", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.abandoned(ctx, body, modern)
		awaitProcesses(t, marker, 4)
		if err := s.cmd.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		s.cmd.ends(t, 10*time.Second)
		processtest.NoneWith(t, marker)
	})
}

// abandoned makes a request whose answer nobody waits for.
func (s *site) abandoned(ctx context.Context, body string, header []string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if res, err := http.DefaultClient.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
}

// The same over stdio.
func TestStdioCancelEndsTheTree(t *testing.T) {
	for name, meta := range map[string]map[string]any{
		"12 2025-11-25": nil,
		"12 2026-07-28": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{}},
	} {
		t.Run(name, func(t *testing.T) {
			file, marker := busyFile(t)
			h := startHost(t, command(t, nil, "adkmcp", "serve", file))
			if meta == nil {
				h.initialize()
			}
			params := map[string]any{"name": "busy", "arguments": map[string]any{"request": "go"}}
			cancelled := map[string]any{"requestId": 7}
			if meta != nil {
				params["_meta"], cancelled["_meta"] = meta, meta
			}
			h.send(mustJSON(map[string]any{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}) + "\n")
			awaitProcesses(t, marker, 4)
			h.send(mustJSON(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}) + "\n")
			processtest.NoneWith(t, marker)
			h.send(`{"jsonrpc":"2.0","id":8,"method":"ping"}` + "\n")
			if m, _ := h.await("8"); m.Error.Message != "" {
				t.Errorf("%+v", m)
			}
			h.end()
			var answered struct{ ID json.RawMessage }
			for line := range strings.Lines(h.said.String()) {
				if json.Unmarshal([]byte(line), &answered) == nil && string(answered.ID) == "7" {
					t.Errorf("a cancelled call was answered: %s", line)
				}
			}
		})
	}
}
