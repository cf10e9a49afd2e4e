package gemini

import (
	"fmt"
	"slices"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// verdict says what is wrong with the gathered answer, nil for nothing, and
// whether what there is of it is worth keeping.
func (g *gathering) verdict() (problem *model.Error, keep bool) {
	fault := func(code model.Code, format string, args ...any) *model.Error {
		message := fmt.Sprintf(format, args...)
		if g.message != "" {
			message += ": " + wire.Excerpt(g.message, maxMessage)
		}
		return &model.Error{Code: code, Reason: string(g.finish), Message: message}
	}
	switch g.finish {
	case "":
		return g.unfinished(), false
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall, genai.FinishReasonTooManyToolCalls:
		return fault(model.Malformed, "the model made a tool call that Gemini could not read (%s)", g.finish), false
	case malformedResponse:
		return fault(model.Malformed, "the model gave an answer that Gemini could not read (%s)", g.finish), false
	case missingSignature:
		return fault(model.InvalidRequest, "Gemini misses the signature of a thought in the conversation (%s): begin another conversation", g.finish), false
	case genai.FinishReasonOther:
		return fault(model.Blocked, "Gemini ended the answer for another reason than being done (%s)", g.finish), false
	}
	switch ended := g.ending(); {
	case ended == wire.Whole && g.hasHosted() && !g.hasAnswer() && !g.hasCall():
		return fault(model.Empty, "Gemini used a tool of its own and ended without an answer"), false
	case ended == wire.Whole:
		return nil, true
	case ended == wire.Length && g.hasAnswer():
		return fault(model.MaxTokens, "the answer was cut at the limit on output tokens (%s): "+
			"raise generate_content_config.max_output_tokens", g.finish), true
	case ended == wire.Length:
		return fault(model.MaxTokens, "the output tokens were used up before there was an answer (%s): "+
			"thoughts count too; raise generate_content_config.max_output_tokens, or lower thinking_config.thinking_budget there", g.finish), false
	case ended == wire.Withheld:
		return fault(model.Blocked, "Gemini withheld the answer (%s)", g.finish), false
	case ended == wire.Failed:
		return fault(model.Unavailable, "Gemini ended the answer because of an error of its own (%s)", g.finish), false
	case g.hasAnswer():
		return fault(model.StreamCut, "the answer ended for a reason that is not known (%s), what there is of it may not be the whole", g.finish), true
	case g.hasCall():
		return fault(model.StreamCut, "the answer ended for a reason that is not known (%s), so its calls are not run", g.finish), false
	}
	return fault(model.Empty, "Gemini ended without an answer, for a reason that is not known (%s)", g.finish), false
}

// Reasons that genai has no names for (Vertex AI's reference, FinishReason).
const (
	malformedResponse = genai.FinishReason("MALFORMED_RESPONSE")
	missingSignature  = genai.FinishReason("MISSING_THOUGHT_SIGNATURE")
)

// ending is how the answer ended: in the service's words, or in those of a gateway.
func (g *gathering) ending() wire.Ending {
	switch g.finish {
	case genai.FinishReasonContinuation:
		return wire.Length
	case genai.FinishReasonImageSafety, genai.FinishReasonImageProhibitedContent, genai.FinishReasonImageRecitation,
		genai.FinishReasonImageOther, genai.FinishReasonNoImage:
		return wire.Withheld
	}
	return wire.Finish(string(g.finish))
}

// unfinished says why there is no finish reason.
func (g *gathering) unfinished() *model.Error {
	switch {
	case g.blocked != nil:
		message := fmt.Sprintf("Gemini refused the request (%s)", g.blocked.BlockReason)
		if g.blocked.BlockReasonMessage != "" {
			message += ": " + wire.Excerpt(g.blocked.BlockReasonMessage, maxMessage)
		}
		return &model.Error{Code: model.Blocked, Reason: string(g.blocked.BlockReason), Message: message}
	case g.chunks == 0:
		return &model.Error{Code: model.Unavailable, Message: "Gemini's answer had no content at all"}
	}
	return &model.Error{Code: model.StreamCut, Message: "Gemini's answer ended without a finish reason"}
}

// hasAnswer reports whether there is something to show besides thoughts.
func (g *gathering) hasAnswer() bool {
	return slices.ContainsFunc(g.parts, func(p *genai.Part) bool {
		return !p.Thought && p.FunctionCall == nil && !isHosted(p) && !model.IsBlank(p)
	})
}

// hasCall reports whether the model calls a tool.
func (g *gathering) hasCall() bool {
	return slices.ContainsFunc(g.parts, func(p *genai.Part) bool { return p.FunctionCall != nil })
}

// hasHosted reports whether the service has run a tool itself.
func (g *gathering) hasHosted() bool { return slices.ContainsFunc(g.parts, isHosted) }

// isHosted reports whether a part is about a tool that the service runs itself.
// It goes back to the service as it came, and nobody else sees it.
func isHosted(p *genai.Part) bool {
	return p.ExecutableCode != nil || p.CodeExecutionResult != nil || p.ToolCall != nil || p.ToolResponse != nil
}
