package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve"
	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// caller is a peer that keeps what it gets.
type caller struct {
	turns.Peer
	start    time.Time
	messages []string        // of progress
	at       []time.Duration // when they came
	values   []float64
	alive    []time.Duration
}

func newCaller(connection string) *caller {
	c := &caller{start: time.Now()}
	c.Caller = agent.Caller{Principal: "ann", Header: http.Header{"X-Team": {"core"}}}
	c.Connection = connection
	c.Notify = func(data []byte) error {
		var n struct {
			Params struct {
				Progress float64
				Message  string
			}
		}
		if err := json.Unmarshal(data, &n); err != nil {
			return err
		}
		c.messages, c.at = append(c.messages, n.Params.Message), append(c.at, time.Since(c.start))
		c.values = append(c.values, n.Params.Progress)
		return nil
	}
	c.KeepAlive = func() error {
		c.alive = append(c.alive, time.Since(c.start))
		return nil
	}
	return c
}

// send lets the server handle one message of a caller.
func (f *fixture) send(t *testing.T, ctx context.Context, c *caller, message any) (m map[string]any) {
	t.Helper()
	data, err := json.Marshal(message)
	if err == nil {
		err = json.Unmarshal(handle1(turns.WithPeer(ctx, &c.Peer), f.server.All(), data), &m)
	}
	if err != nil {
		t.Error(err)
	}
	return m
}

// handle1 lets a handler answer one message.
func handle1(ctx context.Context, h rpc.Handler, data []byte) []byte {
	m, bad := rpc.Parse(data)
	if bad != nil {
		return rpc.Fail(m.ID, bad).Body
	}
	return h.Handle(ctx, m).Body
}

func (f *fixture) stop(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := f.turns.Stop(ctx, 0, nil); err != nil {
		t.Error(err)
	}
}

// script is a runner that yields events at their times.
type script []struct {
	after time.Duration
	event *session.Event
}

func (s script) Run(_ context.Context, _ agent.Turn) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		for _, step := range s {
			time.Sleep(step.after)
			if !yield(step.event, nil) {
				return
			}
		}
		yield(&session.Event{Kind: session.TurnEnded}, nil)
	}
}

func started(tool string) *session.Event {
	return &session.Event{Kind: session.ToolStarted, Call: &session.Call{Name: tool}}
}

func finished(tool string, failed bool) *session.Event {
	return &session.Event{Kind: session.ToolFinished, Call: &session.Call{Name: tool}, IsError: failed}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("é", 300)
		s := script{
			{time.Second, started("a")}, {20 * time.Millisecond, started("b")}, {30 * time.Millisecond, finished("b", true)},
			{time.Second, &session.Event{Kind: session.Notice, Text: "waiting\n2s " + long}},
			{time.Second, &session.Event{Kind: session.Partial, Content: genai.NewContentFromText("par", genai.RoleModel)}},
			{40 * time.Second, finished("a", false)},
			{0, say(genai.NewPartFromText("the answer"))},
		}
		f := newFixture(t, config.PerConnection, serve.Agent{Name: "slow", Runner: s, File: "slow.yaml"})
		c := newCaller("k")
		m := call(1, "x", map[string]any{"progressToken": "p"})
		m["params"].(map[string]any)["name"] = "slow"
		if texts, isError, _ := result(t, f.send(t, t.Context(), c, m)); isError || texts[0] != "the answer" {
			t.Error(texts)
		}
		want := []string{"started", "running a", "running b · b failed", "waiting 2s " + strings.Repeat("é", 188) + "…", "still running a", "still running a", "a done"}
		if !slices.Equal(c.messages, want) {
			t.Errorf("messages %q", c.messages)
		}
		for i, v := range c.values {
			if i > 0 && v <= c.values[i-1] {
				t.Errorf("values %v do not increase", c.values)
			}
		}
		if c.at[1] != time.Second || c.at[2] != 1100*time.Millisecond {
			t.Errorf("sent at %v", c.at)
		}
		if want := []time.Duration{0, 17050 * time.Millisecond, 32050 * time.Millisecond}; !slices.Equal(c.alive, want) {
			t.Errorf("alive at %v, want %v", c.alive, want)
		}
		// Without a token there is no notification, but still life.
		c = newCaller("k")
		delete(m["params"].(map[string]any), "_meta")
		f.send(t, t.Context(), c, m)
		if len(c.messages) != 0 || len(c.alive) != 3 {
			t.Errorf("without a token: %q, alive %v", c.messages, c.alive)
		}
		f.stop(t)
	})
}

