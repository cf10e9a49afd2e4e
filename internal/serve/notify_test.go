package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve"
	"github.com/adkmcp/adkmcp/internal/serve/httpserver"
)

// Of each transport there are callers callers, whose turns have lines things to
// say: slowly at first, then all at once, and then they end.
const (
	callers   = 50
	slowLines = 12
	lines     = 41
)

// chatty is a runner that says a lot before it answers.
type chatty struct{}

func (chatty) Run(ctx context.Context, t agent.Turn) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		who := t.Input.Parts[0].Text
		for i := range lines {
			if i < slowLines {
				select {
				case <-time.After(20 * time.Millisecond):
				case <-ctx.Done():
				}
			}
			// Two of them do not fit into one message.
			if !yield(&session.Event{Kind: session.Notice, Text: fmt.Sprintf("<%s line %d> %s", who, i, strings.Repeat("x", 120))}, nil) {
				return
			}
		}
		yield(say(genai.NewPartFromText("done "+who)), nil)
		yield(&session.Event{Kind: session.TurnEnded}, nil)
	}
}

// hearing is what one caller has heard.
type hearing struct {
	who      string
	progress float64
	lines    []string
	count    int
	over     bool
}

var said = regexp.MustCompile(`<(\S+) line (\d+)>`)

// take takes a message; it reports whether it was the response.
func (h *hearing) take(t *testing.T, m map[string]any) bool {
	if h.over {
		t.Errorf("%s: came after the response: %v", h.who, m)
	}
	if m["method"] == nil {
		h.over = true
		if text, _ := json.Marshal(m); !strings.Contains(string(text), "done "+h.who+`"`) {
			t.Errorf("%s: got the answer %s", h.who, text)
		}
		return true
	}
	params, _ := m["params"].(map[string]any)
	value, _ := params["progress"].(float64)
	message, _ := params["message"].(string)
	if m["method"] != "notifications/progress" || params["progressToken"] != h.who || value <= h.progress || len([]rune(message)) > 200 {
		t.Errorf("%s, after %v: got %v", h.who, h.progress, m)
	}
	h.progress = value
	h.count++
	for _, found := range said.FindAllStringSubmatch(message, -1) {
		if found[1] != h.who {
			t.Errorf("%s: hears %s", h.who, message)
		}
		h.lines = append(h.lines, found[2])
	}
	return false
}

// check sees that nothing was lost or in the wrong order.
func (h *hearing) check(t *testing.T) {
	for i, line := range h.lines {
		if line != strconv.Itoa(i) {
			t.Fatalf("%s: line %s in place %d", h.who, line, i)
		}
	}
	if len(h.lines) != lines || !h.over {
		t.Errorf("%s: %d lines, over: %v", h.who, len(h.lines), h.over)
	}
}

// hear is how the callers of a transport make their calls and hear of them; it
// gives what each has heard.
var hear = map[string]func(t *testing.T, f *fixture, who func(int) string) []*hearing{
	"stdio": func(t *testing.T, f *fixture, who func(int) string) []*hearing {
		host := openStdio(t, f)
		all := make(map[any]*hearing)
		var list []*hearing
		for i := range callers {
			h := &hearing{who: who(i)}
			all[h.who], list = h, append(list, h)
			meta := modernMeta(h.who)
			if i%2 == 0 { // both eras at once
				meta = map[string]any{"progressToken": h.who}
			}
			host.write(call(h.who, h.who, meta, "conversation", "new"))
		}
		for open := callers; open > 0; {
			m := host.read()
			key := m["id"]
			if params, ok := m["params"].(map[string]any); ok {
				key = params["progressToken"]
			}
			if h := all[key]; h == nil {
				t.Fatalf("for nobody: %v", m)
			} else if h.take(t, m) {
				open--
			}
		}
		return list
	},
	"http 2025-11-25": func(t *testing.T, f *fixture, who func(int) string) []*hearing {
		w := openHTTP(t, f, nil)
		shared := w.initialize("/mcp")
		return together(func(i int, h *hearing) {
			s := shared // half of them share a session, and the number of their request
			if i%2 == 0 {
				s = w.initialize("/mcp")
			}
			r, err := w.post(t.Context(), "/mcp", call(h.who, h.who, map[string]any{"progressToken": h.who}, "conversation", "new"), "Mcp-Session-Id", s)
			hearAll(t, h, r, err)
		}, who)
	},
	"http 2026-07-28": func(t *testing.T, f *fixture, who func(int) string) []*hearing {
		w := openHTTP(t, f, nil)
		return together(func(_ int, h *hearing) {
			r, err := w.post(t.Context(), "/mcp", call(1, h.who, modernMeta(h.who)), modernHeader()...)
			hearAll(t, h, r, err)
		}, who)
	},
	"sse": func(t *testing.T, f *fixture, who func(int) string) []*hearing {
		w := openHTTP(t, f, func(c *httpserver.Config) { c.SSE = true })
		streams := make([]*stream, callers)
		posts := make([]func(any), callers)
		for i := range callers {
			streams[i], posts[i] = w.openSSE(t)
		}
		return together(func(i int, h *hearing) {
			posts[i](call(1, h.who, map[string]any{"progressToken": h.who}))
			for {
				var m map[string]any
				_, data, err := streams[i].tryEvent()
				if err == nil {
					err = json.Unmarshal([]byte(data), &m)
				}
				if err != nil {
					t.Error(err)
					return
				}
				if h.take(t, m) {
					return
				}
			}
		}, who)
	},
}

// together runs all callers at the same time.
func together(one func(i int, h *hearing), who func(int) string) []*hearing {
	all := make([]*hearing, callers)
	var wg sync.WaitGroup
	for i := range all {
		all[i] = &hearing{who: who(i)}
		wg.Go(func() { one(i, all[i]) })
	}
	wg.Wait()
	return all
}

func hearAll(t *testing.T, h *hearing, r *reply, err error) {
	if err != nil {
		t.Error(err)
		return
	}
	for _, m := range r.messages {
		h.take(t, m)
	}
}

// TestNoNotificationIsLost: many callers at once, ten thousand notifications over
// all transports, and each comes in order, before the answer, to its own caller.
func TestNoNotificationIsLost(t *testing.T) {
	total := 0
	for name, callAll := range hear {
		for round := range 2 {
			t.Run(fmt.Sprint(name, " ", round), func(t *testing.T) {
				f := newFixture(t, config.PerConnection)
				f.server = reopen(t, f, chatty{})
				key := strings.ReplaceAll(name, " ", "-")
				for _, h := range callAll(t, f, func(i int) string { return fmt.Sprintf("%s-%d-caller-%d", key, round, i) }) {
					h.check(t)
					total += h.count
				}
			})
		}
	}
	if total < 10_000 {
		t.Errorf("only %d notifications", total)
	}
}

// reopen gives a server of one agent that runs on r.
func reopen(t *testing.T, f *fixture, r interface {
	Run(context.Context, agent.Turn) iter.Seq2[*session.Event, error]
}) *serve.Server {
	t.Helper()
	o := f.options
	o.Agents = []serve.Agent{{Name: "parrot", File: "parrot.yaml", Runner: r}}
	s, err := serve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
