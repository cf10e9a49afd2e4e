// Package tools makes the tools of an agent file: for each entry the tool of
// its kind, and around it what every tool has.
//
// Start with [Build] and the table of kinds. A new kind is a section in package
// config, a folder here, a row in the table, fixtures and an example.
package tools

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/ask"
	"github.com/adkmcp/adkmcp/internal/tools/builtin"
	"github.com/adkmcp/adkmcp/internal/tools/httpreq"
	"github.com/adkmcp/adkmcp/internal/tools/middleware"
	"github.com/adkmcp/adkmcp/internal/tools/shell"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// Deps are what tools need from outside; all are required. The environment that
// they see is the agent file's own view of it.
type Deps struct {
	// Now is the clock; its location is the local time zone.
	Now func() time.Time
	Log *slog.Logger
	// Artifacts keeps what agents save; it is the caller's to close.
	Artifacts artifact.Store
}

// parts are what the tools of one agent share.
type parts struct {
	Deps
	lookup func(name string) (string, bool)
	web    *webclient.Client
	// secrets are those of the whole file: what one tool knows, another may read.
	secrets []string
}

// kind is a row of the table.
type kind struct {
	name string // as in the agent file and the documentation
	has  func(*config.Tool) bool
	make func(*config.Tool, *parts) ([]agent.Tool, error)
}

// kinds is the closed table of what an entry can be; the first row that has it
// makes it.
var kinds = []kind{
	{"shell", func(t *config.Tool) bool { return t.Shell != nil }, func(t *config.Tool, p *parts) ([]agent.Tool, error) {
		return one(shell.New(t, shell.Deps{Lookup: p.lookup, Logger: p.Log}))
	}},
	{"http", func(t *config.Tool) bool { return t.HTTP != nil }, func(t *config.Tool, p *parts) ([]agent.Tool, error) {
		return one(httpreq.New(t, p.web))
	}},
	{"ask", func(t *config.Tool) bool { return t.Ask != nil }, func(t *config.Tool, _ *parts) ([]agent.Tool, error) {
		return one(ask.New(t))
	}},
	// An entry without a kind key names a built-in.
	{"builtin", func(*config.Tool) bool { return true }, func(t *config.Tool, p *parts) ([]agent.Tool, error) {
		return builtin.New(t, builtin.Deps{Now: p.Now, Artifacts: p.Artifacts})
	}},
}

// one is the list of a kind that gives one tool.
func one(t agent.Tool, err error) ([]agent.Tool, error) {
	if err != nil {
		return nil, err
	}
	return []agent.Tool{t}, nil
}

// Set is the tools of one agent, in the file's order; it never changes.
type Set struct {
	agent.Static
	web *webclient.Client
}

// Close frees the connections that are kept open. No call may run any more.
func (s *Set) Close() error { return s.web.Close() }

// Fault is what is wrong with one entry of an agent's tools.
type Fault struct {
	Entry int // its index
	Pos   config.Position
	Err   error
}

// Build makes the tools of a. Nothing is started and nobody is contacted;
// whoever builds closes the set. With a fault there is no set.
func Build(a *config.Agent, d Deps) (*Set, []Fault) {
	p := &parts{Deps: d, lookup: a.LookupEnv, web: webclient.New(webclient.Options{}), secrets: a.Secrets}
	set := &Set{web: p.web}
	var faults []Fault
	lines := map[string]int{} // where a name comes from
	for i := range a.Tools {
		t := &a.Tools[i]
		made, err := build(t, p)
		if err != nil {
			faults = append(faults, Fault{i, t.Pos, err})
		}
		for _, tool := range made {
			name := tool.Spec().Name
			if line, taken := lines[name]; taken {
				faults = append(faults, Fault{i, t.Pos, fmt.Errorf("the tool name %s is taken by the entry in line %d: give one of them another name", name, line)})
				continue
			}
			lines[name] = t.Pos.Line
			set.Static = append(set.Static, tool)
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return set, nil
}

// build makes the tools of one entry, with everything around them.
func build(t *config.Tool, p *parts) ([]agent.Tool, error) {
	row := slices.IndexFunc(kinds, func(k kind) bool { return k.has(t) })
	made, err := kinds[row].make(t, p)
	if err != nil {
		return nil, err
	}
	o := middleware.Options{Log: p.Log, Now: p.Now, Secrets: p.secrets,
		Approve: t.RequiresApproval, Timeout: t.Timeout.Std(), MaxResultBytes: t.MaxResultBytes}
	if t.Shell != nil {
		o.Concurrency = t.Shell.Concurrency
	}
	for i, tool := range made {
		made[i] = middleware.Wrap(tool, o)
	}
	return made, nil
}
