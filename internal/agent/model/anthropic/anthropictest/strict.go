package anthropictest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// body is a request, with every member that the API has and the fake knows.
type body struct {
	Model         string          `json:"model"`
	MaxTokens     *int            `json:"max_tokens"`
	System        []rawBlock      `json:"system"`
	Messages      []rawMessage    `json:"messages"`
	Tools         []Tool          `json:"tools"`
	ToolChoice    *choice         `json:"tool_choice"`
	Thinking      json.RawMessage `json:"thinking"`
	OutputConfig  *outputConfig   `json:"output_config"`
	Temperature   *float64        `json:"temperature"`
	TopP          *float64        `json:"top_p"`
	TopK          *int            `json:"top_k"`
	StopSequences []string        `json:"stop_sequences"`
	Stream        bool            `json:"stream"`
}

type choice struct {
	Type string `json:"type"`
}

type outputConfig struct {
	Effort string `json:"effort"`
	Format *struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	} `json:"format"`
}

type thinkingConfig struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens"`
	Display      string `json:"display"`
	BlockBinding *struct {
		Behavior string `json:"prefix_mismatch_behavior"`
	} `json:"block_binding"`
}

// Tool is a tool as it was declared.
type Tool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl *cacheControl   `json:"cache_control"`
}

type cacheControl struct {
	Type string `json:"type"`
}

func refusal(format string, args ...any) error { return fmt.Errorf(format, args...) }

