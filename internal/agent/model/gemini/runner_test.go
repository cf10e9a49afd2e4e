package gemini_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	g "github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/middleware"
)

// The cases of the API's replies with the whole agent: the runner, its tools
// with everything that is put around them, and the fake service.

type tools []agent.Tool

type fakeTool struct {
	spec agent.Spec
	do   func(context.Context, *agent.Call) (*agent.Result, error)
}

func (f *fakeTool) Spec() *agent.Spec { return &f.spec }

func (f *fakeTool) Call(ctx context.Context, c *agent.Call) (*agent.Result, error) {
	return f.do(ctx, c)
}

func (ts *tools) add(name, schema string, do func(context.Context, *agent.Call) (*agent.Result, error)) {
	t := &fakeTool{agent.Spec{Name: name, Description: name, Parameters: json.RawMessage(schema)}, do}
	*ts = append(*ts, middleware.Wrap(t, middleware.Options{Log: slog.New(slog.DiscardHandler), Now: time.Now, Timeout: 10 * time.Second, MaxResultBytes: 1 << 16}))
}

// turns runs turns of one conversation.
type turns struct {
	runner *agent.Runner
	seen   func(*session.Event) // may be nil
	text   strings.Builder      // everything that the caller is shown
}

func newTurns(t *testing.T, f *fixture, ts tools) *turns {
	t.Helper()
	return newTurnsOf(t, f, ts, "")
}

