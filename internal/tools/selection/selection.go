// Package selection says which tools a step of a turn sees: not those that when
// hides, not those that have failed too often in the turn, and those with defer only
// once tool_search has found them.
//
// Start with [Selector.Pick].
package selection

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/condition"
)

// Tool is a tool and the entry of the agent file that it comes from, one of those
// that the selector was made with.
type Tool struct {
	agent.Tool
	Entry *config.Tool
}

// Needed reports whether any entry says something about when its tools are seen.
// Where none does, every step sees every tool, and there is nothing to pick.
func Needed(entries []config.Tool) bool {
	return slices.ContainsFunc(entries, func(t config.Tool) bool { return t.When != nil || t.Defer || t.MaxFailures > 0 })
}

// Selector picks the tools of one agent. It is safe for concurrent use.
type Selector struct {
	log  *slog.Logger
	when map[*config.Tool]*condition.Program

	mu       sync.Mutex
	searches []*search // the ones used last, the newest at the end
}

// New makes the selector of an agent's entries, whose tools it will be asked about.
// An error is a mistake in the agent file.
func New(entries []config.Tool, log *slog.Logger) (*Selector, error) {
	s := &Selector{log: log, when: make(map[*config.Tool]*condition.Program)}
	for i := range entries {
		t := &entries[i]
		if t.When == nil || t.When.Expr == "" {
			continue
		}
		program, err := condition.When(t.When.Expr)
		if err != nil {
			return nil, fmt.Errorf("when: %w", err)
		}
		s.when[t] = program
	}
	return s, nil
}

// Pick gives those of all that the step sees, in their order. Where any of all is
// deferred, tool_search comes last; it is the same value for the same deferred tools.
//
// With Peek everything is seen but tool_search, since that is the worst that can
// come.
func (s *Selector) Pick(q *agent.Query, all []Tool) ([]agent.Tool, error) {
	seen := make([]agent.Tool, 0, len(all)+1)
	if q.Peek {
		for i := range all {
			seen = append(seen, all[i].Tool)
		}
		return seen, nil
	}
	shown := make(map[*config.Tool]bool, len(s.when))
	var deferred []agent.Tool
	deferring := false
	for i := range all {
		t := &all[i]
		name := t.Spec().Name
		deferring = deferring || t.Entry.Defer
		show, known := shown[t.Entry]
		if !known {
			show = s.Shows(t.Entry, q)
			shown[t.Entry] = show
		}
		if !show || t.Entry.MaxFailures > 0 && q.Failures != nil && q.Failures(name) >= t.Entry.MaxFailures {
			continue
		}
		if t.Entry.Defer {
			deferred = append(deferred, t.Tool)
			if !revealed(q, name) {
				continue
			}
		}
		seen = append(seen, t.Tool)
	}
	if !deferring {
		return seen, nil
	}
	if i := slices.IndexFunc(all, func(t Tool) bool { return t.Spec().Name == config.ToolSearch }); i >= 0 {
		return nil, &agent.SetupError{Message: fmt.Sprintf("line %d of the agent file gives a tool with the name %s, which is that of the search for tools with defer: exclude it, or give it a prefix",
			all[i].Entry.Pos.Line, config.ToolSearch)}
	}
	return append(seen, s.searchOf(deferred)), nil
}

// Shows reports whether an entry's when is true. One that cannot be decided hides.
func (s *Selector) Shows(t *config.Tool, q *agent.Query) bool {
	if t.When == nil {
		return true
	}
	program := s.when[t]
	if program == nil {
		return t.When.Is
	}
	is, err := program.Eval(condition.Env{State: q.State})
	if err != nil {
		s.log.Debug("a tool is hidden: its when cannot be decided", "agent", q.Agent, "tool", t.Name, "line", t.Pos.Line, "error", err)
		return false
	}
	return is
}

// maxSearches is how many lists of deferred tools are remembered. There is more
// than one only where conditions, failures or servers change them.
const maxSearches = 16

// searchOf gives the tool_search of a list.
func (s *Selector) searchOf(deferred []agent.Tool) *search {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.searches, func(known *search) bool { return slices.Equal(known.tools, deferred) })
	if i >= 0 {
		found := s.searches[i]
		s.searches = append(slices.Delete(s.searches, i, i+1), found)
		return found
	}
	if len(s.searches) >= maxSearches {
		s.searches = slices.Delete(s.searches, 0, 1)
	}
	made := newSearch(deferred)
	s.searches = append(s.searches, made)
	return made
}
