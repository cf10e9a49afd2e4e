package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// maxSaid bounds in characters what a message says in the service's words.
const maxSaid = 500

// answer is what came of one request.
type answer struct {
	items   []*item // that go back, as they go back
	parts   []*genai.Part
	calls   bool   // there are calls of tools
	text    bool   // there is something to show
	refusal string // of the model
}

// reply makes a reply of what the service said, or says what is wrong with it. so
// is what was said and told earlier in this step; it becomes a hidden part of the
// reply, so that later requests repeat all of it.
func (m *Model) reply(ctx context.Context, req *model.Request, so *exchange, g *gathering) (*model.Reply, error) {
	said, err := g.output()
	if err != nil {
		return nil, err
	}
	m.tellFailures(ctx, req, said)
	reason := g.final.Status
	if g.final.Incomplete != nil && g.final.Incomplete.Reason != "" {
		reason = g.final.Incomplete.Reason
	}
	a, err := readAnswer(said, reason == "completed")
	if err != nil {
		return nil, model.WithUsage(err, g.tokens())
	}
	problem, keep := m.verdict(a, reason)
	if problem != nil && !keep {
		problem.Usage = g.tokens()
		return nil, problem
	}
	if next := so.with(a.items); next.asks != nil && !a.calls && problem == nil {
		return next.suspend(g.tokens())
	}
	return &model.Reply{
		Content:      &genai.Content{Role: genai.RoleModel, Parts: append(hidden(so.items), a.parts...)},
		FinishReason: reason,
		Usage:        g.tokens(),
		Problem:      problem,
	}, nil
}

// tellFailures warns of servers that the service could not reach.
func (m *Model) tellFailures(ctx context.Context, req *model.Request, said []*item) {
	for _, i := range said {
		if i.Type == typeList && i.failed() {
			why := wire.Excerpt(m.client.Redact(i.failure()), maxSaid)
			m.deps.Log.WarnContext(ctx, "the service could not list the tools of an MCP server", "server", i.ServerLabel, "model", m.cfg.Name, "reason", why)
			req.Notify(fmt.Sprintf("%s could not list the tools of the MCP server %s, so the model does without them: %s", name, i.ServerLabel, why))
		}
	}
}

// verdict says what is wrong with an answer, nil for nothing, and whether what
// there is of it is worth keeping.
func (m *Model) verdict(a *answer, reason string) (problem *model.Error, keep bool) {
	fault := func(code model.Code, format string) *model.Error {
		return &model.Error{Code: code, Reason: reason, Message: fmt.Sprintf(format, reason)}
	}
	switch ended := wire.Finish(reason); {
	case a.refusal != "":
		return m.client.Refusal(wire.Reading{Code: model.Blocked, Reason: "refusal", Message: a.refusal}), false
	case reason == "completed":
		return nil, true
	case ended == wire.Length && a.text:
		return fault(model.MaxTokens, "the answer was cut at the limit on output tokens (%s): raise model.max_output_tokens"), true
	case ended == wire.Length:
		return fault(model.MaxTokens, "the output tokens were used up before there was an answer (%s): "+
			"thoughts count too; raise model.max_output_tokens, or lower model.thinking"), false
	case ended == wire.Withheld:
		return m.client.Refusal(wire.Reading{Code: model.Blocked, Reason: reason}), false
	case ended == wire.Failed:
		return fault(model.Unavailable, "OpenAI ended the answer because of an error of its own (%s)"), false
	}
	return fault(model.StreamCut, "the answer ended for a reason that is not known (%s), what there is of it may not be the whole"), a.text
}

// readAnswer makes parts of what the service said. The calls of an answer that did not
// come to its end are left out.
func readAnswer(said []*item, whole bool) (*answer, error) {
	a := &answer{}
	final := answers(said)
	for _, i := range said {
		if i.Type == typeCall && whole {
			if err := a.call(i); err != nil {
				return nil, err
			}
			continue
		}
		a.refusal += i.refusal()
		keep, err := i.keep()
		if err != nil {
			return nil, wire.NotEncoded(name, err)
		}
		if keep {
			a.items = append(a.items, i)
		}
		switch {
		case i.Type == typeMessage && (i.Phase != commentary || !final):
			a.say(i)
		case i.Type == typeThoughts && !keep && i.thoughts() != "":
			a.parts = append(a.parts, &genai.Part{Text: i.thoughts(), Thought: true})
		case keep:
			a.parts = append(a.parts, hidden([]*item{i})...)
		}
	}
	return a, nil
}

// answers reports whether there is a message that is no commentary. Where there is
// one, the commentary is not part of the answer.
func answers(said []*item) bool {
	for _, i := range said {
		if i.Type == typeMessage && i.Phase != commentary && i.text() != "" {
			return true
		}
	}
	return false
}

// call adds a call. Its arguments are text that the model wrote.
func (a *answer) call(i *item) error {
	args, err := wire.ReadArguments([]byte(i.Arguments))
	if err != nil {
		return &model.Error{Code: model.Malformed, Reason: "arguments", Message: fmt.Sprintf("the model called %s with arguments that are no JSON object", i.Name), Err: err}
	}
	a.calls = true
	a.parts = append(a.parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: i.CallID, Name: i.Name, Args: args}})
	return nil
}

// say adds the text of a message; its phase goes with it, since the service wants it
// back.
func (a *answer) say(i *item) {
	text := i.text()
	if text == "" {
		return
	}
	p := &genai.Part{Text: text}
	if i.Phase != "" {
		mark, _ := json.Marshal(phaseMark{i.Phase}) // text always marshals
		p.ThoughtSignature = model.Sign(provider, mark)
	}
	a.text = a.text || strings.TrimSpace(text) != ""
	a.parts = append(a.parts, p)
}

// hidden makes of items parts that go back to the service and that nobody else
// takes for an answer. What shows that something was done says so, so that a reply
// of nothing else is not empty: it would be asked for again, and the service would
// do it again.
func hidden(items []*item) []*genai.Part {
	parts := make([]*genai.Part, 0, len(items))
	for _, i := range items {
		text := ""
		switch {
		case i.Type == typeThoughts:
			text = i.thoughts()
		case i.Type == typeMessage:
			text = i.text()
		case i.Type == typeRan && i.failed():
			text = "[" + i.tool() + " failed]"
		case i.Type == typeRan:
			text = "[ran " + i.tool() + "]"
		}
		parts = append(parts, &genai.Part{Text: text, Thought: true, ThoughtSignature: model.Sign(provider, i.raw)})
	}
	return parts
}
