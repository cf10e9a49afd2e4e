package thinking

import (
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config"
)

// TestEffort has what becomes of none, minimal, low, medium and high.
func TestEffort(t *testing.T) {
	const (
		all   = "none minimal low medium high"
		from0 = "none low low medium high"
		from1 = "minimal minimal low medium high"
		from2 = "low low low medium high"
		from3 = "medium medium medium medium high"
		top   = "high high high high high"
		never = "- - - - -"

		medium = "medium medium medium medium medium"
	)
	for name, want := range map[string]string{
		"gpt-5": from1, "gpt-5-mini": from1, "gpt-5-nano-2025-08-07": from1, "openai/gpt-5": from1, "ft:gpt-5:us": from1,
		"gpt-5.1": from0, "gpt-5.2-2025-12-11": from0, "gpt-5.10": from0, "gpt-5.4-mini": from0,
		"gpt-5-pro": top, "gpt-5-pro-2025-10-06": top, "gpt-5.2-pro": from3, "gpt-5-codex": from2, "gpt-5.1-codex-max": from2,
		"o1": from2, "o3": from2, "o4-mini": from2, "o3-pro": from2, "o1-mini": never,
		"gpt-4o": never, "gpt-4.1-mini": never, "gpt-3.5-turbo": never, "ft:gpt-4o-mini:us": never, "gpt-5-chat-latest": never, "chatgpt-4o-latest": never,
		"gpt-5.1-chat-latest": medium,
		"gpt-6-astra":         from2, "gpt-6": from2, "openai/gpt-6.1-sol": from2, "gpt-oss-120b": from2, "codex-mini-latest": from2,
		"o3-deep-research": medium, "o4-mini-deep-research-2025-06-26": medium,
		"my-deployment": all, "gpt-7": all,
	} {
		var got []string
		for _, word := range strings.Fields(all) {
			e := string(Effort(name, config.Effort(word)))
			if e == "" {
				e = "-"
			}
			got = append(got, e)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
}

// TestNearest has the words that a refusal names.
func TestNearest(t *testing.T) {
	for said, want := range map[string]config.Effort{
		"Unsupported value: 'none' is not supported with the 'x' model. Supported values are: 'low', 'medium', 'high', 'xhigh', and 'max'.": "low",
		"Unsupported value: 'none' is not supported with the 'x' model. Supported values are: 'minimal' and 'low'.":                         "minimal",
		"Unsupported value: 'none' is not supported with this model. Supported values are: 'medium'.":                                       "medium",
		"Unsupported value: 'none' is not supported with this model.":                                                                       "",
		"no": "",
	} {
		if got := Named(said, config.NoThinking); got != want {
			t.Errorf("%s: %q", said, got)
		}
	}
}
