package elicit

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

var approval = &session.Suspension{CallID: "c1", Kind: model.Approval, Message: "Agent a wants to run b", Payload: json.RawMessage(`{"x":1}`)}

var question = &session.Suspension{CallID: "c2", Kind: model.Question, Message: "Which?", Payload: json.RawMessage(`{"schema":{"type":"object"}}`)}

func TestParams(t *testing.T) {
	for name, tt := range map[string]struct {
		q        *session.Suspension
		protocol string
		want     Form
	}{
		"approval":          {approval, "2025-11-25", Form{"form", "Agent a wants to run b\n\nArguments: {\n  \"x\": 1\n}", approvalForm}},
		"approval, before":  {approval, "2025-06-18", Form{"", "Agent a wants to run b\n\nArguments: {\n  \"x\": 1\n}", approvalForm}},
		"question":          {question, "2026-07-28", Form{"form", "Which?", json.RawMessage(`{"type":"object"}`)}},
		"approval, no JSON": {&session.Suspension{Kind: model.Approval, Message: "m", Payload: json.RawMessage(`{`)}, "2026-07-28", Form{"form", "m\n\nArguments: {", approvalForm}},
	} {
		if diff := cmp.Diff(tt.want, Params(tt.q, tt.protocol)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestAnswer: nothing but a clear yes is one.
func TestAnswer(t *testing.T) {
	for _, tt := range []struct {
		q      *session.Suspension
		result string
		want   session.Answer
	}{
		{approval, `{"action":"accept","content":{"approve":true}}`, session.Answer{CallID: "c1", Action: "accept"}},
		{approval, `{"action":"accept","content":{"approve":false}}`, session.Answer{CallID: "c1", Action: "decline"}},
		{approval, `{"action":"accept","content":{}}`, session.Answer{CallID: "c1", Action: "cancel", Reason: "the client did not say whether the person approved it"}},
		{approval, `{"action":"accept"}`, session.Answer{CallID: "c1", Action: "cancel", Reason: "the client did not say whether the person approved it"}},
		{approval, `{"action":"accept","content":{"approve":"true"}}`, session.Answer{CallID: "c1", Action: "cancel", Reason: "the client did not say whether the person approved it"}},
		{approval, `{"action":"decline"}`, session.Answer{CallID: "c1", Action: "decline"}},
		{approval, `{"action":"cancel"}`, session.Answer{CallID: "c1", Action: "cancel"}},
		{approval, `{"action":"allow","content":{"approve":true}}`, session.Answer{CallID: "c1", Action: "cancel"}},
		{approval, `{}`, session.Answer{CallID: "c1", Action: "cancel"}},
		{approval, `[]`, session.Answer{CallID: "c1", Action: "cancel", Reason: "the client's answer could not be read"}},
		{approval, ``, session.Answer{CallID: "c1", Action: "cancel", Reason: "the client's answer could not be read"}},
		{question, `{"action":"accept","content":{"choice":"b"}}`, session.Answer{CallID: "c2", Action: "accept", Payload: json.RawMessage(`{"choice":"b"}`)}},
		{question, `{"action":"accept"}`, session.Answer{CallID: "c2", Action: "accept", Payload: json.RawMessage(`{}`)}},
		{question, `{"action":"decline","content":{"choice":"b"}}`, session.Answer{CallID: "c2", Action: "decline"}},
	} {
		if diff := cmp.Diff(tt.want, Answer(tt.q, json.RawMessage(tt.result))); diff != "" {
			t.Errorf("%s: %s", tt.result, diff)
		}
	}
}

// TestC06 is a state that is changed, replayed by somebody else, on another
// request or with another agent, or too late. That one is used twice is refused
// where the conversation is known.
func TestC06(t *testing.T) {
	now := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	s := NewSealer([]byte("a key"), func() time.Time { return now })
	in := State{
		Key: session.Key{Principal: "ann", Agent: "a", Handle: "cv_1"}, Arguments: `{"request":"x"}`,
		Questions: []session.Suspension{*approval, *question}, Expires: now.Add(time.Minute),
	}
	text, err := s.Seal(in)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "ann") {
		t.Error("the state names its principal")
	}
	got, err := s.Open(text, "ann", "a", in.Arguments)
	if diff := cmp.Diff(in, got); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
	refused := func(name, text, principal, agent, arguments string, want error) {
		t.Helper()
		if _, err := s.Open(text, principal, agent, arguments); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
	refused("another principal", text, "bob", "a", in.Arguments, ErrForged)
	refused("another agent", text, "ann", "b", in.Arguments, ErrForged)
	refused("other arguments", text, "ann", "a", `{"request":"y"}`, ErrForged)
	refused("parts that run into each other", text, "an", "na", in.Arguments, ErrForged)
	for _, junk := range []string{"", ".", "x", "x.y", text + "A", text[1:], "." + strings.SplitN(text, ".", 2)[1]} {
		refused("junk "+junk, junk, "ann", "a", in.Arguments, ErrForged)
	}
	for i := range len(text) {
		for bit := range 7 {
			changed := []byte(text)
			changed[i] ^= 1 << bit
			// The last digit of base64 has bits that mean nothing.
			if got, err := s.Open(string(changed), "ann", "a", in.Arguments); err == nil && !cmp.Equal(got, in) {
				t.Fatalf("byte %d, bit %d: opened as %v", i, bit, got)
			}
		}
	}
	other := NewSealer([]byte("another key"), func() time.Time { return now })
	if _, err := other.Open(text, "ann", "a", in.Arguments); !errors.Is(err, ErrForged) {
		t.Errorf("another key: %v", err)
	}
	now = in.Expires
	refused("too late", text, "ann", "a", in.Arguments, ErrExpired)
}

// TestKeys: whatever the tools are called, no answer is taken for another.
func TestKeys(t *testing.T) {
	var questions []*session.Suspension
	for _, tool := range []string{"a", "a-2", "a", "a", "", "model", "a-2"} {
		questions = append(questions, &session.Suspension{Tool: tool})
	}
	want := []string{"a", "a-2", "a-3", "a-4", "model", "model-2", "a-2-2"}
	if diff := cmp.Diff(want, Keys(questions)); diff != "" {
		t.Error(diff)
	}
}
