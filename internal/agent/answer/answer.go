// Package answer tells what a run of an agent comes to, for those who only want its
// end: the last reply, what was saved and asked, what it cost.
//
// Start with [Collect].
package answer

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// Answer is what a turn comes to. Nobody writes to what it points to.
type Answer struct {
	// Content is the agent's last reply without its thoughts and calls; nil
	// where there is none. With Structured, its first part is exactly that.
	Content *genai.Content
	// Structured is the JSON of an answer that matches the agent's
	// output_schema, numbers as the model wrote them; nil where there is no
	// such schema or no such answer.
	Structured json.RawMessage
	// All is what every reply of the turn said, in order: beside its calls too,
	// but not what was asked for again. Each part with text is the whole text
	// up to the next bytes or the next reply. nil where nothing was said.
	All *genai.Content
	// Artifacts are what the turn's tools saved, each name in its newest
	// version, in the order in which the names were first used.
	Artifacts []session.Artifact
	// Problem is why the turn did not end well; Content may still hold what
	// there was until then.
	Problem *session.Problem
	// Questions are what a parked turn waits for, in the order of its calls.
	Questions []*session.Suspension
	Usage     model.Usage // of all model calls of the turn, those that its tools made too
	// Steps is what each model call of the turn used, oldest first, as far as the
	// services said it.
	Steps []Step
	// StateDelta is what the turn has set of the session's state, but for what
	// lives as long as a turn.
	StateDelta map[string]any
}

// Step is what one model call used.
type Step struct {
	Model string `json:"model,omitempty"` // provider/name
	model.Usage
}

// Collect goes through a run and passes every event to watch, which may be nil.
// The answer is that of the whole turn, if the run continues one that was parked
// or broke off.
func Collect(run iter.Seq2[*session.Event, error], watch func(*session.Event)) (*Answer, error) {
	c := &collector{}
	for e, err := range run {
		if err != nil {
			return &c.Answer, err
		}
		c.add(e)
		if watch != nil {
			watch(e)
		}
	}
	return &c.Answer, nil
}

// collector is an answer that grows with the events of its turn.
type collector struct {
	Answer
	before *genai.Content // All without the newest reply
	media  []*genai.Part  // of tools, for the answer
	newest *genai.Content // that reply, calls included
}

func (c *collector) add(e *session.Event) {
	c.count(e)
	if e.Kind != session.UserMessage {
		c.set(e.StateDelta)
	}
	switch e.Kind {
	case session.Resumed:
		for _, earlier := range e.Earlier {
			c.add(earlier)
		}
	case session.ModelReply:
		c.reply(e)
	case session.Correction:
		c.Content, c.All = nil, c.before
	case session.ToolFinished:
		c.save(e.Artifacts)
		c.attach(e)
	case session.Suspended:
		c.ask(e.Suspension)
	case session.Answered:
		c.Questions = without(c.Questions, e.Answer.CallID)
	case session.TurnEnded:
		c.Problem, c.Questions = e.Problem, nil
	}
}

func (c *collector) reply(e *session.Event) {
	said, calls := shown(e)
	if said != nil && !calls && len(c.media) > 0 {
		said = &genai.Content{Role: said.Role, Parts: slices.Concat(said.Parts, c.media)}
	}
	c.Content, c.Structured = said, e.Structured
	if calls {
		c.Content = nil
	}
	c.before, c.newest = c.All, e.Content
	switch joined := joinTexts(said); {
	case joined == nil:
	case c.All == nil:
		c.All = joined
	default:
		c.All = &genai.Content{Role: joined.Role, Parts: slices.Concat(c.All.Parts, joined.Parts)}
	}
}

// count counts what an event used. What a tool used is not a step of its own.
func (c *collector) count(e *session.Event) {
	if e.Usage == nil {
		return
	}
	c.Usage.Add(e.Usage)
	if e.Kind != session.ToolFinished {
		c.Steps = append(c.Steps, Step{Model: e.Model, Usage: *e.Usage})
	}
}

