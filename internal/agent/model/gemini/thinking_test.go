package gemini_test

import (
	"strings"
	"testing"

	g "github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
	"github.com/adkmcp/adkmcp/internal/config"
)

// TestThinking has what becomes of none, minimal, low, medium and high; the fake knows
// what each model takes.
func TestThinking(t *testing.T) {
	words := []config.Effort{config.NoThinking, config.MinimalThinking, config.LowThinking, config.MediumThinking, config.HighThinking}
	for name, want := range map[string]string{
		"gemini-1.5-pro":         "- - - - -",
		"gemini-2.0-flash":       "- - - - -",
		"gemini-2.5-pro":         "128 512 1024 8192 24576",
		"gemini-2.5-flash":       "0 512 1024 8192 24576",
		"gemini-2.5-flash-lite":  "0 512 1024 8192 24576",
		"gemini-3-pro-preview":   `"LOW" "LOW" "LOW" "HIGH" "HIGH"`,
		"gemini-3.1-pro-preview": `"LOW" "LOW" "LOW" "MEDIUM" "HIGH"`,
		"gemini-pro-latest":      `"LOW" "LOW" "LOW" "MEDIUM" "HIGH"`,
		"gemini-3-flash-preview": `"MINIMAL" "MINIMAL" "LOW" "MEDIUM" "HIGH"`,
		"gemini-flash-latest":    `"MINIMAL" "MINIMAL" "LOW" "MEDIUM" "HIGH"`,
	} {
		var got []string
		for _, word := range words {
			f := startWith(t, g.Play(g.Say("fine")), func(c *config.Model) { c.Name, c.Thinking = name, &config.Thinking{Effort: word} }, nil)
			o := ask(t.Context(), f, request(user("hi")))
			noRefusals(t, f)
			if o.err != nil {
				t.Fatalf("%s %s: %v", name, word, o.err)
			}
			sent := "-"
			if _, rest, ok := strings.Cut(string(f.service.Requests()[0].Body), `"thinkingConfig":{`); ok {
				_, value, _ := strings.Cut(rest, ":")
				sent, _, _ = strings.Cut(value, "}")
			}
			got = append(got, sent)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: sent %v, want %s", name, got, want)
		}
	}
}
