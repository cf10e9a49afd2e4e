package house

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/anthropic"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat"
	"github.com/adkmcp/adkmcp/internal/agent/model/gemini"
	"github.com/adkmcp/adkmcp/internal/agent/model/openai"
	"github.com/adkmcp/adkmcp/internal/agent/model/replay"
	"github.com/adkmcp/adkmcp/internal/agent/model/sampling"
	"github.com/adkmcp/adkmcp/internal/agent/model/scripted"
	"github.com/adkmcp/adkmcp/internal/config"
)

// Model is the model of an agent. Whoever makes it closes it.
type Model struct {
	model.Model
	// NotReady says why it cannot be asked yet, such as for want of a key.
	NotReady error
	closers  []func() error
}

// Close frees what the model holds.
func (m *Model) Close() error {
	var errs []error
	for _, end := range m.closers {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

// model makes the model of an agent: what answers in its place, or what it names
// with all that it falls back on, and around it what listens.
func (h *House) model(cfg *config.Agent) (*Model, error) {
	m := &Model{}
	if h.options.Answer != nil {
		m.Model = h.options.Answer(cfg.Name)
	} else {
		var err error
		if m, err = NewModel(cfg, h.options.Now, h.options.Log); err != nil {
			return nil, err
		}
	}
	if h.options.Listen != nil {
		m.Model = h.options.Listen(cfg.Name, m.Model)
	}
	return m, nil
}

// Misfit says what of a model its provider does not take.
type Misfit struct {
	Pos  config.Position // of the model
	Path string          // of the setting, where it is known; model, where not
	Says string
}

// Error implements error.
func (m *Misfit) Error() string { return m.Path + ": " + m.Says }

// newMisfit reads a provider's error, which begins with the path of a setting as of the
// agent's first model. fallback is below 0 for that one.
func newMisfit(fallback int, pos config.Position, err error) *Misfit {
	m := &Misfit{Pos: pos, Path: "model", Says: err.Error()}
	if fallback >= 0 {
		m.Path = fmt.Sprintf("model.fallback[%d]", fallback)
	}
	if rest, ok := strings.CutPrefix(m.Says, "model."); ok {
		if key, says, ok := strings.Cut(rest, ": "); ok {
			m.Path, m.Says = m.Path+"."+key, says
		}
	}
	return m
}

// NewModel makes the model that an agent file names, with those that it falls back
// on. It needs no key. The error is a *[Misfit].
func NewModel(cfg *config.Agent, now func() time.Time, log *slog.Logger) (*Model, error) {
	all := []model.Alternative{}
	whole := &Model{}
	var notReady []error
	for i, one := range append([]config.Model{cfg.Model}, cfg.Model.Fallback...) {
		m, err := newProvider(cfg, &one, log)
		if err != nil {
			_ = whole.Close() // nothing was asked yet
			return nil, newMisfit(i-1, one.Pos, err)
		}
		whole.closers = append(whole.closers, m.closers...)
		notReady = append(notReady, m.NotReady)
		name := nameOf(&one)
		all = append(all, model.Alternative{Name: name, Model: model.Named(name, within(&one, m.Model), costs(&one))})
	}
	if len(all) == 1 {
		whole.Model = all[0].Model
	} else {
		whole.Model = model.Fallback(all, cfg.Model.Cooldown.Std(), now)
	}
	whole.NotReady = errors.Join(notReady...) // each fallback is there to be used
	return whole, nil
}

// within holds a model to its context window, where that is known.
func within(m *config.Model, inner model.Model) model.Model {
	if m.ContextWindow == 0 {
		return inner
	}
	answer := 0
	if m.MaxOutputTokens != nil {
		answer = *m.MaxOutputTokens
	}
	return model.Windowed(inner, int64(m.ContextWindow), int64(answer))
}

// nameOf is what a model is called in events and messages.
func nameOf(m *config.Model) string {
	if m.Name == "" {
		return m.Provider
	}
	return m.Provider + "/" + m.Name
}

// costs gives what a call of a model costs in US dollars; nil without a price.
func costs(m *config.Model) func(*model.Usage) float64 {
	if m.Price == nil {
		return nil
	}
	price := *m.Price
	return func(u *model.Usage) float64 { return price.Of(u.Input, u.Cached, u.Output, u.Thoughts) }
}

// provider is what the providers that ask a service have in common.
type provider interface {
	model.Model
	Check() error
	Close() error
}

// newProvider makes one model. It is the closed table of the providers.
func newProvider(cfg *config.Agent, m *config.Model, log *slog.Logger) (*Model, error) {
	var (
		p   provider
		err error
	)
	switch m.Provider {
	case config.Scripted:
		s, err := scripted.New(m.Script)
		return &Model{Model: s}, err
	case config.Host:
		return &Model{Model: sampling.New(m)}, nil
	case config.Replay:
		redact := config.NewRedactor(cfg.Secrets)
		player, err := replay.Load(m.Recording, replay.Options{Redact: redact.Text})
		if err != nil {
			return nil, err
		}
		return &Model{Model: player.Model(cfg.Name)}, nil
	case config.Gemini:
		p, err = gemini.New(m, cfg.Generate, gemini.Deps{Lookup: cfg.LookupEnv, Log: log})
	case config.OpenAI:
		p, err = openai.New(m, hostedServers(cfg), openai.Deps{Lookup: cfg.LookupEnv, Log: log})
	case config.Compatible:
		p, err = chat.New(m, chat.Deps{Lookup: cfg.LookupEnv, Log: log})
	case config.Anthropic:
		p, err = anthropic.New(m, anthropic.Deps{Lookup: cfg.LookupEnv, Log: log})
	default:
		return nil, fmt.Errorf("no model provider %q", m.Provider)
	}
	if err != nil {
		return nil, err
	}
	retrying := model.Retrying(p, model.Policy{Retries: m.Retries, Rand: rand.Float64})
	return &Model{Model: retrying, NotReady: p.Check(), closers: []func() error{p.Close}}, nil
}

// hostedServers are the MCP servers that an agent's model calls itself.
func hostedServers(cfg *config.Agent) []*config.HostedMCP {
	var all []*config.HostedMCP
	for i := range cfg.Tools {
		if s := cfg.Tools[i].HostedMCP; s != nil {
			all = append(all, s)
		}
	}
	return all
}
