package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/streams"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/testrun"
)

func (a *app) testCommand(logs *streams.Log) *cobra.Command {
	o := &testrun.Options{LookupEnv: a.lookup, Now: a.now, NewID: a.newID, Version: buildVersion(),
		Out: a.redact.Writer(a.stdout), Err: a.redact.Writer(a.stderr), Secrets: a.redact.Add}
	cmd := &cobra.Command{Use: "test PATH...", Short: "Run the cases kept beside an agent", Args: cobra.MinimumNArgs(1),
		Long: `Run the cases of test files: PATH is NAME.test.yaml, an agent file that has one
beside it, or a folder. Models are played from the recording beside the file, so that
no key is needed; with --live they are asked, and recorded anew. A model with a
script needs no recording.

Exit code 0: all cases passed; 1: some did not; 2: some could not be run.`,
		Example: `  adkmcp test agents/dice.yaml
  adkmcp test --live agents/dice.test.yaml
  adkmcp test --format github --junit report.xml agents/`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			logs.Quiet(cmd.Flags())
			log, closeLog, err := logs.Open(o.Err, a.redact.Writer)
			if err != nil {
				return err
			}
			passed, err := testrun.Run(cmd.Context(), o, log, paths)
			switch err = errors.Join(err, closeLog()); {
			case cmd.Context().Err() != nil:
				return err
			case err != nil:
				return &exitError{exitUsage, err}
			case !passed:
				return &exitError{code: exitFailed}
			}
			return nil
		}}
	o.Flags(cmd.Flags())
	return cmd
}
