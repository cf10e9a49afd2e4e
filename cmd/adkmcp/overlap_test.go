package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
)

const sharedAgent = `
name: shared
instruction: Repeat.
model:
  provider: scripted
  script:
    - match: '(?P<mark>mark-\d+)'
      steps:
        - {say: "looking at {mark}", call: [{repeat: {text: "{mark}"}}, {repeat: {text: "{mark}"}}]}
        - {reply: "seen {repeat}"}
    - steps: [{reply: hello}]
tools:
  - name: repeat
    description: Repeats, in no time that can be foretold.
    parameters: {text: {type: string, description: The text}}
    shell: {script: 'sleep 0.00$(($$ % 10)); printf %s "$text"'}
`

// order looks at what the model sees: the contents of one turn must stand
// together, one turn after the other.
type order struct {
	inner model.Model
	t     *testing.T

	mu    sync.Mutex
	turns []string // of the longest history, in their order
}

var mark = regexp.MustCompile(`mark-\d+`)

func (o *order) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	var turns []string
	for i, c := range req.Contents[min(2, len(req.Contents)):] { // behind the greeting and its answer
		text, err := json.Marshal(c)
		if err != nil {
			o.t.Error(err)
		}
		marks := mark.FindAllString(string(text), -1)
		if want := []string{"user", "model", "user", "model"}[i%4]; c.Role != want || len(marks) == 0 {
			o.t.Errorf("content %d is of %s and holds %v", i, c.Role, marks)
			break
		}
		if i%4 == 0 {
			turns = append(turns, marks[0])
		}
		for _, m := range marks {
			if m != turns[len(turns)-1] {
				o.t.Errorf("content %d holds %v within the turn %s", i, marks, turns[len(turns)-1])
			}
		}
	}
	o.mu.Lock()
	if len(turns) > len(o.turns) {
		o.turns = turns
	}
	o.mu.Unlock()
	return o.inner.Generate(ctx, req)
}

// TestC04OverlappingTurns has many calls on one handle at the same time, with the
// real runner, store and tools: each is a turn of its own, and the transcript is
// that of one after the other.
func TestC04OverlappingTurns(t *testing.T) {
	h := openHouse(t, map[string]string{}, agentFile(t, sharedAgent))
	r := h.Residents[0]
	watch := &order{inner: r.Runner.Model, t: t}
	parts := r.Runner.Parts
	parts.Model = watch
	r.Runner = agent.NewRunner(r.Config, parts)
	server := serveHouse(t, h)
	greeting := postCall(t, server.URL+"/mcp", "hello", "")
	handle, _ := greeting.Result.Meta["adkmcp/conversation"].(string)
	if handle == "" {
		t.Fatalf("no handle: %+v", greeting)
	}
	const calls = 30
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			m := postCall(t, server.URL+"/mcp", fmt.Sprintf("mark-%d", i), handle)
			if got, want := m.text(), fmt.Sprintf("seen mark-%d", i); m.Result.IsError || !strings.HasPrefix(got, want+"\n") {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, turn := range watch.turns {
		if seen[turn] {
			t.Errorf("%s was taken twice", turn)
		}
		seen[turn] = true
	}
	if len(seen) != calls {
		t.Errorf("the last turn sees %d turns, want %d", len(seen), calls)
	}
}

// postCall makes a call of MCP 2026-07-28 and gives its answer.
func postCall(t *testing.T, url, request, handle string) message {
	t.Helper()
	arguments := map[string]any{"request": request}
	if handle != "" {
		arguments["conversation"] = handle
	}
	body, header := modernCall("shared", arguments)
	s := &site{t: t, url: url}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return message{}
	}
	_, answer := s.do(req, header...)
	var m message
	for line := range strings.Lines(answer) {
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			line = data
		}
		var got message
		if json.Unmarshal([]byte(line), &got) == nil && got.Method == "" && got.ID != nil {
			m = got
		}
	}
	return m
}