// newTurnsOf runs turns of an agent with an output_schema.
func newTurnsOf(t *testing.T, f *fixture, ts tools, outputSchema string) *turns {
	t.Helper()
	store := session.NewMemory(session.MemoryOptions{IdleTTL: time.Hour, MaxConversations: 10, MaxBytes: 1 << 20, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg := &config.Agent{Name: "tester", File: "tester.yaml", Instruction: "be brief", OutputSchema: json.RawMessage(outputSchema),
		Limits: config.Limits{MaxModelCalls: 8, MaxTotalTokens: 1 << 20, Timeout: config.Duration(time.Minute)}}
	return &turns{runner: agent.NewRunner(cfg, agent.Parts{
		Model: retrying(f, 3), Tools: agent.Static(ts), Store: store, Now: time.Now, NewID: counter(), Log: slog.New(slog.DiscardHandler),
	})}
}

func (ts *turns) take(ctx context.Context, text string) *answer.Answer {
	in := agent.Turn{Key: session.Key{Principal: "local", Agent: "tester", Handle: "h"}, Mode: session.Create, Input: user(text)}
	a, err := answer.Collect(ts.runner.Run(ctx, in), func(e *session.Event) {
		if e.Kind == session.Partial || e.Kind == session.Notice {
			ts.text.WriteString(e.Text)
			if e.Content != nil {
				for _, p := range e.Content.Parts {
					if !p.Thought {
						ts.text.WriteString(p.Text)
					}
				}
			}
		}
		if ts.seen != nil {
			ts.seen(e)
		}
	})
	if err != nil {
		panic(err)
	}
	return a
}

const anything = `{"type":"object"}`

// threeCalls is text and three calls in three chunks, and a thought at the end.
func threeCalls() g.Reply {
	return g.Stream(g.Chunk(g.Text("Let me ")), g.Chunk(g.Text("look.")), g.Chunk(g.Call("a", `{"n":1}`, "signature")),
		g.Chunk(g.Call("b", `{"n":2}`, "")), g.Chunk(g.Call("c", `{"n":3}`, "")), g.Chunk(g.Thought("all asked")), g.Final("STOP"))
}

func TestAgentParallelCalls(t *testing.T) {
	t.Run("01 three parallel calls run at the same time after the stream has ended", func(t *testing.T) {
		var started atomic.Int64
		seen, allStarted := make(chan struct{}), make(chan struct{})
		first := threeCalls()
		first.Pace = func(chunk int) {
			if chunk == 6 { // everything but the end has arrived
				<-seen
				if n := started.Load(); n != 0 {
					t.Errorf("%d tools run before the stream has ended", n)
				}
			}
		}
		f := start(t, g.Play(first, g.Say("done")))
		var ts tools
		for i, name := range []string{"a", "b", "c"} {
			ts.add(name, anything, func(ctx context.Context, c *agent.Call) (*agent.Result, error) {
				if started.Add(1) == 3 {
					close(allStarted)
				}
				select {
				case <-allStarted:
				case <-ctx.Done():
					return nil, errors.New("the others did not start")
				}
				return agent.Text(fmt.Sprint(i, string(c.Args))), nil
			})
		}
		run := newTurns(t, f, ts)
		run.seen = func(e *session.Event) {
			if e.Kind == session.Partial && e.Content.Parts[0].Text == "all asked" {
				close(seen)
			}
		}
		a := run.take(t.Context(), "go")
		noRefusals(t, f)
		if a.Problem != nil || text(a.Content) != "done" {
			t.Fatalf("%+v", a)
		}
		contents := f.service.Requests()[1].Contents
		if len(contents) != 3 || len(contents[2].Parts) != 3 {
			t.Fatalf("%s", f.service.Requests()[1].Body)
		}
		for i, p := range contents[2].Parts {
			if want := fmt.Sprintf(`%d{"n":%d}`, i, i+1); p.FunctionResponse == nil || p.FunctionResponse.Response["output"] != want {
				t.Errorf("response %d is %+v, want %s", i, p.FunctionResponse, want)
			}
		}
	})

	t.Run("02 one fails, one is unknown, one gives an image", func(t *testing.T) {
		f := start(t, g.Play(threeCalls(), g.Say("done")))
		var ts tools
		ts.add("a", anything, func(context.Context, *agent.Call) (*agent.Result, error) { return nil, errors.New("disk on fire") })
		ts.add("c", anything, func(context.Context, *agent.Call) (*agent.Result, error) {
			return &agent.Result{Output: "here", Media: []*genai.Blob{{MIMEType: "image/png", Data: []byte(pixels)}}}, nil
		})
		a := newTurns(t, f, ts).take(t.Context(), "go")
		noRefusals(t, f)
		if a.Problem != nil || text(a.Content) != "done" {
			t.Fatalf("%+v", a)
		}
		parts := f.service.Requests()[1].Contents[2].Parts
		failed, unknown, image := parts[0].FunctionResponse, parts[1].FunctionResponse, parts[2].FunctionResponse
		if failed.Response["error"] == nil || !strings.Contains(fmt.Sprint(unknown.Response["error"]), "a, c") {
			t.Errorf("%v, %v", failed.Response, unknown.Response)
		}
		if image.Response["output"] != "here" || len(image.Parts) != 1 || string(image.Parts[0].InlineData.Data) != pixels {
			t.Errorf("%+v", image)
		}
	})

	t.Run("03 cancelled while tools run, then a second request", func(t *testing.T) {
		f := start(t, g.Play(threeCalls(), g.Say("hello again")))
		ctx, cancel := context.WithCancel(t.Context())
		var ts tools
		var stopped sync.WaitGroup
		stopped.Add(3)
		running := make(chan struct{}, 3)
		for _, name := range []string{"a", "b", "c"} {
			ts.add(name, anything, func(ctx context.Context, _ *agent.Call) (*agent.Result, error) {
				defer stopped.Done()
				running <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			})
		}
		run := newTurns(t, f, ts)
		go func() {
			for range 3 {
				<-running
			}
			cancel()
		}()
		if a := run.take(ctx, "go"); a.Problem == nil || a.Problem.Code != session.Cancelled {
			t.Fatalf("%+v", a.Problem)
		}
		stopped.Wait()
		a := run.take(t.Context(), "and now?")
		noRefusals(t, f)
		if a.Problem != nil || text(a.Content) != "hello again" {
			t.Errorf("%+v", a)
		}
	})
}

func TestAgentOutcomes(t *testing.T) {
	problems := []struct {
		name   string
		script []g.Reply
		code   model.Code
		says   string
		text   string // of the answer beside the problem
	}{
		{"04 malformed calls", slices.Repeat([]g.Reply{g.Stream(g.Chunk(g.Text("broken")), g.Final("MALFORMED_FUNCTION_CALL"))}, 3), model.Malformed, "MALFORMED_FUNCTION_CALL", ""},
		{"05 nothing at all", slices.Repeat([]g.Reply{g.Stream(g.Final("STOP"))}, 2), model.Empty, "empty", ""},
		{"08 cut after some text", []g.Reply{g.Stream(g.Final("MAX_TOKENS", g.Text("half an answer"), g.Call("a", `{}`, "s")))}, model.MaxTokens, "cut", "half an answer"},
	}
	for _, c := range problems {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, g.Play(append(c.script, g.Say("the next turn"))...))
			run := newTurns(t, f, nil)
			a := run.take(t.Context(), "go")
			if a.Problem == nil || a.Problem.Code != string(c.code) || !strings.Contains(a.Problem.Message, c.says) {
				t.Errorf("%+v", a.Problem)
			}
			if c.text == "" && a.Content != nil || c.text != "" && (a.Content == nil || text(a.Content) != c.text) {
				t.Errorf("answer %v", a.Content)
			}
			if a := run.take(t.Context(), "again"); a.Problem != nil || text(a.Content) != "the next turn" {
				t.Errorf("the next turn: %+v", a)
			}
			noRefusals(t, f)
		})
	}

	t.Run("13 a cut answer is not doubled", func(t *testing.T) {
		cut := g.Stream(g.Chunk(g.Text("half an ")))
		cut.Cut = true
		f := start(t, g.Play(cut, g.Say("whole answer"), g.Say("bye")))
		run := newTurns(t, f, nil)
		a := run.take(t.Context(), "go")
		if a.Problem != nil || text(a.Content) != "whole answer" || !strings.Contains(run.text.String(), "the answer starts again") {
			t.Errorf("%+v, shown %q", a, run.text.String())
		}
		run.take(t.Context(), "again")
		if body := string(f.service.Requests()[2].Body); strings.Contains(body, "half an ") {
			t.Errorf("the broken piece is in the history: %s", body)
		}
	})

	t.Run("16 thoughts never reach the caller", func(t *testing.T) {
		f := start(t, g.Play(g.Stream(g.Final("STOP", g.Thought("secret plan"))), g.Stream(g.Final("STOP", g.Thought("more"), g.Text("answer"))), g.Say("bye")))
		run := newTurns(t, f, nil)
		a := run.take(t.Context(), "go")
		if a.Problem != nil || text(a.Content) != "answer" || len(a.Content.Parts) != 1 || run.text.String() != "answer" {
			t.Errorf("%+v, shown %q", a, run.text.String())
		}
		if a := run.take(t.Context(), "again"); a.Problem != nil {
			t.Errorf("%+v", a.Problem)
		}
		noRefusals(t, f)
	})

	t.Run("17 arguments that are wrong, missing and too many", func(t *testing.T) {
		f := start(t, g.Play(g.Stream(g.Final("STOP", g.Call("a", `{"count":"three","extra":1}`, "s"))), g.Say("done")))
		var ts tools
		ts.add("a", `{"type":"object","properties":{"count":{"type":"integer"},"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`,
			func(context.Context, *agent.Call) (*agent.Result, error) {
				t.Error("the tool is run")
				return agent.Text(""), nil
			})
		a := newTurns(t, f, ts).take(t.Context(), "go")
		noRefusals(t, f)
		if a.Problem != nil || text(a.Content) != "done" {
			t.Fatalf("%+v", a)
		}
		told := fmt.Sprint(f.service.Requests()[1].Contents[2].Parts[0].FunctionResponse.Response["error"])
		for _, word := range []string{"count", "integer", "name", "extra"} {
			if !strings.Contains(told, word) {
				t.Errorf("%q does not say %q", told, word)
			}
		}
	})

	t.Run("18 the same call again and again", func(t *testing.T) {
		f := start(t, func(*g.Request) g.Reply { return g.Stream(g.Final("STOP", g.Call("a", `{}`, "s"))) })
		var ts tools
		ts.add("a", anything, func(context.Context, *agent.Call) (*agent.Result, error) { return agent.Text("again"), nil })
		a := newTurns(t, f, ts).take(t.Context(), "go")
		noRefusals(t, f)
		if n := len(f.service.Requests()); n != 8 || a.Problem == nil || a.Problem.Code != session.LimitReached || !strings.Contains(a.Problem.Message, "max_model_calls") {
			t.Errorf("%d requests, %+v", n, a.Problem)
		}
	})
}
