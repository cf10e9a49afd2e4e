package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/memory"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// sourced is a toolset made of a function.
type sourced func(q *agent.Query) ([]agent.Tool, error)

func (s sourced) Tools(_ context.Context, q *agent.Query) ([]agent.Tool, error) { return s(q) }

func (b *bench) with(m model.Model, ts agent.Toolset, mem memory.Service) *agent.Runner {
	parts := b.runner(m).Parts
	parts.Tools, parts.Memory = ts, mem
	return agent.NewRunner(&b.cfg, parts)
}

func ofKind(events []*session.Event, k session.Kind) []*session.Event {
	var all []*session.Event
	for _, e := range events {
		if e.Kind == k {
			all = append(all, e)
		}
	}
	return all
}

// What a source of tools lists is an event when it is news, in this turn and in
// later ones, also for a program that only knows the events.
func TestListingsAreRecordedWhenTheyChange(t *testing.T) {
	b := newBench()
	listing := &session.Listing{Source: "files", Tools: []string{"read"}}
	ts := sourced(func(q *agent.Query) ([]agent.Tool, error) {
		copied := *listing
		q.Report(&copied)
		return []agent.Tool{newTool("read", echo)}, nil
	})
	m := answers{reply(call("read", nil)), says("done")}
	events, _ := take(t, t.Context(), b.with(m, ts, nil), request("one"))
	if got := ofKind(events, session.ToolsListed); len(got) != 1 || got[0].Seq != 2 || got[0].Listing.Source != "files" {
		t.Fatalf("%d listings: %+v", len(got), got)
	}
	events, _ = take(t, t.Context(), b.with(m, ts, nil), request("two"))
	if got := ofKind(events, session.ToolsListed); len(got) != 0 {
		t.Errorf("the same list is news in the second turn: %+v", got[0].Listing)
	}
	listing = &session.Listing{Source: "files", Error: "exit code 1"}
	events, _ = take(t, t.Context(), b.with(m, ts, nil), request("three"))
	if got := ofKind(events, session.ToolsListed); len(got) != 1 || got[0].Listing.Error != "exit code 1" {
		t.Errorf("a server that died is no news: %+v", got)
	}
}

// What the operator has to mend is said to the caller; what else goes wrong is
// not. Both keep what was reported.
func TestToolsetErrors(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want session.Problem
	}{
		{&agent.SetupError{Message: "the MCP server files cannot be reached"}, session.Problem{Code: session.BadSetup, Message: "the MCP server files cannot be reached"}},
		{errors.New("secret detail"), session.Problem{Code: session.InternalError, Message: "an internal error while waiting for the model; the server's log says more"}},
	} {
		b := newBench()
		ts := sourced(func(q *agent.Query) ([]agent.Tool, error) {
			q.Report(&session.Listing{Source: "files", Error: "down"})
			return nil, tc.err
		})
		events, a := take(t, t.Context(), b.with(answers{says("never")}, ts, nil), request("one"))
		if d := cmp.Diff(&tc.want, a.Problem); d != "" {
			t.Error(d)
		}
		if len(ofKind(events, session.ToolsListed)) != 1 {
			t.Error("the listing is not recorded")
		}
	}
}

// A step sees how often each tool has failed in this turn; what was not run is no
// failure.
func TestQuerySeesFailuresStateAndInput(t *testing.T) {
	b := newBench()
	b.cfg.State = map[string]any{"plan": "pro"}
	fails := newTool("fails", func(context.Context, *agent.Call) (*agent.Result, error) { return agent.Failure("no"), nil })
	refuses := newTool("refuses", func(context.Context, *agent.Call) (*agent.Result, error) { return agent.NotRun("not now"), nil })
	var seen []int
	ts := sourced(func(q *agent.Query) ([]agent.Tool, error) {
		seen = append(seen, q.Failures("fails")*10+q.Failures("refuses"))
		if v, ok := q.State("plan"); !ok || v != "pro" || q.Input() != "go" && q.Input() != "again" {
			t.Errorf("state %v, input %q", v, q.Input())
		}
		return []agent.Tool{fails, refuses}, nil
	})
	r := b.with(answers{reply(call("fails", nil), call("refuses", nil)), reply(call("fails", nil)), says("done")}, ts, nil)
	take(t, t.Context(), r, request("go"))
	take(t, t.Context(), r, request("again"))
	if d := cmp.Diff([]int{0, 10, 20, 0, 10, 20}, seen); d != "" {
		t.Error(d)
	}
}

// instructor adds to the system instruction.
type instructor struct{ *tool }

func (i instructor) Instruct(_ context.Context, q *agent.Query) (string, error) {
	return "You were asked: " + q.Input(), nil
}

// Tools that the service runs, and those that only instruct, are no functions.
func TestHostedAndHiddenTools(t *testing.T) {
	b := newBench()
	b.cfg.Instruction = "Search."
	search, preload := newTool("google_search", echo), instructor{newTool("preload_memory", echo)}
	search.spec.Hosted, preload.spec.Hidden = "google_search", true
	var req *model.Request
	m := answers{func(r *model.Request) (*model.Reply, error) {
		req = r
		return reply(call("google_search", nil), call("preload_memory", nil))(r)
	}, says("done")}
	events, _ := take(t, t.Context(), b.runner(m, search, preload, newTool("own", echo)), request("x"))
	if len(req.Tools) != 1 || req.Tools[0].Name != "own" || len(req.Hosted) != 1 || req.Hosted[0] != "google_search" || req.System != "Search.\n\nYou were asked: x" {
		t.Errorf("functions %v, hosted %v, system %q", req.Tools, req.Hosted, req.System)
	}
	for _, e := range ofKind(events, session.ToolFinished) {
		if !e.IsError || !e.NotRun {
			t.Errorf("%s was called", e.Call.Name)
		}
	}
}

