package gemini

import (
	"fmt"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/config"
)

// merged is generate_content_config with the settings that stand in the model
// itself, which win. The error says which setting the model does not take.
func merged(g genai.GenerateContentConfig, m *config.Model, vertex bool) (genai.GenerateContentConfig, error) {
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
	f := familyOf(m.Name)
	var err error
	if g.ThinkingConfig, err = f.thinking(m.Thinking, g.ThinkingConfig, m.Name); err != nil {
		return g, err
	}
	if !f.penalties && (!vertex || !older().MatchString(m.Name)) {
		if err := noPenalties(&g, m); err != nil {
			return g, err
		}
	}
	if n := len(g.StopSequences); n > maxStop {
		return g, fmt.Errorf("%s: Gemini takes no more than %d texts, these are %d", place(m.Stop != nil, "stop", "stop_sequences"), maxStop, n)
	}
	return g, nil
}

// maxStop is how many texts end an answer (the API's GenerationConfig).
const maxStop = 5

// noPenalties leaves out penalties of 0, which are none, and refuses any other, since
// the service does (google-gemini/cookbook#1290).
func noPenalties(g *genai.GenerateContentConfig, m *config.Model) error {
	for _, p := range []struct {
		penalty **float32
		own     *float64
		name    string
	}{{&g.PresencePenalty, m.PresencePenalty, "presence_penalty"}, {&g.FrequencyPenalty, m.FrequencyPenalty, "frequency_penalty"}} {
		if *p.penalty != nil && **p.penalty != 0 {
			return fmt.Errorf("%s: %s takes none: leave it out", place(p.own != nil, p.name, p.name), m.Name)
		}
		*p.penalty = nil
	}
	return nil
}

// place says where a setting stands: with the model, or with all of the agent's.
func place(own bool, name, shared string) string {
	if own {
		return "model." + name
	}
	return "generate_content_config." + shared
}

func single(f float64) *float32 {
	v := float32(f)
	return &v
}
