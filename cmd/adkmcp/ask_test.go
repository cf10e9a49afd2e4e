package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/prompt"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// TestAnswers has a person answer every kind of question that a turn can wait for.
func TestAnswers(t *testing.T) {
	same := func(text string) string { return text }
	person := func(typed string) (*prompt.Person, *strings.Builder) {
		seen := &strings.Builder{}
		p := &prompt.Person{Absent: "nobody is here", Out: seen, Approval: prompt.Ask, Style: prompt.Style{Plain: same, Bold: same, Dim: same}}
		if typed != "" {
			p.Lines = prompt.NewLines(strings.NewReader(typed), 100)
		}
		return p, seen
	}
	form, err := json.Marshal(model.Form{Schema: json.RawMessage(`{"properties":{"n":{"type":"integer"}},"required":["n"]}`)})
	if err != nil {
		t.Fatal(err)
	}
	questions := []*session.Suspension{
		{CallID: "1", Kind: model.Approval, Message: "May I?", Payload: json.RawMessage(`{"a":1}`)},
		{CallID: "2", Kind: model.Question, Message: "Which?", Payload: form},
		{Kind: "telepathy", Message: "?"},
	}
	const unknown = `the terminal cannot answer a question of kind "telepathy"`
	for typed, want := range map[string][]session.Answer{
		"y\n7\n": {
			{CallID: "1", Action: model.Accept}, {CallID: "2", Action: model.Accept, Payload: json.RawMessage(`{"n":7}`)},
			{Action: model.Cancel, Reason: unknown},
		},
		"n\nd\n": {{CallID: "1", Action: model.Decline}, {CallID: "2", Action: model.Decline}, {Action: model.Cancel, Reason: unknown}},
		"": {
			{CallID: "1", Action: model.Cancel, Reason: "nobody can be asked: nobody is here"},
			{CallID: "2", Action: model.Cancel, Reason: "nobody can be asked: nobody is here"},
			{Action: model.Cancel, Reason: unknown},
		},
	} {
		p, seen := person(typed)
		got, err := answers(t.Context(), p, questions)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", typed, err, diff)
		}
		if typed != "" && !strings.HasPrefix(seen.String(), "? May I?\n  {\"a\":1}\n") {
			t.Errorf("%q: saw %q", typed, seen)
		}
	}
	p, _ := person("x\n")
	if _, err := answers(t.Context(), p, []*session.Suspension{{Kind: model.Question, Payload: json.RawMessage(`[]`)}}); err == nil {
		t.Error("a question without a form was answered")
	}
}
