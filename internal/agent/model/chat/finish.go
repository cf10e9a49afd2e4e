package chat

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// verdict says what is wrong with the gathered answer, nil for nothing, and whether
// what there is of it is worth keeping. readable tells whether all its calls are;
// broken names the one that is not.
func (g *gathering) verdict(readable bool, broken string) (problem *model.Error, keep bool) {
	fault := func(code model.Code, format string, args ...any) *model.Error {
		return &model.Error{Code: code, Reason: g.finish, Message: fmt.Sprintf(format, args...)}
	}
	refused := g.refused.String()
	switch g.finish {
	case "":
		if g.events == 0 {
			return fault(model.Unavailable, "%s's answer had no content at all", g.host), false
		}
		return fault(model.StreamCut, "%s's answer ended without a finish reason", g.host), false
	case "length", "max_tokens", "model_length": // the last is Mistral's, for the context window
		if g.hasText() {
			return fault(model.MaxTokens, "the answer was cut at the limit on output tokens or of the context window (%s): raise model.max_output_tokens", g.finish), true
		}
		return fault(model.MaxTokens, "the output tokens were used up before there was an answer (%s): thoughts count too; "+
			"raise model.max_output_tokens, or lower model.thinking", g.finish), false
	case "content_filter":
		return fault(model.Blocked, "%s withheld the answer (%s)", g.host, g.finish), false
	case "error", "insufficient_system_resource", "abort": // OpenRouter, DeepSeek, vLLM
		return fault(model.Unavailable, "%s ended the answer because of an error of its own (%s)", g.host, g.finish), false
	}
	switch {
	case strings.TrimSpace(refused) != "":
		return fault(model.Blocked, "the model refused to answer: %s", wire.Excerpt(refused, maxMessage)), false
	case !readable:
		return fault(model.Malformed, "the model made a call of the tool %q whose arguments are no JSON object", broken), false
	}
	switch g.finish {
	case "stop", "tool_calls", "function_call":
	default: // gateways have words of their own for being done
		g.unknown = true
	}
	return nil, true
}

// hasText reports whether there is something to show besides thoughts.
func (g *gathering) hasText() bool {
	return slices.ContainsFunc(g.parts, func(p *genai.Part) bool { return !p.Thought && !model.IsBlank(p) })
}
