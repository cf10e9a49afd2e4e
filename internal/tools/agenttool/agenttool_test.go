package agenttool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/agent/memory"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/agenttool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a model that gives its replies in turn, by how many of its contents
// the turn has so far; asked sees every request.
type script struct {
	replies [][]*genai.Part
	asked   func(*model.Request)
}

func (s script) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	return func(yield func(*model.Reply, error) bool) {
		if s.asked != nil {
			s.asked(req)
		}
		n := 0
		for _, c := range req.Contents[req.Turn:] {
			if c.Role == genai.RoleModel {
				n++
			}
		}
		if n >= len(s.replies) {
			yield(nil, &model.Error{Code: model.Unavailable, Message: "the service is down"})
			return
		}
		var parts []*genai.Part
		for i, p := range s.replies[n] {
			q := *p
			if p.FunctionCall != nil {
				c := *p.FunctionCall
				c.ID = fmt.Sprint("call-", i) // the same in every step
				q.FunctionCall = &c
			}
			parts = append(parts, &q)
		}
		yield(&model.Reply{Content: &genai.Content{Role: genai.RoleModel, Parts: parts}, Usage: &model.Usage{Total: 3}}, nil)
	}
}

func says(text string) []*genai.Part { return []*genai.Part{{Text: text}} }

func calls(names ...string) []*genai.Part {
	var parts []*genai.Part
	for _, n := range names {
		parts = append(parts, &genai.Part{FunctionCall: &genai.FunctionCall{Name: n}})
	}
	return parts
}

// with is a call that has arguments.
func with(name string, args map[string]any) []*genai.Part {
	return []*genai.Part{{FunctionCall: &genai.FunctionCall{Name: name, Args: args}}}
}

type fake struct {
	spec agent.Spec
	do   func(context.Context, *agent.Call) (*agent.Result, error)
}

func (f *fake) Spec() *agent.Spec { return &f.spec }

func (f *fake) Call(ctx context.Context, c *agent.Call) (*agent.Result, error) { return f.do(ctx, c) }

func toolOf(name string, do func(context.Context, *agent.Call) (*agent.Result, error)) agent.Tool {
	return &fake{agent.Spec{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)}, do}
}

// house is where agents live.
type house struct {
	store     *session.Memory
	artifacts *artifact.Memory
	ids       atomic.Int64
}

