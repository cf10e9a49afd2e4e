package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
)

// Tokens of an answer.
const (
	answerTokens = 8192 // for what is not thought
	oldTokens    = 4096 // the most that Claude 3 gives
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

// planThinking decides it by the agent file and the model's name.
func planThinking(cfg *config.Model, n named) (thinking, error) {
	free := thinking{back: !n.known() || n.has(thinksByDefault)}
	t, room := free, 0
	switch c := cfg.Thinking; {
	case c == nil && n.has(thinksByDefault):
		t.member, room = adaptively(n), budgets[config.HighThinking]
	case c == nil:
	case c.Effort == config.NoThinking:
		off, err := turnOff(cfg.Name, n)
		if err != nil {
			return t, err
		}
		t = thinking{member: off}
	case n.known() && !n.has(thinksByBudget) && !n.has(thinksAdaptively):
		return t, fmt.Errorf("model.thinking: %s does not think: leave it out", cfg.Name)
	case c.Budget > 0 && n.has(refusesBudget):
		return t, fmt.Errorf("model.thinking: %s takes no number of tokens: say low, medium or high", cfg.Name)
	case c.Budget == 0 && n.has(thinksAdaptively):
		t.member, t.effort, t.back = adaptively(n), efforts[c.Effort], true
		room = budgets[c.Effort]
	default:
		return planBudget(cfg)
	}
	t.maxTokens = maxTokens(cfg, n, room)
	return t, nil
}

func maxTokens(cfg *config.Model, n named, room int) int {
	if cfg.MaxOutputTokens != nil {
		return *cfg.MaxOutputTokens
	}
	if n.known() && n.version < 305 {
		return oldTokens
	}
	return answerTokens + room
}

func adaptively(n named) json.RawMessage {
	if n.has(bindsThoughts) {
		return json.RawMessage(adaptiveBound)
	}
	return json.RawMessage(adaptive)
}

// turnOff is how a model is told not to think.
func turnOff(name string, n named) (json.RawMessage, error) {
	switch {
	case !n.has(thinksByDefault):
		return nil, nil
	case n.has(alwaysThinks):
		return nil, fmt.Errorf("model.thinking: %s always thinks: say low instead of none", name)
	case n.has(thinksBetweenOnly):
		return json.RawMessage(`{"type":"between_tools"}`), nil
	}
	return json.RawMessage(`{"type":"disabled"}`), nil
}

// planBudget is for models that take a number of tokens. It must be less than the
// tokens of the whole answer; an effort in words makes do with half of them.
func planBudget(cfg *config.Model) (thinking, error) {
	c := cfg.Thinking
	t := thinking{byBudget: true, back: true}
	budget := c.Budget
	if budget == 0 {
		budget = budgets[c.Effort]
	}
	if cfg.MaxOutputTokens == nil {
		t.maxTokens = budget + answerTokens
	} else {
		t.maxTokens = *cfg.MaxOutputTokens
	}
	if budget >= t.maxTokens && c.Budget == 0 {
		budget = t.maxTokens / 2
	}
	switch {
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
