// Package testrun is what the command test does: it reads test files, builds their
// agents with a recording in the place of models or around them, has the cases run
// and reports.
//
// Start with [Run]; build.go makes an agent and its judge. The cases themselves are
// package trial's.
package testrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/trial"
	"github.com/adkmcp/adkmcp/internal/config/report"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
	"github.com/adkmcp/adkmcp/internal/config/testfile"
)

// Options are what [Run] needs. The first are flags; the others are required.
type Options struct {
	Format string // one of [trial.Formats]
	JUnit  string // the file for a report in XML; empty for none
	Select string // an RE2 pattern for names of cases; empty for all
	Live   bool   // ask the models, and record them

	LookupEnv func(name string) (string, bool)
	Now       func() time.Time
	// NewID makes an identifier that is unique among all processes.
	NewID   func() string
	Version string // ours
	// Out takes results, Err what else is to be said. What they are given is kept
	// free of the values that Secrets was told of last.
	Out, Err io.Writer
	Secrets  func([]string)
}

// Flags makes the command's flags set the options.
func (o *Options) Flags(f *pflag.FlagSet) {
	f.StringVar(&o.Format, "format", "text", "how results are printed: "+formats())
	f.StringVar(&o.JUnit, "junit", "", "write a JUnit report in XML to this file too")
	f.StringVar(&o.Select, "run", "", "only cases whose names match this pattern (RE2)")
	f.BoolVar(&o.Live, "live", false, "ask the models, and record what they say")
}

func formats() string { return strings.Join(slices.Sorted(maps.Keys(trial.Formats)), ", ") }

// Run runs the cases of the test files that paths mean, and says whether all
// passed. An error means that some could not be run.
func Run(ctx context.Context, o *Options, log *slog.Logger, paths []string) (passed bool, err error) {
	printer := trial.Formats[o.Format]
	if printer == nil {
		return false, fmt.Errorf("--format %q: use %s", o.Format, formats())
	}
	only, err := regexp.Compile(o.Select)
	if err != nil {
		return false, fmt.Errorf("--run: %w", err)
	}
	b := &builder{Options: o, log: log}
	files, problems, err := testfile.LoadAll(paths, b.model)
	if err != nil {
		return false, err
	}
	if err := o.report(problems); err != nil {
		return false, err
	}
	if problems.HasErrors() {
		return false, errors.New("the test files have problems")
	}
	if err := o.checkJUnit(); err != nil {
		return false, err
	}
	all, err := trial.Run(ctx, files, trial.Options{Build: b.build, Select: only, Now: o.Now, Printer: printer(o.Out),
		Begins: func(c *testfile.Case) { b.current = c.Name }, Redact: b.hide})
	for _, of := range all {
		if of.Unsaved {
			fmt.Fprintf(o.Err, "%s: the recording stays as it was, since not all cases ran to their end\n", of.File)
		}
	}
	if o.JUnit != "" {
		err = errors.Join(err, b.junit(all))
	}
	n := trial.Count(all)
	if err == nil && n.Cases == 0 {
		err = fmt.Errorf("no case matches --run %s", o.Select)
	}
	return n.Passed == n.Cases, err
}

// report prints what is wrong with files: where a CI server marks it, or for
// people.
func (o *Options) report(problems strictyaml.Problems) error {
	if o.Format == "github" {
		return report.Formats[o.Format](o.Out, problems, o.Version)
	}
	return report.Text(o.Err, problems)
}

// checkJUnit sees before anything is asked that the report can be written.
func (o *Options) checkJUnit() error {
	if o.JUnit == "" {
		return nil
	}
	f, err := os.OpenFile(o.JUnit, os.O_WRONLY|os.O_CREATE, reportMode)
	if err != nil {
		return fmt.Errorf("--junit: %w", err)
	}
	return f.Close()
}

// reportMode is that of a report, which others than its owner read, such as a CI
// server's agent.
const reportMode = 0o644

// junit writes the report, without secrets.
func (b *builder) junit(all []*trial.Outcome) error {
	var text bytes.Buffer
	if err := trial.JUnit(&text, all); err != nil {
		return err
	}
	return os.WriteFile(b.JUnit, []byte(b.hide(text.String())), reportMode)
}
