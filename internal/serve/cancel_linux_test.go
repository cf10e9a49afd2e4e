package serve_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/adkmcp/adkmcp/internal/serve/httpserver"
)

// busy is an agent whose tool starts a child, says who they are, and works until
// it may stop.
const busy = `name: parrot
instruction: Work.
model:
  provider: scripted
  script: [{match: '(?P<who>one|two)', steps: [{call: [{work: {who: "{who}"}}]}, {reply: "{work}"}]}]
tools:
  - name: work
    description: Works.
    parameters: {who: {type: string, description: Who}}
    shell:
      script: |
        sleep 300 & child=$!
        echo $$ $child > "$DIR/$who.tmp" && mv "$DIR/$who.tmp" "$DIR/$who.pids"
        until [ -e "$DIR/go" ]; do sleep 0.02; done
        kill $child; echo "finished $who"
      env: {DIR: %q}
serve: {conversation: explicit}
`

func busyHouse(t *testing.T) *house {
	t.Helper()
	dir := t.TempDir()
	h := newHouse(t, fmt.Sprintf(busy, dir))
	h.runs = dir
	return h
}

// pids waits for the processes of a turn.
func (h *house) pids(t *testing.T, who string) (pids []int) {
	t.Helper()
	waitFor(t, "the processes of "+who, func() bool {
		data, err := os.ReadFile(filepath.Join(h.runs, who+".pids"))
		if err != nil {
			return false
		}
		for _, word := range strings.Fields(string(data)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
		return true
	})
	return pids
}

// alive counts the processes that run.
func alive(pids []int) (n int) {
	for _, pid := range pids {
		// One that waits for its parent to look at it has ended.
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && !strings.Contains(string(stat), ") Z ") && syscall.Kill(pid, 0) == nil {
			n++
		}
	}
	return n
}

func cancelled(id any) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": id}}
}

// pair has two calls, one and two, in flight. stop stops the first; foreign is
// what somebody else does to stop it; answer waits for the second's answer.
type pair struct {
	stop, foreign func()
	answer        func() map[string]any
}

var pairs = map[string]func(t *testing.T, f *fixture) pair{
	"stdio": func(t *testing.T, f *fixture) pair {
		host := openStdio(t, f)
		host.write(call(1, "one", modernMeta("")))
		host.write(call(2, "two", nil))
		return pair{
			stop:    func() { host.write(cancelled(1)) },
			foreign: func() { host.write(cancelled("1")) },
			answer:  host.read,
		}
	},
	"http 2025-11-25": func(t *testing.T, f *fixture) pair {
		w := openHTTP(t, f, nil)
		mine, theirs := w.initialize("/mcp"), w.initialize("/mcp")
		w.stream(t, call(1, "one", map[string]any{"progressToken": "a"}), "Mcp-Session-Id", mine)
		two := w.stream(t, call(2, "two", nil), "Mcp-Session-Id", mine)
		return pair{
			stop: func() { w.mustPost("/mcp", cancelled(1), "Mcp-Session-Id", mine) },
			foreign: func() {
				w.mustPost("/mcp", cancelled(1), "Mcp-Session-Id", theirs)
				w.mustPost("/mcp", cancelled(1), "Mcp-Session-Id", "s_forged")
				w.mustPost("/mcp", cancelled(1), modernHeader()...)
				w.mustPost("/mcp", cancelled(1))
			},
			answer: two.next,
		}
	},
	"http 2025-11-25, session deleted": func(t *testing.T, f *fixture) pair {
		w := openHTTP(t, f, nil)
		mine, theirs := w.initialize("/mcp"), w.initialize("/mcp")
		w.stream(t, call(1, "one", map[string]any{"progressToken": "a"}), "Mcp-Session-Id", mine)
		two := w.stream(t, call(1, "two", nil), "Mcp-Session-Id", theirs)
		end := func(session string) {
			if _, err := w.do(newRequest(t, "DELETE", w.url+"/mcp", nil), "Mcp-Session-Id", session); err != nil {
				t.Error(err)
			}
		}
		return pair{stop: func() { end(mine) }, foreign: func() { end("s_forged") }, answer: two.next}
	},
	"http 2026-07-28": func(t *testing.T, f *fixture) pair {
		w := openHTTP(t, f, nil)
		one := w.stream(t, call(1, "one", modernMeta("a")), modernHeader()...)
		two := w.stream(t, call(1, "two", modernMeta("")), modernHeader()...)
		return pair{
			stop: one.close,
			foreign: func() {
				w.mustPost("/mcp", cancelled(1), modernHeader()...)
				w.mustPost("/mcp", cancelled(1), "Mcp-Session-Id", w.initialize("/mcp"))
			},
			answer: two.next,
		}
	},
	"sse": func(t *testing.T, f *fixture) pair {
		w := openHTTP(t, f, func(c *httpserver.Config) { c.SSE = true })
		one, post := w.openSSE(t)
		other, postOther := w.openSSE(t)
		post(call(1, "one", nil))
		postOther(call(1, "two", nil))
		return pair{
			stop:    one.close, // the connection drops
			foreign: func() { postOther(cancelled("one")) },
			answer:  other.next,
		}
	},
	"sse, cancelled": func(t *testing.T, f *fixture) pair {
		w := openHTTP(t, f, func(c *httpserver.Config) { c.SSE = true })
		_, post := w.openSSE(t)
		other, postOther := w.openSSE(t)
		post(call("x", "one", nil))
		postOther(call(1, "two", nil))
		return pair{stop: func() { post(cancelled("x")) }, foreign: func() { postOther(cancelled("x")) }, answer: other.next}
	},
}

// TestCancelStopsOneTurn: of two turns that run, the one that its caller stops
// ends with its whole process tree, and the other finishes. What somebody else
// sends stops nobody.
func TestCancelStopsOneTurn(t *testing.T) {
	for name, begin := range pairs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := busyHouse(t)
			p := begin(t, h.open(t, nil))
			one, two := h.pids(t, "one"), h.pids(t, "two")
			p.foreign()
			if alive(one) != 2 || alive(two) != 2 {
				t.Fatalf("somebody else stopped it: %d and %d processes are left", alive(one), alive(two))
			}
			p.stop()
			waitFor(t, "the end of the processes", func() bool { return alive(one) == 0 })
			if alive(two) != 2 {
				t.Errorf("%d processes of the other turn are left", alive(two))
			}
			if err := os.WriteFile(filepath.Join(h.runs, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			m := p.answer()
			for m["method"] != nil {
				m = p.answer()
			}
			if texts, isError, _ := result(t, m); isError || strings.TrimSpace(texts[0]) != "finished two" {
				t.Errorf("the other turn: %q", texts)
			}
		})
	}
}
