package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// Reasons for which an answer ends that say more than package wire reads in them (the
// API's page on stop reasons).
const (
	windowFull = "model_context_window_exceeded"
	refusal    = "refusal"
)

// reply is the whole answer, or what is wrong with it.
func (g *gathering) reply() (*model.Reply, error) {
	problem, keep := g.verdict()
	if problem != nil && !keep {
		problem.Usage = g.usage.reply()
		return nil, problem
	}
	parts, err := g.parts(problem == nil)
	if err != nil {
		return nil, model.WithUsage(err, g.usage.reply())
	}
	return &model.Reply{
		Content:      &genai.Content{Role: genai.RoleModel, Parts: parts},
		FinishReason: g.ending.StopReason,
		Usage:        g.usage.reply(),
		Problem:      problem,
	}, nil
}

// verdict says what is wrong with the answer, nil for nothing, and whether what there
// is of it is worth keeping.
func (g *gathering) verdict() (problem *model.Error, keep bool) {
	reason := g.ending.StopReason
	fault := func(code model.Code, format string, args ...any) *model.Error {
		return &model.Error{Code: code, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case g.events == 0:
		return fault(model.Unavailable, "Anthropic's answer had no content at all"), false
	case !g.stopped || reason == "":
		return fault(model.StreamCut, "Anthropic's answer ended without its finish marker"), false
	}
	switch reason {
	case windowFull:
		return fault(model.ContextOverflow, "the conversation and the answer are too long for %s (%s)", g.model, reason), g.has("text")
	case refusal:
		problem := fault(model.Blocked, "Anthropic withheld the answer (%s)", reason)
		if d := g.ending.StopDetails; d != nil && d.Explanation != "" {
			problem.Message += ": " + wire.Excerpt(d.Explanation, 500)
		}
		return problem, false
	}
	switch ended := wire.Finish(reason); {
	case ended == wire.Whole:
		return nil, true
	case ended == wire.Length && g.has("text"):
		return fault(model.MaxTokens, "the answer was cut at the limit on output tokens (%s): raise model.max_output_tokens", reason), true
	case ended == wire.Length:
		return fault(model.MaxTokens, "the output tokens were used up before there was an answer (%s): "+
			"thoughts count too; raise model.max_output_tokens, or lower model.thinking", reason), false
	case ended == wire.Withheld:
		return fault(model.Blocked, "Anthropic withheld the answer (%s)", reason), false
	case ended == wire.Failed:
		return fault(model.Unavailable, "Anthropic ended the answer because of an error of its own (%s)", reason), false
	case g.has("text"): // a word that is newer than this program
		return fault(model.StreamCut, "the answer ended for a reason that is not known (%s), what there is of it may not be the whole", reason), true
	case g.has("tool_use"):
		return fault(model.StreamCut, "the answer ended for a reason that is not known (%s), so its calls are not run", reason), false
	}
	return fault(model.Empty, "Anthropic ended without an answer, for a reason that is not known (%s)", reason), false
}

// has reports whether there is a block of a type that says something.
func (g *gathering) has(kind string) bool {
	return slices.ContainsFunc(g.blocks, func(b *gathered) bool {
		return b.start.Type == kind && (kind != "text" || !isBlank(b.text.String()))
	})
}

// parts gives the blocks as parts, the calls among them only if they are to be run.
func (g *gathering) parts(calls bool) ([]*genai.Part, error) {
	var parts []*genai.Part
	for _, b := range g.blocks {
		switch b.start.Type {
		case "text":
			if b.text.Len() > 0 {
				parts = append(parts, &genai.Part{Text: b.text.String()})
			}
		case "thinking", "redacted_thinking":
			part, err := g.thought(b)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part)
		case "tool_use":
			if !calls {
				continue
			}
			args, err := wire.ReadArguments(b.arguments())
			if err != nil {
				return nil, &model.Error{
					Code: model.Malformed, Reason: g.ending.StopReason,
					Message: fmt.Sprintf("the model called %s with arguments that are no JSON object", b.start.Name), Err: err,
				}
			}
			parts = append(parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: b.start.ID, Name: b.start.Name, Args: args}})
		}
	}
	return parts, nil
}

// arguments are those of a call: streamed, or with its beginning.
func (b *gathered) arguments() []byte {
	if b.input.Len() > 0 {
		return []byte(b.input.String())
	}
	return b.start.Input
}

// thought gives a thought with all that must go back to the service.
func (g *gathering) thought(b *gathered) (*genai.Part, error) {
	part := &genai.Part{Text: b.text.String(), Thought: true}
	t := thought{Model: g.model, Signature: b.signature.String(), Redacted: b.start.Data}
	if t.Signature == "" && t.Redacted == "" {
		return part, nil
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	part.ThoughtSignature = model.Sign(provider, raw)
	return part, nil
}