// check reads a request and holds it against the service's rules.
func (s *Server) check(r *Request) error {
	var b body
	if err := decode(r.Body, &b); err != nil {
		return err
	}
	r.Model, r.Tools, r.Thinking = b.Model, b.Tools, b.Thinking
	has, known := models[b.Model]
	if !known {
		return &unknownModel{b.Model}
	}
	switch {
	case b.MaxTokens == nil:
		return refusal("max_tokens: Field required")
	case *b.MaxTokens < 1 || *b.MaxTokens > has.most:
		return refusal("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", *b.MaxTokens, has.most, b.Model)
	case !b.Stream:
		return errors.New("stream: the fake does nothing but stream")
	}
	for _, raw := range b.System {
		block, err := raw.read("system")
		if err != nil {
			return err
		}
		if block.Type != "text" {
			return refusal("system: Input tag '%s' found, expected 'text'", block.Type)
		}
		r.System += block.Text
	}
	thinking, err := b.checkThinking(has, r)
	if err != nil {
		return err
	}
	for _, check := range []func() error{
		func() error { return b.checkSampling(has, thinking.Type) },
		b.checkTools,
		func() error { return b.checkOutput(has, r) },
		func() error { return s.checkMessages(&b, r, has, thinking) },
		func() error { return checkMarks(&b, r) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkThinking gives what is asked of thinking; its type is enabled, adaptive or none.
func (b *body) checkThinking(has abilities, r *Request) (t thinkingConfig, err error) {
	if b.Thinking == nil {
		return t, nil
	}
	if err := decode(b.Thinking, &t); err != nil {
		return t, fmt.Errorf("thinking: %w", err)
	}
	if t.Display != "" && t.Display != "summarized" && t.Display != "omitted" {
		return t, refusal("thinking.display: %q", t.Display)
	}
	if t.BlockBinding != nil && !strings.Contains(r.Header.Get("Anthropic-Beta"), "thinking-binding-controls-2026-08-01") {
		return t, refusal("thinking.block_binding: Extra inputs are not permitted")
	}
	switch t.Type {
	case "enabled":
		switch {
		case !has.budget:
			return t, refusal(`"thinking.type.enabled" is not supported for this model.`)
		case t.BudgetTokens < 1024:
			return t, refusal("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
		case t.BudgetTokens >= *b.MaxTokens:
			return t, refusal("`max_tokens` must be greater than `thinking.budget_tokens`.")
		}
		return t, nil
	case "adaptive":
		if !has.adaptive {
			return t, refusal("adaptive thinking is not supported on this model")
		}
		if t.BudgetTokens != 0 {
			return t, refusal("thinking.adaptive.budget_tokens: Extra inputs are not permitted")
		}
		return t, nil
	case has.off:
		if t.Display != "" || t.BlockBinding != nil || t.BudgetTokens != 0 {
			return t, refusal("thinking.%s: Extra inputs are not permitted", t.Type)
		}
		return thinkingConfig{}, nil
	}
	return t, refusal(`"thinking.type.%s" is not supported for this model.`, t.Type)
}

func (b *body) checkSampling(has abilities, thinking string) error {
	other := func(v *float64) bool { return v != nil && *v != 1 }
	switch {
	case b.Temperature != nil && (*b.Temperature < 0 || *b.Temperature > 1):
		return refusal("temperature: range: 0..1")
	case b.TopP != nil && (*b.TopP < 0 || *b.TopP > 1):
		return refusal("top_p: range: 0..1")
	case has.sampling == 0 && (other(b.Temperature) || other(b.TopP) || b.TopK != nil):
		return refusal("`temperature` is deprecated for this model.")
	case has.sampling == 1 && b.Temperature != nil && b.TopP != nil:
		return refusal("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
	case thinking != "" && other(b.Temperature):
		return refusal("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.")
	case thinking != "" && b.TopK != nil:
		return refusal("`top_k` must be unset when thinking is enabled or in adaptive mode.")
	case thinking != "" && b.TopP != nil && *b.TopP < 0.95:
		return refusal("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode.")
	}
	for _, s := range b.StopSequences {
		if strings.TrimSpace(s) == "" {
			return refusal("stop_sequences: each stop sequence must contain non-whitespace")
		}
	}
	return nil
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (b *body) checkTools() error {
	seen := map[string]bool{}
	for i, t := range b.Tools {
		at := fmt.Sprintf("tools.%d.custom", i)
		switch {
		case !toolName.MatchString(t.Name):
			return refusal("%s.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'", at)
		case seen[t.Name]:
			return refusal("tools: Tool names must be unique.")
		}
		seen[t.Name] = true
		if err := CheckInput(t.InputSchema); err != nil {
			return fmt.Errorf("%s.input_schema%w", at, err)
		}
	}
	if c := b.ToolChoice; c != nil && (len(b.Tools) == 0 || c.Type != "auto" && c.Type != "none") {
		return refusal("tool_choice: %q", c.Type)
	}
	return nil
}

func (b *body) checkOutput(has abilities, r *Request) error {
	c := b.OutputConfig
	if c == nil {
		return nil
	}
	if c.Effort != "" && (!has.adaptive || !slices.Contains([]string{"low", "medium", "high"}, c.Effort)) {
		return refusal("This model does not support the effort parameter.")
	}
	r.Effort = c.Effort
	if c.Format == nil {
		return nil
	}
	if !has.schema || c.Format.Type != "json_schema" {
		return refusal("'%s' does not support output format.", b.Model)
	}
	r.Format = c.Format.Schema
	if err := CheckOutput(c.Format.Schema); err != nil {
		return fmt.Errorf("output_config.format.schema%w", err)
	}
	return nil
}

// checkMarks counts the places up to which is cached.
func checkMarks(b *body, r *Request) error {
	n := 0
	count := func(c *cacheControl) error {
		if c == nil {
			return nil
		}
		if c.Type != "ephemeral" {
			return refusal("cache_control.type: %q", c.Type)
		}
		n++
		return nil
	}
	var err error
	for _, t := range b.Tools {
		err = errors.Join(err, count(t.CacheControl))
	}
	for _, raw := range b.System {
		if block, e := raw.read("system"); e == nil {
			err = errors.Join(err, count(block.CacheControl))
		}
	}
	for _, m := range r.Messages {
		for _, block := range m.Blocks {
			err = errors.Join(err, count(block.CacheControl))
		}
	}
	if n > 4 {
		return refusal("A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
	}
	return err
}
