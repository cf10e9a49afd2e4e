package replay_test

import (
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// TestBorrowed: a step that the calling host's model answered is recorded once, as that
// of any other model, and a replay asks nobody.
func TestBorrowed(t *testing.T) {
	asks := &model.Reply{Suspend: &model.Suspension{Kind: model.Sampling, Message: "asks the model of the calling host", Payload: []byte(`{"messages":[]}`)}}
	again := ask(user("hello"))
	again.Asked, again.Answer = asks.Suspend, &model.Answer{Kind: model.Sampling, Action: model.Accept, Payload: []byte(`{"role":"assistant"}`)}
	file, live := record(t, open, inTurn(one(asks), one(says("hi"))), ask(user("hello")), again)
	if live[0].last.Suspend == nil {
		t.Fatalf("the question is not passed on: %+v", live[0].last)
	}
	if got := content(t, file); strings.Contains(got, "calling host") || strings.Contains(got, "assistant") || strings.Count(got, `"number"`) != 1 {
		t.Errorf("the recording has the question:\n%s", got)
	}
	if h := hear(t.Context(), load(t, file, open).Model("a"), ask(user("hello"))); h.err != nil || h.last.Content.Parts[0].Text != "hi" {
		t.Errorf("%v %v", h.err, h.Events)
	}
}
