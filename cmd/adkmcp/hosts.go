package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/house"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/load"
	"github.com/adkmcp/adkmcp/internal/config/report"
	"github.com/adkmcp/adkmcp/internal/serve/hosts"
)

func (a *app) hostsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "hosts", Short: "Show or edit a host's own configuration for an agent", Long: hosts.About(), Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	o, asJSON := hosts.Options{}, false
	list := a.hostsSub("list", "List the hosts, their files, and what these hold of adkmcp", cobra.NoArgs, func(e *hosts.Editor, _ []string) error { return e.List(asJSON) })
	list.Flags().BoolVar(&asJSON, "json", false, "as a JSON array")
	edit := func(do func(*hosts.Editor, hosts.Options, hosts.Agents) error) func(*hosts.Editor, []string) error {
		return func(e *hosts.Editor, args []string) error {
			o.Host = args[0]
			agents, err := a.hosted(args[1:])
			if err != nil {
				return err
			}
			return do(e, o, agents)
		}
	}
	show := a.hostsSub("print HOST [PATH]", "Print the entry for a host, and where it belongs", cobra.RangeArgs(1, 2), edit((*hosts.Editor).Print))
	install := a.hostsSub("install HOST [PATH]", "Put the entry into the host's file", cobra.RangeArgs(1, 2), edit((*hosts.Editor).Install))
	remove := a.hostsSub("remove HOST NAME", "Take an entry out of the host's file", cobra.ExactArgs(2), func(e *hosts.Editor, args []string) error { o.Host = args[0]; return e.Remove(o, args[1]) })
	for _, sub := range []*cobra.Command{show, install, remove} {
		f := sub.Flags()
		f.StringVar(&o.Scope, "scope", "", "user, or project for the current folder; by default user where the host has it")
		f.StringVar(&o.File, "file", "", "another file than the host's")
		if sub != remove {
			f.StringVar(&o.Name, "name", "", "the server's name in the host; by default that of the agent or folder")
			f.StringVar(&o.URL, "url", "", "connect to this URL instead of starting adkmcp for PATH")
			f.StringVar(&o.Token, "token-env", "", "with --url: the variable that holds a bearer token")
			f.StringSliceVar(&o.Headers, "header-env", nil, "with --url: NAME=ENV_VAR, a header and the variable that holds its value; repeatable")
		}
		if sub != show {
			f.BoolVar(&o.DryRun, "dry-run", false, "show what would change, as a diff")
			f.BoolVar(&o.Force, "force", false, "replace or remove what is not adkmcp's; make the folder of a host that seems not to be installed")
		}
	}
	cmd.AddCommand(list, show, install, remove)
	return cmd
}

// hostsSub is a subcommand that works on the hosts of this machine.
func (a *app) hostsSub(use, short string, args cobra.PositionalArgs, run func(*hosts.Editor, []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: usage(args), RunE: func(_ *cobra.Command, args []string) error {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		err = run(&hosts.Editor{System: hosts.System{GOOS: runtime.GOOS, Dir: dir, Lookup: a.lookup}, Out: a.stdout, Err: a.stderr}, args)
		var wrong *hosts.UsageError
		if errors.As(err, &wrong) {
			return usageError("%w", err)
		}
		return err
	}}
}

// hosted is what a host has to know of the agents at a path, if there is one.
func (a *app) hosted(paths []string) (hosts.Agents, error) {
	if len(paths) == 0 {
		return hosts.Agents{}, nil
	}
	path, err := filepath.Abs(paths[0])
	if err != nil {
		return hosts.Agents{}, err
	}
	agents, problems, err := load.Agents([]string{path}, load.Options{LookupEnv: a.lookup, Validate: true})
	switch {
	case err != nil:
		return hosts.Agents{}, usageError("%w", err)
	case problems.HasErrors():
		return hosts.Agents{}, errors.Join(report.Text(a.stderr, problems), &exitError{code: exitFailed})
	case len(agents) == 0:
		return hosts.Agents{}, usageError("no agent in %s; an agent file has name and instruction at the top", path)
	}
	program, err := a.executable()
	all := hosts.Agents{Program: program, Path: path, Dir: agents[0].Dir}
	for _, cfg := range agents {
		all.Tools = append(all.Tools, cfg.Serve.Name)
		all.Timeout = max(all.Timeout, cfg.Limits.Timeout.Std())
		house.NoteReads(cfg, a.now, &all)
		all.NoKey = all.NoKey && !slices.ContainsFunc(problems, func(p load.Problem) bool { return p.Path == "model.api_key" })
	}
	all.Needs = hosts.Needs(func(lookup func(string) (string, bool)) bool {
		agents, _, _ := load.Agents([]string{path}, load.Options{LookupEnv: lookup, Validate: true})
		return slices.ContainsFunc(agents, func(cfg *config.Agent) bool { return cfg.Incomplete })
	})
	return all, err
}
