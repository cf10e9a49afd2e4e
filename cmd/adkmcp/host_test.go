package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience tells what is slow on a busy machine from what never comes.
const patience = 60 * time.Second

// host starts the program as an MCP host does, over stdio, and wants every line
// of its standard output to be a message.
type host struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr lockedBuffer
	said   strings.Builder    // everything on standard output
	early  map[string]message // answers that came while another was awaited
}

// lockedBuffer is a buffer that a process writes to while a test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// noRaceSleep keeps a program that is built with the race detector from sleeping
// for a second before it exits.
const noRaceSleep = "atexit_sleep_ms=0"

// command makes a process of one of the programs that TestMain names, with
// nothing but PATH, HOME and env in its environment.
func command(t testing.TB, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), "GORACE=" + noRaceSleep}, env...)
	cmd.WaitDelay = patience // what a killed process left behind may hold the pipes
	return cmd
}

// startHost starts a program; what is not ended by the test ends with it.
func startHost(t testing.TB, cmd *exec.Cmd) *host {
	t.Helper()
	h := &host{t: t, cmd: cmd, early: make(map[string]message)}
	cmd.Stderr = &h.stderr
	var err error
	if h.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		stuck.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			text := h.stderr.String()
			t.Logf("standard error ends with: %s", text[max(0, len(text)-4000):])
		}
	})
	return h
}

func (h *host) send(lines string) {
	h.t.Helper()
	if _, err := io.WriteString(h.in, lines); err != nil {
		h.t.Fatal(err)
	}
}

// read gives the next message.
func (h *host) read() (message, error) {
	h.t.Helper()
	line, err := h.out.ReadString('\n')
	h.said.WriteString(line)
	if err != nil && line == "" {
		return message{}, err
	}
	var m message
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" || !strings.HasSuffix(line, "\n") {
		h.t.Fatalf("standard output holds what is no JSON-RPC: %.500q", line)
	}
	return m, nil
}

// await reads until the answer to id comes, and gives the progress before it
// too.
func (h *host) await(id string) (answer message, progress []string) {
	h.t.Helper()
	for {
		if m, ok := h.early[id]; ok {
			delete(h.early, id)
			return m, progress
		}
		m, err := h.read()
		switch {
		case err != nil:
			h.t.Fatalf("no answer to %s: %v", id, err)
		case m.Method == "notifications/progress":
			progress = append(progress, m.Params.Message)
		case m.Method == "":
			h.early[string(m.ID)] = m
		}
	}
}

// initialize opens a connection of MCP 2025-11-25.
func (h *host) initialize() {
	h.t.Helper()
	h.send(handshake)
	h.await("1")
	h.await("2")
}

// ask makes one call with a progress token and gives its result's text.
func (h *host) ask(id int, tool, request string) (text string, isError bool, progress []string) {
	h.t.Helper()
	h.send(callOf(id, tool, request))
	m, progress := h.await(fmt.Sprint(id))
	return m.text(), m.Result.IsError, progress
}

// end closes the input, takes what still comes and wants a good end.
func (h *host) end() {
	h.t.Helper()
	_ = h.in.Close()
	for {
		if _, err := h.read(); err != nil {
			break
		}
	}
	if err := h.cmd.Wait(); err != nil {
		h.t.Errorf("the server ended with %v", err)
	}
}

// callOf is a tools/call in one line.
func callOf(id int, tool, request string) string {
	return mustJSON(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": map[string]any{
		"name": tool, "arguments": map[string]any{"request": request}, "_meta": map[string]any{"progressToken": "p"}}}) + "\n"
}

func mustJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // what tests make always marshals
	}
	return string(data)
}

// text gives a result's text blocks, or an error's message.
func (m *message) text() string {
	all := m.Error.Message
	for _, c := range m.Result.Content {
		all += c.Text + "\n"
	}
	return strings.TrimSuffix(all, "\n")
}

// agentFile writes an agent file and gives its path.
func agentFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// outcome is what a command that ran to its end left.
type outcome struct {
	stdout, stderr string
	code           int
}

// runCommand runs a command to its end.
func runCommand(t testing.TB, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr lockedBuffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	_ = cmd.Wait() // the code says how it went
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}
