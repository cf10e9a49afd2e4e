// Package shell makes tools that run programs.
//
// Start with [New], then read the tool's Call. A tool has one of two forms. In
// the argv form (argv.go) each element of the command is a template, and what
// a model says ends up inside exactly one argument or is refused. In the
// script form (script.go) the script is a file that the model cannot change,
// and parameters come as environment variables. What the program printed
// becomes a result in result.go.
//
// Failures that a model can read are results; an error means that the machine
// does not let us work, for instance because no folder can be made.
package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/process"
)

// Deps are what a tool needs of the program around it.
type Deps struct {
	// Lookup gives our own environment's variables: PATH, LANG, TZ and those
	// that pass_env names.
	Lookup func(name string) (string, bool)
	// Logger hears of runs, never of arguments or output.
	Logger *slog.Logger
	// Grace is how long a program may take to end when it is asked to; 0
	// means [process.DefaultGrace].
	Grace time.Duration
	// TempDir is where the private folders of calls are made; empty means the
	// system's own place.
	TempDir string
}

// tool is one shell tool. It is safe for concurrent use.
type tool struct {
	spec   agent.Spec
	shell  *config.Shell
	limit  int // bytes of a text result
	deps   Deps
	params map[string]config.Parameter
	env    map[string]string
}

// New makes the tool that t describes, which has passed the checks of a load.
// The error joins everything that is wrong with it; nothing is started.
func New(t *config.Tool, d Deps) (agent.Tool, error) {
	if t.Shell == nil || d.Lookup == nil || d.Logger == nil {
		return nil, errors.New("shell: a tool needs its shell section, a lookup and a logger")
	}
	params, err := parameters(t)
	if err != nil {
		return nil, err
	}
	if err := check(t, params); err != nil {
		return nil, err
	}
	env := make(map[string]string, len(t.Shell.Env))
	for name, value := range t.Shell.Env {
		env[name] = value.Plain()
	}
	return &tool{
		// The zero Hints say the worst, and nobody knows better what a
		// program does.
		spec:  agent.Spec{Name: t.Name, Description: t.Description, Parameters: t.Schema},
		shell: t.Shell, limit: t.MaxResultBytes, deps: d, params: params, env: env,
	}, nil
}

// Spec describes the tool.
func (t *tool) Spec() *agent.Spec { return &t.spec }

// Call runs the program once.
func (t *tool) Call(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	began := time.Now()
	args, err := t.read(call.Args)
	if err != nil {
		return agent.Failure(err.Error()), nil
	}
	spec, folder, err := t.prepare(args)
	if err != nil {
		return result(err)
	}
	defer func() {
		if err := folder.remove(); err != nil {
			t.deps.Logger.WarnContext(ctx, "a private folder of a tool could not be removed", "tool", t.spec.Name, "error", err)
		}
	}()
	out, err := process.Run(ctx, *spec)
	if err != nil {
		return result(err)
	}
	t.log(ctx, out)
	report := report{out: out, limit: t.limit}
	if out.Stopped != nil {
		report.stopped, report.late = stopped(ctx, began)
	}
	return report.result(t.shell), nil
}

// prepare puts together what is to run. The folder is the caller's to remove;
// it is nil when there is an error.
func (t *tool) prepare(args values) (*process.Spec, *private, error) {
	argv, err := t.argv(args)
	if err != nil {
		return nil, nil, err
	}
	stdin, err := t.stdin(args)
	if err != nil {
		return nil, nil, err
	}
	vars, err := t.variables(args)
	if err != nil {
		return nil, nil, err
	}
	folder, err := newPrivate(t.deps.TempDir)
	if err != nil {
		return nil, nil, err
	}
	if t.shell.Script != "" {
		path, err := folder.script(t.shell.Script, argv[0])
		if err != nil {
			return nil, nil, errors.Join(err, folder.remove())
		}
		argv = append(argv, path)
	}
	env := process.Environ(t.deps.Lookup, folder.home(), t.shell.PassEnv, t.env)
	return &process.Spec{
		Args: argv, Dir: t.shell.Dir, Env: append(env, vars...), Stdin: stdin,
		MaxOutput: t.captured(), Grace: t.deps.Grace,
	}, folder, nil
}

// captured is how many bytes of each stream are kept while the program runs.
func (t *tool) captured() int {
	if t.shell.Output == outputText || t.shell.Output == "" || t.shell.Output == outputJSON {
		return t.limit
	}
	return maxMediaBytes
}

func (t *tool) log(ctx context.Context, out *process.Output) {
	t.deps.Logger.DebugContext(ctx, "program ended", "tool", t.spec.Name, "exit_code", out.ExitCode, "signal", out.Signal,
		"duration", out.Duration, "stdout_bytes", out.Stdout.Size(), "stderr_bytes", out.Stderr.Size())
	if out.Escaped {
		t.deps.Logger.WarnContext(ctx, "a program left a process behind that may still run; it made a session or group of its own", "tool", t.spec.Name)
	}
}

// result sorts an error by who can act: the model is told what it asked for
// and what cannot be started, the rest is for the operator.
func result(err error) (*agent.Result, error) {
	var refused refusal
	var start *process.StartError
	if errors.As(err, &refused) || errors.As(err, &start) {
		return agent.Failure(err.Error()), nil
	}
	return nil, err
}

// stopped says in words why ctx ended, and whether its deadline did it.
func stopped(ctx context.Context, began time.Time) (why string, late bool) {
	deadline, ok := ctx.Deadline()
	if !ok || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "cancelled", false
	}
	// What is left of a second when we begin is a little less than a second.
	given := deadline.Sub(began).Round(10 * time.Millisecond)
	return "timed out after " + strconv.FormatFloat(given.Seconds(), 'f', -1, 64) + "s", true
}

// stdin gives the declared text with the arguments put in. An absent one is
// empty there, and a list or an object is JSON.
func (t *tool) stdin(args values) ([]byte, error) {
	if t.shell.Stdin == nil {
		return nil, nil
	}
	text, err := t.shell.Stdin.Expand(func(place string) (string, error) {
		v, ok := args[place]
		if !ok {
			return "", nil
		}
		return v.text(place)
	})
	return []byte(text), err
}

// parameters gives the declared parameters by name. Those of an input_schema
// are its properties.
func parameters(t *config.Tool) (map[string]config.Parameter, error) {
	params := make(map[string]config.Parameter, len(t.Parameters))
	for _, p := range t.Parameters {
		params[p.Name] = p
	}
	if len(t.InputSchema) == 0 {
		return params, nil
	}
	var schema struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(t.InputSchema, &schema); err != nil {
		return nil, fmt.Errorf("input_schema: %w", err)
	}
	for name, property := range schema.Properties {
		p := config.Parameter{Name: name, Schema: property, Optional: true}
		var keys struct{ Default json.RawMessage }
		if json.Unmarshal(property, &keys) == nil { // a property may also be true
			p.Default = keys.Default
		}
		params[name] = p
	}
	for _, name := range schema.Required {
		if p, ok := params[name]; ok {
			p.Optional = len(p.Default) > 0
			params[name] = p
		}
	}
	return params, nil
}
