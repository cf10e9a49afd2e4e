package agent

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/instruction"
	"github.com/adkmcp/adkmcp/internal/agent/memory"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/output"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

// Parts are what an agent is made of, besides its file.
type Parts struct {
	Model model.Model
	Tools Toolset       // nil for none
	Store session.Store // where conversations are kept
	Now   func() time.Time
	// NewID makes an identifier that is unique among all processes.
	NewID func() string
	Log   *slog.Logger
	// Memory takes what was said in turns that have ended well; nil for nothing.
	Memory memory.Service
}

// Runner takes turns of one agent. It is safe for concurrent use.
type Runner struct {
	Parts
	cfg         *config.Agent
	instruction instruction.Text
	output      *output.Schema // nil for answers that are text
	windowed    bool           // a model wants to know how long requests are
}

// NewRunner makes the runner of one agent. It starts nothing.
func NewRunner(cfg *config.Agent, p Parts) *Runner {
	if p.Tools == nil {
		p.Tools = Static(nil)
	}
	windowed := func(m config.Model) bool { return m.ContextWindow > 0 }
	return &Runner{Parts: p, cfg: cfg, instruction: instruction.Parse(cfg.Instruction), output: output.New(cfg.OutputSchema),
		windowed: windowed(cfg.Model) || slices.ContainsFunc(cfg.Model.Fallback, windowed)}
}

// Static is a [Toolset] whose list never changes.
type Static []Tool

// Tools implements [Toolset].
func (s Static) Tools(context.Context, *Query) ([]Tool, error) { return s, nil }

// HintsOf is the worst of what the tools of a toolset may do; a toolset that
// cannot tell counts as the worst there is. Without tools an agent can only
// talk.
func HintsOf(ctx context.Context, ts Toolset, q *Query) Hints {
	asked := *q
	asked.Peek = true
	tools, err := ts.Tools(ctx, &asked)
	if err != nil {
		return Hints{}
	}
	return HintsOfTools(tools)
}

// HintsOfTools is the worst of what some tools may do.
func HintsOfTools(tools []Tool) Hints {
	all := Hints{ReadOnly: true, NonDestructive: true, Idempotent: true, ClosedWorld: true}
	for _, t := range tools {
		h := t.Spec().Hints
		all.ReadOnly = all.ReadOnly && h.ReadOnly
		all.NonDestructive = all.NonDestructive && (h.NonDestructive || h.ReadOnly)
		all.Idempotent = all.Idempotent && (h.Idempotent || h.ReadOnly)
		all.ClosedWorld = all.ClosedWorld && h.ClosedWorld
	}
	return all
}
