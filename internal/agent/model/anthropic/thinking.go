package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
)

// Tokens of an answer.
const (
	answerTokens = 8192 // for what is not thought, unless the model gives fewer
	minBudget    = 1024 // the fewest for thoughts that the service takes
)

// budgets are the tokens that an effort stands for: on models that take a budget, and
// as room for thoughts on those that think as they see fit.
var budgets = map[config.Effort]int{
	config.MinimalThinking: minBudget, config.LowThinking: 2048, config.MediumThinking: 8192, config.HighThinking: 16384,
}

// efforts are the service's words (output_config.effort).
var efforts = map[config.Effort]string{
	config.MinimalThinking: "low", config.LowThinking: "low", config.MediumThinking: "medium", config.HighThinking: "high",
}

// thinking says how thinking is asked for.
type thinking struct {
	member    json.RawMessage // thinking of a request; nil for none
	effort    string          // of output_config; empty for none
	byBudget  bool            // then an assistant must have begun its turn with a thought
	back      bool            // the model's thoughts go back to it
	maxTokens int
}

// Members of a request. Newer models leave the text of thoughts out unless asked: then
// nothing would come while they think, and a stream that is dead looks the same.
const (
	adaptive      = `{"type":"adaptive","display":"summarized"}`
	adaptiveBound = `{"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`
)

// planThinking decides it by the agent file and the model's name. A word that the
// model has not becomes the one that comes nearest.
func planThinking(cfg *config.Model, n named) (thinking, error) {
	t := thinking{back: !n.known() || n.has(thinksByDefault)}
	if most, wanted := n.most(), cfg.MaxOutputTokens; most > 0 && wanted != nil && *wanted > most {
		return t, fmt.Errorf("model.max_output_tokens: %d is more than the %d that %s gives", *wanted, most, cfg.Name)
	}
	room, effort := 0, config.Effort("")
	if cfg.Thinking != nil {
		effort = cfg.Thinking.Effort
	}
	if effort == config.NoThinking && n.has(alwaysThinks) {
		effort = config.MinimalThinking
	}
	thinks := !n.known() || n.has(thinksByBudget) || n.has(thinksAdaptively)
	switch {
	case cfg.Thinking == nil && n.has(thinksByDefault):
		t.member, room = adaptively(n), budgets[config.HighThinking]
	case cfg.Thinking == nil:
	case effort == config.NoThinking, effort != "" && !thinks:
		t = thinking{member: turnOff(n), back: n.has(thinksBetweenOnly)}
	case !thinks:
		return t, fmt.Errorf("model.thinking: %s does not think: leave it out", cfg.Name)
	case effort == "" && n.has(refusesBudget):
		return t, fmt.Errorf("model.thinking: %s takes no number of tokens: say low, medium or high", cfg.Name)
	case effort != "" && n.has(thinksAdaptively):
		t.member, t.effort, t.back = adaptively(n), efforts[effort], true
		room = budgets[effort]
	default:
		return planBudget(cfg, n)
	}
	t.maxTokens = maxTokens(cfg, n, room)
	return t, nil
}

// maxTokens bounds an answer, with so much room for thoughts in it.
func maxTokens(cfg *config.Model, n named, room int) int {
	if cfg.MaxOutputTokens != nil {
		return *cfg.MaxOutputTokens
	}
	if most := n.most(); most > 0 {
		return min(answerTokens+room, most)
	}
	return answerTokens + room
}

func adaptively(n named) json.RawMessage {
	if n.has(bindsThoughts) {
		return json.RawMessage(adaptiveBound)
	}
	return json.RawMessage(adaptive)
}

// turnOff is how a model is told not to think; nil for one that does so anyway.
func turnOff(n named) json.RawMessage {
	switch {
	case !n.has(thinksByDefault):
		return nil
	case n.has(thinksBetweenOnly):
		return json.RawMessage(`{"type":"between_tools"}`)
	}
	return json.RawMessage(`{"type":"disabled"}`)
}

// planBudget is for models that take a number of tokens. It must be less than the
// tokens of the whole answer; an effort in words makes do with half of them.
func planBudget(cfg *config.Model, n named) (thinking, error) {
	c := cfg.Thinking
	budget := c.Budget
	if budget == 0 {
		budget = budgets[c.Effort]
	}
	t := thinking{byBudget: true, back: true, maxTokens: maxTokens(cfg, n, budget)}
	if budget >= t.maxTokens && c.Budget == 0 {
		budget = t.maxTokens / 2
	}
	switch {
	case budget >= t.maxTokens && cfg.MaxOutputTokens == nil:
		return t, fmt.Errorf("model.thinking: %d tokens are no less than the %d that %s gives, which count thoughts too", budget, t.maxTokens, cfg.Name)
	case budget >= t.maxTokens:
		return t, fmt.Errorf("model.thinking: %d tokens are no less than model.max_output_tokens, which counts thoughts too", budget)
	case budget < minBudget && c.Budget == 0:
		return t, fmt.Errorf("model.max_output_tokens: with model.thinking it must be %d or more", 2*minBudget)
	case budget < minBudget:
		return t, fmt.Errorf("model.thinking: %d tokens are fewer than the %d that Anthropic takes", budget, minBudget)
	}
	t.member = json.RawMessage(fmt.Sprintf(`{"type":"enabled","budget_tokens":%d}`, budget))
	return t, nil
}

// on reports whether a request asks for thoughts.
func (t *thinking) on() bool { return t.member != nil && t.back }

// checkSampling refuses settings that this model does not take, or not together.
func checkSampling(cfg *config.Model, n named, t *thinking) error {
	temperature, topP := cfg.Temperature, cfg.TopP
	set := func(v *float64) bool { return v != nil && *v != 1 } // 1 is the default of both
	switch {
	case temperature != nil && *temperature > 1:
		return fmt.Errorf("model.temperature: Anthropic takes none above 1")
	case n.has(refusesSampling) && set(temperature):
		return fmt.Errorf("model.temperature: %s takes none: leave it out", cfg.Name)
	case n.has(refusesSampling) && set(topP):
		return fmt.Errorf("model.top_p: %s takes none: leave it out", cfg.Name)
	case n.has(refusesSampling) && cfg.TopK != nil:
		return fmt.Errorf("model.top_k: %s takes none: leave it out", cfg.Name)
	case n.has(takesOneSampler) && temperature != nil && topP != nil:
		return fmt.Errorf("model.top_p: %s does not take it beside temperature: leave one of them out", cfg.Name)
	case t.on() && set(temperature):
		return fmt.Errorf("model.temperature: it cannot be changed while the model thinks: leave it or thinking out")
	case t.on() && cfg.TopK != nil:
		return fmt.Errorf("model.top_k: it cannot be set while the model thinks: leave it or thinking out")
	case t.on() && topP != nil && *topP < 0.95:
		return fmt.Errorf("model.top_p: it must be 0.95 or more while the model thinks")
	}
	for _, s := range cfg.Stop {
		if strings.TrimSpace(s) == "" {
			return fmt.Errorf("model.stop: Anthropic takes no text of blanks alone")
		}
	}
	return nil
}
