package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/tools/process/processtest"
)

// What the caller of an agent sees of MCP servers that misbehave, with the whole
// program.

// rogueFile is an agent that calls the tool of the rogue whose name it is asked,
// and then goes on.
func rogueFile(t testing.TB, tool, entry string) string {
	t.Helper()
	return agentFile(t, fmt.Sprintf(`
name: patron
description: Uses a server.
instruction: Use it.
model: {provider: scripted, script: [{match: hello, steps: [{reply: hello}]}, {steps: [{call: [{%[1]s: {}}]}, {reply: "went on: {%[1]s}"}]}]}
tools:
  - %[2]s
`, tool, entry))
}

// runEvents runs a file and gives its events.
func runEvents(t *testing.T, env []string, file, request string) (outcome, map[session.Kind][]*session.Event) {
	t.Helper()
	got := runCommand(t, command(t, env, "adkmcp", "run", "--json", file, request))
	events := map[session.Kind][]*session.Event{}
	for line := range strings.Lines(got.stdout) {
		e, err := session.Decode([]byte(line))
		if err != nil {
			t.Fatalf("no event: %v %.300q", err, line)
		}
		events[e.Kind] = append(events[e.Kind], e)
	}
	return got, events
}

// said is the text of the last reply.
func said(events map[session.Kind][]*session.Event) string {
	replies := events[session.ModelReply]
	if len(replies) == 0 || replies[len(replies)-1].Content == nil {
		return ""
	}
	return replies[len(replies)-1].Content.Parts[0].Text
}

// What happens in one turn: what the model reads of a call, what the list of tools
// looks like, and that the agent goes on.
func TestRogueServers(t *testing.T) {
	for _, tt := range []struct {
		name, mode, tool string
		beside           string // the entry's own keys
		answer           string // begins with it
		failed           bool   // the call
		tools            int
		warning          string
	}{
		{name: "dies in a call that may be made again", mode: "plain", tool: "look", answer: "look after all", tools: 6},
		{name: "dies in another call", mode: "plain", tool: "change", failed: true, tools: 6,
			answer: "the connection to the server adkmcp-rogue was lost while change ran; whether it took effect is unknown. Check before calling it again."},
		{name: "dies in a call that the file calls idempotent", mode: "plain", tool: "change", beside: "idempotent: true", answer: "change after all", tools: 6},
		{name: "never answers", mode: "plain", tool: "hang", beside: "timeout: 1s", failed: true, answer: "timed out after 1s", tools: 6},
		{name: "prints banners", mode: "banner", tool: "meta", answer: "{", tools: 6},
		{name: "300 tools on 30 pages", mode: "pages", tool: "tool_299", answer: "tool_299 done", tools: 300},
		{name: "a cursor that repeats", mode: "circle", tool: "third", answer: "third done", tools: 8, warning: "repeats itself after page 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			marker := fmt.Sprintf("rogue-%d-%d", os.Getpid(), time.Now().UnixNano())
			entry := rogueEntry(tt.mode, "pass_env: [MARKER]")
			if tt.beside != "" {
				entry += "\n    " + tt.beside
			}
			got, events := runEvents(t, []string{"MARKER=" + marker}, rogueFile(t, tt.tool, entry), "go")
			if got.code != exitOK || !strings.HasPrefix(said(events), "went on: "+tt.answer) {
				t.Errorf("code %d, said %q\n%s", got.code, said(events), got.stderr)
			}
			calls, lists := events[session.ToolFinished], events[session.ToolsListed]
			if len(calls) != 1 || calls[0].IsError != tt.failed || calls[0].NotRun {
				t.Errorf("calls %+v", calls)
			}
			if len(lists) != 1 || len(lists[0].Listing.Tools) != tt.tools || lists[0].Listing.Error != "" {
				t.Fatalf("lists %s", mustJSON(lists))
			}
			if warnings := strings.Join(lists[0].Listing.Warnings, "\n"); !strings.Contains(warnings, tt.warning) || (warnings == "") != (tt.warning == "") {
				t.Errorf("warnings %q", warnings)
			}
			processtest.NoneWith(t, marker)
		})
	}
}

