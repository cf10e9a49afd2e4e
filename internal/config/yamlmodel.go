package config

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// DecodeYAML reads a name, a provider/name or a mapping.
func (m *Model) DecodeYAML(c *strictyaml.Cursor) {
	n := c.Node()
	*m = Model{Pos: Position{File: c.File(), Line: n.Line, Column: n.Column}}
	switch n.Kind {
	case strictyaml.Mapping:
		c.DecodeStruct(m)
	case strictyaml.Scalar:
		c.Defaults(m)
		m.Name, _ = c.Text()
	default:
		c.Wrong("a model's name or a mapping")
	}
	switch {
	case m.Provider == ollama:
		m.atOllama()
	case m.Name != "" && n.Get("provider") == nil:
		m.derive(c)
	}
}

// ollama is Ollama's name for people; it has the API of others.
const ollama = "ollama"

// atOllama makes it a model of Ollama on this machine, unless base_url says else.
func (m *Model) atOllama() {
	m.Provider = Compatible
	if m.BaseURL == "" {
		m.BaseURL = ollamaURL
	}
}

// providers are those that stand before the name of a model.
var providers = []string{Gemini, OpenAI, Compatible, Anthropic, Host}

// byName says which provider has models of a name.
var byName = sync.OnceValue(func() []struct {
	name     *regexp.Regexp
	provider string
} {
	return []struct {
		name     *regexp.Regexp
		provider string
	}{
		{regexp.MustCompile(`^gemini-`), Gemini},
		{regexp.MustCompile(`^(gpt-|chatgpt-|o[0-9])`), OpenAI},
		{regexp.MustCompile(`^claude-`), Anthropic},
	}
})

// ollamaURL is where Ollama is, unless base_url says else.
const ollamaURL = "http://127.0.0.1:11434/v1"

// derive finds the provider that a model's name stands for.
func (m *Model) derive(c *strictyaml.Cursor) {
	const hint = "write gemini-*, gpt-*, claude-*, or PROVIDER/NAME with one of gemini, openai, anthropic, openai-compatible (with base_url) or ollama; host; or provider: scripted with a script"
	if provider, name, prefixed := strings.Cut(m.Name, "/"); prefixed && name != "" {
		if slices.Contains(providers, provider) {
			m.Provider, m.Name = provider, name
			return
		}
		if provider == ollama {
			m.Name = name
			m.atOllama()
			return
		}
	}
	if m.Name == Host || m.Name == Replay {
		m.Provider, m.Name = m.Name, ""
		return
	}
	for _, known := range byName() {
		if known.name.MatchString(m.Name) {
			m.Provider = known.provider
			return
		}
	}
	c.KeyErrorf("name", hint, "the name does not say which provider runs the model")
}

// DescribeYAML is the schema of DecodeYAML.
func (*Model) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	return strictyaml.AnyOf(textSchema(), g.Struct(Model{}))
}

// efforts are the words for how much a model thinks.
var efforts = []string{string(NoThinking), string(MinimalThinking), string(LowThinking), string(MediumThinking), string(HighThinking)}

