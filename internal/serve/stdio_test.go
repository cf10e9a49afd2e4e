package serve_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve/stdio"
)

// promptly tells an end from a wait for a turn that never ends. The second and
// a half that hosts allow is measured on the program itself, in cmd/adkmcp.
const promptly = 10 * time.Second

// TestStdioConcurrent: many calls at once, each with its own secret and its own
// progress token; nothing is lost, late or misrouted.
func TestStdioConcurrent(t *testing.T) {
	p := openStdio(t, newFixture(t, config.PerConnection))
	const calls = 300
	for i := range calls {
		p.write(call(i, fmt.Sprintf("tool secret-%d", i), modernMeta(fmt.Sprint("token-", i))))
	}
	progress := make(map[string]string)
	answered := 0
	for answered < calls {
		m := p.read()
		if m["method"] == "notifications/progress" {
			params := m["params"].(map[string]any)
			token := params["progressToken"].(string)
			if text, ok := progress[token]; ok && strings.HasPrefix(text, "answered") {
				t.Fatalf("progress of %s came after its answer", token)
			}
			progress[token] += params["message"].(string) + "|"
			continue
		}
		id := int(m["id"].(float64))
		answered++
		token, secret := fmt.Sprint("token-", id), fmt.Sprint("secret-", id)
		if texts, isError, _ := result(t, m); isError || texts[0] != "Saw "+secret {
			t.Errorf("call %d got %q", id, texts)
		}
		want := fmt.Sprintf("started|noting %[1]s · Looking at %[1]s · running look · look done|", secret)
		if got := progress[token]; strings.ReplaceAll(got, "|", " · ") != strings.ReplaceAll(want, "|", " · ") {
			t.Errorf("call %d: progress %q", id, got)
		}
		progress[token] = "answered"
	}
}

func TestStdioEnds(t *testing.T) {
	for name, end := range map[string]func(*pipe){
		"end of input": func(p *pipe) { p.in.Close() },
		"signal":       func(p *pipe) { p.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, config.PerConnection)
			f.agent.started = make(chan string, 10)
			p := openStdio(t, f)
			p.write(call(1, "wait for ever", nil))
			p.write(call(2, "wait too", modernMeta("")))
			<-f.agent.started
			<-f.agent.started
			start := time.Now()
			end(p)
			if err := p.wait(); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took > promptly {
				t.Errorf("took %v", took)
			}
			if active, ended := f.agent.counts(); active != 0 || ended != 2 {
				t.Errorf("%d turns active, %d cancelled", active, ended)
			}
			// The connection's conversation has gone with it.
			for key, said := range f.agent.said {
				if slices.Contains(said, "wait for ever") {
					t.Errorf("%v is left", key)
				}
			}
		})
	}
}

// TestStdioBlockedProgress: a host that does not read its progress cannot make
// turns outlive the server.
func TestStdioBlockedProgress(t *testing.T) {
	f := newFixture(t, config.PerConnection)
	f.agent.started = make(chan string, 1)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	defer inW.Close()
	defer outR.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- stdio.Run(ctx, stdio.Config{Handler: f.server.All(), In: inR, Out: outW, Turns: f.turns, Ended: f.server.End, Log: quiet()})
	}()
	(&pipe{t: t, in: inW}).write(call(1, "wait for ever", map[string]any{"progressToken": "p"}))
	<-f.agent.started
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if active, ended := f.agent.counts(); active != 0 || ended != 1 {
		t.Errorf("%d turns active, %d cancelled", active, ended)
	}
}

// TestStdioEndOfInputLeavesTime: requests from a file get their answers.
func TestStdioEndOfInputLeavesTime(t *testing.T) {
	p := openStdio(t, newFixture(t, config.PerConnection))
	p.write(initialize())
	p.write(call(1, "tool quickly", nil))
	p.in.Close()
	for range 2 {
		if m := p.read(); m["result"] == nil {
			t.Error(m)
		}
	}
	if err := p.wait(); err != nil {
		t.Error(err)
	}
}

func TestStdioCancel(t *testing.T) {
	for name, meta := range map[string]map[string]any{"2025-11-25": nil, "2026-07-28": modernMeta("tok")} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, config.PerConnection)
			f.agent.started = make(chan string, 10)
			p := openStdio(t, f)
			p.write(call("c", "wait for it", meta))
			<-f.agent.started
			p.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": "c"}})
			waitFor(t, "the cancel", func() bool { _, ended := f.agent.counts(); return ended == 1 })
			// Nothing more comes for it.
			p.write(call("d", "echo d", nil))
			for {
				m := p.read()
				if m["id"] == "d" {
					break
				}
				if m["method"] == nil || m["params"].(map[string]any)["message"] != "started" {
					t.Errorf("came after the cancel: %v", m)
				}
			}
		})
	}
}

// TestStdioCancelQueued: a call that is cancelled while it waits for the one
// before it never runs.
func TestStdioCancelQueued(t *testing.T) {
	f := newFixture(t, config.PerConnection)
	f.agent.started = make(chan string, 3)
	p := openStdio(t, f)
	p.write(call(1, "wait it", nil))
	<-f.agent.started
	p.write(call("queued", "echo never", nil))
	p.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": "queued"}})
	p.write(map[string]any{"jsonrpc": "2.0", "id": "ping", "method": "ping"})
	if m := p.read(); m["id"] != "ping" {
		t.Fatal(m)
	}
	close(f.agent.release)
	if m := p.read(); m["id"] != 1.0 {
		t.Errorf("got %v", m)
	}
	p.write(call("last", "echo last", nil))
	if m := p.read(); m["id"] != "last" {
		t.Errorf("got %v", m)
	}
	if request := <-f.agent.started; request != "echo last" {
		t.Errorf("%q ran", request)
	}
}
