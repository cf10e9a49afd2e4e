package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/middleware"
	"github.com/adkmcp/adkmcp/internal/tools/selection"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// Set is the tools of one agent, in the file's order. Those of servers and
// documents are listed when they are needed. It is safe for concurrent use.
type Set struct {
	sources []*source
	// fixed are all the tools where nothing about them can change; else nil.
	fixed    []agent.Tool
	selector *selection.Selector // nil where every step sees every tool
	web      *webclient.Client
}

// fix joins the lists, where none of them can change.
func (s *Set) fix() {
	if s.selector != nil {
		return
	}
	all := []agent.Tool{}
	for _, src := range s.sources {
		if !src.fixed {
			return
		}
		all = append(all, src.last...)
	}
	s.fixed = all
}

// starter is a toolset that may want to begin before it is asked.
type starter interface{ Start(ctx context.Context) }

// closer is a toolset that holds something.
type closer interface{ Close() error }

// Start has those sources connect that want to before the first call. It does not
// wait for them.
func (s *Set) Start(ctx context.Context) {
	for _, src := range s.sources {
		if begin, ok := src.Toolset.(starter); ok {
			begin.Start(ctx)
		}
	}
}

// Close gives up what the tools hold. No call may run any more.
func (s *Set) Close() error {
	var errs []error
	for _, src := range s.sources {
		if held, ok := src.Toolset.(closer); ok {
			errs = append(errs, held.Close())
		}
	}
	return errors.Join(append(errs, s.web.Close())...)
}

// Hints are the worst of what the tools may do, as far as that is known without
// asking anybody.
func (s *Set) Hints() agent.Hints {
	var all []agent.Tool
	for _, src := range s.sources {
		if !src.fixed {
			return agent.Hints{}
		}
		all = append(all, src.last...)
	}
	return agent.HintsOfTools(all)
}

// Tools implements [agent.Toolset].
func (s *Set) Tools(ctx context.Context, q *agent.Query) ([]agent.Tool, error) {
	if s.fixed != nil {
		return s.fixed, nil
	}
	lists, err := s.ask(ctx, q)
	if err != nil {
		return nil, err
	}
	all, err := s.join(lists)
	if err != nil || s.selector == nil {
		return plain(all), err
	}
	return s.selector.Pick(q, all)
}

// ask asks all sources at the same time.
func (s *Set) ask(ctx context.Context, q *agent.Query) ([][]agent.Tool, error) {
	lists, errs := make([][]agent.Tool, len(s.sources)), make([]error, len(s.sources))
	reports := make([][]*session.Listing, len(s.sources))
	var group sync.WaitGroup
	for i, src := range s.sources {
		if src.fixed {
			lists[i] = src.last
			continue
		}
		asked := *q
		asked.State, asked.Failures, asked.Input = nil, nil, nil // they are not for other goroutines
		asked.Report = func(l *session.Listing) { reports[i] = append(reports[i], l) }
		group.Go(func() { lists[i], errs[i] = src.list(ctx, &asked) })
	}
	group.Wait()
	if q.Report != nil {
		s.report(reports, q.Report)
	}
	return lists, errors.Join(errs...)
}

// report passes on what the sources have listed. Two entries may be about one
// server; the events tell them apart by their lines.
func (s *Set) report(reports [][]*session.Listing, to func(*session.Listing)) {
	by := make(map[string]int)
	for _, l := range slices.Concat(reports...) {
		by[l.Source]++
	}
	for i, listed := range reports {
		for _, l := range listed {
			if by[l.Source] > 1 {
				apart := *l
				apart.Source = fmt.Sprintf("%s, line %d", l.Source, s.sources[i].entry.Pos.Line)
				l = &apart
			}
			to(l)
		}
	}
}

// Described is a tool with what its agent file says of it.
type Described struct {
	agent.Tool
	From   string // the kind, and the line of the agent file
	Hidden string // why the model does not see it at the start of a turn; else empty
}

