package agenttool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

// asking is a tool that asks before it does anything.
func asking(name, kind string) agent.Tool {
	return toolOf(name, func(_ context.Context, c *agent.Call) (*agent.Result, error) {
		if c.Answer == nil {
			return &agent.Result{Suspend: &session.Suspension{Kind: kind, Message: "May I " + name + "?", Payload: json.RawMessage(`{"p":1}`), Opaque: json.RawMessage(`{"mine":1}`)}}, nil
		}
		if string(c.Asked.Opaque) != `{"mine":1}` {
			return agent.Failure("asked " + string(c.Asked.Opaque)), nil
		}
		return agent.Text(c.Answer.Kind + " " + c.Answer.Action + " " + c.Answer.Reason + " " + string(c.Answer.Payload)), nil
	})
}

// TestQuestions has an agent that calls an agent that calls an agent whose two
// tools ask something, in a process of its own for each step: nothing but the
// store is kept.
func TestQuestions(t *testing.T) {
	h := newHouse(t)
	heard := ""
	outer := func() *agent.Runner {
		innermost := script{replies: [][]*genai.Part{calls("walk", "swim"), says("back")}, asked: func(r *model.Request) {
			for _, p := range r.Contents[len(r.Contents)-1].Parts {
				if p.FunctionResponse != nil {
					heard += fmt.Sprint(p.FunctionResponse.Response["output"], ";")
				}
			}
		}}
		deep := h.tool(t, &config.Agent{Name: "deep"}, innermost, asking("walk", model.Approval), asking("swim", model.Question))
		middle := h.tool(t, &config.Agent{Name: "middle"}, script{replies: [][]*genai.Part{with("deep", map[string]any{"request": "go"}), says("well")}}, deep)
		return h.runner(&config.Agent{Name: "outer"}, script{replies: [][]*genai.Part{with("middle", map[string]any{"request": "go"}), says("all done")}}, middle)
	}
	in := agent.Turn{
		Key: session.Key{Principal: "ann", Agent: "outer", Handle: "cv_1"}, Mode: session.Create, Caller: agent.Caller{Principal: "ann"},
		Input: &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: "go"}}},
	}
	take := func() *answer.Answer {
		a, err := answer.Collect(outer().Run(t.Context(), in), nil)
		if err != nil || a.Problem != nil {
			t.Fatal(err, a.Problem)
		}
		return a
	}
	a := take()
	for i, want := range []session.Suspension{
		{Kind: model.Approval, Message: "middle: deep: May I walk?"},
		{Kind: model.Question, Message: "middle: deep: May I swim?"},
	} {
		if len(a.Questions) != 1 {
			t.Fatalf("asked %+v", a.Questions)
		}
		q := a.Questions[0]
		if q.Kind != want.Kind || q.Message != want.Message || string(q.Payload) != `{"p":1}` || q.Tool != "middle" {
			t.Errorf("asked %+v", q)
		}
		in.Input, in.Mode = nil, session.MustExist
		in.Answers = []session.Answer{{CallID: q.CallID, ID: q.ID, Action: model.Accept, Payload: json.RawMessage(`{}`)}}
		if i == 1 {
			in.Answers[0].Action, in.Answers[0].Reason, in.Answers[0].Payload = model.Decline, "too cold", nil
		}
		a = take()
	}
	if len(a.Questions) != 0 || a.Content == nil || a.Content.Parts[0].Text != "all done" {
		t.Errorf("%+v", a)
	}
	if heard != "approval accept  {};question decline too cold ;" {
		t.Errorf("the tools heard %q", heard)
	}
	if n := h.store.Len(); n != 1 {
		t.Errorf("%d conversations are left", n)
	}
}

func TestAnswersToNobody(t *testing.T) {
	h := newHouse(t)
	inner := h.tool(t, &config.Agent{}, script{replies: [][]*genai.Part{calls("walk"), says("back")}}, asking("walk", model.Question))
	first := run(t, inner, callOf(ask))
	if first.Suspend == nil {
		t.Fatalf("%+v", first)
	}
	again := callOf(ask)
	again.Asked, again.Answer = first.Suspend, &session.Answer{Kind: model.Question, Action: model.Accept, Payload: json.RawMessage(`{"x":1}`)}
	if r := run(t, inner, again); r.Output != "back" {
		t.Errorf("%+v", r)
	}
	// The conversation has gone with its answer.
	if r := run(t, inner, again); !r.IsError || r.NotRun || !strings.Contains(fmt.Sprint(r.Output), "has gone") {
		t.Errorf("%+v", r)
	}
	stranger := *again
	stranger.Caller.Principal = "bob"
	second := run(t, inner, callOf(ask))
	stranger.Asked = second.Suspend
	if r := run(t, inner, &stranger); !r.IsError || !strings.Contains(fmt.Sprint(r.Output), "has gone") {
		t.Errorf("bob answers for ann: %+v", r)
	}
	// An answer to somebody else's question begins anew.
	other := callOf(ask)
	other.Asked, other.Answer = &session.Suspension{Kind: model.Approval, Message: "run it?"}, &session.Answer{Kind: model.Approval, Action: model.Accept}
	if r := run(t, inner, other); r.Suspend == nil || cmp.Diff(r.Suspend.Opaque, second.Suspend.Opaque) == "" {
		t.Errorf("%+v", r)
	}
}

// TestGivenUp has callers that begin a new turn and never answer.
func TestGivenUp(t *testing.T) {
	h := newHouse(t)
	inner := h.tool(t, &config.Agent{}, script{replies: [][]*genai.Part{calls("walk"), says("back")}}, asking("walk", model.Question))
	call := func(handle, invocation string) *agent.Call {
		c := callOf(ask)
		c.Key.Handle, c.Invocation = handle, invocation
		return c
	}
	park := func(handle, invocation string, left int) *session.Suspension {
		t.Helper()
		r := run(t, inner, call(handle, invocation))
		if n := h.store.Len(); r.Suspend == nil || n != left {
			t.Fatalf("%d conversations are left, want %d: %+v", n, left, r)
		}
		return r.Suspend
	}
	park("cv_1", "e-1", 1)
	first := park("cv_1", "e-1", 2) // of one turn several may wait
	other := park("cv_2", "e-2", 3)
	second := park("cv_1", "e-3", 2)
	park("cv_1", "e-5", 2)
	for _, c := range []struct {
		asked *session.Suspension
		call  *agent.Call
		gone  bool
	}{{first, call("cv_1", "e-5"), true}, {second, call("cv_1", "e-5"), true}, {other, call("cv_2", "e-2"), false}} {
		c.call.Asked, c.call.Answer = c.asked, &session.Answer{Kind: model.Question, Action: model.Accept, Payload: json.RawMessage(`{}`)}
		if r := run(t, inner, c.call); r.IsError != c.gone {
			t.Errorf("%+v", r)
		}
	}
	if n := h.store.Len(); n != 1 {
		t.Errorf("%d conversations are left", n)
	}
}
