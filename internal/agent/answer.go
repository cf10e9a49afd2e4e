package agent

import (
	"iter"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// Answer is what a run comes to.
type Answer struct {
	// Content is the agent's last reply without its thoughts and calls; nil
	// where there is none.
	Content *genai.Content
	// Problem is why the turn did not end well; Content may still hold what
	// there was until then.
	Problem *session.Problem
	// Questions are what a parked turn waits for.
	Questions []*session.Suspension
	Usage     model.Usage // of all model calls of the run
}

// Collect goes through a run and passes every event to watch, which may be nil.
func Collect(run iter.Seq2[*session.Event, error], watch func(*session.Event)) (*Answer, error) {
	a := &Answer{}
	for e, err := range run {
		if err != nil {
			return a, err
		}
		a.add(e)
		if watch != nil {
			watch(e)
		}
	}
	return a, nil
}

func (a *Answer) add(e *session.Event) {
	switch e.Kind {
	case session.ModelReply:
		a.Content = answerContent(e.Content)
		if u := e.Usage; u != nil {
			a.Usage.Input += u.Input
			a.Usage.Output += u.Output
			a.Usage.Thoughts += u.Thoughts
			a.Usage.Cached += u.Cached
			a.Usage.Total += u.Total
		}
	case session.Suspended:
		a.Questions = append(a.Questions, e.Suspension)
	case session.TurnEnded:
		a.Problem, a.Questions = e.Problem, nil
	}
}

// answerContent is what of a reply a caller gets to see; nil if it is not an
// answer since it calls tools, or holds nothing.
func answerContent(c *genai.Content) *genai.Content {
	if c == nil {
		return nil
	}
	var parts []*genai.Part
	for _, p := range c.Parts {
		if p.FunctionCall != nil {
			return nil
		}
		if !p.Thought && (p.Text != "" || p.InlineData != nil || p.FileData != nil) {
			parts = append(parts, p)
		}
	}
	if parts == nil {
		return nil
	}
	return &genai.Content{Role: c.Role, Parts: parts}
}

// answerText joins the text of a reply, thoughts left out.
func answerText(c *genai.Content) string {
	if c == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range c.Parts {
		if !p.Thought {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}
