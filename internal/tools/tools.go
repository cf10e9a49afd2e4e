// Package tools makes the tools of an agent file: for each entry the tools of
// its kind, and around each what every tool has.
//
// Start with [Build] and the table of kinds, then [Set]. A new kind is a section in
// package config, a folder here, a row in the table, fixtures and an example.
package tools

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/agent/memory"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/agenttool"
	"github.com/adkmcp/adkmcp/internal/tools/ask"
	"github.com/adkmcp/adkmcp/internal/tools/builtin"
	"github.com/adkmcp/adkmcp/internal/tools/httpreq"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient"
	"github.com/adkmcp/adkmcp/internal/tools/middleware"
	"github.com/adkmcp/adkmcp/internal/tools/openapi"
	"github.com/adkmcp/adkmcp/internal/tools/recall"
	"github.com/adkmcp/adkmcp/internal/tools/selection"
	"github.com/adkmcp/adkmcp/internal/tools/shell"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
	"github.com/adkmcp/adkmcp/internal/tools/webpage"
)

// Deps are what tools need from outside; all are required. The environment that
// they see is the agent file's own view of it.
type Deps struct {
	// Now is the clock; its location is the local time zone.
	Now func() time.Time
	Log *slog.Logger
	// Artifacts, Memory and Servers are the caller's to close.
	Artifacts artifact.Store
	Memory    memory.Service
	Servers   *mcpclient.Pool
	// Model is the agent's own, for MCP servers that may use it.
	Model model.Model
	// Inner gives an agent that is a tool; it is built already.
	Inner func(*config.Agent) *Inner
}

// Inner is an agent that is a tool of another.
type Inner struct {
	Runner *agent.Runner
	Tools  *Set
}

// parts are what the tools of one agent share.
type parts struct {
	Deps
	agent *config.Agent
	web   *webclient.Client
}

// kind is a row of the table.
type kind struct {
	name string // as in the agent file and the documentation
	has  func(*config.Tool) bool
	make func(*config.Tool, *parts) (agent.Toolset, error)
}

// kinds is the closed table of what an entry can be; the first row that has it
// makes it.
var kinds = []kind{
	{"shell", func(t *config.Tool) bool { return t.Shell != nil }, func(t *config.Tool, p *parts) (agent.Toolset, error) {
		return one(shell.New(t, shell.Deps{Lookup: p.agent.LookupEnv, Logger: p.Log}))
	}},
	{"http", func(t *config.Tool) bool { return t.HTTP != nil }, func(t *config.Tool, p *parts) (agent.Toolset, error) {
		return one(httpreq.New(t, p.web))
	}},
	{"openapi", func(t *config.Tool) bool { return t.OpenAPI != nil }, func(t *config.Tool, p *parts) (agent.Toolset, error) {
		return openapi.New(t, openapi.Deps{Client: p.web, Log: p.Log})
	}},
	{"mcp", func(t *config.Tool) bool { return t.MCP != nil }, func(t *config.Tool, p *parts) (agent.Toolset, error) {
		return p.Servers.Toolset(t, mcpclient.Deps{Agent: p.agent.Name, Lookup: p.agent.LookupEnv, Sample: mcpclient.SampleWith(p.Model)})
	}},
	{"agent", func(t *config.Tool) bool { return t.Agent != nil }, func(t *config.Tool, p *parts) (agent.Toolset, error) {
		inner := p.Inner(t.Agent.Agent)
		return one(agenttool.New(t, agenttool.Options{Runner: inner.Runner, Hints: inner.Tools.Hints(), Store: inner.Runner.Store, Artifacts: p.Artifacts}))
	}},
	{"hosted_mcp", func(t *config.Tool) bool { return t.HostedMCP != nil }, func(t *config.Tool, _ *parts) (agent.Toolset, error) {
		return agent.Static{newHostedServer(t.HostedMCP.ServerLabel)}, nil
	}},
	{"ask", func(t *config.Tool) bool { return t.Ask != nil }, func(t *config.Tool, _ *parts) (agent.Toolset, error) {
		return one(ask.New(t))
	}},
	// An entry without a kind key names a built-in.
	{"hosted", named("google_search", "url_context", "code_execution"), func(t *config.Tool, _ *parts) (agent.Toolset, error) {
		return agent.Static{newHosted(t.Name)}, nil
	}},
	{"memory", named("load_memory", "preload_memory"), func(t *config.Tool, p *parts) (agent.Toolset, error) {
		return one(recall.New(t, p.Memory))
	}},
	{"web", named("load_web_page"), func(t *config.Tool, p *parts) (agent.Toolset, error) {
		return one(webpage.New(t, p.web))
	}},
	{"builtin", func(*config.Tool) bool { return true }, func(t *config.Tool, p *parts) (agent.Toolset, error) {
		made, err := builtin.New(t, builtin.Deps{Now: p.Now, Artifacts: p.Artifacts})
		return agent.Static(made), err
	}},
}

