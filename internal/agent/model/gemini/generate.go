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
		g.ThinkingConfig = &t
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

// levels are Gemini's own words (Gemini 3 and later), which has none for no
// thinking at all.
var levels = map[config.Effort]genai.ThinkingLevel{
	config.NoThinking: genai.ThinkingLevelMinimal, config.MinimalThinking: genai.ThinkingLevelMinimal,
	config.LowThinking: genai.ThinkingLevelLow, config.MediumThinking: genai.ThinkingLevelMedium, config.HighThinking: genai.ThinkingLevelHigh,
}

// think asks for as much thinking as the model's settings say.
func think(t *genai.ThinkingConfig, m *config.Model) {
	budget := int32(min(m.Thinking.Budget, 1<<31-1))
	switch {
	case budget > 0:
		t.ThinkingBudget, t.ThinkingLevel = &budget, ""
	case countsTokens().MatchString(m.Name):
		tokens := budgets[m.Thinking.Effort]
		t.ThinkingBudget, t.ThinkingLevel = &tokens, ""
	default:
		t.ThinkingLevel, t.ThinkingBudget = levels[m.Thinking.Effort], nil
	}
}

// countsTokens are the models that take a number of tokens of thinking only.
var countsTokens = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|/)gemini-[12]([.-]|$)`) })
