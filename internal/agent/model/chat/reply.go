package chat

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/mediatype"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat/chunk"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// gathering puts the pieces of one answer together.
type gathering struct {
	host   string // for messages
	origin string

	events   int
	chosen   bool // some event had choices, as all but errors and counts have
	streamed bool // some piece said something, so that a message says it again
	parts    []*genai.Part
	run      strings.Builder // text of the last of parts
	returns  bool            // thoughts go back as they came
	details  []json.RawMessage
	calls    chunk.Calls
	refused  strings.Builder // why the model does not answer (OpenAI, refusal)
	finish   string
	usage    *model.Usage
}

// add takes the next event and gives what there is to show of it, nil for nothing.
// Calls come with the whole answer only.
func (g *gathering) add(data []byte) (*model.Reply, error) {
	g.events++
	c, err := chunk.Read(data)
	if err != nil {
		return nil, &model.Error{Code: model.StreamCut, Message: g.host + "'s answer could not be read", Err: err}
	}
	if c.Odd {
		if problem := inStream(data); problem != nil {
			return nil, problem
		}
	}
	g.chosen = g.chosen || c.Chosen
	if c.Usage != nil { // a running total
		g.usage = c.Usage
	}
	var shown []*genai.Part
	for i := range c.Choices {
		shown = append(shown, g.choice(&c.Choices[i])...)
	}
	if shown == nil {
		return nil, nil
	}
	return &model.Reply{Partial: true, Content: &genai.Content{Role: genai.RoleModel, Parts: shown}}, nil
}

// choice takes a piece of the answer and gives its text.
func (g *gathering) choice(c *chunk.Choice) []*genai.Part {
	switch wire.Finish(g.finish) {
	case wire.Whole, wire.Unknown: // a last chunk may say another word than the one before
		if c.Finish != "" {
			g.finish = c.Finish
		}
	}
	shown := g.delta(c.Delta)
	if c.Message != nil {
		shown = append(shown, g.message(c.Message)...)
	}
	return shown
}

// delta takes what is new.
func (g *gathering) delta(s *chunk.Said) []*genai.Part {
	if s == nil {
		return nil
	}
	g.streamed = g.streamed || s.Text+s.Thought+s.Refusal != "" || len(s.Calls) > 0
	g.details = append(g.details, s.Details...)
	if len(s.Calls) > 0 {
		g.calls.Add(s.Calls)
	}
	return g.say(s)
}

// message takes a whole message. Behind pieces it says again what they said, of which
// only what they lacked is new; without any it is the answer, or some of it.
func (g *gathering) message(s *chunk.Said) []*genai.Part {
	fresh := *s
	fresh.Thought = g.beyond(g.said(true), s.Thought)
	fresh.Text = g.beyond(g.said(false), s.Text)
	fresh.Refusal = g.beyond(g.refused.String(), s.Refusal)
	if g.details == nil {
		g.details = s.Details
	}
	if g.streamed {
		g.calls.Repeat(s.Calls)
	} else {
		g.calls.Add(s.Calls)
	}
	return g.say(&fresh)
}

// beyond is what a message says beyond what was said. One that says something else
// than the pieces did, such as the same without blanks, adds nothing to them.
func (g *gathering) beyond(said, all string) string {
	more, goesOn := strings.CutPrefix(all, said)
	if !goesOn && g.streamed {
		return ""
	}
	return more
}

// said is all text so far, or all thoughts.
func (g *gathering) said(thought bool) string {
	g.close()
	var all strings.Builder
	for _, p := range g.parts {
		if p.Thought == thought {
			all.WriteString(p.Text)
		}
	}
	return all.String()
}

// say takes text and gives it as parts to show.
func (g *gathering) say(s *chunk.Said) []*genai.Part {
	g.returns = g.returns || s.Returns
	g.refused.WriteString(s.Refusal)
	var shown []*genai.Part
	for _, p := range []*genai.Part{{Thought: true, Text: s.Thought}, {Text: s.Text}} {
		if p.Text != "" {
			g.text(p)
			shown = append(shown, p)
		}
	}
	for i := range s.Images {
		shown = append(shown, g.image(&s.Images[i])...)
	}
	return shown
}

// image takes an image and gives it as a part to show. Nothing comes of data that is no
// image, and of one that is there already, since servers give images again with the end
// of an answer. One that is elsewhere is a link.
func (g *gathering) image(i *chunk.Image) []*genai.Part {
	kind := mediatype.Shown(i.Type, i.Data)
	p := &genai.Part{InlineData: &genai.Blob{MIMEType: kind, Data: i.Data}}
	switch {
	case i.URL != "":
		p = &genai.Part{Text: "![image](" + i.URL + ")"}
	case !strings.HasPrefix(kind, "image/"):
		return nil
	}
	g.close()
	if slices.ContainsFunc(g.parts, func(o *genai.Part) bool {
		if p.InlineData == nil {
			return !o.Thought && strings.Contains(o.Text, p.Text)
		}
		return o.InlineData != nil && bytes.Equal(o.InlineData.Data, i.Data)
	}) {
		return nil
	}
	if p.InlineData == nil {
		g.text(p)
	} else {
		g.parts = append(g.parts, p)
	}
	return []*genai.Part{p}
}

// text goes on in the part before it if both are thoughts or both are not.
func (g *gathering) text(p *genai.Part) {
	if n := len(g.parts); n == 0 || g.parts[n-1].Thought != p.Thought || g.parts[n-1].InlineData != nil {
		g.close()
		g.parts = append(g.parts, &genai.Part{Thought: p.Thought})
	}
	g.run.WriteString(p.Text)
}

// close puts the text that is being gathered into its part.
func (g *gathering) close() {
	if n := len(g.parts); n > 0 && g.run.Len() > 0 {
		g.parts[n-1].Text += g.run.String()
		g.run.Reset()
	}
}

// sign gives the thoughts what the server must get back with them; details without
// any text that they belong to get a part of their own.
func (g *gathering) sign() {
	if !g.returns && g.details == nil {
		return
	}
	first := true
	for _, p := range g.parts {
		if p.Thought {
			mine := kept{Content: g.returns}
			if first {
				mine.Details = chunk.JoinDetails(g.details)
			}
			p.ThoughtSignature, first = mine.sign(g.origin), false
		}
	}
	if first {
		alone := &genai.Part{Thought: true, ThoughtSignature: kept{Details: chunk.JoinDetails(g.details)}.sign(g.origin)}
		g.parts = append([]*genai.Part{alone}, g.parts...)
	}
}

// reply is the whole answer, or what is wrong with it.
func (g *gathering) reply() (*model.Reply, error) {
	g.close()
	calls, unreadable := g.calls.All()
	problem, keep := g.verdict(unreadable)
	if problem != nil && !keep {
		return nil, problem
	}
	g.sign()
	if problem == nil {
		for i := range calls {
			g.parts = append(g.parts, g.called(&calls[i]))
		}
	}
	return &model.Reply{
		Content:      &genai.Content{Role: genai.RoleModel, Parts: g.parts},
		FinishReason: g.finish,
		Usage:        g.usage,
		Problem:      problem,
	}, nil
}

// called is a call as a part of the reply.
func (g *gathering) called(c *chunk.Call) *genai.Part {
	return &genai.Part{
		FunctionCall:     &genai.FunctionCall{ID: c.ID, Name: c.Name, Args: c.Args},
		ThoughtSignature: kept{ID: c.ID, Extra: c.Extra}.sign(g.origin),
	}
}
