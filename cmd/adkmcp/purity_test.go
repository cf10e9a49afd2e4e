package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
)

// A17: standard output of serve --stdio carries JSON-RPC and nothing else,
// whatever tools, libraries and faults write. startHost fails the test for any
// other line, and the logs are looked at here.

// noisyAgent prints whatever could be taken for the protocol or end a line of it.
const noisyAgent = `
name: noisy
instruction: Make noise.
model:
  provider: scripted
  script:
    - {match: stdin, steps: [{call: [{listen: {}}]}, {reply: "heard {listen}"}]}
    - {match: loud, steps: [{say: "Here it comes.", call: [{shout: {}}, {shout: {}}]}, {reply: "printed {shout}"}]}
    - {steps: [{call: [{shout: {}}]}, {reply: fine}]}
tools:
  - name: shout
    description: Prints to both of its streams.
    shell:
      script: |
        echo '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"forged"}]}}'
        printf 'no line feed, bytes \377\000\033[31m\r' >&2
        echo 'to the terminal' 2>/dev/null >/dev/tty
        printf '{"half":'
  - name: listen
    description: Reads its standard input to the end.
    shell: [wc, -c]
`

// logLine is one record of slog's text handler.
var logLine = regexp.MustCompile(`^time=\S+ level=(DEBUG|INFO|WARN|ERROR) msg=\S`)

// wantLog fails the test unless every line is one whole log record without
// control characters, and some of them hold want.
func wantLog(t *testing.T, log string, want ...string) {
	t.Helper()
	for line := range strings.Lines(log) {
		record := map[string]any{}
		isJSON := json.Unmarshal([]byte(line), &record) == nil && record["level"] != nil && record["msg"] != nil
		if !isJSON && !logLine.MatchString(line) || strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("no log record: %q", line)
		}
	}
	for _, w := range want {
		if !strings.Contains(log, w) {
			t.Errorf("the log does not hold %q:\n%.3000s", w, log)
		}
	}
}

func TestA17PrintingTools(t *testing.T) {
	h := startHost(t, command(t, nil, "adkmcp", "serve", "--stdio", "--log-level", "debug", agentFile(t, noisyAgent)))
	h.initialize()
	text, isError, progress := h.ask(3, "noisy", "loud")
	if isError || !strings.Contains(text, `"forged"`) || !strings.Contains(text, `{"half":`) || len(progress) < 2 {
		t.Errorf("%v %q, progress %q", isError, text, progress)
	}
	// 13: what a program reads is never the protocol, even if there is some.
	h.send(callOf(4, "noisy", "stdin") + callOf(5, "noisy", "loud") + callOf(6, "noisy", "stdin"))
	for _, id := range []string{"4", "5", "6"} {
		m, _ := h.await(id)
		if id != "5" && strings.TrimSpace(m.text()) != "heard 0" {
			t.Errorf("call %s: %q", id, m.text())
		}
	}
	h.send("no JSON\n\x1b[31m\n[]\n" + `{"jsonrpc":"2.0","id":7,"method":"no/such"}` + "\n")
	h.await("7")
	h.end()
	wantLog(t, h.stderr.String(), "level=DEBUG")
}

// The examples, each with a call that runs its tools.
func TestA17Examples(t *testing.T) {
	for file, request := range map[string]string{
		repository + "/agents/dice.yaml": "a d20",
		twin(t, "reviewer"):              "commit HEAD~1",
		twin(t, "github_issues"):         "find something",
	} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			env := []string{"REVIEW_REPO=" + t.TempDir(), "GITHUB_API_URL=http://127.0.0.1:1"}
			h := startHost(t, command(t, env, "adkmcp", "serve", "--log-level", "debug", file))
			h.initialize()
			name := regexp.MustCompile(`"serverInfo":\{"name":"(\w+)"`).FindStringSubmatch(h.said.String())
			if name == nil {
				t.Fatalf("no server in %s", h.said.String())
			}
			if text, _, progress := h.ask(3, name[1], request); text == "" || len(progress) < 2 {
				t.Errorf("%q, progress %q", text, progress)
			}
			h.end()
			wantLog(t, h.stderr.String(), "tool call ends")
		})
	}
}

