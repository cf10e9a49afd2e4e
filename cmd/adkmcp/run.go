package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/house"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/prompt"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/show"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/streams"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/tape"
	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/agent/transcript"
)

// conversationTTL lets a person think for as long as they like.
const conversationTTL = 365 * 24 * time.Hour

// maxRequest bounds a request that is read from standard input, in bytes.
const maxRequest = 4 << 20

type runOptions struct {
	json    bool
	approve string
	tape    tape.Tape
	logs    *streams.Log
}

func (a *app) runCommand(logs *streams.Log) *cobra.Command {
	o := &runOptions{logs: logs}
	cmd := &cobra.Command{
		Use:   "run PATH [REQUEST]",
		Short: "Run one agent in the terminal",
		Long: `Run one agent in the terminal. The answer goes to standard output; tool calls and
notices go to standard error. Without REQUEST you chat; an empty line or the end of
the input ends the chat. With - the request is read from standard input.

You are asked to approve the tool calls that want it, and what the agent asks. Where
standard input is no terminal, nobody can be asked: approvals are denied, questions
stay without an answer, and the agent is told so.`,
		Example: `  adkmcp run agents/dice.yaml "Roll a d20"
  git diff | adkmcp run agents/reviewer.yaml -
  adkmcp run --json agents/dice.yaml "Roll a d20"`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			logs.Quiet(cmd.Flags())
			return a.runAgent(cmd.Context(), o, args)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print every event as a line of JSON")
	o.tape.Flags(cmd.Flags())
	cmd.Flags().StringVar(&o.approve, "approve", string(prompt.Ask), "what becomes of tool calls that want approval: ask, deny or allow")
	return cmd
}

func (a *app) runAgent(ctx context.Context, o *runOptions, args []string) (err error) {
	approval := prompt.Policy(o.approve)
	if !slices.Contains([]prompt.Policy{prompt.Ask, prompt.Deny, prompt.Allow}, approval) {
		return usageError("--approve %q: use ask, deny or allow", o.approve)
	}
	b := house.DefaultBounds()
	b.TTL = conversationTTL
	person := a.person(approval)
	h, err := a.open(o.logs, args[:1], opening{b, person.Absent == "", o.tape})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	r, err := h.only(args[0])
	if err != nil {
		return err
	}
	h.Start(ctx)
	t := &terminal{app: a, person: person, runner: r.Runner, key: session.Key{Principal: localPrincipal, Agent: r.Config.Name, Handle: "terminal"}}
	if o.json {
		t.show = transcript.JSON(a.redact.Writer(a.stdout))
	} else {
		t.show = transcript.New(transcript.Options{
			Out: a.redact.Writer(a.stdout), Err: a.redact.Writer(a.stderr), Terminal: streams.IsTerminal(a.stdout), Plain: show.Plain, Dim: streams.StyleOf(a.stderr, a.lookup).Dim,
		})
	}
	switch {
	case len(args) == 1:
		return t.chat(ctx)
	case args[1] == "-":
		text, err := io.ReadAll(io.LimitReader(a.stdin, maxRequest+1))
		if err != nil {
			return usageError("read the request from standard input: %w", err)
		}
		if len(text) > maxRequest {
			return usageError("the request on standard input is larger than %d bytes", maxRequest)
		}
		return t.ask(ctx, string(text))
	}
	return t.ask(ctx, args[1])
}

// terminal is one conversation with a person.
type terminal struct {
	*app
	person *prompt.Person
	runner *agent.Runner
	key    session.Key
	show   func(*session.Event) error
}

// ask takes one turn, with the answers that it needs on the way. A turn that did
// not end well is an error of its own.
func (t *terminal) ask(ctx context.Context, request string) error {
	if strings.TrimSpace(request) == "" {
		return usageError("the request is empty")
	}
	turn := agent.Turn{
		Key: t.key, Mode: session.Create, Caller: agent.Caller{Principal: localPrincipal, Interactive: true},
		Input: &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: request}}},
	}
	for {
		var printing error
		said, err := answer.Collect(t.runner.Run(ctx, turn), func(e *session.Event) { printing = errors.Join(printing, t.show(e)) })
		switch {
		case err != nil:
			return err
		case printing != nil:
			return printing
		case said.Problem != nil:
			return errors.New(said.Problem.Message)
		case len(said.Questions) == 0 && said.Content == nil:
			return errors.New("the agent gave no answer")
		case len(said.Questions) == 0:
			return nil
		}
		turn.Input, turn.Mode = nil, session.MustExist
		if turn.Answers, err = answers(ctx, t.person, said.Questions); err != nil {
			return err
		}
	}
}

// chat takes turns until the input ends. A turn that fails does not end it.
func (t *terminal) chat(ctx context.Context) error {
	lines := t.person.Lines // what answers to the agent are read from too
	if lines == nil {
		lines = prompt.NewLines(t.stdin, maxRequest)
	}
	for {
		fmt.Fprint(t.stderr, streams.StyleOf(t.stderr, t.lookup).Bold("> "))
		line, err := lines.Next(ctx)
		switch {
		case errors.Is(err, io.EOF), err == nil && strings.TrimSpace(line) == "":
			fmt.Fprintln(t.stderr)
			return nil
		case err != nil:
			return err
		}
		if err := t.ask(ctx, line); err != nil {
			if ctx.Err() != nil {
				return err
			}
			fmt.Fprintln(t.redact.Writer(t.stderr), streams.StyleOf(t.stderr, t.lookup).Red(err.Error()))
		}
	}
}