// A conversation that begins takes the state it is given, and gives back what its
// turn has set.
func TestSeededState(t *testing.T) {
	b := newBench()
	b.cfg.State = map[string]any{"lang": "Dutch", "own": 1}
	b.cfg.OutputKey = "last"
	b.cfg.Instruction = "{lang} {own}"
	var system string
	m := answers{func(r *model.Request) (*model.Reply, error) {
		system = r.System
		return reply(call("set", nil))(r)
	}, says("bye")}
	set := newTool("set", func(_ context.Context, c *agent.Call) (*agent.Result, error) {
		if c.State["lang"] != "French" {
			t.Errorf("the call sees %v", c.State)
		}
		return &agent.Result{Output: "ok", StateDelta: map[string]any{"temp:x": 1, "set": true}}, nil
	})
	turn := request("x")
	turn.State = map[string]any{"lang": "French"}
	_, a := take(t, t.Context(), b.runner(m, set), turn)
	if system != "French 1" {
		t.Errorf("system %q", system)
	}
	if d := cmp.Diff(map[string]any{"last": "bye", "set": true}, a.StateDelta); d != "" {
		t.Error(d)
	}
}

// A call sees what conversations share beside the session's own state, as it was
// when the step began.
func TestCallsSeeSharedState(t *testing.T) {
	b := newBench()
	b.cfg.State = map[string]any{"own": 1, "user:locked": true}
	var seen []map[string]any
	look := newTool("look", func(_ context.Context, c *agent.Call) (*agent.Result, error) {
		seen = append(seen, c.State)
		return &agent.Result{Output: "ok", StateDelta: map[string]any{"app:n": len(seen), "temp:t": true}}, nil
	})
	m := answers{reply(call("look", nil)), reply(call("look", nil)), says("done")}
	take(t, t.Context(), b.runner(m, look), request("go"))
	want := []map[string]any{{"own": 1, "user:locked": true}, {"own": 1, "user:locked": true, "app:n": 1, "temp:t": true}}
	if d := cmp.Diff(want, seen); d != "" {
		t.Error(d)
	}
}

// remembering is a memory that keeps everything.
type remembering struct{ entries []memory.Entry }

func (r *remembering) Add(_ context.Context, e ...memory.Entry) error {
	r.entries = append(r.entries, e...)
	return nil
}

func (r *remembering) Search(context.Context, memory.Owner, string, int) ([]memory.Entry, error) {
	return r.entries, nil
}

// What was said in a turn that ended well is remembered; a failed turn is not.
func TestMemoryTakesTurnsThatEndWell(t *testing.T) {
	b := newBench()
	kept := &remembering{}
	take(t, t.Context(), b.with(answers{says("Four.")}, nil, kept), request("two and two?"))
	take(t, t.Context(), b.with(answers{func(*model.Request) (*model.Reply, error) { return nil, &model.Error{Code: model.Empty, Message: "no"} }}, nil, kept), request("three?"))
	var said []string
	for _, e := range kept.entries {
		said = append(said, e.Owner.Principal+"/"+e.Owner.Agent+" "+e.Author+": "+e.Text)
	}
	if d := cmp.Diff([]string{"local/tester user: two and two?", "local/tester tester: Four."}, said); d != "" {
		t.Error(d)
	}
}

// Media that a tool attaches are part of the answer, after what the model says.
func TestAttachedMedia(t *testing.T) {
	b := newBench()
	photo := newTool("photo", func(_ context.Context, c *agent.Call) (*agent.Result, error) {
		attach := string(c.Args) != "{}"
		return &agent.Result{Output: "taken", Attach: attach, Media: []*genai.Blob{{MIMEType: "image/png", Data: c.Args}}}, nil
	})
	r := b.runner(answers{reply(call("photo", map[string]any{"n": 1}), call("photo", nil)), says("Here.")}, photo)
	_, a := take(t, t.Context(), r, request("x"))
	want := []*genai.Part{{Text: "Here."}, {InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte(`{"n":1}`)}}}
	if d := cmp.Diff(want, a.Content.Parts); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want, a.All.Parts); d != "" {
		t.Error(d)
	}
}

// What models used that a tool has asked counts for the turn's limit, and is
// reported with the rest.
func TestUsageOfToolsCounts(t *testing.T) {
	b := newBench()
	b.cfg.Limits.MaxTotalTokens = 100
	asks := newTool("asks", func(context.Context, *agent.Call) (*agent.Result, error) {
		return &agent.Result{Output: "ok", Usage: &model.Usage{Input: 80, Total: 85}}, nil
	})
	_, a := take(t, t.Context(), b.runner(answers{reply(call("asks", nil)), says("done")}, asks), request("x"))
	if a.Problem != nil || a.Usage.Total != 105 || a.Usage.Input != 80 {
		t.Errorf("%+v, %+v", a.Problem, a.Usage)
	}
	_, a = take(t, t.Context(), b.runner(answers{reply(call("asks", nil)), reply(call("asks", nil)), says("done")}, asks), request("x"))
	if a.Problem == nil || a.Problem.Code != session.LimitReached || a.Usage.Total != 190 {
		t.Errorf("%+v, %+v", a.Problem, a.Usage)
	}
}
