package builtin

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

func choice(t *testing.T, args string, a *session.Answer) *agent.Result {
	t.Helper()
	s := newSet(t, &config.Tool{Name: "get_user_choice"}, nil)
	res, err := s["get_user_choice"].Call(t.Context(), &agent.Call{Name: "get_user_choice", Args: json.RawMessage(args), Answer: a, Progress: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestUserChoiceAsks(t *testing.T) {
	for args, want := range map[string]session.Suspension{
		`{"options":["red","green"],"message":"Which color?"}`: {Message: "Which color?",
			Payload: json.RawMessage(`{"schema":{"type":"object","properties":{"choice":{"type":"string","title":"Which color?","enum":["red","green"]}},"required":["choice"]}}`)},
		`{"options":["a \"b\"","x","a \"b\""]}`: {Message: "Please choose",
			Payload: json.RawMessage(`{"schema":{"type":"object","properties":{"choice":{"type":"string","title":"Please choose","enum":["a \"b\"","x"]}},"required":["choice"]}}`)},
	} {
		want.Kind = "question"
		res := choice(t, args, nil)
		if diff := cmp.Diff(&want, res.Suspend); diff != "" {
			t.Errorf("%s: %s", args, diff)
		}
	}
}

func TestUserChoiceRefuses(t *testing.T) {
	for args, want := range map[string]string{
		`{}`:                           "argument options: missing",
		`{"options":[]}`:               "argument options: must have at least 1 items, has 0",
		`{"options":[""]}`:             "argument options[0]: must have at least 1 characters, has 0",
		`{"options":["a",1]}`:          "argument options[1]: must be string, got number",
		`{"options":["a"],"prompt":1}`: "argument prompt: not an argument of get_user_choice, its arguments are message, options",
		`{"options":["` + strings.Repeat(`x","`, 100) + `x"]}`: "argument options: must have at most 100 items, has 101",
	} {
		if res := choice(t, args, nil); res.Suspend != nil || !res.IsError || res.Output != want {
			t.Errorf("%.80s: %+v", args, res)
		}
	}
}

func TestUserChoiceAnswers(t *testing.T) {
	for _, tc := range []struct {
		answer session.Answer
		want   string
	}{
		{session.Answer{Kind: "question", Action: "accept", Payload: json.RawMessage(`{"choice":"green"}`)}, "green"},
		{session.Answer{Kind: "question", Action: "accept", Payload: json.RawMessage(`{"choice":"blue"}`)}, "error: what came back is none of the options"},
		{session.Answer{Kind: "question", Action: "accept", Payload: json.RawMessage(`{"choice":2}`)}, "error: the person accepted but chose nothing"},
		{session.Answer{Kind: "question", Action: "accept", Payload: json.RawMessage(`{"Choice":"green"}`)}, "error: the person accepted but chose nothing"},
		{session.Answer{Kind: "question", Action: "accept", Payload: json.RawMessage(`{}`)}, "error: the person accepted but chose nothing"},
		{session.Answer{Kind: "question", Action: "accept"}, "error: the person's choice cannot be read: unexpected end of JSON input"},
		{session.Answer{Kind: "question", Action: "decline"}, "error: the person declined to choose"},
		{session.Answer{Kind: "question", Action: "decline", Reason: "neither"}, "error: the person declined to choose: neither"},
		{session.Answer{Kind: "question", Action: "cancel"}, "error: the person did not choose"},
		{session.Answer{Kind: "question", Action: "cancel", Reason: "this host cannot ask"}, "error: the person did not choose: this host cannot ask"},
		{session.Answer{Kind: "question", Payload: json.RawMessage(`{"choice":"green"}`)}, "error: the person did not choose"},
	} {
		res := choice(t, `{"options":["red","green"]}`, &tc.answer)
		if res.Suspend != nil || shown(res) != tc.want {
			t.Errorf("%+v: got %+v", tc.answer, res)
		}
	}
	// An approval of the call is no choice.
	if res := choice(t, `{"options":["red","green"]}`, &session.Answer{Kind: "approval", Action: "accept", Payload: json.RawMessage(`{"choice":"red"}`)}); res.Suspend == nil {
		t.Errorf("got %+v", res)
	}
}

func TestUserChoiceHints(t *testing.T) {
	s := newSet(t, &config.Tool{Name: "get_user_choice"}, nil)
	if h := s["get_user_choice"].Spec().Hints; h != (agent.Hints{ReadOnly: true, NonDestructive: true, Idempotent: true, ClosedWorld: true}) {
		t.Errorf("hints %+v", h)
	}
}