// Describe gives all the tools that the model can come to see.
func (s *Set) Describe(ctx context.Context, q *agent.Query) ([]Described, error) {
	lists, err := s.ask(ctx, q)
	if err != nil {
		return nil, err
	}
	all, err := s.join(lists)
	if err != nil {
		return nil, err
	}
	seen := plain(all)
	if s.selector != nil {
		if seen, err = s.selector.Pick(q, all); err != nil {
			return nil, err
		}
	}
	described := make([]Described, len(all))
	for i, t := range all {
		described[i] = Described{Tool: t.Tool, From: fmt.Sprintf("%s, line %d", kindOf(t.Entry), t.Entry.Pos.Line)}
		switch {
		case slices.Contains(seen, t.Tool):
		case s.selector.Shows(t.Entry, q):
			described[i].Hidden = "found by tool_search"
		default:
			described[i].Hidden = "hidden by when"
		}
	}
	return described, nil
}

// Pin writes down what the tools of servers look like now, for entries with a pin
// file, and gives what has changed, a line each. With look the files stay as they
// are.
func (s *Set) Pin(ctx context.Context, look bool) ([]string, error) {
	var changes []string
	for _, src := range s.sources {
		by, ok := src.Toolset.(interface {
			Pin(ctx context.Context, look bool) ([]string, error)
		})
		if !ok || src.entry.MCP == nil || src.entry.MCP.Pin == "" {
			continue
		}
		lines, err := by.Pin(ctx, look)
		if err != nil {
			return changes, err
		}
		changes = append(changes, lines...)
	}
	return changes, nil
}

// join puts the lists together. Two tools of one name are for the operator to
// part.
func (s *Set) join(lists [][]agent.Tool) ([]selection.Tool, error) {
	var all []selection.Tool
	from := make(map[string]*config.Tool)
	for i, list := range lists {
		entry := s.sources[i].entry
		for _, t := range list {
			name := t.Spec().Name
			if other, taken := from[name]; taken {
				return nil, &agent.SetupError{Message: fmt.Sprintf("the tool name %s comes from line %d and from line %d of the agent file: give one of them a prefix, or exclude the tool there",
					name, other.Pos.Line, entry.Pos.Line)}
			}
			from[name] = entry
			all = append(all, selection.Tool{Tool: t, Entry: entry})
		}
	}
	return all, nil
}

func plain(all []selection.Tool) []agent.Tool {
	list := make([]agent.Tool, len(all))
	for i := range all {
		list[i] = all[i].Tool
	}
	return list
}

// source is one entry of the file: where tools come from, and what is put around
// each of them.
type source struct {
	agent.Toolset
	entry *config.Tool
	wrap  middleware.Options
	fixed bool // its list never changes: it is last

	mu      sync.Mutex
	last    []agent.Tool
	wrapped map[agent.Tool]agent.Tool
}

// maxWrapped bounds the tools that a source remembers the surroundings of: their
// caches and rate limits begin anew beyond it.
const maxWrapped = 10_000

// list gives the source's tools with everything around them, each the same value
// as long as the source gives the same.
func (s *source) list(ctx context.Context, q *agent.Query) ([]agent.Tool, error) {
	bare, err := s.Tools(ctx, q)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.wrapped)+len(bare) > maxWrapped {
		s.wrapped = nil
	}
	if s.wrapped == nil {
		s.wrapped = make(map[agent.Tool]agent.Tool, len(bare))
	}
	list := make([]agent.Tool, len(bare))
	for i, t := range bare {
		around, known := s.wrapped[t]
		if !known {
			around = s.around(t)
			s.wrapped[t] = around
		}
		list[i] = around
	}
	return list, nil
}

// around puts everything around a tool that every tool has. What the model's
// service runs, and what only adds to the instruction, is never called.
func (s *source) around(t agent.Tool) agent.Tool {
	if spec := t.Spec(); spec.Hosted != "" || spec.Hidden {
		return t
	}
	o := s.wrap
	if s.entry.MCP != nil || s.entry.OpenAPI != nil {
		// One lever for many tools holds for those that it is fit for.
		if h := t.Spec().Hints; !h.ReadOnly && (o.Idempotent == nil || !*o.Idempotent) {
			o.Cache = nil
		}
	}
	return middleware.Wrap(t, o)
}
