package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/byhand"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/house"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/prompt"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/show"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/streams"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

func (a *app) toolsCommand(logs *streams.Log) *cobra.Command {
	cmd := &cobra.Command{Use: "tools", Short: "List an agent's tools, or call one by hand", Args: cobra.NoArgs,
		Long: `List the tools that an agent's model would see, call one of them, or approve of what
MCP servers say of theirs. The MCP servers and documents that the file names are
connected to; no model is needed.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(a.toolsList(logs), a.toolsCall(logs), a.toolsPin(logs))
	for _, sub := range cmd.Commands() {
		sub.Args = usage(sub.Args)
	}
	return cmd
}

func (a *app) toolsList(logs *streams.Log) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{Use: "list PATH", Short: "List the tools, where each comes from, and what went wrong", Args: cobra.ExactArgs(1),
		Example: `  adkmcp tools list agents/dice.yaml
  adkmcp tools list --json agents/files.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			logs.Quiet(cmd.Flags())
			return a.atTools(cmd.Context(), logs, args[0], func(ctx context.Context, of *byhand.Agent) error {
				list, listings, err := byhand.List(ctx, of)
				if err != nil {
					return err
				}
				out := a.redact.Writer(a.stdout)
				if asJSON {
					enc := json.NewEncoder(out)
					enc.SetIndent("", "  ")
					return enc.Encode(map[string]any{"tools": list, "sources": listings})
				}
				return byhand.Print(out, list, listings, show.Plain)
			})
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON, with whole schemas")
	return cmd
}

func (a *app) toolsCall(logs *streams.Log) *cobra.Command {
	approve, save := "", ""
	cmd := &cobra.Command{Use: "call PATH NAME [KEY=VALUE...]", Short: "Call one tool by hand", Args: cobra.MinimumNArgs(2),
		Long: `Call one tool by hand, with everything around it that a call by the model has: rules,
approval, limits, cache. A VALUE is text where the tool's parameter is text, else
JSON; KEY:=VALUE is JSON in any case. One argument that begins with { holds them all.

Exit code 0: the tool's result; 1: its error.`,
		Example: `  adkmcp tools call agents/dice.yaml roll_die sides=20
  adkmcp tools call agents/dice.yaml roll_die '{"sides": 20}'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			logs.Quiet(cmd.Flags())
			policy := prompt.Policy(approve)
			if !slices.Contains([]prompt.Policy{prompt.Ask, prompt.Deny, prompt.Allow}, policy) {
				return usageError("--approve %q: use ask, deny or allow", approve)
			}
			p := &show.Printer{Out: a.redact.Writer(a.stdout), Notes: a.redact.Writer(a.stderr), Raw: !streams.IsTerminal(a.stdout), Dim: streams.StyleOf(a.stderr, a.lookup).Dim, Red: streams.StyleOf(a.stderr, a.lookup).Red, Dir: save}
			return a.atTools(cmd.Context(), logs, args[0], func(ctx context.Context, of *byhand.Agent) error {
				person := a.person(policy)
				answers := func(ctx context.Context, q *session.Suspension) (session.Answer, error) {
					given, err := answerOne(ctx, person, q)
					if given.Reason != "" {
						p.Note(q.Message + ": " + given.Action + ", " + given.Reason)
					}
					return session.Answer{Action: given.Action, Reason: given.Reason, Payload: given.Content}, err
				}
				return byhand.Call(ctx, of, byhand.Request{Tool: args[1], Arguments: args[2:], Answer: answers}, p)
			})
		}}
	cmd.Flags().StringVar(&approve, "approve", string(prompt.Ask), "what becomes of a call that wants approval: ask, deny or allow")
	cmd.Flags().StringVar(&save, "save", "", "write images, audio and other data of the result into this folder")
	return cmd
}

func (a *app) toolsPin(logs *streams.Log) *cobra.Command {
	look := false
	cmd := &cobra.Command{Use: "pin PATH", Short: "Approve of what MCP servers say of their tools now", Args: cobra.ExactArgs(1),
		Long: `Write the pin files of an agent's mcp entries anew: name, description and schemas of
every tool as the server gives them now, as hashes. A tool that differs from its pin
is left out until this is done. See the changes with --look before: a description is
something that the model obeys.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			logs.Quiet(cmd.Flags())
			return a.atTools(cmd.Context(), logs, args[0], func(ctx context.Context, of *byhand.Agent) error {
				changes, err := of.Tools.Pin(ctx, look)
				for _, line := range changes {
					if _, err := fmt.Fprintln(a.redact.Writer(a.stdout), show.Plain(line)); err != nil {
						return err
					}
				}
				if err == nil && len(changes) == 0 {
					_, err = fmt.Fprintln(a.stderr, "nothing has changed; entries without pin: FILE are not pinned")
				}
				return err
			})
		}}
	cmd.Flags().BoolVar(&look, "look", false, "only say what has changed")
	return cmd
}

// handTimeout bounds what is done by hand, beside the timeouts of the file.
const handTimeout = 30 * time.Minute

// atTools opens the one agent of path for a person.
func (a *app) atTools(ctx context.Context, logs *streams.Log, path string, do func(context.Context, *byhand.Agent) error) (err error) {
	o, err := a.open(logs, []string{path}, opening{bounds: house.DefaultBounds(), login: streams.IsTerminal(a.stderr)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	r, err := o.only(path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, handTimeout)
	defer cancel()
	return do(ctx, &byhand.Agent{Name: r.Config.Name, Tools: r.Tools, State: r.Config.State, Principal: localPrincipal})
}
