// Package models finds what is wrong with what an agent file says of its models:
// which provider has which settings, and which tools its service can run.
//
// Start with [Check]. It is a part of package check with a room of its own.
package models

import (
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/check"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// checker is an agent file of which the models are being checked.
type checker struct{ *check.File }

// Check adds to what has been found of a file what is wrong with its models, and
// with the tools that a model's service runs.
func Check(f *check.File) {
	c := &checker{f}
	m, p := &f.Agent.Model, check.At("model")
	chain := []link{{m, p}}
	for i := range m.Fallback {
		chain = append(chain, link{&m.Fallback[i], p.Key("fallback").Index(i)})
	}
	if !f.Inherited {
		for _, l := range chain {
			c.model(l)
		}
		c.fallbacks(m, p)
	}
	c.generation(chain)
	c.budgets(chain)
	c.compaction(chain)
	for _, l := range chain {
		c.hosted(l)
	}
	c.servers(chain)
}

// link is one of the models of an agent: its own, or one that it falls back on.
type link struct {
	*config.Model
	at *strictyaml.Path
}

func (c *checker) errorf(p *strictyaml.Path, hint, format string, args ...any) {
	c.Report(strictyaml.Error, p, hint, format, args...)
}

func (c *checker) warnf(p *strictyaml.Path, hint, format string, args ...any) {
	c.Report(strictyaml.Warning, p, hint, format, args...)
}

// node is the value at p, nil where there is none.
func (c *checker) node(p *strictyaml.Path) *strictyaml.Node { return c.Doc.Find(p) }

// known reports whether what a file says of a model could be read, so that what is
// missing is really missing.
func (c *checker) known(l link) bool {
	return c.OK(l.at) && !c.Unset[l.at.String()] && !c.Unset[l.at.Key("name").String()] && !c.Unset[l.at.Key("provider").String()]
}

// example is a model of each provider that needs a name.
var example = map[string]string{
	config.Gemini: "gemini-flash-latest", config.OpenAI: "gpt-5-mini", config.Anthropic: "claude-sonnet-4-5", config.Compatible: "qwen3",
}

// model checks one model.
func (c *checker) model(l link) {
	script := l.at.Key("script")
	switch {
	case !c.known(l):
	case l.Provider == "" && len(l.Script) > 0:
		c.errorf(script, "add provider: scripted", "only the scripted provider plays a script")
	case l.Provider == "":
		c.errorf(l.at, "add name: gemini-flash-latest", "names neither a model nor a provider")
	case l.Provider == config.Scripted && len(l.Script) == 0:
		c.errorf(l.at, "add script: with a list of rules", "the scripted provider has no script")
	case l.Provider != config.Scripted && c.node(script) != nil:
		c.errorf(script, "remove it, or say provider: scripted", "the provider %s plays no script", l.Provider)
	case l.Name == "" && example[l.Provider] != "":
		c.errorf(l.at, "add name: "+example[l.Provider], "has no name")
	case l.Provider == config.Compatible && l.BaseURL == "" && !c.Unset[l.at.Key("base_url").String()]:
		c.errorf(l.at, "add base_url: http://127.0.0.1:8000/v1, say, or write ollama/NAME", "the provider openai-compatible needs base_url, the address of the API")
	}
	c.reach(l)
	c.baseURL(l)
	for _, name := range slices.Sorted(maps.Keys(l.Headers)) {
		c.CheckHeader(l.at.Key("headers").Key(name), name, l.Headers[name].Reveal())
	}
	c.recording(l)
	c.settings(l)
}

// reach refuses what says how a service is reached where there is none.
func (c *checker) reach(l link) {
	switch l.Provider {
	case config.Host, config.Scripted, config.Replay:
	default:
		return
	}
	for _, key := range []string{"base_url", "api_key", "headers"} {
		if p := l.at.Key(key); c.node(p) != nil && l.Provider != config.Scripted {
			c.errorf(p, "remove it", "the provider %s asks no service of its own", l.Provider)
		}
	}
}

func (c *checker) baseURL(l link) {
	p := l.at.Key("base_url")
	if l.BaseURL == "" || c.Unset[p.String()] {
		return
	}
	u, err := url.Parse(l.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		c.errorf(p, "", "want a URL such as https://host/path")
		return
	}
	if u.Scheme == "http" && !check.IsLoopback(u.Hostname()) && !l.APIKey.IsZero() {
		c.warnf(p, "use https", "the key is sent without encryption")
	}
}

// recording sees that a replay model has what it plays.
func (c *checker) recording(l link) {
	p := l.at.Key("recording")
	switch {
	case l.Provider != config.Replay && c.node(p) != nil:
		c.errorf(p, "remove it, or say provider: replay", "the provider %s plays no recording", l.Provider)
	case l.Provider == config.Replay && l.Model == &c.Agent.Model && !c.Unset[p.String()] && c.known(l):
		if c.node(p) == nil {
			p = l.at
		}
		c.CheckFile(l.Recording, p)
	}
}

// fallbacks checks what is said of models that stand in for another.
func (c *checker) fallbacks(m *config.Model, p *strictyaml.Path) {
	if q := p.Key("cooldown"); c.node(q) != nil && len(m.Fallback) == 0 && c.OK(q) {
		c.warnf(q, "add fallback, a list of models", "without a fallback no model is passed over")
	}
	for i := range m.Fallback {
		q := p.Key("fallback").Index(i)
		for _, key := range []string{"fallback", "cooldown"} {
			if inner := q.Key(key); c.node(inner) != nil {
				c.errorf(inner, "put all models into one list, the best first", "a fallback has none of its own")
			}
		}
		if m.Fallback[i].Provider == config.Replay {
			c.errorf(q, "remove it", "a recording cannot stand in for a model")
		}
	}
}

// budgets sees that limits of cost can be kept.
func (c *checker) budgets(chain []link) {
	for _, key := range []string{"max_cost", "max_conversation_cost"} {
		p := check.At("limits").Key(key)
		if c.node(p) == nil || !c.OK(p) {
			continue
		}
		for _, l := range chain {
			c.priced(l, p, "")
		}
		for i := range c.Agent.Tools {
			if inner := c.Agent.Tools[i].Agent; inner != nil && inner.Agent != nil {
				c.priced(link{&inner.Agent.Model, check.At("tools").Index(i)}, p, " of the agent "+inner.Agent.Name)
			}
		}
	}
}

// priced sees that a limit of cost at p can count a model.
func (c *checker) priced(l link, p *strictyaml.Path, whose string) {
	switch {
	case !c.OK(l.at) || l.Provider == "" || l.Provider == config.Scripted:
	case l.Provider == config.Host:
		c.errorf(p, "remove it, and set limits.max_model_calls", "a host does not say what its model uses, so the cost of the model host%s cannot be known", whose)
	case l.Price == nil:
		c.errorf(p, "add price: {input: 1.25, output: 10} to it, in US dollars for a million tokens", "nobody knows what the model %s%s costs", named(l), whose)
	}
}

// named is what a model is called in messages.
func named(l link) string {
	if l.Name == "" {
		return l.Provider
	}
	return l.Provider + "/" + l.Name
}

// compaction checks the two pairs of keys (ADK, EventsCompactionConfig).
func (c *checker) compaction(chain []link) {
	p := check.At("events_compaction_config")
	s := c.Agent.Compaction
	if s == nil || !c.OK(p) {
		return
	}
	if chain[0].Provider == config.Host {
		c.errorf(p, "remove it, or name another model", "the calling host's model is not asked for summaries")
	}
	pair := func(has, other bool, first, second string) {
		if has != other {
			missing := second
			if !has {
				missing = first
			}
			c.errorf(p, "add "+missing, "%s and %s go together", first, second)
		}
	}
	pair(s.CompactionInterval > 0, s.OverlapSize != nil, "compaction_interval", "overlap_size")
	pair(s.TokenThreshold > 0, s.EventRetentionSize != nil, "token_threshold", "event_retention_size")
	if s.CompactionInterval == 0 && s.TokenThreshold == 0 && s.OverlapSize == nil && s.EventRetentionSize == nil {
		c.errorf(p, "add token_threshold: 100000 and event_retention_size: 10, say", "nothing says when to summarise")
	}
	if q := check.At("include_contents"); c.Agent.IncludeContents == "none" {
		c.warnf(q, "remove it, or events_compaction_config", "with include_contents: none the model sees no earlier turns, so only long turns are summarised")
	}
}

// shown is a model's name as the file writes it.
func (c *checker) shown(l link) string { return c.Shown(l.at, l.Name) }

// count is a number with its noun.
func count(n int, noun string) string { return fmt.Sprintf("%d %s", n, noun) }
