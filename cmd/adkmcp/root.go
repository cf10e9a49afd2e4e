package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/streams"
)

// exitError ends the program with a code of its own. Without an error there is
// nothing left to say.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// run executes one command line and gives the exit code. It is the one place
// that turns errors into codes and prints them.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var exit *exitError
	var stopped *interrupted
	stderr := a.redact.Writer(a.stderr)
	switch {
	case errors.As(err, &exit):
		if exit.err != nil {
			fmt.Fprintln(stderr, "adkmcp:", exit.err)
		}
		return exit.code
	case errors.As(context.Cause(ctx), &stopped):
		return exitInterrupted
	case errors.Is(err, syscall.EPIPE): // whoever read our output has enough
		return exitFailed
	}
	fmt.Fprintln(stderr, "adkmcp:", err)
	return exitFailed
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "adkmcp",
		Short: "Serve YAML-defined agents as MCP tools",
		Long: `adkmcp turns YAML files into agents that any MCP host can call. Each agent, with
its model, its instruction and its tools, is served as one MCP tool: a host sends
a request, the agent works on it with its own tools, the host gets the answer.

Every flag but --approve can also be given as an environment variable: --log-level
as ADKMCP_LOG_LEVEL, and so on.`,
		Example: `  adkmcp call agents/dice.yaml "Roll a d20"
  adkmcp serve --stdio agents/dice.yaml`,
		SilenceUsage:  true,
		SilenceErrors: true,

		SuggestionsMinimumDistance: 2,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	logs := &streams.Log{}
	logs.Flags(root.PersistentFlags())
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.environment(cmd) }
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError("%w\nSee: %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(a.serveCommand(logs), a.runCommand(logs), a.callCommand(logs), a.toolsCommand(logs), a.validateCommand(),
		a.testCommand(logs), a.hostsCommand(), a.initCommand(), a.schemaCommand(), a.versionCommand())
	root.Args = usage(func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("there is no command %q%s", args[0], suggestion(cmd, args[0]))
		}
		return nil
	})
	for _, cmd := range root.Commands() {
		cmd.Args = usage(cmd.Args)
	}
	return root
}

// suggestion names the commands that are like one that there is not.
func suggestion(root *cobra.Command, name string) string {
	if near := root.SuggestionsFor(name); len(near) > 0 {
		return "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return ""
}

// usage makes wrong arguments a matter of exit code 2.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(cmd, args); err != nil {
			return usageError("%w\nUsage: %s", err, cmd.UseLine())
		}
		return nil
	}
}

// environment sets the flags that the command line leaves open from ADKMCP_<FLAG>.
// A flag that takes several values takes them separated by commas. A command's
// annotation NAME lists flags that the command line rules out by giving NAME.
func (a *app) environment(cmd *cobra.Command) error {
	flags := cmd.Flags()
	// Whoever may set our environment may not approve what tools do.
	ruledOut := map[string]bool{"help": true, "approve": true}
	for given, others := range cmd.Annotations {
		if flags.Changed(given) {
			for _, name := range strings.Fields(others) {
				ruledOut[name] = true
			}
		}
	}
	var bad error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || ruledOut[f.Name] {
			return
		}
		name := "ADKMCP_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, ok := a.lookup(name)
		if !ok {
			return
		}
		if err := flags.Set(f.Name, value); err != nil && bad == nil {
			bad = usageError("environment variable %s: %w", name, err)
		}
	})
	return bad
}
