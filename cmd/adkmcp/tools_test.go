package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/tools/process/processtest"
)

// Cases of shell and HTTP tools where the parts of the program must work
// together: the limits of an agent file, the middleware, the runner. The numbers
// are those of the two case lists.

const shellAgent = `
name: shells
instruction: Run.
model:
  provider: scripted
  script:
    - {match: '(?s)^echo (?P<v>.*)', steps: [{call: [{echo: {v: "{v}"}}]}, {reply: "went on: {echo}"}]}
    - {match: '^undeclared (?P<name>\w+)', steps: [{call: [{environment: {word: x, PATH: /evil, LD_PRELOAD: /evil.so}}]}, {reply: "{environment}"}]}
    - {match: '^environment', steps: [{call: [{environment: {word: x}}]}, {reply: "{environment}"}]}
    - {match: '^slow', steps: [{call: [{slow: {}}]}, {reply: "{slow}"}]}
    - {match: '^deaf', steps: [{call: [{deaf: {}}]}, {reply: "{deaf}"}]}
    - {match: '^missing', steps: [{call: [{missing: {}}]}, {reply: "{missing}"}]}
tools:
  - {name: echo, description: Echoes., parameters: {v: {type: string}}, shell: [echo, "{v}"]}
  - {name: environment, description: Shows its environment., parameters: {word: {type: string}}, shell: {script: env, interpreter: [sh]}}
  - name: slow
    description: Takes long, and so does what it starts.
    shell: {script: "echo hi; (sleep 60 &) ; sleep 60", env: {MARKER: the-marker}}
    timeout: 1s
  - name: deaf
    description: Does not listen.
    shell: {script: "trap '' TERM; echo hi; while :; do sleep 60; done", env: {MARKER: the-marker}}
    timeout: 300ms
  - {name: missing, description: Is not there., shell: [no-such-program-anywhere]}
`

func TestShellCases(t *testing.T) {
	marker := fmt.Sprintf("shells-%d-%d", os.Getpid(), time.Now().UnixNano())
	file := agentFile(t, strings.ReplaceAll(shellAgent, "the-marker", marker))
	h := startHost(t, command(t, []string{"AWS_SECRET_ACCESS_KEY=canary0key", "ANTHROPIC_API_KEY=canary0auth"}, "adkmcp", "serve", "--max-conversation-bytes", fmt.Sprint(64<<20), file))
	h.initialize()
	id := 2
	ask := func(request string) string {
		t.Helper()
		id++
		text, isError, _ := h.ask(id, "shells", request)
		if isError {
			t.Errorf("the turn ended with %s", text)
		}
		return text
	}
	t.Run("03 a value of 3 MB", func(t *testing.T) {
		if got := ask("echo " + strings.Repeat("x", 3<<20)); !strings.HasPrefix(got, "went on: ") || !strings.Contains(got, "larger than the system allows") {
			t.Errorf("got %.300q", got)
		}
		if got := ask("echo $(touch pwn)"); got != "went on: $(touch pwn)" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("04 undeclared arguments, D04 the environment", func(t *testing.T) {
		if got := ask("undeclared PATH"); !strings.Contains(got, "PATH") || !strings.Contains(got, "LD_PRELOAD") || strings.Contains(got, "/evil") {
			t.Errorf("got %q", got)
		}
		got := ask("environment")
		var names []string
		for line := range strings.Lines(got) {
			name, _, _ := strings.Cut(line, "=")
			names = append(names, name)
		}
		for _, name := range names {
			if !slices.Contains(strings.Fields("HOME LANG PATH TZ PWD word _ OLDPWD SHLVL"), name) { // some are the shell's own
				t.Errorf("the program sees %s", name)
			}
		}
		if len(leaks(got)) > 0 || !strings.Contains(got, "word=x") {
			t.Errorf("got %q", got)
		}
	})
	for name, least := range map[string]time.Duration{"slow": time.Second, "deaf": 300 * time.Millisecond} {
		t.Run(map[string]string{"slow": "10", "deaf": "11"}[name]+" "+name, func(t *testing.T) {
			start := time.Now()
			got := ask(name)
			if took := time.Since(start); took < least || took > 20*time.Second {
				t.Errorf("took %v", took)
			}
			if !strings.HasPrefix(got, "timed out after ") || !strings.Contains(got, "\nhi") {
				t.Errorf("got %q", got)
			}
			processtest.NoneWith(t, marker)
		})
	}
	t.Run("14 a program that is not there", func(t *testing.T) {
		if got := ask("missing"); !strings.Contains(got, `program "no-such-program-anywhere" was not found in PATH (`) {
			t.Errorf("got %q", got)
		}
	})
	h.end()
}

const httpAgent = `
name: fetcher
instruction: Fetch.
model:
  provider: scripted
  script:
    - {match: '^silent', steps: [{call: [{silent: {}}]}, {reply: "{silent}"}]}
    - {match: '^trickle', steps: [{call: [{trickle: {}}]}, {reply: "{trickle}"}]}
    - {match: '^huge', steps: [{call: [{huge: {}}]}, {reply: "{huge}"}]}
    - {match: '^set (?P<v>.*)', steps: [{call: [{set: {v: "{v}"}}]}, {reply: "{set}"}]}
    - {match: '^undeclared', steps: [{call: [{set: {v: x, Host: evil.example, Authorization: evil}}]}, {reply: "{set}"}]}
tools:
  - {name: silent, description: Hears nothing., http: {url: BASE/silent}, timeout: 300ms}
  - {name: trickle, description: Hears little., http: {url: BASE/trickle}, timeout: 300ms}
  - {name: huge, description: Hears too much., http: {url: BASE/huge}, max_result_bytes: 2000}
  - {name: set, description: Sends a path., parameters: {v: {type: string}}, http: {url: "BASE/items/{v}/end"}}
`

func TestHTTPCases(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/silent":
			<-r.Context().Done()
		case "/trickle":
			for tick := time.NewTicker(20 * time.Millisecond); r.Context().Err() == nil; <-tick.C {
				_, _ = io.WriteString(w, "x")
				_ = http.NewResponseController(w).Flush()
			}
		case "/huge":
			for chunk := strings.Repeat("x", 64<<10); r.Context().Err() == nil; {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		default:
			fmt.Fprintf(w, "%s as %s by %q", r.RequestURI, r.Host, r.Header.Get("Authorization"))
		}
	}))
	defer s.Close()
	h := startHost(t, command(t, nil, "adkmcp", "serve", agentFile(t, strings.ReplaceAll(httpAgent, "BASE", s.URL))))
	h.initialize()
	for i, tt := range []struct{ name, request, want string }{
		{"08 a server that never answers", "silent", "timed out"},
		{"08 a server that trickles", "trickle", "timed out"},
		{"07 an endless body", "huge", "bytes left out"},
		{"01 a path value", "set a/b?x=1#f", "/items/a%2Fb%3Fx%3D1%23f/end as " + strings.TrimPrefix(s.URL, "http://")},
		{"F05 dots", "set ..", "argument"},
		{"F05 Host and Authorization", "undeclared", "argument"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, isError, _ := h.ask(i+3, "fetcher", tt.request)
			if isError || !strings.Contains(text, tt.want) || len(text) > 4000 || strings.Contains(text, "evil.example by") {
				t.Errorf("%v %.500q, want %q", isError, text, tt.want)
			}
		})
	}
	h.end()
}