// genai warns on the standard logger of two keys; that is a log record of ours.
func TestA17LibraryThatLogs(t *testing.T) {
	service, err := geminitest.Start(t.Context(), geminitest.Play(geminitest.Say("hello from the model")))
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	file := agentFile(t, "name: asker\ninstruction: Ask.\nmodel: {name: gemini-3-flash, base_url: "+service.URL+"}\n")
	env := []string{"GEMINI_API_KEY=one", "GOOGLE_API_KEY=two"}
	h := startHost(t, command(t, env, "adkmcp", "serve", file))
	h.initialize()
	if text, isError, _ := h.ask(3, "asker", "hi"); isError || text != "hello from the model" {
		t.Errorf("%q", text)
	}
	h.end()
	wantLog(t, h.stderr.String(), "Both GOOGLE_API_KEY and GEMINI_API_KEY are set")

	// With --log-file nothing is left for standard error.
	logFile := filepath.Join(t.TempDir(), "log")
	h = startHost(t, command(t, env, "adkmcp", "serve", "--log-file", logFile, "--log-format", "json", file))
	h.initialize()
	h.ask(3, "asker", "hi")
	h.end()
	log, err := os.ReadFile(logFile)
	if err != nil || h.stderr.String() != "" {
		t.Errorf("%v, standard error %q", err, h.stderr.String())
	}
	wantLog(t, string(log), "Both GOOGLE_API_KEY and GEMINI_API_KEY are set")
}

// faultyAgent has a tool for every fault of the program adkmcp-faulty.
const faultyAgent = `
name: faulty
instruction: Fail.
model:
  provider: scripted
  script:
    - {match: tool, steps: [{call: [{fault_panic: {}}, {fault_bare: {}}, {fault_error: {}}]}, {reply: "went on: {fault_panic}; {fault_bare}; {fault_error}"}]}
    - {match: log, steps: [{call: [{fault_log: {}}]}, {reply: "{fault_log}"}]}
    - {steps: [{reply: fine}]}
tools:
  - {name: fault_panic, description: Panics behind the middleware., shell: ["true"]}
  - {name: fault_bare, description: Panics with nothing around it., shell: ["true"]}
  - {name: fault_error, description: Fails., shell: ["true"]}
  - name: fault_log
    description: Logs by the standard loggers.
    shell: {command: ["true"], env: {SECRET: "${SECRET_OF_THE_FAULT}"}}
`

func TestA17Faults(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			const canary = "canary-of-the-fault-0815"
			h := startHost(t, command(t, []string{"SECRET_OF_THE_FAULT=" + canary}, "adkmcp-faulty", format, agentFile(t, faultyAgent)))
			h.initialize()
			for i, tt := range []struct {
				request string
				isError bool
				want    string
			}{
				{"tool", false, "went on: fault_panic stopped because of a fault in the program, not in the arguments; the log has the details; the tool failed with an internal error; the tool saw [redacted]"},
				{"crash", true, "an internal error; the server's log says more"},
				{"log", false, "went on"},
				{"anything", false, "fine"},
			} {
				text, isError, _ := h.ask(i+3, "faulty", tt.request)
				if isError != tt.isError || !strings.HasPrefix(text, tt.want) {
					t.Errorf("%s: %v %q", tt.request, isError, text)
				}
			}
			h.end()
			log := h.stderr.String()
			wantLog(t, log, "tool panicked", "a turn panicked", "tool failed", "second the tool saw [redacted]", "grouped")
			// H02: neither the log nor the protocol shows the secret.
			if strings.Contains(log+h.said.String(), canary) {
				t.Errorf("the secret is shown in\n%s\n%s", log, h.said.String())
			}
			if n := strings.Count(log, "msg=forged\""); n > 0 || strings.Contains(log, "\ntime=2026-01-01") {
				t.Error("a value became a record of its own")
			}
		})
	}
}

// What is not an agent, or not right, is said on standard error, and standard
// output stays empty.
func TestA17NothingIsServed(t *testing.T) {
	for name, args := range map[string][]string{
		"a fault in the file": {"serve", agentFile(t, "name: a\ninstructions: x\n")},
		"no file":             {"serve", "no-such.yaml"},
		"wrong flag":          {"serve", "--nonsense", "x"},
		"a missing variable":  {"serve", agentFile(t, "name: a\ninstruction: x\nmodel: {name: gemini-x, api_key: \"${MISSING}\"}\n")},
	} {
		t.Run(name, func(t *testing.T) {
			got := runCommand(t, command(t, nil, "adkmcp", args...))
			if got.stdout != "" || got.stderr == "" || got.code == exitOK {
				t.Errorf("%+v", got)
			}
		})
	}
}
