// Package transcript prints the events of a run: for a person, or as lines of
// JSON.
//
// Start with [New] and [JSON]; both give a function that prints one event.
package transcript

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// maxShown is how much of arguments and results a person is shown, in bytes.
const maxShown = 200

// JSON prints every event as a line of JSON.
func JSON(w io.Writer) func(*session.Event) error {
	return func(e *session.Event) error {
		line, err := session.Encode(e)
		if err != nil {
			return err
		}
		_, err = w.Write(append(line, '\n'))
		return err
	}
}

// Options say where events are printed for a person.
type Options struct {
	Out io.Writer // the answers
	Err io.Writer // the way to them
	// Terminal says that a person reads Out, who is shown text while it comes.
	// Otherwise Out gets the answer alone, so that a pipe gets nothing else.
	Terminal bool
	// Plain takes out what a terminal would act on.
	Plain func(string) string
	// Dim makes a line less prominent.
	Dim func(string) string
}

// New prints events for a person.
func New(o Options) func(*session.Event) error { return (&transcript{Options: o}).event }

type transcript struct {
	Options
	streamed bool // text of the running step has been shown
}

func (t *transcript) event(e *session.Event) error {
	switch e.Kind {
	case session.Partial:
		return t.partial(e)
	case session.ModelReply:
		return t.reply(e)
	case session.ToolStarted:
		return t.note("→ " + e.Call.Name + " " + short(string(e.Call.Args)))
	case session.ToolFinished:
		mark := "← "
		if e.IsError {
			mark = "✗ "
		}
		return t.note(mark + e.Call.Name + " " + short(resultText(e)))
	case session.Notice, session.Correction:
		return t.note("· " + short(e.Text))
	}
	return nil
}

func (t *transcript) partial(e *session.Event) error {
	if !t.Terminal || e.Content == nil {
		return nil
	}
	for _, p := range e.Content.Parts {
		if p.Thought || p.Text == "" {
			continue
		}
		t.streamed = true
		if _, err := io.WriteString(t.Out, t.Plain(p.Text)); err != nil {
			return err
		}
	}
	return nil
}

func (t *transcript) reply(e *session.Event) error {
	if t.streamed {
		t.streamed = false
		_, err := fmt.Fprintln(t.Out)
		return err
	}
	if e.Content == nil {
		return nil
	}
	calls := false
	rejected := e.Problem != nil && e.Problem.Code == session.InvalidOutput
	var text strings.Builder
	text.Write(e.Structured)
	for _, p := range e.Content.Parts {
		calls = calls || p.FunctionCall != nil
		if !p.Thought && e.Structured == nil {
			text.WriteString(p.Text)
		}
		if p.InlineData != nil {
			fmt.Fprintf(&text, "\n[%s, %d bytes; adkmcp call --save DIR keeps it]", p.InlineData.MIMEType, len(p.InlineData.Data))
		}
	}
	switch {
	case text.Len() == 0:
		return nil
	case calls && !t.Terminal, rejected: // not the answer
		return t.note(text.String())
	}
	answer := text.String()
	if t.Terminal {
		answer = t.Plain(answer)
	}
	_, err := fmt.Fprintln(t.Out, answer)
	return err
}

// note prints a line beside the answer.
func (t *transcript) note(text string) error {
	if t.streamed { // an answer that broke off and starts again
		t.streamed = false
		if _, err := fmt.Fprintln(t.Out); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(t.Err, t.Dim(t.Plain(text)))
	return err
}

func resultText(e *session.Event) string {
	var v any = e.Response.Response
	for _, key := range []string{"output", "error"} {
		if x, ok := e.Response.Response[key]; ok {
			v = x
		}
	}
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// short fits text on a line.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= maxShown {
		return s
	}
	cut := maxShown
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
