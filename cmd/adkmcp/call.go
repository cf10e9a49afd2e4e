package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/mcphost"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/prompt"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/show"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/streams"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/tape"
	"github.com/adkmcp/adkmcp/internal/serve"
)

// Bounds of a call. An agent's own limits end it sooner as a rule; callTimeout
// is for servers without any.
const (
	callTimeout    = time.Hour
	connectTimeout = 30 * time.Second
)

type callOptions struct {
	url, tokenEnv, tool, conversation, save string
	approve                                 bool
	answers                                 []string
	patience                                time.Duration // for the server to show its tools
	timeout                                 time.Duration // for the answer
	logs                                    *streams.Log
	tape                                    tape.Tape
}

func (a *app) callCommand(logs *streams.Log) *cobra.Command {
	o := &callOptions{logs: logs, patience: connectTimeout}
	cmd := &cobra.Command{
		Use:   "call {PATH | --url URL} REQUEST  |  call REQUEST -- COMMAND...",
		Short: "Call an agent as an MCP host does",
		Long: `Act as an MCP host: start a server for PATH (or COMMAND, or connect to URL), call
the agent's tool with REQUEST and print the answer. For an agent with an input_schema
REQUEST is a JSON object. Progress goes to standard
error. The exit code is 1 when the agent's result is an error.

In a terminal you are asked what the server asks: to approve a tool call, or to
fill in a form. Elsewhere the server is told that nobody can be asked, unless
--approve or --answer says what to answer.`,
		Example: `  adkmcp call agents/dice.yaml "Roll a d20"
  adkmcp call --url http://127.0.0.1:8080/mcp "Roll a d20"
  adkmcp call "Roll a d20" -- adkmcp serve --stdio agents/dice.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.logs.Quiet(cmd.Flags())
			dash := cmd.ArgsLenAtDash()
			if dash < 0 {
				dash = len(args)
			}
			return a.call(cmd.Context(), o, args[:dash], args[dash:])
		},
	}
	f := cmd.Flags()
	o.tape.Flags(f)
	f.StringVar(&o.url, "url", "", "connect to a server over streamable HTTP instead of starting one; over the deprecated SSE if the path ends in /sse")
	f.StringVar(&o.tokenEnv, "token-env", "", "with --url: the environment variable that holds the bearer token")
	f.StringVar(&o.tool, "tool", "", "which tool to call, where the server has several")
	f.StringVar(&o.conversation, "conversation", "", "go on with the conversation of this handle")
	f.DurationVar(&o.timeout, "timeout", callTimeout, "how long to wait for the answer")
	f.StringVar(&o.save, "save", "", "write images, audio and other data of the answer into this folder")
	f.BoolVar(&o.approve, "approve", false, "approve every tool call that the server asks about")
	f.StringArrayVar(&o.answers, "answer", nil, "the answer to a field of a form, as FIELD=VALUE; repeatable")
	return cmd
}

// call connects, calls and prints.
func (a *app) call(ctx context.Context, o *callOptions, args, command []string) error {
	person, err := a.caller(o)
	if err != nil {
		return err
	}
	s, request, err := a.server(o, args, command)
	if err != nil {
		return err
	}
	p := &show.Printer{Out: a.stdout, Notes: a.stderr, Raw: !streams.IsTerminal(a.stdout), Dim: streams.StyleOf(a.stderr, a.lookup).Dim, Red: streams.StyleOf(a.stderr, a.lookup).Red, Dir: o.save}
	h, err := s.Connect(ctx, a.host(o, person, p))
	if err != nil {
		return saidBy(err)
	}
	defer h.Close()
	tool, err := chooseTool(h.Tools(), o.tool)
	if err != nil {
		return err
	}
	arguments, err := argumentsOf(h, tool, request)
	if err != nil {
		return err
	}
	if o.conversation != "" {
		arguments["conversation"] = o.conversation
	}
	within, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	result, err := h.Call(within, tool, arguments)
	switch {
	case err != nil && within.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("no answer within %s; --timeout allows more", o.timeout)
	case err != nil:
		return saidBy(err)
	}
	for _, name := range person.Unused() {
		p.Note("--answer " + name + ": the server has asked for no such field")
	}
	if result.IsError {
		p.Out, p.Raw, p.Failed = a.stderr, !streams.IsTerminal(a.stderr), true
	}
	return o.printResult(p, result, func(uri string) ([]mcphost.Block, error) { return h.Read(within, uri) })
}

// argumentsOf gives the arguments of a call: the request is one, but for a tool
// that takes others a JSON object is all of them.
func argumentsOf(h *mcphost.Host, tool, request string) (map[string]any, error) {
	names := h.Takes(tool)
	if len(names) == 0 || slices.Contains(names, "request") {
		return map[string]any{"request": request}, nil
	}
	d := json.NewDecoder(strings.NewReader(request))
	d.UseNumber()
	arguments := make(map[string]any)
	if d.Decode(&arguments) != nil || d.More() {
		return nil, usageError("the tool %s takes arguments of its own: give a JSON object with %s in place of a request",
			show.Plain(tool), show.Plain(strings.Join(names, ", ")))
	}
	return arguments, nil
}

// host says how we act as a host.
func (a *app) host(o *callOptions, person *prompt.Person, p *show.Printer) mcphost.Options {
	options := mcphost.Options{
		Name: "adkmcp call", Version: buildVersion(), Patience: o.patience,
		Progress: func(message string) { p.Note("· " + message) },
	}
	if person.Lines != nil || o.approve || len(o.answers) > 0 {
		options.Ask = func(ctx context.Context, q mcphost.Question) (mcphost.Reply, error) {
			answer, err := person.Elicit(ctx, q.Message, q.Schema)
			if answer.Reason != "" {
				p.Note("· " + answer.Action + ": " + answer.Reason)
			}
			return mcphost.Reply{Action: answer.Action, Content: answer.Content}, err
		}
	}
	return options
}

// caller is the person who calls, with the answers that the flags give.
func (a *app) caller(o *callOptions) (*prompt.Person, error) {
	approval := prompt.Ask
	if o.approve {
		approval = prompt.Allow
	}
	given := make(map[string][]string)
	for _, text := range o.answers {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usageError("--answer %q: want FIELD=VALUE", text)
		}
		given[name] = append(given[name], value)
	}
	person := a.person(approval)
	person.Given = given
	return person, nil
}

// saidBy is an error in which a server's own words may be.
func saidBy(err error) error { return errors.New(show.Plain(err.Error())) }

// server decides which server is meant and what is asked of it.
func (a *app) server(o *callOptions, args, command []string) (*mcphost.Server, string, error) {
	switch {
	case o.tape != (tape.Tape{}) && (len(command) > 0 || o.url != ""):
		return nil, "", usageError("--record and --replay are for call PATH, which starts the server itself")
	case len(command) > 0 && len(args) == 1 && o.url == "":
		return a.program(command, nil), args[0], nil
	case len(command) > 0:
		return nil, "", usageError("with -- COMMAND there is one argument before it, the request, and no --url")
	case o.url != "" && len(args) == 1:
		s, err := a.remote(o)
		return s, args[0], err
	case o.url != "":
		return nil, "", usageError("with --url there is one argument, the request")
	case len(args) != 2:
		return nil, "", usageError("want an agent file and a request: adkmcp call agents/dice.yaml \"Roll a d20\"")
	}
	if _, err := os.Stat(args[0]); err != nil {
		return nil, "", usageError("no agent file: %w", err)
	}
	self, err := a.executable()
	if err != nil {
		return nil, "", err
	}
	serve := []string{self, "serve", "--stdio", "--log-level", o.logs.Level, "--log-format", o.logs.Format}
	if o.logs.File != "" {
		serve = append(serve, "--log-file", o.logs.File)
	}
	serve = append(serve, o.tape.Args()...)
	return a.program(append(serve, "--", args[0]), ownVariable), args[1], nil
}

// ownVariable reports whether a line of an environment sets one of our flags. In
// the environment of a call it is meant for the call, not for the server.
func ownVariable(line string) bool { return strings.HasPrefix(line, "ADKMCP_") }

func (a *app) program(command []string, drop func(line string) bool) *mcphost.Server {
	return mcphost.Start(mcphost.Program{Command: command, Stderr: a.stderr, Drop: drop})
}

func (a *app) remote(o *callOptions) (*mcphost.Server, error) {
	address := mcphost.Address{URL: o.url, TokenEnv: o.tokenEnv, Patience: o.patience, Timeout: o.timeout}
	if o.tokenEnv != "" {
		token, ok := a.lookup(o.tokenEnv)
		if !ok || token == "" {
			return nil, usageError("--token-env: the environment variable %s is not set", o.tokenEnv)
		}
		address.Token = token
	}
	s, err := mcphost.Remote(address)
	switch {
	case err != nil:
		return nil, usageError("--url %w", err)
	case !s.Asks() && (o.approve || len(o.answers) > 0):
		return nil, usageError("--approve and --answer do nothing over SSE, where the server cannot ask; use the server's streamable HTTP address")
	}
	return s, nil
}

func chooseTool(names []string, want string) (string, error) {
	all := show.Plain(strings.Join(names, ", "))
	switch {
	case len(names) == 0:
		return "", errors.New("the server has no tools")
	case slices.Contains(names, want):
		return want, nil
	case want == "" && len(names) == 1:
		return names[0], nil
	case want == "":
		return "", usageError("the server has %d tools, choose one with --tool: %s", len(names), all)
	}
	return "", usageError("the server has no tool %q; it has: %s", want, all)
}

// printResult prints the answer and what goes with it.
func (o *callOptions) printResult(p *show.Printer, r *mcphost.Result, read func(uri string) ([]mcphost.Block, error)) error {
	if handle, _ := r.Meta[serve.MetaConversation].(string); handle != "" && len(r.Blocks) > 1 {
		// A server of ours tells the model in a last block; a person is told
		// beside the answer, and only if the server will still be there.
		if last := r.Blocks[len(r.Blocks)-1]; last.Kind == mcphost.Text && strings.Contains(last.Text, handle) {
			r.Blocks = r.Blocks[:len(r.Blocks)-1]
		}
		if o.url != "" {
			p.Note("go on with --conversation " + handle)
		}
	}
	if err := p.Result(r, read); err != nil {
		return err
	}
	if p.Failed {
		return &exitError{code: exitFailed}
	}
	return nil
}
