package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The rules of an agent file hold whoever runs it and whoever approves.

// ruledAgent has two tools that leave a file behind, one of our own and one of an
// MCP server, with the same rules.
const ruledAgent = `
name: ruled
description: Keeps to the rules.
instruction: Keep to the rules.
model:
  provider: scripted
  script:
    - steps:
        - call:
            - leave: {path: ok-shell}
            - leave: {path: other-shell}
            - leave: {path: ok-secret-shell}
            - touch: {path: ok-mcp}
            - touch: {path: ok-secret-mcp}
            - touch: {path: other-mcp}
        - {reply: "{leave} / {touch}"}
tools:
  - name: leave
    description: Leaves a file.
    parameters: {path: {type: string}}
    shell: [touch, "{path}"]
    RULES
  - ENTRY
    include: [touch]
    RULES
`

const rules = `requires_approval: true
    allow: [{args: {path: ok-*}}]
    deny: [{args: {path: "*secret*"}}]`

func TestRulesHold(t *testing.T) {
	const (
		denied    = "a deny rule of this agent forbids it"
		unallowed = "no allow rule of this agent permits it"
		nobody    = "nobody approved it"
	)
	ran := func(name string, flags ...string) func(*testing.T, string) string {
		return func(t *testing.T, file string) string {
			got := runCommand(t, command(t, nil, "adkmcp", slices.Concat([]string{name}, flags, []string{file, "go"})...))
			if got.code != exitOK {
				t.Errorf("%+v", got)
			}
			return got.stdout
		}
	}
	overStdio := func(flags ...string) func(*testing.T, string) string {
		return func(t *testing.T, file string) string {
			h := startHost(t, command(t, nil, "adkmcp", slices.Concat([]string{"serve"}, flags, []string{file})...))
			h.initialize()
			text, _, _ := h.ask(3, "ruled", "go")
			h.end()
			return text
		}
	}
	overHTTP := func(flags ...string) func(*testing.T, string) string {
		return func(t *testing.T, file string) string {
			body, header := modernCall("ruled", map[string]any{"request": "go"})
			_, answer := openSite(t, nil, file, flags...).post(strings.NewReader(body), header...)
			return answer
		}
	}
	for name, tt := range map[string]struct {
		take     func(t *testing.T, file string) (said string)
		approved bool
	}{
		"run":                       {ran("run"), false},
		"run, all approved":         {ran("run", "--approve=allow"), true},
		"call":                      {ran("call"), false},
		"call, all approved":        {ran("call", "--approve"), true},
		"serve stdio":               {overStdio(), false},
		"serve stdio, all approved": {overStdio("--approve=allow"), true},
		"serve HTTP":                {overHTTP(), false},
		"serve HTTP, all approved":  {overHTTP("--approve=allow"), true},
		"tools call":                {byHand(), false},
		"tools call, all approved":  {byHand("--approve=allow"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := agentFile(t, strings.NewReplacer("ENTRY", rogueEntry("plain"), "RULES", rules).Replace(ruledAgent))
			said := tt.take(t, file)
			for _, want := range []string{denied, unallowed} { // the last word of each tool, or all of them by hand
				if !strings.Contains(said, want) {
					t.Errorf("want %q in %q", want, said)
				}
			}
			if strings.HasPrefix(name, "tools call") && strings.Contains(said, nobody) != (name == "tools call") {
				t.Errorf("said %q", said)
			}
			var want []string
			if tt.approved {
				want = []string{"ok-mcp", "ok-shell"}
			}
			if diff := cmp.Diff(want, leftBeside(t, file)); diff != "" {
				t.Errorf("what was left: %s", diff)
			}
		})
	}
}

// byHand calls each tool with what the model would call it with.
func byHand(flags ...string) func(*testing.T, string) string {
	return func(t *testing.T, file string) string {
		var said strings.Builder
		for _, path := range []string{"ok", "ok-secret", "other"} {
			for tool, kind := range map[string]string{"leave": "-shell", "touch": "-mcp"} {
				got := runCommand(t, command(t, nil, "adkmcp", slices.Concat([]string{"tools", "call"}, flags, []string{file, tool, "path=" + path + kind})...))
				if ran := exists(filepath.Join(filepath.Dir(file), path+kind)); (got.code == exitOK) != ran {
					t.Errorf("%s%s is there: %v, %+v", path, kind, ran, got)
				}
				said.WriteString(got.stdout + got.stderr)
			}
		}
		return said.String()
	}
}

// leftBeside are the names of the files beside a file.
func leftBeside(t *testing.T, file string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(file) {
			names = append(names, e.Name())
		}
	}
	return names
}
