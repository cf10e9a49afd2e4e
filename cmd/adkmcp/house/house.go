// Package house puts agents together: their models, their tools, the agents that
// are tools of others, and the stores that all of them share. It is the one place
// that knows every part; commands run on what it builds.
//
// Start with [Build].
package house

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/agent/memory"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/load"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
	"github.com/adkmcp/adkmcp/internal/tools"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient"
)

// Bounds are what conversations may take.
type Bounds struct {
	TTL   time.Duration
	Count int
	Bytes int
}

// DefaultBounds are those of a server whose flags say nothing else.
func DefaultBounds() Bounds { return Bounds{TTL: time.Hour, Count: 1000, Bytes: 8 << 20} }

// Options are what a house is built from. All but Login and
// what is said to be nil are required.
type Options struct {
	Agents []*config.Agent
	Bounds Bounds
	Now    func() time.Time
	// NewID makes an identifier that is unique among all processes.
	NewID func() string
	Log   *slog.Logger
	// Login shows a person where to log in to an MCP server; nil where nobody can.
	Login func(ctx context.Context, url string) error
	// Version is ours, for the servers that we talk to.
	Version string
	// Listen, if not nil, stands between an agent and its model, such as to record
	// it. Answer, if not nil, gives what answers in place of the agent's model.
	Listen func(agent string, m model.Model) model.Model
	Answer func(agent string) model.Model
	// Around, if not nil, stands between an agent and its tools.
	Around func(cfg *config.Agent, tools agent.Toolset) agent.Toolset
}

// Resident is one agent with everything that it runs on.
type Resident struct {
	Config *config.Agent
	Tools  *tools.Set
	Runner *agent.Runner
	// NotReady says why the model cannot be asked yet, such as for want of a
	// key. The first call will say the same, unless it has changed by then.
	NotReady error
}

// House is what commands run on. Whoever builds it closes it.
type House struct {
	// Residents are the agents of the options, in their order, without those that
	// only others call.
	Residents []*Resident
	Store     *session.Memory
	Artifacts *artifact.Memory

	options Options
	memory  *memory.Memory
	servers *mcpclient.Pool
	built   map[*config.Agent]*Resident
	closers []func() error
}

// Build puts the agents together. It starts and contacts nothing, so that
// checking files can do the same. With problems the house is of no use, but has to
// be closed all the same.
func Build(o Options) (*House, load.Problems) {
	h := &House{options: o, built: make(map[*config.Agent]*Resident)}
	h.Store = session.NewMemory(session.MemoryOptions{IdleTTL: o.Bounds.TTL, MaxConversations: o.Bounds.Count, MaxBytes: o.Bounds.Bytes, Now: o.Now, Log: o.Log})
	h.closers = append(h.closers, h.Store.Close)
	h.Artifacts = artifact.NewMemory(artifact.MemoryOptions{IdleTTL: max(o.Bounds.TTL, artifact.DefaultIdleTTL), Now: o.Now, Log: o.Log})
	h.closers = append(h.closers, h.Artifacts.Close)
	h.memory = memory.NewMemory(memory.Options{})
	h.closers = append(h.closers, h.memory.Close)
	h.servers = mcpclient.NewPool(mcpclient.PoolOptions{Now: o.Now, Log: o.Log, Browser: o.Login, Interactive: o.Login != nil, Version: o.Version})
	h.closers = append(h.closers, h.servers.Close)
	var problems load.Problems
	for _, cfg := range o.Agents {
		r, ps := h.resident(cfg)
		problems = append(problems, ps...)
		if r != nil {
			h.Residents = append(h.Residents, r)
		}
	}
	return h, problems.Sort()
}

// Close frees what was built, the newest first.
func (h *House) Close() error {
	var errs []error
	for i := len(h.closers) - 1; i >= 0; i-- {
		errs = append(errs, h.closers[i]())
	}
	h.closers = nil
	return errors.Join(errs...)
}

// Start connects the MCP servers that want to be connected before the first call.
// It does not wait for them.
func (h *House) Start(ctx context.Context) {
	for _, r := range h.built {
		r.Tools.Start(ctx)
	}
}

// Secrets are the values of all agents, those that others call included, that
// must not be printed.
func Secrets(agents []*config.Agent) []string {
	var all []string
	for _, cfg := range agents {
		all = append(all, cfg.Secrets...)
		for i := range cfg.Tools {
			if inner := cfg.Tools[i].Agent; inner != nil && inner.Agent != nil {
				all = append(all, Secrets([]*config.Agent{inner.Agent})...)
			}
		}
	}
	return all
}

// resident builds an agent, and before it the agents that are its tools. It is
// built once, however many call it; problems come with the first time.
func (h *House) resident(cfg *config.Agent) (*Resident, load.Problems) {
	if r, known := h.built[cfg]; known {
		return r, nil
	}
	var problems load.Problems
	for i := range cfg.Tools {
		if inner := cfg.Tools[i].Agent; inner != nil {
			_, ps := h.resident(inner.Agent)
			problems = append(problems, ps...)
		}
	}
	m, err := h.model(cfg)
	if err != nil {
		problems = append(problems, problemOf(cfg.File, err))
	}
	if len(problems) > 0 {
		return nil, problems
	}
	h.closers = append(h.closers, m.Close)
	deps := tools.Deps{Now: h.options.Now, Log: h.options.Log, Artifacts: h.Artifacts, Memory: h.memory, Servers: h.servers, Model: m.Model, Inner: h.inner}
	set, faults := tools.Build(cfg, deps)
	for _, f := range faults {
		problems = append(problems, problemsOf(cfg.File, f)...)
	}
	if len(faults) > 0 {
		return nil, problems
	}
	h.closers = append(h.closers, set.Close)
	var listed agent.Toolset = set
	if h.options.Around != nil {
		listed = h.options.Around(cfg, set)
	}
	parts := agent.Parts{Model: m.Model, Tools: listed, Store: h.Store, Now: h.options.Now, NewID: h.options.NewID, Log: h.options.Log}
	if cfg.Memory == "auto" {
		parts.Memory = h.memory
	}
	r := &Resident{Config: cfg, Tools: set, NotReady: m.NotReady, Runner: agent.NewRunner(cfg, parts)}
	h.built[cfg] = r
	return r, nil
}

// inner gives an agent that is a tool of another; it has been built by then.
func (h *House) inner(cfg *config.Agent) *tools.Inner {
	r := h.built[cfg]
	return &tools.Inner{Runner: r.Runner, Tools: r.Tools}
}

// problemOf gives what a model's provider does not take the form of what loading finds.
func problemOf(file string, err error) load.Problem {
	var misfit *Misfit
	if !errors.As(err, &misfit) {
		return load.Problem{Severity: strictyaml.Error, File: file, Path: "model", Message: err.Error()}
	}
	return load.Problem{Severity: strictyaml.Error, File: file, Line: misfit.Pos.Line, Column: misfit.Pos.Column, Path: misfit.Path, Message: misfit.Says}
}

// problemsOf gives what the tools found wrong the form of what loading finds.
func problemsOf(file string, f tools.Fault) load.Problems {
	all := []error{f.Err}
	if joined, ok := f.Err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	var problems load.Problems
	for _, err := range all {
		problems = append(problems, load.Problem{Severity: strictyaml.Error, File: file, Line: f.Pos.Line, Column: f.Pos.Column,
			Path: fmt.Sprintf("tools[%d]", f.Entry), Message: err.Error()})
	}
	return problems
}
