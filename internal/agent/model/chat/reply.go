package chat

import (
	"encoding/json"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// gathering puts the pieces of one answer together.
type gathering struct {
	host   string // for messages
	origin string

	events  int
	chosen  bool // some event had choices, as all but errors and counts have
	parts   []*genai.Part
	run     strings.Builder // text of the last of parts
	back    kept            // of the thoughts
	calls   callPieces
	refused strings.Builder // why the model does not answer (OpenAI, refusal)
	finish  string
	unknown bool // finish is no word of the API's, and was taken for being done
	usage   *model.Usage
}

// add takes the next event and gives what there is to show of it, nil for nothing.
// Calls come with the whole answer only.
func (g *gathering) add(data []byte) (*model.Reply, error) {
	g.events++
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, &model.Error{Code: model.StreamCut, Message: g.host + "'s answer could not be read", Err: err}
	}
	if isSet(c.Error) || c.Choices == nil && !isSet(c.Usage) {
		if problem := inStream(data); problem != nil {
			return nil, problem
		}
	}
	g.chosen = g.chosen || c.Choices != nil
	if u := asUsage(c.Usage); u != nil { // a running total
		g.usage = u
	}
	var shown []*genai.Part
	for i := range c.Choices {
		if c.Choices[i].Index == 0 {
			shown = append(shown, g.choice(&c.Choices[i])...)
		}
	}
	if shown == nil {
		return nil, nil
	}
	return &model.Reply{Partial: true, Content: &genai.Content{Role: genai.RoleModel, Parts: shown}}, nil
}

// choice takes a piece of the answer and gives its text.
func (g *gathering) choice(c *choice) []*genai.Part {
	if finish := asString(c.Finish); finish != "" {
		g.finish = finish
	}
	s := c.Delta
	if s == nil {
		s = c.Message
	}
	if s == nil {
		return nil
	}
	text, thought := asContent(s.Content)
	if reasoning := asString(s.ReasoningContent); reasoning != "" {
		g.back.Content = true
		thought += reasoning
	} else if thought == "" { // some servers send both
		thought = asString(s.Reasoning)
	}
	g.back.Details = append(g.back.Details, asList(s.ReasoningDetails)...)
	g.refused.WriteString(asString(s.Refusal))
	if s.FunctionCall != nil {
		s.ToolCalls = append(s.ToolCalls, callPiece{Function: *s.FunctionCall})
	}
	if len(s.ToolCalls) > 0 {
		g.calls.add(s.ToolCalls)
	}
	var shown []*genai.Part
	for _, p := range []*genai.Part{{Thought: true, Text: thought}, {Text: text}} {
		if p.Text != "" {
			g.text(p)
			shown = append(shown, p)
		}
	}
	return shown
}

// text goes on in the part before it if both are thoughts or both are not.
func (g *gathering) text(p *genai.Part) {
	if n := len(g.parts); n == 0 || g.parts[n-1].Thought != p.Thought {
		g.close()
		g.parts = append(g.parts, &genai.Part{Thought: p.Thought})
	}
	g.run.WriteString(p.Text)
}

// close ends the text that is being gathered.
func (g *gathering) close() {
	if n := len(g.parts); n > 0 && g.run.Len() > 0 {
		g.parts[n-1].Text = g.run.String()
		g.run.Reset()
	}
}

// sign gives the thoughts what the server must get back with them; details without
// any text that they belong to get a part of their own.
func (g *gathering) sign() {
	if !g.back.Content && g.back.Details == nil {
		return
	}
	first := true
	for _, p := range g.parts {
		if p.Thought {
			mine := kept{Content: g.back.Content}
			if first {
				mine.Details = joinDetails(g.back.Details)
			}
			p.ThoughtSignature, first = mine.sign(g.origin), false
		}
	}
	if first {
		alone := &genai.Part{Thought: true, ThoughtSignature: kept{Details: joinDetails(g.back.Details)}.sign(g.origin)}
		g.parts = append([]*genai.Part{alone}, g.parts...)
	}
}

// reply is the whole answer, or what is wrong with it.
func (g *gathering) reply() (*model.Reply, error) {
	g.close()
	calls, broken, readable := g.calls.parts(g.origin)
	problem, keep := g.verdict(readable, broken)
	if problem != nil && !keep {
		return nil, problem
	}
	g.sign()
	if problem == nil {
		g.parts = append(g.parts, calls...)
	}
	return &model.Reply{
		Content:      &genai.Content{Role: genai.RoleModel, Parts: g.parts},
		FinishReason: g.finish,
		Usage:        g.usage,
		Problem:      problem,
	}, nil
}

// joinDetails joins the pieces in which a stream gives each of the
// reasoning_details: those of the same index and type are one, and their text goes
// together (OpenRouter, "Reasoning Tokens").
func joinDetails(pieces []json.RawMessage) []json.RawMessage {
	var all []map[string]any
	for _, raw := range pieces {
		piece, err := wire.ReadArguments(raw)
		if err != nil || len(piece) == 0 {
			continue
		}
		if n := len(all); n > 0 && isSameDetail(all[n-1], piece) {
			goOnWith(all[n-1], piece)
			continue
		}
		all = append(all, piece)
	}
	var out []json.RawMessage
	for _, detail := range all {
		if raw, err := wire.Encode(detail); err == nil { // it was JSON
			out = append(out, raw)
		}
	}
	return out
}

func isSameDetail(a, b map[string]any) bool {
	at, numbered := a["index"].(json.Number)
	next, _ := b["index"].(json.Number)
	kind, _ := a["type"].(string)
	return numbered && at == next && b["type"] == any(kind)
}

func goOnWith(detail, piece map[string]any) {
	for key, value := range piece {
		more, isText := value.(string)
		before, wasText := detail[key].(string)
		switch {
		case value == nil:
		case isText && wasText && (key == "text" || key == "summary" || key == "data"):
			detail[key] = before + more
		default:
			detail[key] = value
		}
	}
}
