package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An agent that is a tool of another, with the whole program: what it does is seen
// outside, and what it asks is asked there.

const outerAgent = `
name: outer
description: Has somebody remove.
instruction: Have it removed.
model: {provider: scripted, script: [{steps: [{call: [{remover: {request: remove it}}]}, {reply: "outer heard: {remover}"}]}]}
tools:
  - agent: inner.yaml
`

const innerAgent = `
name: remover
description: Removes.
instruction: Remove.
model: {provider: scripted, script: [{steps: [{say: "Let me see.", call: [{look: {}}]}, {call: [{remove: {what: a secret file}}]}, {reply: "inner heard: {remove}"}]}]}
tools:
  - {name: look, description: Looks., shell: [echo, looked]}
  - name: remove
    description: Removes something.
    parameters: {what: {type: string}}
    shell: {script: 'echo ran >> runs; echo "removed $what"'}
    requires_approval: true
`

// nestedFiles writes files and gives the path of the first.
func nestedFiles(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, files[0])
}

// asking is a message of a server that may ask something, in either era.
type asking struct {
	message
	Params struct{ Message string }
	Result struct {
		ResultType    string
		RequestState  string
		InputRequests map[string]struct {
			Params struct{ Message string }
		}
		Content []struct{ Text string }
	}
}

// askAnswering makes a call over a connection of either era, answers every question
// alike and gives the result's text, the progress and the questions on the way.
func askAnswering(h *host, modern bool, tool string, answer any) (text string, progress, asked []string) {
	h.t.Helper()
	capabilities := map[string]any{"elicitation": struct{}{}}
	params := map[string]any{"name": tool, "arguments": map[string]any{"request": "go"}, "_meta": map[string]any{"progressToken": "p"}}
	if modern {
		params["_meta"] = map[string]any{"progressToken": "p", "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": capabilities}
	} else {
		h.send(strings.Replace(handshake, `"capabilities":{}`, `"capabilities":`+mustJSON(capabilities), 1))
		h.await("1")
		h.await("2")
	}
	request := func(id string) string {
		return mustJSON(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}) + "\n"
	}
	h.send(request("call"))
	for {
		line, err := h.out.ReadString('\n')
		var m asking
		if err != nil || json.Unmarshal([]byte(line), &m) != nil {
			h.t.Fatalf("no message: %v %q", err, line)
		}
		switch {
		case m.Method == "notifications/progress":
			progress = append(progress, m.Params.Message)
		case m.Method == "elicitation/create":
			asked = append(asked, m.Params.Message)
			h.send(mustJSON(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": answer}) + "\n")
		case m.Result.ResultType == "input_required":
			responses := map[string]any{}
			for key, q := range m.Result.InputRequests {
				asked = append(asked, q.Params.Message)
				responses[key] = answer
			}
			params["inputResponses"], params["requestState"] = responses, m.Result.RequestState
			h.send(request(fmt.Sprint("call again ", len(asked))))
		case m.Method == "":
			for _, c := range m.Result.Content {
				text += c.Text + "\n"
			}
			return text + m.Error.Message, progress, asked
		}
	}
}

func TestNestedAgent(t *testing.T) {
	accepted := map[string]any{"action": "accept", "content": map[string]any{"approve": true}}
	for name, tt := range map[string]struct {
		answer map[string]any
		want   string
		runs   bool
	}{
		"approved": {accepted, "outer heard: inner heard: removed a secret file", true},
		"declined": {map[string]any{"action": "decline"}, "outer heard: inner heard: not run: the person declined", false},
	} {
		for era, modern := range map[string]bool{"2025-11-25": false, "2026-07-28": true} {
			t.Run(era+" "+name, func(t *testing.T) {
				file := nestedFiles(t, "outer.yaml", outerAgent, "inner.yaml", innerAgent)
				h := startHost(t, command(t, nil, "adkmcp", "serve", file))
				text, progress, asked := askAnswering(h, modern, "outer", tt.answer)
				h.end()
				if !strings.HasPrefix(text, tt.want) {
					t.Errorf("got %q, want %q", text, tt.want)
				}
				if len(asked) != 1 || !strings.Contains(asked[0], "remover: ") || !strings.Contains(asked[0], "wants to run remove") || !strings.Contains(asked[0], "a secret file") {
					t.Errorf("asked %q", asked)
				}
				for _, want := range []string{"remover: running look", "remover: look done"} {
					if !slices.ContainsFunc(progress, func(p string) bool { return strings.Contains(p, want) }) {
						t.Errorf("want %q in the progress %q", want, progress)
					}
				}
				if ran := exists(filepath.Join(filepath.Dir(file), "runs")); ran != tt.runs {
					t.Errorf("the inner tool has run: %v", ran)
				}
			})
		}
	}
}

// Agents that would call each other for ever are refused when they are loaded,
// wherever in the circle one begins.
func TestAgentsInACircle(t *testing.T) {
	const agent = "name: %s\ninstruction: x\nmodel: {provider: scripted, script: [{steps: [{reply: x}]}]}\ntools: [{agent: %s.yaml}]\n"
	file := nestedFiles(t, "a.yaml", fmt.Sprintf(agent, "a", "b"), "b.yaml", fmt.Sprintf(agent, "b", "a"))
	for _, args := range [][]string{{"validate", file}, {"serve", file}, {"run", file, "hi"}, {"tools", "list", file}, {"validate", filepath.Dir(file)}} {
		got := runCommand(t, command(t, nil, "adkmcp", args...))
		if said := got.stdout + got.stderr; got.code != exitFailed || !strings.Contains(said, "the agents call each other in a circle: a.yaml → b.yaml → a.yaml") {
			t.Errorf("%s: %+v", args[0], got)
		}
	}
}
