package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/tools/process/processtest"
)

// program gives adkmcp as it is released: the race detector would be part of
// what is measured here. It is built once, with what the Makefile builds it with,
// so that the cache has most of it.
func program(t *testing.T) string {
	t.Helper()
	bin, err := released()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

var released = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "adkmcp-test")
	if err != nil {
		return "", err
	}
	buildDir = dir
	bin := filepath.Join(dir, "adkmcp")
	cmd := exec.Command("go", "build", "-trimpath", "-o", bin, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return bin, nil
})

// buildDir is what released has made, for TestMain to remove.
var buildDir string

// busyAgent has a tool whose processes stay until they are ended: one in the
// foreground, one in the background and one whose parent has gone.
const busyAgent = `
name: busy
description: Never ends by itself.
instruction: Work.
model: {provider: scripted, script: [{steps: [{call: [{work: {}}]}, {reply: Done.}]}]}
tools:
  - name: work
    description: Works.
    shell:
      script: |
        sleep 300 &
        (sh -c 'sleep 300' &)
        trap '' HUP
        sleep 300
      env: {MARKER: %s}
    timeout: 5m
`

type running struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr bytes.Buffer
}

func startProgram(t *testing.T, bin string, args ...string) *running {
	t.Helper()
	r := &running{cmd: exec.Command(bin, args...)}
	r.cmd.Stderr = &r.stderr
	var err error
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.stdout = bufio.NewReader(out)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// ends waits for the program and checks that it ended well and in time.
func (r *running) ends(t *testing.T, within time.Duration) {
	t.Helper()
	start := time.Now()
	done := make(chan error, 1)
	go func() {
		_, _ = io.Copy(io.Discard, r.stdout)
		done <- r.cmd.Wait()
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("the server ended with %v\nstderr: %s", err, &r.stderr)
		}
		if took := time.Since(start); took > within {
			t.Errorf("the server took %v to end", took)
		} else {
			t.Logf("ended after %v", took)
		}
	case <-time.After(30 * time.Second):
		r.cmd.Process.Kill()
		t.Fatalf("the server did not end\nstderr: %s", &r.stderr)
	}
}

func TestStopDuringACall(t *testing.T) {
	bin := program(t)
	for name, stop := range map[string]func(*running) error{
		"end of input": func(r *running) error { return r.stdin.Close() },
		"SIGTERM":      func(r *running) error { return r.cmd.Process.Signal(syscall.SIGTERM) },
		"SIGINT":       func(r *running) error { return r.cmd.Process.Signal(os.Interrupt) },
	} {
		t.Run(name, func(t *testing.T) {
			marker := fmt.Sprintf("stop-%d-%d", os.Getpid(), time.Now().UnixNano())
			file := filepath.Join(t.TempDir(), "busy.yaml")
			if err := os.WriteFile(file, fmt.Appendf(nil, busyAgent, marker), 0o600); err != nil {
				t.Fatal(err)
			}
			r := startProgram(t, bin, "serve", "--stdio", file)
			const call = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"busy","arguments":{"request":"go"}}}` + "\n"
			if _, err := io.WriteString(r.stdin, strings.TrimSpace(handshake)+"\n"+call); err != nil {
				t.Fatal(err)
			}
			awaitProcesses(t, marker, 4)
			if err := stop(r); err != nil {
				t.Fatal(err)
			}
			r.ends(t, 1500*time.Millisecond)
			processtest.NoneWith(t, marker)
		})
	}
}

// awaitProcesses waits until at least n processes have marker in their
// environment.
func awaitProcesses(t *testing.T, marker string, n int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); len(processtest.With(t, marker)) < n; {
		if time.Now().After(deadline) {
			t.Fatalf("%d processes, want %d", len(processtest.With(t, marker)), n)
		}
		time.Sleep(5 * time.Millisecond) // another program's progress cannot be waited for otherwise
	}
}

func TestNothingToRead(t *testing.T) {
	bin := program(t)
	start := time.Now()
	r := startProgram(t, bin, "serve", "--stdio", repository+"/agents/dice.yaml")
	r.stdin.Close()
	r.ends(t, time.Second-time.Since(start))
}