func (c *collector) set(delta map[string]any) {
	for k, v := range delta {
		if strings.HasPrefix(k, session.TempPrefix) {
			continue
		}
		if c.StateDelta == nil {
			c.StateDelta = make(map[string]any)
		}
		c.StateDelta[k] = v
	}
}

// attach takes the media of a result that are to be part of the answer.
func (c *collector) attach(e *session.Event) {
	if !e.Attach {
		return
	}
	for _, p := range e.Response.Parts {
		if d := p.InlineData; d != nil {
			c.media = append(c.media, &genai.Part{InlineData: &genai.Blob{MIMEType: d.MIMEType, Data: d.Data, DisplayName: d.DisplayName}})
		}
	}
}

func (c *collector) save(artifacts []session.Artifact) {
	for _, a := range artifacts {
		i := slices.IndexFunc(c.Artifacts, func(old session.Artifact) bool { return old.Name == a.Name })
		switch {
		case i < 0:
			c.Artifacts = append(c.Artifacts, a)
		case c.Artifacts[i].Version < a.Version: // calls of a step end in any order
			c.Artifacts[i] = a
		}
	}
}

// ask takes a question. Calls of a step ask in any order.
func (c *collector) ask(q *session.Suspension) {
	place := func(q *session.Suspension) int {
		if c.newest == nil {
			return -1
		}
		return slices.IndexFunc(c.newest.Parts, func(p *genai.Part) bool { return p.FunctionCall != nil && p.FunctionCall.ID == q.CallID })
	}
	c.Questions = append(without(c.Questions, q.CallID), q)
	slices.SortStableFunc(c.Questions, func(a, b *session.Suspension) int { return place(a) - place(b) })
}

func without(questions []*session.Suspension, callID string) []*session.Suspension {
	return slices.DeleteFunc(questions, func(q *session.Suspension) bool { return q.CallID == callID })
}

// shown is what of a reply a caller gets to see, nil for nothing, and whether
// the reply calls tools.
func shown(e *session.Event) (said *genai.Content, calls bool) {
	if e.Content == nil {
		return nil, false
	}
	n := 0
	for _, p := range e.Content.Parts {
		calls = calls || p.FunctionCall != nil
		if isShown(p) {
			n++
		}
	}
	switch {
	case n == 0:
		return nil, calls
	case n == len(e.Content.Parts) && e.Structured == nil:
		return e.Content, calls
	}
	said = &genai.Content{Role: e.Content.Role, Parts: make([]*genai.Part, 0, n)}
	if e.Structured != nil { // without its fence
		said.Parts = append(said.Parts, &genai.Part{Text: string(e.Structured)})
	}
	for _, p := range e.Content.Parts {
		if isShown(p) && (p.Text == "" || e.Structured == nil) {
			said.Parts = append(said.Parts, p)
		}
	}
	return said, calls
}

func isShown(p *genai.Part) bool {
	return !p.Thought && (p.Text != "" || p.InlineData != nil || p.FileData != nil)
}

// joinTexts makes one part of texts that stand side by side.
func joinTexts(c *genai.Content) *genai.Content {
	beside := func(parts []*genai.Part, i int) bool { return i > 0 && parts[i].Text != "" && parts[i-1].Text != "" }
	if c == nil || len(c.Parts) < 2 {
		return c
	}
	joined := &genai.Content{Role: c.Role}
	for i, p := range c.Parts {
		if !beside(c.Parts, i) {
			joined.Parts = append(joined.Parts, p)
			continue
		}
		last := len(joined.Parts) - 1
		joined.Parts[last] = &genai.Part{Text: joined.Parts[last].Text + p.Text}
	}
	return joined
}

// Text joins the text of a content, thoughts left out.
func Text(c *genai.Content) string {
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
