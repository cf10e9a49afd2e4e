package chat

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

const maxWord = 100 // characters of a finish reason

// verdict says what is wrong with the gathered answer, nil for nothing, and whether
// what there is of it is worth keeping. unreadable says why its calls cannot be made,
// empty where they can.
func (g *gathering) verdict(unreadable string) (problem *model.Error, keep bool) {
	ending, word, refused := wire.Finish(g.finish), wire.Excerpt(g.finish, maxWord), g.refused.String()
	fault := func(code model.Code, format string, args ...any) *model.Error {
		return &model.Error{Code: code, Reason: word, Message: fmt.Sprintf(format, args...), Usage: g.usage}
	}
	switch {
	case g.finish == "" && g.events == 0:
		return fault(model.Unavailable, "%s's answer had no content at all", g.host), false
	case g.finish == "":
		return fault(model.StreamCut, "%s's answer ended without a finish reason", g.host), false
	case ending == wire.Length && g.hasText():
		return fault(model.MaxTokens, "the answer was cut at the limit on output tokens or of the context window (%s): raise model.max_output_tokens", word), true
	case ending == wire.Length:
		return fault(model.MaxTokens, "the output tokens were used up before there was an answer (%s): thoughts count too; "+
			"raise model.max_output_tokens, or lower model.thinking", word), false
	case ending == wire.Withheld:
		return fault(model.Blocked, "%s withheld the answer (%s)", g.host, word), false
	case ending == wire.Failed:
		return fault(model.Unavailable, "%s ended the answer because of an error of its own (%s)", g.host, word), false
	case strings.TrimSpace(refused) != "":
		return fault(model.Blocked, "the model refused to answer: %s", wire.Excerpt(refused, maxMessage)), false
	case ending == wire.Unknown:
		return fault(model.StreamCut, "the answer ended for a reason that is not known (%s), what there is of it may not be the whole", word), g.hasText()
	case unreadable != "":
		return fault(model.Malformed, "%s", unreadable), false
	}
	return nil, true
}

// hasText reports whether there is something to show besides thoughts.
func (g *gathering) hasText() bool {
	return slices.ContainsFunc(g.parts, func(p *genai.Part) bool {
		return !p.Thought && (p.InlineData != nil || strings.TrimSpace(p.Text) != "")
	})
}
