package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/gemini"
	"github.com/adkmcp/adkmcp/internal/agent/model/scripted"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/load"
	"github.com/adkmcp/adkmcp/internal/config/report"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
	"github.com/adkmcp/adkmcp/internal/tools"
)

// localPrincipal is the caller in the terminal and on stdio: the user that the
// operating system started us for.
const localPrincipal = "local"

// bounds are what conversations may take.
type bounds struct {
	ttl   time.Duration
	count int
	bytes int
}

func defaultBounds() bounds { return bounds{ttl: time.Hour, count: 1000, bytes: 8 << 20} }

// resident is one agent with everything that it runs on.
type resident struct {
	cfg    *config.Agent
	tools  agent.Toolset
	runner *agent.Runner
	// notReady says why the model cannot be asked yet, such as for want of a
	// key. The first call will say the same, unless it has changed by then.
	notReady error
}

// house is what a command runs on. Whoever opens it closes it.
type house struct {
	residents []resident
	store     *session.Memory
	artifacts *artifact.Memory
	log       *slog.Logger
	closers   []func() error
}

// names are those of the agents.
func (h *house) names() []string {
	var all []string
	for _, r := range h.residents {
		all = append(all, r.cfg.Name)
	}
	return all
}

// Close frees what was opened, the newest first.
func (h *house) Close() error {
	var errs []error
	for i := len(h.closers) - 1; i >= 0; i-- {
		errs = append(errs, h.closers[i]())
	}
	h.closers = nil
	return errors.Join(errs...)
}

// open loads the agents of paths for a command that runs them. Problems are
// printed; with an error among them there is no house.
func (a *app) open(logs *logOptions, paths []string, b bounds) (*house, error) {
	h := &house{}
	log, closeLog, err := logs.open(a.redact.writer(a.stderr), a.redact.writer)
	if err != nil {
		return nil, err
	}
	h.log = log
	h.closers = append(h.closers, closeLog)
	agents, problems, err := load.Agents(paths, load.Options{LookupEnv: a.lookup, Logger: log})
	printing := report.Text(a.stderr, problems)
	switch {
	case err != nil:
		return nil, errors.Join(&exitError{exitUsage, err}, h.Close())
	case printing != nil:
		return nil, errors.Join(printing, h.Close())
	case problems.HasErrors():
		return nil, errors.Join(&exitError{code: exitFailed}, h.Close())
	case len(agents) == 0:
		return nil, errors.Join(usageError("no agent in %s; an agent file has name and instruction at the top", strings.Join(paths, ", ")), h.Close())
	}
	a.redact.add(secretsOf(agents))
	if problems = a.build(h, agents, b); len(problems) > 0 {
		return nil, errors.Join(report.Text(a.stderr, problems), &exitError{code: exitFailed}, h.Close())
	}
	return h, nil
}

func secretsOf(agents []*config.Agent) []string {
	var all []string
	for _, cfg := range agents {
		all = append(all, cfg.Secrets...)
	}
	return all
}

// build puts the agents together. It starts and contacts nothing; validate
// uses it too.
func (a *app) build(h *house, agents []*config.Agent, b bounds) load.Problems {
	h.store = session.NewMemory(session.MemoryOptions{IdleTTL: b.ttl, MaxConversations: b.count, MaxBytes: b.bytes, Now: a.now, Log: h.log})
	h.closers = append(h.closers, h.store.Close)
	h.artifacts = artifact.NewMemory(artifact.MemoryOptions{IdleTTL: max(b.ttl, artifact.DefaultIdleTTL), Now: a.now, Log: h.log})
	h.closers = append(h.closers, h.artifacts.Close)
	var problems load.Problems
	for _, cfg := range agents {
		m, notReady, err := a.model(h, cfg)
		if err != nil {
			problems = append(problems, load.Problem{Severity: strictyaml.Error, File: cfg.File, Path: "model", Message: err.Error()})
		}
		set, faults := tools.Build(cfg, tools.Deps{Now: a.now, Log: h.log, Artifacts: h.artifacts})
		for _, f := range faults {
			problems = append(problems, problemsOf(cfg.File, f)...)
		}
		if err != nil || len(faults) > 0 {
			continue
		}
		h.closers = append(h.closers, set.Close)
		h.residents = append(h.residents, resident{cfg: cfg, tools: set, notReady: notReady, runner: agent.NewRunner(cfg, agent.Parts{
			Model: m, Tools: set, Store: h.store, Now: a.now, NewID: a.newID, Log: h.log,
		})})
	}
	return problems.Sort()
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

// model makes the model that an agent file names. It needs no key: notReady
// says if there is none yet.
func (a *app) model(h *house, cfg *config.Agent) (m model.Model, notReady, err error) {
	switch cfg.Model.Provider {
	case config.Scripted:
		m, err := scripted.New(cfg.Model.Script)
		return m, nil, err
	case config.Gemini:
		g, err := gemini.New(&cfg.Model, cfg.Generate, gemini.Deps{Lookup: cfg.LookupEnv, Log: h.log})
		if err != nil {
			return nil, nil, err
		}
		h.closers = append(h.closers, g.Close)
		return model.Retrying(g, model.Policy{Retries: cfg.Model.Retries, Rand: rand.Float64}), g.Check(), nil
	}
	return nil, nil, fmt.Errorf("no model provider %q", cfg.Model.Provider)
}