// TestProgressOfManyTools: what does not fit one message comes in the next.
func TestProgressOfManyTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s script
		var want []string
		for i := range 15 {
			name := fmt.Sprintf("a_tool_with_quite_a_long_name_%d", i)
			s = append(s, script{{0, started(name)}, {0, finished(name, false)}}...)
			want = append(want, "running "+name, name+" done")
		}
		f := newFixture(t, config.PerConnection, serve.Agent{Name: "slow", Runner: s, File: "slow.yaml"})
		c := newCaller("k")
		m := call(1, "x", map[string]any{"progressToken": "p"})
		m["params"].(map[string]any)["name"] = "slow"
		f.send(t, t.Context(), c, m)
		for _, text := range c.messages {
			if n := len([]rune(text)); n > 200 {
				t.Errorf("%d characters", n)
			}
		}
		if got := strings.Split(strings.Join(c.messages[1:], " · "), " · "); !slices.Equal(got, want) {
			t.Errorf("messages %q", c.messages)
		}
		f.stop(t)
	})
}

// TestProgressRate: a flood gives ten rounds of notifications a second at most, the last
// event included.
func TestProgressRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s script
		for i := range 2000 {
			s = append(s, script{{time.Millisecond, &session.Event{Kind: session.Notice, Text: fmt.Sprint("n", i)}}}...)
		}
		s = append(s, script{{0, say(genai.NewPartFromText("done"))}}...)
		f := newFixture(t, config.PerConnection, serve.Agent{Name: "slow", Runner: s, File: "slow.yaml"})
		c := newCaller("k")
		m := call(1, "x", map[string]any{"progressToken": "p"})
		m["params"].(map[string]any)["name"] = "slow"
		f.send(t, t.Context(), c, m)
		if rounds := len(slices.Compact(c.at)); rounds > 22 || !strings.HasSuffix(c.messages[len(c.messages)-1], "n1999") {
			t.Errorf("%d rounds, last %q", rounds, c.messages[len(c.messages)-1])
		}
		for _, text := range c.messages {
			if n := len([]rune(text)); n > 200 {
				t.Errorf("%d characters", n)
			}
		}
		if !strings.Contains(strings.Join(c.messages, "\n"), "earlier lines left out · n") {
			t.Errorf("what is left out is not told: %q", c.messages)
		}
		f.stop(t)
	})
}

func TestCancelStopsTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, config.PerConnection)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		texts, isError, _ := result(t, f.send(t, ctx, newCaller("k"), call(1, "wait for it", nil)))
		if !isError || texts[0] != "the call was cancelled" {
			t.Error(texts)
		}
		synctest.Wait()
		if active, ended := f.agent.counts(); active != 0 || ended != 1 {
			t.Errorf("%d active, %d cancelled", active, ended)
		}
		// The conversation goes on.
		if texts, _, _ := result(t, f.send(t, t.Context(), newCaller("k"), call(2, "echo on", nil))); texts[0] != "on, turn 2" {
			t.Error(texts)
		}
		f.stop(t)
	})
}

// TestHangingUpIsNoCancel: up to 2025-11-25 the turn goes on, and its answer
// waits for the same request.
func TestHangingUpIsNoCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, config.PerConnection)
		c := newCaller("k")
		gone := make(chan struct{})
		c.Gone = gone
		go func() {
			time.Sleep(time.Second)
			close(gone)
			time.Sleep(time.Minute)
			close(f.agent.release)
		}()
		f.send(t, t.Context(), c, call(1, "wait for rain", map[string]any{"progressToken": 1}))
		if len(c.messages) != 1 {
			t.Errorf("sent to a caller who had gone: %q", c.messages)
		}
		time.Sleep(time.Minute)
		before := len(f.agent.callers)
		texts, isError, _ := result(t, f.send(t, t.Context(), newCaller("k"), call(2, "wait for rain", nil)))
		if isError || texts[0] != "Waited for for rain" || len(f.agent.callers) != before {
			t.Errorf("%q, %d new turns", texts, len(f.agent.callers)-before)
		}
		// It has been delivered now.
		f.send(t, t.Context(), newCaller("k"), call(3, "wait for rain", nil))
		if len(f.agent.callers) != before+1 {
			t.Error("a delivered answer was given again")
		}
		f.stop(t)
	})
}