func newHouse(t *testing.T) *house {
	log := slog.New(slog.DiscardHandler)
	h := &house{
		store:     session.NewMemory(session.MemoryOptions{IdleTTL: time.Hour, MaxConversations: 100, MaxBytes: 1 << 20, Now: time.Now, Log: log}),
		artifacts: artifact.NewMemory(artifact.MemoryOptions{Now: time.Now, Log: log}),
	}
	t.Cleanup(func() {
		if err := errors.Join(h.store.Close(), h.artifacts.Close()); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *house) runner(cfg *config.Agent, m model.Model, tools ...agent.Tool) *agent.Runner {
	cfg.Limits = config.Limits{MaxModelCalls: 20, MaxTotalTokens: 1000, Timeout: config.Duration(time.Minute)}
	return agent.NewRunner(cfg, agent.Parts{
		Model: m, Tools: agent.Static(tools), Store: h.store, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		NewID: func() string { return fmt.Sprint("id-", h.ids.Add(1)) },
	})
}

// tool is an agent as a tool.
func (h *house) tool(t *testing.T, cfg *config.Agent, m model.Model, tools ...agent.Tool) agent.Tool {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "inner"
	}
	made, err := agenttool.New(&config.Tool{Agent: &config.AgentTool{Agent: cfg}},
		agenttool.Options{Runner: h.runner(cfg, m, tools...), Store: h.store, Artifacts: h.artifacts})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// callOf is a call such as the runner makes.
func callOf(args string) *agent.Call {
	return &agent.Call{ID: "c1", Name: "inner", Args: json.RawMessage(args), Agent: "outer", Invocation: "e-1", Key: session.Key{Principal: "ann", Agent: "outer", Handle: "cv_1"},
		Caller: agent.Caller{Principal: "ann"}, Progress: func(string) {}}
}

const ask = `{"request":"do it"}`

func run(t *testing.T, tool agent.Tool, call *agent.Call) *agent.Result {
	t.Helper()
	r, err := tool.Call(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSpec(t *testing.T) {
	h := newHouse(t)
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	for _, c := range []struct {
		entry config.Tool
		inner config.Agent
		want  agent.Spec
	}{
		{config.Tool{}, config.Agent{Name: "a"}, agent.Spec{Name: "a", Description: "Run the a agent."}},
		{config.Tool{}, config.Agent{Name: "a", Description: "d", InputSchema: schema}, agent.Spec{Name: "a", Description: "d", Parameters: schema}},
		{config.Tool{Name: "x", Description: "y"}, config.Agent{Name: "a", Description: "d"}, agent.Spec{Name: "x", Description: "y"}},
	} {
		c.entry.Agent = &config.AgentTool{Agent: &c.inner}
		c.want.Hints = agent.Hints{ReadOnly: true}
		made, err := agenttool.New(&c.entry, agenttool.Options{Runner: h.runner(&c.inner, script{}), Hints: c.want.Hints})
		if err != nil {
			t.Fatal(err)
		}
		if c.want.Parameters == nil {
			c.want.Parameters = json.RawMessage(`{"type":"object","properties":{"request":{"type":"string","description":"What the agent should do, with everything that it has to know."}},"required":["request"],"additionalProperties":false}`)
		}
		if diff := cmp.Diff(&c.want, made.Spec()); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := agenttool.New(&config.Tool{Agent: &config.AgentTool{}}, agenttool.Options{}); err == nil {
		t.Error("a tool without an agent")
	}
}

func TestAnswers(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	image := &genai.Blob{MIMEType: "image/png", Data: []byte("pixels")}
	for _, c := range []struct {
		name    string
		inner   config.Agent
		args    string
		replies [][]*genai.Part
		seen    string // by the inner model
		want    agent.Result
	}{
		{"text", config.Agent{}, ask, [][]*genai.Part{says("done")}, "do it", agent.Result{Output: "done"}},
		{"parts", config.Agent{}, ask, [][]*genai.Part{{{Text: "plan", Thought: true}, {Text: "a"}, {InlineData: image}, {Text: "b"}}}, "do it",
			agent.Result{Output: "a\nb", Media: []*genai.Blob{image}}},
		{"arguments", config.Agent{InputSchema: schema}, `{"n":12345678901234567890}`, [][]*genai.Part{says("ok")}, `{"n":12345678901234567890}`, agent.Result{Output: "ok"}},
		{"JSON", config.Agent{OutputSchema: schema}, ask, [][]*genai.Part{says("```json\n{\"n\":1.0}\n```")}, "do it", agent.Result{Output: json.RawMessage(`{"n":1.0}`)}},
		{"a model that fails", config.Agent{}, ask, nil, "do it", agent.Result{Output: "agent inner failed: the service is down", IsError: true}},
		{"another name of the request", config.Agent{}, `{"request":"hello","requeſt":"delete everything"}`, nil, "", agent.Result{Output: `there is no argument "requeſt": the only one is request`, IsError: true, NotRun: true}},
		{"a request in capitals", config.Agent{}, `{"REQUEST":"x"}`, nil, "", agent.Result{Output: `there is no argument "REQUEST": the only one is request`, IsError: true, NotRun: true}},
		{"a request that is no text", config.Agent{}, `{"request":1}`, nil, "", agent.Result{Output: "the argument request cannot be read: json: cannot unmarshal number into Go value of type string", IsError: true, NotRun: true}},
		{"no request", config.Agent{}, `{"request":" "}`, nil, "", agent.Result{Output: "the argument request is empty: say what the agent should do", IsError: true, NotRun: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			seen := ""
			m := script{c.replies, func(r *model.Request) { seen = r.Contents[len(r.Contents)-1].Parts[0].Text }}
			if n := int64(len(c.replies)); n > 0 {
				c.want.Usage = &model.Usage{Total: 3 * n}
			}
			got := run(t, h.tool(t, &c.inner, m), callOf(c.args))
			if diff := cmp.Diff(&c.want, got); diff != "" || seen != c.seen {
				t.Errorf("the agent was asked %q\n%s", seen, diff)
			}
			if n := h.store.Len(); n != 0 {
				t.Errorf("%d conversations are left", n)
			}
		})
	}
}

func TestConversationsOfTheirOwn(t *testing.T) {
	h := newHouse(t)
	var mu sync.Mutex
	keys := map[string]bool{}
	m := script{replies: [][]*genai.Part{calls("look"), says("done")}, asked: func(r *model.Request) {
		if r.Turn != 0 {
			t.Error("an earlier conversation goes on")
		}
	}}
	inner := h.tool(t, &config.Agent{}, m, toolOf("look", func(_ context.Context, c *agent.Call) (*agent.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		keys[c.Key.Handle] = true
		if c.Caller.Principal != "ann" || c.Caller.Hops != 1 || c.Agent != "inner" {
			t.Errorf("called by %+v", c.Caller)
		}
		return agent.Text(""), nil
	}))
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { run(t, inner, callOf(ask)) }) // the same id each time
	}
	all.Wait()
	for k := range keys {
		if !strings.HasPrefix(k, "cv_1/c1/") || len(k) < len("cv_1/c1/")+20 {
			t.Errorf("conversation %q", k)
		}
	}
	if len(keys) != 10 {
		t.Errorf("%d conversations", len(keys))
	}
}

func TestState(t *testing.T) {
	h := newHouse(t)
	system := ""
	m := script{replies: [][]*genai.Part{calls("set"), says("done")}, asked: func(r *model.Request) {
		if system == "" {
			system = r.System
		}
	}}
	cfg := &config.Agent{Instruction: "{a}{b}{temp:t?}{_own?}{c}", State: map[string]any{"b": "file", "c": "file"}}
	inner := h.tool(t, cfg, m, toolOf("set", func(context.Context, *agent.Call) (*agent.Result, error) {
		return &agent.Result{StateDelta: map[string]any{"d": "new", "temp:x": 1, "_own": 2, "user:u": 3, "app:a": 4}}, nil
	}))
	call := callOf(ask)
	call.State = map[string]any{"a": "outer ", "b": "outer ", "temp:t": "no", "_own": "no"}
	got := run(t, inner, call)
	if system != "outer outer file" {
		t.Errorf("the agent begins with %q", system)
	}
	if diff := cmp.Diff(map[string]any{"d": "new"}, got.StateDelta); diff != "" {
		t.Error(diff)
	}
	if len(call.State) != 4 {
		t.Errorf("the caller's state was written to: %v", call.State)
	}
}

// TestPlaces has agents of one name in several places: what lives longer than a
// conversation belongs to the place.
func TestPlaces(t *testing.T) {
	h := newHouse(t)
	kept := memory.NewMemory(memory.Options{})
	t.Cleanup(func() { _ = kept.Close() })
	var owners []string
	place := func(name string) agent.Tool {
		cfg := &config.Agent{Name: "helper", Instruction: "{user:u?}"}
		m := script{replies: [][]*genai.Part{calls("set"), says("done")}, asked: func(r *model.Request) {
			if r.System != "" && len(r.Contents) == 1 {
				t.Errorf("%s begins with the state of another: %q", name, r.System)
			}
		}}
		r := h.runner(cfg, m, toolOf("set", func(_ context.Context, c *agent.Call) (*agent.Result, error) {
			owners = append(owners, c.Key.Agent)
			return &agent.Result{StateDelta: map[string]any{"user:u": name}}, nil
		}))
		r.Memory = kept
		made, err := agenttool.New(&config.Tool{Name: name, Agent: &config.AgentTool{Agent: cfg}}, agenttool.Options{Runner: r, Store: h.store, Artifacts: h.artifacts})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	for _, name := range []string{"one", "two"} {
		run(t, place(name), callOf(ask))
	}
	elsewhere := callOf(ask)
	elsewhere.Agent, elsewhere.Key.Agent = "other", "other"
	run(t, place("one"), elsewhere)
	want := []string{"outer/one", "outer/two", "other/one"}
	if diff := cmp.Diff(want, owners); diff != "" {
		t.Error(diff)
	}
	for _, owner := range append(want, "helper") {
		found, err := kept.Search(t.Context(), memory.Owner{Principal: "ann", Agent: owner}, "done", 10)
		if n := strings.Count(owner, "/"); err != nil || len(found) != n {
			t.Errorf("%s remembers %d, %v", owner, len(found), err)
		}
	}
}

func TestProgress(t *testing.T) {
	h := newHouse(t)
	m := script{replies: [][]*genai.Part{append(says("let me see"), calls("look", "fail")...), says("done")}}
	inner := h.tool(t, &config.Agent{}, m,
		toolOf("look", func(_ context.Context, c *agent.Call) (*agent.Result, error) {
			c.Progress("half way")
			return agent.Text(""), nil
		}),
		toolOf("fail", func(context.Context, *agent.Call) (*agent.Result, error) { return agent.Failure("no"), nil }))
	lines := map[string]int{}
	call := callOf(ask)
	call.Progress = func(line string) { lines[line]++ }
	run(t, inner, call)
	want := map[string]int{"inner: running look": 1, "inner: running fail": 1, "inner: half way": 1, "inner: look done": 1, "inner: fail failed": 1}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

func TestHops(t *testing.T) {
	h := newHouse(t)
	deepest := 0
	var again agent.Tool
	cfg := &config.Agent{Name: "inner"}
	m := script{replies: [][]*genai.Part{with("again", map[string]any{"request": "x"}), says("done")}}
	made := h.tool(t, cfg, m, toolOf("again", func(ctx context.Context, c *agent.Call) (*agent.Result, error) {
		deepest = max(deepest, c.Caller.Hops)
		r, err := again.Call(ctx, c)
		if c.Caller.Hops == agent.MaxHops && (err != nil || !r.NotRun || !strings.Contains(fmt.Sprint(r.Output), "8 agents")) {
			t.Errorf("%+v, %v", r, err)
		}
		return r, err
	}))
	again = made
	if got := run(t, made, callOf(ask)); got.Output != "done" || deepest != agent.MaxHops {
		t.Errorf("%+v, %d deep", got, deepest)
	}
}

func TestArtifacts(t *testing.T) {
	h := newHouse(t)
	outer := session.Key{Principal: "ann", Agent: "outer", Handle: "cv_1"}
	m := script{replies: [][]*genai.Part{calls("save", "save"), says("saved")}}
	inner := h.tool(t, &config.Agent{}, m, toolOf("save", func(ctx context.Context, c *agent.Call) (*agent.Result, error) {
		key := c.Key
		a, err := h.artifacts.Save(ctx, key, artifact.Artifact{Name: "r.md", MIMEType: "text/markdown", Data: []byte(c.ID)})
		if err != nil {
			return nil, err
		}
		return &agent.Result{Artifacts: []session.Artifact{a.Info()}}, nil
	}))
	got := run(t, inner, callOf(ask))
	list, err := h.artifacts.List(t.Context(), outer)
	if err != nil || len(list) != 1 || cmp.Diff(list, got.Artifacts) != "" {
		t.Fatalf("%+v, %v, the result has %+v", list, err, got.Artifacts)
	}
	if a, err := h.artifacts.Get(t.Context(), "ann", "outer", list[0].ID); err != nil || len(a.Data) == 0 {
		t.Errorf("%v %v", a, err)
	}
	if got.Output != "saved" {
		t.Errorf("%+v", got)
	}
}

func TestTheCallEnds(t *testing.T) {
	h := newHouse(t)
	ctx, cancel := context.WithCancel(t.Context())
	m := script{replies: [][]*genai.Part{append(says("so far"), calls("wait")...)}}
	stopped := false
	inner := h.tool(t, &config.Agent{}, m, toolOf("wait", func(ctx context.Context, _ *agent.Call) (*agent.Result, error) {
		cancel()
		<-ctx.Done()
		stopped = true
		return nil, ctx.Err()
	}))
	if r, err := inner.Call(ctx, callOf(ask)); !errors.Is(err, context.Canceled) || !stopped {
		t.Errorf("%+v, %v, stopped: %v", r, err, stopped)
	}
	if h.store.Len() != 0 {
		t.Error("the conversation is left")
	}
	if _, err := inner.Call(ctx, callOf(ask)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