// A server that ends between two turns is started again, and the caller notices
// nothing.
func TestRogueRestarted(t *testing.T) {
	h := startHost(t, command(t, nil, "adkmcp", "serve", rogueFile(t, "pid", rogueEntry("plain"))))
	h.initialize()
	seen := map[string]bool{}
	for id := range 3 {
		text, isError, _ := h.ask(id+3, "patron", "go")
		pid, err := strconv.Atoi(strings.TrimPrefix(text, "went on: "))
		if isError || err != nil {
			t.Fatalf("turn %d: %v %q", id, isError, text)
		}
		seen[text] = true
		if id == 1 { // the third turn finds another one
			server, err := os.FindProcess(pid)
			if err == nil {
				err = server.Kill()
			}
			if err != nil {
				t.Fatal(err)
			}
			processtest.Gone(t, pid)
		}
	}
	h.end()
	if len(seen) != 2 {
		t.Errorf("the turns met %v, want two servers, the first one twice", seen)
	}
	wantLog(t, h.stderr.String(), "the connection to an MCP server has ended", "killed")
}

// A server that does not start costs its tools and says why; the agent answers.
// One without which the agent does not answer is named to whoever asks it.
func TestRogueDoesNotStart(t *testing.T) {
	const why = `program "adkmcp-rogue" ended (exit code 2); it said last:`
	t.Run("optional", func(t *testing.T) {
		got, events := runEvents(t, nil, rogueFile(t, "pid", rogueEntry("fails")), "hello")
		if got.code != exitOK || said(events) != "hello" {
			t.Errorf("%+v", got)
		}
		lists := events[session.ToolsListed]
		if len(lists) != 1 || lists[0].Listing.Source != "adkmcp-rogue" || len(lists[0].Listing.Tools) > 0 ||
			!strings.Contains(lists[0].Listing.Error, why) || !strings.Contains(lists[0].Listing.Error, "no licence") {
			t.Errorf("lists %s", mustJSON(lists))
		}
		if strings.Count(got.stderr, "level=WARN") != 1 || !strings.Contains(got.stderr, "an MCP server cannot be used; its tools are missing") || !strings.Contains(got.stderr, "no licence") {
			t.Errorf("standard error %q", got.stderr)
		}
	})
	t.Run("optional, and the model calls it", func(t *testing.T) {
		got, events := runEvents(t, nil, rogueFile(t, "pid", rogueEntry("fails")), "go")
		if got.code != exitOK || !strings.HasPrefix(said(events), "went on: ") || !strings.Contains(said(events), "pid") {
			t.Errorf("said %q, %+v", said(events), got)
		}
	})
	file := rogueFile(t, "pid", rogueEntry("fails", "required: true"))
	const named = "the MCP server adkmcp-rogue, which the agent patron needs, cannot be used: "
	t.Run("required", func(t *testing.T) {
		got, events := runEvents(t, nil, file, "hello")
		if got.code != exitFailed || !strings.Contains(got.stderr, named) || !strings.Contains(got.stderr, "no licence") {
			t.Errorf("%+v", got)
		}
		ends := events[session.TurnEnded]
		if len(ends) != 1 || ends[0].Problem == nil || ends[0].Problem.Code != session.BadSetup || len(events[session.ToolsListed]) != 1 {
			t.Errorf("events %s", got.stdout)
		}
	})
	t.Run("required, served", func(t *testing.T) {
		h := startHost(t, command(t, nil, "adkmcp", "serve", file))
		h.initialize()
		if text, isError, _ := h.ask(3, "patron", "hello"); !isError || !strings.Contains(text, named) || !strings.Contains(text, "no licence") {
			t.Errorf("%v %q", isError, text)
		}
		h.end()
	})
	t.Run("listed by hand", func(t *testing.T) {
		got := runCommand(t, command(t, nil, "adkmcp", "tools", "list", rogueFile(t, "pid", rogueEntry("fails"))))
		if got.code != exitOK || !strings.Contains(got.stdout, "! adkmcp-rogue: ") || !strings.Contains(got.stdout, "no licence") {
			t.Errorf("%+v", got)
		}
	})
}

// How many agents have called each other goes along to the next program, under the
// key that a server of ours reads it from.
func TestRogueHears(t *testing.T) {
	got, events := runEvents(t, nil, rogueFile(t, "meta", rogueEntry("plain")), "go")
	if !strings.Contains(said(events), `"adkmcp/hops":1`) {
		t.Errorf("said %q, %+v", said(events), got)
	}
}
