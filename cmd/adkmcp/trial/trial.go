// Package trial runs the cases that are kept beside agents and reports what came
// of them.
//
// Start with [Run], then [run.turn] in conversation.go, which takes one turn and
// holds it against what was expected: expect.go for what can be computed, judge.go
// for what a model has to judge. Results that stand in for those of tools are in
// standin.go. [Formats] and [JUnit] print. What an agent is built of is known to
// the caller only.
package trial

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/testfile"
)

// JudgeName is the name of the judge in recordings, beside those of agents.
const JudgeName = "judge"

// Around puts something around the tools of an agent.
type Around func(cfg *config.Agent, inner agent.Toolset) agent.Toolset

// Built is an agent that is ready to run. Whoever has it built closes it.
type Built struct {
	// Hide takes the file's own secrets out of a text. The models of its recording have
	// said all without them, so its cases see nothing of them either: else they would
	// pass live and fail in the replay. Those of other files stay, for the outcome of a
	// case must not depend on which files were named before it.
	Hide   func(string) string
	Config *config.Agent
	Runner *agent.Runner
	// Judge is the file's judge; nil where it has none.
	Judge model.Model
	// Save writes the replies of the models down for the next time; nil where
	// nothing is recorded.
	Save  func() error
	Close func() error
}

// Build makes the agent of a file, with around put around the tools of it and of
// the agents that are its tools.
type Build func(ctx context.Context, f *testfile.File, around Around) (*Built, error)

// Options are what [Run] needs; all but Select and what is said to
// be nil are required.
type Options struct {
	Build   Build
	Select  *regexp.Regexp // matches the names of the cases that run; nil for all
	Now     func() time.Time
	Printer Printer
	// Begins, if not nil, is told of each case before it runs.
	Begins func(c *testfile.Case)
	// Redact takes out of a text what must not be printed, as it is known by now.
	Redact func(string) string
}

// Outcome is what came of one file.
type Outcome struct {
	File  string  `json:"file"`
	Agent string  `json:"agent"` // its name
	Cases []*Case `json:"cases"` // those that ran, in their order
	// Unsaved says that the models' replies were to be written down and were not,
	// since a case did not run, or not to its end.
	Unsaved bool `json:"-"`
}

// Case is what came of one case.
type Case struct {
	Name    string  `json:"name"`
	Line    int     `json:"line"` // where it stands in the file
	Status  Status  `json:"status"`
	Seconds float64 `json:"seconds"` // that it took
	// Failures say why it did not pass.
	Failures []Failure `json:"failures,omitempty"`
	Calls    []Call    `json:"calls"`            // of tools, of all turns
	Answer   string    `json:"answer,omitempty"` // the text of the last turn's
}

// Status says what came of a case.
type Status string

// The statuses. A case is Broken when it did not run to its end, or when nobody
// could say what came of it.
const (
	Passed Status = "passed"
	Failed Status = "failed"
	Broken Status = "broken"
)

// Failure is one thing that was expected and did not come.
type Failure struct {
	Turn int    `json:"turn,omitempty"` // from 1; 0 in a case of one turn
	What string `json:"what"`           // the key of the expectation, or all there is to say
	Want string `json:"want,omitempty"`
	Got  string `json:"got,omitempty"`
}

// String is the failure on one line.
func (f Failure) String() string {
	s := f.What
	if f.Turn > 0 {
		s = fmt.Sprintf("turn %d: %s", f.Turn, s)
	}
	if f.Want != "" {
		s += ": want " + f.Want + ", got " + f.Got
	}
	return s
}

// Run runs the cases of files one after the other, each in a conversation of its
// own, and has each printed when it is over. A file whose agent cannot be built is
// passed over; the error says so. What the models said is saved where all cases of
// a file have run and none is broken. When ctx ends, so does the case that runs: it is
// the last one of the outcomes, and nothing more is printed.
func Run(ctx context.Context, files []*testfile.File, o Options) ([]*Outcome, error) {
	var all []*Outcome
	var errs []error
	for _, f := range files {
		r := &run{Options: o, file: f, out: &Outcome{File: f.Path}}
		if len(r.selected()) == 0 {
			continue
		}
		err := r.run(ctx)
		if ctx.Err() != nil { // reports have the case that did not come to its end
			if len(r.out.Cases) > 0 {
				all = append(all, r.out)
			}
			return all, context.Cause(ctx)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.Path, err))
		}
		if err != nil && len(r.out.Cases) == 0 { // reports must not be silent about it
			none := &Case{Name: "(all cases)", Line: 1, Status: Broken, Calls: []Call{}, Failures: []Failure{{What: "no case could be run: " + o.Redact(err.Error())}}}
			r.out.Cases = append(r.out.Cases, none)
			errs = append(errs, o.Printer.Case(r.out, none))
		}
		if len(r.out.Cases) > 0 {
			all = append(all, r.out)
		}
	}
	return all, errors.Join(append(errs, o.Printer.End(all))...)
}

// run is one file while it runs.
type run struct {
	Options
	*Built
	file  *testfile.File
	stage stage
	out   *Outcome
}

// selected are the cases that run.
func (r *run) selected() []*testfile.Case {
	var cases []*testfile.Case
	for i := range r.file.Cases {
		if c := &r.file.Cases[i]; r.Select == nil || r.Select.MatchString(c.Name) {
			cases = append(cases, c)
		}
	}
	return cases
}

func (r *run) run(ctx context.Context) (err error) {
	if r.Built, err = r.Build(ctx, r.file, r.stage.around); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	r.stage.main, r.out.Agent = r.Config, r.Config.Name
	complete := len(r.selected()) == len(r.file.Cases)
	for i, c := range r.selected() {
		done := r.take(ctx, c, i+1)
		r.out.Cases = append(r.out.Cases, done)
		if ctx.Err() != nil {
			r.out.Unsaved = r.Save != nil
			return context.Cause(ctx)
		}
		complete = complete && done.Status != Broken
		if err := r.Printer.Case(r.out, done); err != nil {
			return err
		}
	}
	if r.Save == nil {
		return nil
	}
	if r.out.Unsaved = !complete; r.out.Unsaved {
		return nil
	}
	return r.Save()
}

// Recorded says what of a file has to be recorded: the agent with those that are
// its tools, if any of them asks a model, and the file's judge. What is played from a
// script or a recording needs no other one.
func Recorded(f *testfile.File, cfg *config.Agent) (agents, judge bool) {
	return recordedIn(cfg), f.Judge.Agent != nil && recorded(&f.Judge.Model)
}

func recordedIn(cfg *config.Agent) bool {
	return recorded(&cfg.Model) || slices.ContainsFunc(cfg.Tools, func(t config.Tool) bool {
		return t.Agent != nil && t.Agent.Agent != nil && recordedIn(t.Agent.Agent)
	})
}

func recorded(m *config.Model) bool {
	return m.Provider != config.Scripted && m.Provider != config.Replay || slices.ContainsFunc(m.Fallback, func(other config.Model) bool { return recorded(&other) })
}