// rowOf finds the row that makes an entry.
func rowOf(t *config.Tool) int { return slices.IndexFunc(kinds, func(k kind) bool { return k.has(t) }) }

// kindOf names an entry's kind, for people.
func kindOf(t *config.Tool) string {
	kind := kinds[rowOf(t)].name
	if t.MCP != nil {
		kind += " " + t.MCP.Server.Name
	}
	return kind
}

func named(names ...string) func(*config.Tool) bool {
	return func(t *config.Tool) bool { return t.Builtin != nil && slices.Contains(names, t.Name) }
}

// one is the list of a kind that gives one tool.
func one(t agent.Tool, err error) (agent.Toolset, error) { return agent.Static{t}, err }

// Fault is what is wrong with one entry of an agent's tools.
type Fault struct {
	Entry int // its index
	Pos   config.Position
	Err   error
}

// Build makes the tools of a. Nothing is started and nobody is contacted;
// whoever builds closes the set. With a fault there is no set, and nothing to
// close.
func Build(a *config.Agent, d Deps) (*Set, []Fault) {
	p := &parts{Deps: d, agent: a, web: webclient.New(webclient.Options{})}
	set := &Set{web: p.web}
	var faults []Fault
	lines := map[string]int{} // where a name comes from
	for i := range a.Tools {
		t := &a.Tools[i]
		src, err := build(t, p)
		if err != nil {
			faults = append(faults, Fault{i, t.Pos, err})
			continue
		}
		set.sources = append(set.sources, src)
		for _, tool := range src.last {
			name := tool.Spec().Name
			if line, taken := lines[name]; taken {
				faults = append(faults, Fault{i, t.Pos, fmt.Errorf("the tool name %s is taken by the entry in line %d: give one of them another name", name, line)})
				continue
			}
			lines[name] = t.Pos.Line
		}
	}
	if len(faults) > 0 {
		_ = set.Close() // it never ran, and the faults are what matters
		return nil, faults
	}
	if selection.Needed(a.Tools) {
		var err error
		if set.selector, err = selection.New(a.Tools, d.Log); err != nil {
			_ = set.Close()
			return nil, []Fault{{0, a.Tools[0].Pos, err}}
		}
	}
	set.fix()
	return set, nil
}

// build makes what one entry gives, with everything around it.
func build(t *config.Tool, p *parts) (*source, error) {
	made, err := kinds[rowOf(t)].make(t, p)
	if err != nil {
		return nil, err
	}
	src := &source{Toolset: made, entry: t, wrap: middleware.Options{
		Log: p.Log, Now: p.Now, Secrets: p.agent.Secrets, Rand: rand.Float64,
		Allow: t.Allow, Deny: t.Deny, Approve: t.RequiresApproval, Cache: t.Cache, CacheState: t.Agent != nil, RateLimit: t.RateLimit, Retry: t.Retry, Idempotent: t.Idempotent,
		Timeout: t.Timeout.Std(), MaxResultBytes: t.MaxResultBytes, MaxResultTokens: t.MaxResultTokens, AnswerMedia: t.AnswerMedia,
	}}
	if t.MCP != nil {
		src.wrap.CacheBy = t.MCP.Server.ForwardHeaders
	}
	if t.Shell != nil {
		src.wrap.Concurrency = t.Shell.Concurrency
	}
	if static, ok := made.(agent.Static); ok {
		src.fixed = true
		for _, tool := range static {
			src.last = append(src.last, src.around(tool))
		}
	}
	return src, nil
}
