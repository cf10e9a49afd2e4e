package openai

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/openai/history"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// maxSaid bounds in characters what a message says in the service's words.
const maxSaid = 500

// answer is what came of one request.
type answer struct {
	items   []*history.Item // that go back, as they go back
	parts   []*genai.Part
	calls   bool   // there are calls of tools
	text    bool   // there is something to show
	refusal string // of the model
}

// reply makes a reply of what the service said, or says what is wrong with it. so
// is what was said and told earlier in this step; it becomes a hidden part of the
// reply, so that later requests repeat all of it.
func (m *Model) reply(ctx context.Context, req *model.Request, so *exchange, g *gathering) (*model.Reply, error) {
	said, unread := g.output()
	if unread != nil {
		if !slices.ContainsFunc(said, ran) {
			return nil, model.WithUsage(unread, g.tokens())
		}
		g.broken = unread
	}
	m.tellFailures(ctx, req, said)
	reason := g.final.Status
	if g.final.Incomplete != nil && g.final.Incomplete.Reason != "" {
		reason = g.final.Incomplete.Reason
	}
	a, problem, keep := m.judge(said, g, reason)
	if problem != nil && !keep {
		return nil, model.WithUsage(problem, g.tokens())
	}
	if next := so.with(a.items); next.asks != nil && !a.calls && problem == nil {
		return next.suspend(g.tokens())
	}
	return &model.Reply{
		Content:      &genai.Content{Role: genai.RoleModel, Parts: append(history.Hidden(so.items), a.parts...)},
		FinishReason: reason,
		Usage:        g.tokens(),
		Problem:      problem,
	}, nil
}

// tellFailures warns of servers that the service could not reach.
func (m *Model) tellFailures(ctx context.Context, req *model.Request, said []*history.Item) {
	for _, i := range said {
		if i.Type == history.TypeList && i.Failed() {
			why := wire.Excerpt(m.client.Redact(i.Failure()), maxSaid)
			m.deps.Log.WarnContext(ctx, "the service could not list the tools of an MCP server", "server", i.ServerLabel, "model", m.cfg.Name, "reason", why)
			req.Notify(fmt.Sprintf("%s could not list the tools of the MCP server %s, so the model does without them: %s", name, i.ServerLabel, why))
		}
	}
}

// judge reads an answer, and says what is wrong with it and whether what there is of it
// is kept: always where the service has called servers, since an answer that is asked for
// again would call them again.
func (m *Model) judge(said []*history.Item, g *gathering, reason string) (a *answer, problem *model.Error, keep bool) {
	a, problem = readAnswer(said, reason == "completed" && g.broken == nil)
	switch {
	case g.broken != nil:
		problem = &model.Error{Code: g.broken.Code, Reason: g.broken.Reason, Status: g.broken.Status, Message: g.broken.Message, Err: g.broken.Err}
	case problem == nil:
		problem, keep = m.verdict(a, reason)
	}
	a.parts = append(a.parts, g.unknown()...)
	return a, problem, keep || slices.ContainsFunc(said, ran) || g.broken != nil
}

// ran reports whether the service has called a server.
func ran(i *history.Item) bool { return i.Type == history.TypeRan }

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
// come to its end are left out, as are those that the model wrote wrongly; the error says
// so.
func readAnswer(said []*history.Item, whole bool) (a *answer, problem *model.Error) {
	a = &answer{}
	final := answers(said)
	for _, i := range said {
		if i.Type == history.TypeCall && whole {
			if err := a.call(i); err != nil {
				problem = cmp.Or(problem, err)
			}
			continue
		}
		a.refusal += i.Refusal()
		keep := i.Keep()
		if keep {
			a.items = append(a.items, i)
		}
		switch {
		case i.Type == history.TypeMessage && (i.Phase != history.Commentary || !final):
			a.say(i)
		case i.Type == history.TypeThoughts && !keep && i.Thoughts() != "":
			a.parts = append(a.parts, &genai.Part{Text: i.Thoughts(), Thought: true})
		case keep:
			a.parts = append(a.parts, history.Hidden([]*history.Item{i})...)
		}
	}
	return a, problem
}

// answers reports whether there is a message that is no commentary. Where there is
// one, the commentary is not part of the answer.
func answers(said []*history.Item) bool {
	for _, i := range said {
		if i.Type == history.TypeMessage && i.Phase != history.Commentary && i.Text() != "" {
			return true
		}
	}
	return false
}

// call adds a call. Its arguments are text that the model wrote.
func (a *answer) call(i *history.Item) *model.Error {
	args, err := wire.ReadArguments([]byte(i.Arguments))
	if err != nil {
		return &model.Error{Code: model.Malformed, Reason: "arguments", Message: fmt.Sprintf("the model called %s with arguments that are no JSON object", i.Name), Err: err}
	}
	a.calls = true
	a.parts = append(a.parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: i.CallID, Name: i.Name, Args: args}})
	return nil
}

// say adds what a message says.
func (a *answer) say(i *history.Item) {
	if p := history.Said(i); p != nil {
		a.text = a.text || strings.TrimSpace(p.Text) != ""
		a.parts = append(a.parts, p)
	}
}
