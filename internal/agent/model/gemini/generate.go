package gemini

import (
	"regexp"
	"sync"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/config"
)

// merged is generate_content_config with the settings that stand in the model
// itself, which win.
func merged(g genai.GenerateContentConfig, m *config.Model) genai.GenerateContentConfig {
	if m.Temperature != nil {
		g.Temperature = single(*m.Temperature)
	}
	if m.TopP != nil {
		g.TopP = single(*m.TopP)
	}
	if m.TopK != nil {
		g.TopK = single(float64(*m.TopK))
	}
	if m.PresencePenalty != nil {
		g.PresencePenalty = single(*m.PresencePenalty)
	}
	if m.FrequencyPenalty != nil {
		g.FrequencyPenalty = single(*m.FrequencyPenalty)
	}
	if m.MaxOutputTokens != nil {
		g.MaxOutputTokens = int32(min(*m.MaxOutputTokens, 1<<31-1))
	}
	if m.Seed != nil {
		seed := int32(*m.Seed) // its bounds are those of int32
		g.Seed = &seed
	}
	if m.Stop != nil {
		g.StopSequences = m.Stop
	}
	if m.Thinking != nil {
		t := genai.ThinkingConfig{}
		if g.ThinkingConfig != nil {
			t = *g.ThinkingConfig
		}
		think(&t, m)
		if g.ThinkingConfig = &t; t == (genai.ThinkingConfig{}) {
			g.ThinkingConfig = nil
		}
	}
	return g
}

func single(f float64) *float32 {
	v := float32(f)
	return &v
}

// budgets are the tokens of thinking that stand for the words with models that
// know no words (Gemini 2.5; 0 turns thinking off where that can be).
var budgets = map[config.Effort]int32{
	config.NoThinking: 0, config.MinimalThinking: 512, config.LowThinking: 1024, config.MediumThinking: 8192, config.HighThinking: 24576,
}

// leastOfPro is the fewest tokens of thinking that Gemini 2.5 Pro takes, which always
// thinks. Those of Flash-Lite, but for none, are as many as minimal stands for.
const leastOfPro = 128

// levels are Gemini's own words (Gemini 3 and later), which has none for no
// thinking at all.
var levels = map[config.Effort]genai.ThinkingLevel{
	config.NoThinking: genai.ThinkingLevelMinimal, config.MinimalThinking: genai.ThinkingLevelMinimal,
	config.LowThinking: genai.ThinkingLevelLow, config.MediumThinking: genai.ThinkingLevelMedium, config.HighThinking: genai.ThinkingLevelHigh,
}

// Models by what they know of thinking ("Gemini thinking", and the models' pages).
var (
	// older take a number of tokens only; Gemini 3 was the first that takes words.
	older = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|/)gemini-[12]([.-]|$)`) })
	// thoughtless do not think.
	thoughtless = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|/)gemini-(1|2\.0)([.-]|$)`) })
	pro25       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|/)gemini-2\.5-pro`) })
	// pros know no minimal, and the first of them no medium.
	pros = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|/)gemini-([0-9.]+-)?pro`) })
	pro3 = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|/)gemini-3-pro`) })
)

// think asks for as much thinking as the model's settings say, or as much as the model
// has that comes nearest.
func think(t *genai.ThinkingConfig, m *config.Model) {
	effort := m.Thinking.Effort
	switch {
	case m.Thinking.Budget > 0:
		spend(t, int32(min(m.Thinking.Budget, 1<<31-1)))
	case thoughtless().MatchString(m.Name):
		t.ThinkingBudget, t.ThinkingLevel = nil, ""
	case pro25().MatchString(m.Name):
		spend(t, max(budgets[effort], leastOfPro))
	case older().MatchString(m.Name):
		spend(t, budgets[effort])
	case pros().MatchString(m.Name) && levels[effort] == genai.ThinkingLevelMinimal:
		t.ThinkingLevel, t.ThinkingBudget = genai.ThinkingLevelLow, nil
	case pro3().MatchString(m.Name) && effort == config.MediumThinking:
		t.ThinkingLevel, t.ThinkingBudget = genai.ThinkingLevelHigh, nil
	default:
		t.ThinkingLevel, t.ThinkingBudget = levels[effort], nil
	}
}

func spend(t *genai.ThinkingConfig, tokens int32) { t.ThinkingBudget, t.ThinkingLevel = &tokens, "" }
