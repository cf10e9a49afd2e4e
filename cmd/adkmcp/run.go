package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/agent/transcript"
)

// maxRequest bounds a request that is read from standard input, in bytes.
const maxRequest = 4 << 20

type runOptions struct {
	json bool
	logs *logOptions
}

func (a *app) runCommand(logs *logOptions) *cobra.Command {
	o := &runOptions{logs: logs}
	cmd := &cobra.Command{
		Use:   "run PATH [REQUEST]",
		Short: "Run one agent in the terminal",
		Long: `Run one agent in the terminal. The answer goes to standard output; tool calls and
notices go to standard error. Without REQUEST you chat; an empty line or the end of
the input ends the chat. With - the request is read from standard input.`,
		Example: `  adkmcp run agents/dice.yaml "Roll a d20"
  git diff | adkmcp run agents/reviewer.yaml -
  adkmcp run --json agents/dice.yaml "Roll a d20"`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			logs.quiet(cmd.Flags())
			return a.runAgent(cmd.Context(), o, args)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print every event as a line of JSON")
	return cmd
}

func (a *app) runAgent(ctx context.Context, o *runOptions, args []string) (err error) {
	h, err := a.open(o.logs, args[:1], defaultBounds())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if len(h.residents) != 1 {
		var names []string
		for _, r := range h.residents {
			names = append(names, r.cfg.File)
		}
		return usageError("%s holds %d agents; name one: %s", args[0], len(names), strings.Join(names, ", "))
	}
	t := &terminal{app: a, runner: h.residents[0].runner, key: session.Key{Principal: localPrincipal, Agent: h.residents[0].cfg.Name, Handle: "terminal"}}
	if o.json {
		t.show = transcript.JSON(a.redact.writer(a.stdout))
	} else {
		t.show = transcript.New(transcript.Options{
			Out: a.redact.writer(a.stdout), Err: a.redact.writer(a.stderr), Terminal: isTerminal(a.stdout), Plain: plain, Dim: a.style(a.stderr).dim,
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
	runner *agent.Runner
	key    session.Key
	show   func(*session.Event) error
}

// ask takes one turn. A turn that did not end well is an error of its own.
func (t *terminal) ask(ctx context.Context, request string) error {
	if strings.TrimSpace(request) == "" {
		return usageError("the request is empty")
	}
	var printing error
	answer, err := agent.Collect(t.runner.Run(ctx, agent.Turn{
		Key: t.key, Mode: session.Create, Caller: agent.Caller{Principal: localPrincipal},
		Input: &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: request}}},
	}), func(e *session.Event) { printing = errors.Join(printing, t.show(e)) })
	switch {
	case err != nil:
		return err
	case printing != nil:
		return printing
	case answer.Problem != nil:
		return errors.New(answer.Problem.Message)
	case len(answer.Questions) > 0:
		return fmt.Errorf("the agent waits for an answer that the terminal cannot give: %s", answer.Questions[0].Message)
	case answer.Content == nil:
		return errors.New("the agent gave no answer")
	}
	return nil
}

// chat takes turns until the input ends. A turn that fails does not end it.
func (t *terminal) chat(ctx context.Context) error {
	prompt := t.style(t.stderr).bold("> ")
	lines := readLines(ctx, t.stdin)
	for {
		fmt.Fprint(t.stderr, prompt)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case line, more := <-lines:
			if !more || strings.TrimSpace(line) == "" {
				fmt.Fprintln(t.stderr)
				return nil
			}
			if err := t.ask(ctx, line); err != nil {
				if ctx.Err() != nil {
					return err
				}
				fmt.Fprintln(t.redact.writer(t.stderr), t.style(t.stderr).red(err.Error()))
			}
		}
	}
}

// readLines gives the lines of r until it or ctx ends. A read from a terminal
// cannot be called off; one that is under way ends with the process.
func readLines(ctx context.Context, r io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		scan := bufio.NewScanner(r)
		scan.Buffer(nil, maxRequest)
		for scan.Scan() {
			select {
			case lines <- scan.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
