package transcript_test

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/agent/transcript"
)

func content(parts ...*genai.Part) *genai.Content { return &genai.Content{Role: "model", Parts: parts} }

// events are a run whose answer came in pieces, once it had been asked for again.
var events = []*session.Event{
	{Kind: session.UserMessage, Content: content(&genai.Part{Text: "go"})},
	{Kind: session.ModelReply, Content: content(&genai.Part{Text: "Looking."}, &genai.Part{FunctionCall: &genai.FunctionCall{Name: "look"}})},
	{Kind: session.ToolStarted, Call: &session.Call{Name: "look", Args: json.RawMessage(`{"at":1}`)}},
	{Kind: session.ToolFinished, Call: &session.Call{Name: "look"}, Response: &genai.FunctionResponse{Response: map[string]any{"output": strings.Repeat("é", 150)}}},
	{Kind: session.Partial, Content: content(&genai.Part{Text: "hidden", Thought: true}, &genai.Part{Text: "An \x1banswer"})},
	{Kind: session.Notice, Text: "trying\nagain"},
	{Kind: session.Partial, Content: content(&genai.Part{Text: "An answer."})},
	{Kind: session.ModelReply, Content: content(&genai.Part{Text: "hidden", Thought: true}, &genai.Part{Text: "An \x1banswer."})},
	{Kind: session.TurnEnded},
}

// corrected is a run whose first answer did not match output_schema.
var corrected = []*session.Event{
	{Kind: session.ModelReply, Content: content(&genai.Part{Text: "five"}), Problem: &session.Problem{Code: session.InvalidOutput}},
	{Kind: session.Correction, Text: "no\nJSON", Content: content(&genai.Part{Text: "Answer again."})},
	{Kind: session.Resumed},
	{Kind: session.ModelReply, Content: content(&genai.Part{Text: "```\n{\"n\": 5}\n```"}), Structured: json.RawMessage(`{"n": 5}`)},
	{Kind: session.TurnEnded},
}

func played(t *testing.T, terminal bool, events []*session.Event) (out, errs string) {
	t.Helper()
	var o, e strings.Builder
	show := transcript.New(transcript.Options{Out: &o, Err: &e, Terminal: terminal,
		Plain: func(s string) string { return strings.ReplaceAll(s, "\x1b", "") }, Dim: func(s string) string { return s }})
	for _, event := range events {
		if err := show(event); err != nil {
			t.Fatal(err)
		}
	}
	return o.String(), e.String()
}

func TestForAPerson(t *testing.T) {
	notes := "→ look {\"at\":1}\n← look " + strings.Repeat("é", 100) + "…\n· trying again\n"
	if out, errs := played(t, true, events); out != "Looking.\nAn answer\nAn answer.\n" || errs != notes {
		t.Errorf("a terminal shows %q and %q", out, errs)
	}
	if out, errs := played(t, false, events); out != "An \x1banswer.\n" || errs != "Looking.\n"+notes {
		t.Errorf("a pipe gets %q and %q", out, errs)
	}
}

func TestCorrection(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		if out, errs := played(t, terminal, corrected); out != "{\"n\": 5}\n" || errs != "five\n· no JSON\n" {
			t.Errorf("terminal %v: %q and %q", terminal, out, errs)
		}
	}
	streamed := append([]*session.Event{{Kind: session.Partial, Content: content(&genai.Part{Text: "fi"})}, {Kind: session.Partial, Content: content(&genai.Part{Text: "ve"})}}, corrected...)
	if out, errs := played(t, true, streamed); out != "five\n{\"n\": 5}\n" || errs != "· no JSON\n" {
		t.Errorf("streamed: %q and %q", out, errs)
	}
}

func TestJSON(t *testing.T) {
	var b strings.Builder
	for _, e := range events {
		if err := transcript.JSON(&b)(e); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(b.String(), "\n"); n != len(events) {
		t.Errorf("%d lines for %d events", n, len(events))
	}
}
