package main

import (
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/house"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/load"
	"github.com/adkmcp/adkmcp/internal/config/report"
)

func (a *app) validateCommand() *cobra.Command {
	var format string
	var strict bool
	cmd := &cobra.Command{
		Use:   "validate PATH...",
		Short: "Check agent files without starting or contacting anything",
		Long: `Check agent files and folders of them. Every problem of every file comes out of
one run, with file, line and column. Nothing is started and nothing contacted.

Exit code 0: fine, or warnings only; 1: errors (with --strict warnings too);
2: something could not be read.`,
		Example: `  adkmcp validate agents/
  adkmcp validate --strict --format github agents/`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, paths []string) error {
			write, ok := report.Formats[format]
			if !ok {
				return usageError("--format %q: use %s", format, strings.Join(formatNames(), ", "))
			}
			return a.validate(paths, write, strict)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "how problems are printed: "+strings.Join(formatNames(), ", "))
	cmd.Flags().BoolVar(&strict, "strict", false, "warnings fail too, unset variables among them")
	return cmd
}

func formatNames() []string {
	return slices.Sorted(maps.Keys(report.Formats))
}

// validate loads, reports and puts the agents together as serve does, without
// starting anything.
func (a *app) validate(paths []string, write report.Format, strict bool) error {
	agents, problems, unreadable := load.Agents(paths, load.Options{LookupEnv: a.lookup, Validate: true})
	if !problems.HasErrors() {
		complete := slices.DeleteFunc(slices.Clone(agents), func(cfg *config.Agent) bool { return cfg.Incomplete })
		h, more := house.Build(house.Options{Agents: complete, Bounds: house.DefaultBounds(), Now: a.now, NewID: a.newID,
			Log: slog.New(slog.DiscardHandler), Version: buildVersion()})
		problems = append(problems, more...).Sort()
		if err := h.Close(); err != nil {
			return err
		}
	}
	if err := write(a.stdout, problems, buildVersion()); err != nil {
		return err
	}
	switch {
	case unreadable != nil:
		return &exitError{exitUsage, unreadable}
	case fails(problems, strict):
		return &exitError{code: exitFailed}
	case len(agents) == 0:
		return usageError("no agent in %s; an agent file has name and instruction at the top", strings.Join(paths, ", "))
	}
	return nil
}

// fails reports whether problems make the check fail.
func fails(ps load.Problems, strict bool) bool {
	return ps.HasErrors() || strict && len(ps) > 0
}