// DecodeYAML reads a word or a number of tokens.
func (t *Thinking) DecodeYAML(c *strictyaml.Cursor) {
	const want = "none, minimal, low, medium, high, or a number of tokens"
	n, ok := c.Scalar(want)
	switch {
	case !ok:
	case n.Class == strictyaml.Int:
		c.Decode(&t.Budget)
		if t.Budget < 1 {
			c.Errorf("write thinking: none to have none", "want %s from 1 up", "a number of tokens")
		}
	case n.Class == strictyaml.Text && slices.Contains(efforts, n.Text):
		t.Effort = Effort(n.Text)
	default:
		c.Not(want)
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*Thinking) DescribeYAML(*strictyaml.Generator) strictyaml.Object {
	return strictyaml.AnyOf(
		strictyaml.Object{{Key: "enum", Value: efforts}},
		strictyaml.Object{{Key: "type", Value: "integer"}, {Key: "minimum", Value: 1}},
	)
}

// DecodeYAML reads a mapping of one tool to its arguments.
func (s *ScriptCall) DecodeYAML(c *strictyaml.Cursor) {
	const want = "a mapping of one tool to its arguments"
	calls := c.Pairs(want)
	if calls == nil {
		return
	}
	if len(calls) != 1 {
		c.Errorf("begin each call with a dash of its own", "want %s, not of %d", want, len(calls))
		return
	}
	s.Tool = calls[0].Key()
	switch n := calls[0].Node(); {
	case n.IsNull():
		s.Args = json.RawMessage("{}")
	case n.Kind != strictyaml.Mapping:
		calls[0].Wrong("a mapping of arguments")
	default:
		s.Args, _ = calls[0].JSON()
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*ScriptCall) DescribeYAML(*strictyaml.Generator) strictyaml.Object {
	args := strictyaml.Object{{Key: "type", Value: []string{"object", "null"}}}
	return strictyaml.Object{{Key: "type", Value: "object"}, {Key: "minProperties", Value: 1}, {Key: "maxProperties", Value: 1},
		{Key: "additionalProperties", Value: args}}
}

// DecodeYAML reads always, never or a mapping of the two.
func (a *HostedApproval) DecodeYAML(c *strictyaml.Cursor) {
	const want = "always, never, or a mapping of these to lists of tools"
	if c.Node().Kind == strictyaml.Mapping {
		c.DecodeStruct(a)
		return
	}
	n, ok := c.Scalar(want)
	if ok && n.Text != "always" && n.Text != "never" {
		c.Not(want)
	} else if ok {
		a.All = n.Text
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*HostedApproval) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	return strictyaml.AnyOf(strictyaml.Object{{Key: "enum", Value: []string{"always", "never"}}}, g.Struct(HostedApproval{}))
}

// Adopt takes over settings of an answer that generate_content_config has, for a
// model that is not Gemini's; what the model itself says wins. Those that have no
// counterpart are left alone.
func (m *Model) Adopt(g *genai.GenerateContentConfig) {
	if g == nil {
		return
	}
	adopt(&m.Temperature, exact(g.Temperature))
	adopt(&m.TopP, exact(g.TopP))
	if k := exact(g.TopK); k != nil {
		whole := int(*k)
		adopt(&m.TopK, &whole)
	}
	adopt(&m.PresencePenalty, exact(g.PresencePenalty))
	adopt(&m.FrequencyPenalty, exact(g.FrequencyPenalty))
	if g.MaxOutputTokens > 0 {
		most := int(g.MaxOutputTokens)
		adopt(&m.MaxOutputTokens, &most)
	}
	if g.Seed != nil {
		seed := int(*g.Seed)
		adopt(&m.Seed, &seed)
	}
	if m.Stop == nil {
		m.Stop = g.StopSequences
	}
	thinking := thinkingOf(g.ThinkingConfig)
	if thinking != nil && thinking.Budget > 0 && m.Provider != Anthropic {
		thinking = &Thinking{Effort: word(thinking.Budget)}
	}
	adopt(&m.Thinking, thinking)
}

// word is the effort that comes near a number of tokens of thinking.
func word(budget int) Effort {
	switch {
	case budget <= 1024:
		return MinimalThinking
	case budget <= 4096:
		return LowThinking
	case budget <= 12288:
		return MediumThinking
	}
	return HighThinking
}

func adopt[T any](into **T, value *T) {
	if *into == nil {
		*into = value
	}
}

// exact is the number as it was written: 0.7 and not 0.699999988.
func exact(f *float32) *float64 {
	if f == nil {
		return nil
	}
	v, _ := strconv.ParseFloat(strconv.FormatFloat(float64(*f), 'g', -1, 32), 64) // its own form
	return &v
}

// thinkingOf is the thinking that Gemini's settings ask for; nil if they leave it
// to the model.
func thinkingOf(t *genai.ThinkingConfig) *Thinking {
	switch {
	case t == nil:
		return nil
	case t.ThinkingBudget != nil && *t.ThinkingBudget > 0:
		return &Thinking{Budget: int(*t.ThinkingBudget)}
	case t.ThinkingBudget != nil && *t.ThinkingBudget == 0:
		return &Thinking{Effort: NoThinking}
	}
	if effort := Effort(strings.ToLower(string(t.ThinkingLevel))); slices.Contains(efforts, string(effort)) {
		return &Thinking{Effort: effort}
	}
	return nil
}