// TestConversationGoesWithItsConnection, and never under a running turn.
func TestConversationGoesWithItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, config.PerConnection)
		one := handle(t, f.send(t, t.Context(), newCaller("k"), call(1, "echo a", nil)))
		two := handle(t, f.send(t, t.Context(), newCaller("k"), call(2, "echo b", nil, "conversation", "new")))
		other := handle(t, f.send(t, t.Context(), newCaller("other"), call(3, "echo c", nil)))
		if one == two || one == other || two == other || !strings.HasPrefix(one, "cv_") || len(one) != len("cv_")+22 {
			t.Fatal(one, two, other)
		}
		go f.send(t, t.Context(), newCaller("k"), call(4, "wait for it", nil))
		synctest.Wait()
		f.server.End(t.Context(), "k")
		if got := f.agent.deleted; len(got) != 1 || got[0] != (session.Key{Principal: "ann", Agent: "parrot", Handle: one}) {
			t.Errorf("deleted %v", got)
		}
		close(f.agent.release)
		synctest.Wait()
		if got := f.agent.deleted; len(got) != 2 || got[1].Handle != two {
			t.Errorf("deleted %v", got)
		}
		f.server.End(t.Context(), "k") // nothing left
		if _, isError, _ := result(t, f.send(t, t.Context(), newCaller("x"), call(5, "echo c", nil, "conversation", other))); isError {
			t.Error("another connection's conversation has gone")
		}
		f.stop(t)
	})
}

// TestForeignHandle is attack C01: the answer is the same as to an unknown one.
func TestForeignHandle(t *testing.T) {
	f := newFixture(t, config.PerConnection)
	h := handle(t, f.send(t, t.Context(), newCaller("k"), call(1, "echo a", nil)))
	mallory := newCaller("m")
	mallory.Caller.Principal = "mallory"
	foreign := f.send(t, t.Context(), mallory, call(1, "echo a", nil, "conversation", h))
	unknown := f.send(t, t.Context(), mallory, call(1, "echo a", nil, "conversation", "cv_AAAAAAAAAAAAAAAAAAAAAA"))
	a, _ := json.Marshal(foreign)
	b, _ := json.Marshal(unknown)
	if _, isError, _ := result(t, foreign); !isError || string(a) != string(b) {
		t.Errorf("foreign: %s\nunknown: %s", a, b)
	}
	f.stop(t)
}

// TestCancelBeforeTheTurn: a call that was cancelled before it began starts no
// turn.
func TestCancelBeforeTheTurn(t *testing.T) {
	f := newFixture(t, config.PerConnection)
	early, cancel := context.WithCancel(t.Context())
	cancel()
	if texts, isError, _ := result(t, f.send(t, early, newCaller("k"), call(1, "echo a", nil))); !isError || texts[0] != "the call was cancelled" {
		t.Errorf("%q", texts)
	}
	if n := len(f.agent.callers); n != 0 {
		t.Errorf("%d turns began", n)
	}
	f.stop(t)
}

// TestCancelledFreshConversationIsDeleted: nobody knows its handle.
func TestCancelledFreshConversationIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, config.Explicit)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		f.send(t, ctx, newCaller("k"), call(1, "wait for it", nil))
		synctest.Wait()
		if len(f.agent.deleted) != 1 || len(f.agent.said) != 0 {
			t.Errorf("deleted %v, left %v", f.agent.deleted, f.agent.said)
		}
		f.stop(t)
	})
}

// TestWaitedInVain: who does not get his turn in time is told what to do.
func TestWaitedInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runner := newFakeAgent()
		f := newFixture(t, config.PerConnection, serve.Agent{Name: "slow", File: "slow.yaml", Runner: runner, Patience: time.Minute})
		m := call(1, "wait long", nil)
		m["params"].(map[string]any)["name"] = "slow"
		go f.send(t, t.Context(), newCaller("k"), m)
		synctest.Wait()
		texts, isError, _ := result(t, f.send(t, t.Context(), newCaller("k"), m))
		if !isError || !strings.Contains(texts[0], "in time") || !strings.Contains(texts[0], "ry again later, or pass new") {
			t.Error(texts)
		}
		close(runner.release)
		f.stop(t)
	})
}

func TestAgentSeesTheCaller(t *testing.T) {
	f := newFixture(t, config.PerConnection)
	f.send(t, t.Context(), newCaller("k"), call(1, "echo a", nil))
	if c := f.agent.callers[0]; c.Principal != "ann" || c.Header.Get("X-Team") != "core" {
		t.Errorf("caller %v", c)
	}
	f.stop(t)
}

func TestNoHistoryIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, config.NoHistory)
		f.send(t, t.Context(), newCaller("k"), call(1, "echo a", nil))
		synctest.Wait()
		if len(f.agent.deleted) != 1 || len(f.agent.said) != 0 {
			t.Errorf("deleted %v, left %v", f.agent.deleted, f.agent.said)
		}
		f.stop(t)
	})
}
