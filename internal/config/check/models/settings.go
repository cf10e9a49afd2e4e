package models

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/check"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// settings are the settings of an answer that each provider has. Those of a
// provider that is not here have no effect, so all of them are refused.
var settings = map[string][]string{
	config.Gemini:     {"temperature", "top_p", "top_k", "max_output_tokens", "stop", "seed", "presence_penalty", "frequency_penalty", "thinking"},
	config.OpenAI:     {"temperature", "top_p", "max_output_tokens", "thinking", "extra_body"},
	config.Compatible: {"temperature", "top_p", "max_output_tokens", "stop", "seed", "presence_penalty", "frequency_penalty", "thinking", "extra_body"},
	config.Anthropic:  {"temperature", "top_p", "top_k", "max_output_tokens", "stop", "thinking"},
	config.Host:       {"temperature", "max_output_tokens", "stop"},
}

// allSettings are those that some provider has.
var allSettings = []string{"temperature", "top_p", "top_k", "max_output_tokens", "stop", "seed", "presence_penalty", "frequency_penalty", "thinking", "extra_body"}

// inGenerate are the settings that stand in generate_content_config under a name of
// their own, or the same.
var inGenerate = map[string]string{
	"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "max_output_tokens": "max_output_tokens", "seed": "seed",
	"presence_penalty": "presence_penalty", "frequency_penalty": "frequency_penalty", "stop_sequences": "stop", "thinking_config": "thinking",
}

// harmless are keys of generate_content_config that say what holds anyway.
var harmless = []string{"candidate_count"}

// settings refuses settings that the model's provider has not.
func (c *checker) settings(l link) {
	if l.Provider == "" || !c.known(l) {
		return
	}
	for _, key := range allSettings {
		if p := l.at.Key(key); c.node(p) != nil && !slices.Contains(settings[l.Provider], key) {
			hint := "remove it"
			if l.Provider == config.Compatible {
				hint = "if the server takes it all the same: extra_body: {" + key + ": …}"
			}
			c.errorf(p, hint, "the provider %s has no %s", l.Provider, key)
		}
	}
	if strings.Contains(string(l.ExtraBody), "${") {
		c.errorf(l.at.Key("extra_body"), "put what is secret into api_key or headers", "variables are not replaced in extra_body")
	}
	switch l.Provider {
	case config.Gemini:
		c.gemini(l)
	case config.OpenAI:
		c.openai(l)
	case config.Compatible:
		c.words(l)
	case config.Anthropic:
		c.anthropic(l)
	}
}

// gemini checks what the API refuses (GenerationConfig).
func (c *checker) gemini(l link) {
	const most = 5
	if len(l.Stop) > most {
		c.errorf(l.at.Key("stop"), "keep "+count(most, "texts"), "Gemini takes no more than %s", count(most, "stop texts"))
	}
	for _, key := range []string{"stop_sequences", "stopSequences"} {
		if p := check.At("generate_content_config").Key(key); c.node(p) != nil && c.Agent.Generate != nil && len(c.Agent.Generate.StopSequences) > most {
			c.errorf(p, "keep "+count(most, "texts"), "Gemini takes no more than %s", count(most, "stop texts"))
		}
	}
}

// reasoning are OpenAI's models that think before they answer.
var reasoning = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(o[0-9]|gpt-5)`) })

// openai checks what the Responses API refuses together.
func (c *checker) openai(l link) {
	c.words(l)
	const least = 16
	if l.MaxOutputTokens != nil && *l.MaxOutputTokens < least {
		c.errorf(c.place(l.at.Key("max_output_tokens")), "make it larger", "OpenAI wants %s at least", count(least, "tokens"))
	}
	thinks := reasoning().MatchString(l.Name) && (l.Thinking == nil || l.Thinking.Effort != config.NoThinking)
	for key, set := range map[string]bool{"temperature": l.Temperature != nil, "top_p": l.TopP != nil} {
		if set && thinks {
			c.warnf(c.place(l.at.Key(key)), "remove it, or write thinking: none where the model takes that", "%s refuses %s while it thinks", c.shown(l), key)
		}
	}
}

// words sees that thinking is one of the words, for services that count no tokens.
func (c *checker) words(l link) {
	if l.Thinking != nil && l.Thinking.Budget > 0 {
		c.errorf(l.at.Key("thinking"), "write minimal, low, medium or high", "the provider %s takes no number of tokens", l.Provider)
	}
}

// anthropic checks what the Messages API refuses together ("Extended thinking",
// feature compatibility).
func (c *checker) anthropic(l link) {
	p := c.place(l.at.Key("thinking"))
	if l.Thinking == nil || l.Thinking.Effort == config.NoThinking {
		return
	}
	const least = 1024
	switch budget := l.Thinking.Budget; {
	case budget > 0 && budget < least:
		c.errorf(p, "write thinking: 1024, or a word", "Anthropic wants %s of thinking at least", count(least, "tokens"))
	case budget > 0 && l.MaxOutputTokens != nil && *l.MaxOutputTokens <= budget:
		c.errorf(c.place(l.at.Key("max_output_tokens")), "make it larger", "max_output_tokens must be more than the %s of thinking, which count too", count(budget, "tokens"))
	}
	if q := l.at.Key("temperature"); l.Temperature != nil && *l.Temperature != 1 {
		c.errorf(c.place(q), "remove it", "Anthropic takes no temperature but 1 beside thinking")
	}
	if q := l.at.Key("top_k"); l.TopK != nil {
		c.errorf(c.place(q), "remove it", "Anthropic takes no top_k beside thinking")
	}
	if q := l.at.Key("top_p"); l.TopP != nil && *l.TopP < 0.95 {
		c.errorf(c.place(q), "make it 0.95 at least, or remove it", "Anthropic takes a top_p from 0.95 to 1 beside thinking")
	}
}

// place is where a setting stands: in the model, or in generate_content_config.
func (c *checker) place(p *strictyaml.Path) *strictyaml.Path {
	if c.node(p) != nil {
		return p
	}
	return check.At("generate_content_config")
}

// generation checks generate_content_config, which holds for all of an agent's
// models.
func (c *checker) generation(chain []link) {
	p := check.At("generate_content_config")
	n := c.node(p)
	if n == nil || n.Kind != strictyaml.Mapping {
		return
	}
	for i := range n.Pairs {
		key := n.Pairs[i].Key.Text
		q, name := p.Key(key), snake(key)
		setting := inGenerate[name]
		var without []string
		for _, l := range chain {
			if l.Provider == "" || !c.OK(q) {
				continue
			}
			if setting != "" && c.node(l.at.Key(setting)) != nil {
				c.errorf(q, "keep one of them", "%s says the same", l.at.Key(setting))
				continue
			}
			if l.Provider == config.Gemini || slices.Contains(harmless, name) || setting != "" && slices.Contains(settings[l.Provider], setting) {
				continue
			}
			without = append(without, named(l))
		}
		if without != nil {
			c.warnf(q, "remove it, or give these models to an agent of their own", "has no effect on %s: the provider has no %s", strings.Join(without, ", "), name)
		}
	}
}

// snake spells maxOutputTokens as max_output_tokens.
func snake(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
