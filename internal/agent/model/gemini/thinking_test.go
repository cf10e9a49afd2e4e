package gemini_test

import (
	"reflect"
	"strings"
	"testing"

	"google.golang.org/genai"

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
		"gemini-flash-latest":    `"LOW" "LOW" "LOW" "MEDIUM" "HIGH"`,
		"gemini-3.6-flash":       `"MINIMAL" "MINIMAL" "LOW" "MEDIUM" "HIGH"`,
		"gemini-3.8-flash":       `"LOW" "LOW" "LOW" "MEDIUM" "HIGH"`,
		"gemini-3.5-flash-lite":  `"MINIMAL" "MINIMAL" "LOW" "MEDIUM" "HIGH"`,
		"gemini-4-argon":         `"LOW" "LOW" "LOW" "MEDIUM" "HIGH"`,
		"gemma-4-31b-it":         `"MINIMAL" "MINIMAL" "MINIMAL" "HIGH" "HIGH"`,
		"gemma-3-27b-it":         "- - - - -",
		"my-deployment":          `"LOW" "LOW" "LOW" "MEDIUM" "HIGH"`,
	} {
		var got []string
		for _, word := range words {
			f := startWith(t, g.Play(g.Say("fine")), func(c *config.Model) { c.Name, c.Thinking = name, &config.Thinking{Effort: word} }, nil)
			o := ask(t.Context(), f, request(user("hi")))
			noRefusals(t, f)
			if o.err != nil {
				t.Fatalf("%s %s: %v", name, word, o.err)
			}
			got = append(got, thinkingSent(f))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: sent %v, want %s", name, got, want)
		}
	}
}

// thinkingSent is the one setting for thinking that was sent; - for none.
func thinkingSent(f *fixture) string {
	_, rest, ok := strings.Cut(string(f.service.Requests()[0].Body), `"thinkingConfig":{`)
	if !ok {
		return "-"
	}
	_, value, _ := strings.Cut(rest, ":")
	sent, _, _ := strings.Cut(value, "}")
	return sent
}

// TestThinkingOfSharedSettings: generate_content_config is for all of an agent's
// models, so that each takes of it what it can.
func TestThinkingOfSharedSettings(t *testing.T) {
	tokens := func(n int32) *genai.ThinkingConfig { return &genai.ThinkingConfig{ThinkingBudget: &n} }
	settings := []*genai.ThinkingConfig{tokens(-1), tokens(0), tokens(100), tokens(9000), tokens(50000), {ThinkingLevel: "MINIMAL"}, {ThinkingLevel: "MEDIUM"}}
	for name, want := range map[string]string{
		"gemini-2.0-flash":      "- - - - - - -",
		"gemini-2.5-pro":        "-1 128 128 9000 32768 512 8192",
		"gemini-2.5-flash-lite": "-1 0 512 9000 24576 512 8192",
		"gemini-3-pro-preview":  `-1 "LOW" 128 9000 32768 "LOW" "HIGH"`,
		"gemini-3.8-flash":      `-1 "LOW" 100 9000 32768 "LOW" "MEDIUM"`,
		"gemini-4-argon":        `- "LOW" "LOW" "MEDIUM" "HIGH" "LOW" "MEDIUM"`,
		"gemma-4-31b-it":        `- "MINIMAL" "MINIMAL" "HIGH" "HIGH" "MINIMAL" "HIGH"`,
	} {
		var got []string
		for _, shared := range settings {
			own := *shared
			f := startWith(t, g.Play(g.Say("fine")), func(c *config.Model) { c.Name = name }, &genai.GenerateContentConfig{ThinkingConfig: &own})
			o := ask(t.Context(), f, request(user("hi")))
			noRefusals(t, f)
			if o.err != nil {
				t.Fatalf("%s: %v", name, o.err)
			}
			if got = append(got, thinkingSent(f)); !reflect.DeepEqual(&own, shared) {
				t.Error("the agent file's settings were written to")
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: sent %v, want %s", name, got, want)
		}
	}
}
