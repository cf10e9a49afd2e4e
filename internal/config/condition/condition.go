// Package condition is the language of the conditions in agent files: when a call
// needs an approval, and when a tool is shown. It is a small part of Expr
// (expr-lang.org): comparisons, arithmetic, and, or, not, in, matches, contains,
// startsWith, endsWith, the choices ?: and ??, members and items, and the functions
// all, any, none, one and count for lists, len, lower, upper, trim, abs, ceil, floor,
// round, min and max.
//
// What is missing is nil: it equals nothing but nil, contains nothing, and cannot
// be compared with < or used as true or false, which is an error. Numbers never
// wrap around and never lose what would change a comparison unseen: that is an error
// too. Whoever evaluates a condition decides what an error means; it should be the
// safe side.
//
// Start with [Approval] and [Program.Eval].
package condition

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
)

// MaxBytes bounds the text of a condition.
const MaxBytes = 4096

// Bounds on one evaluation.
const (
	// maxWork is how many items all loops together look at, an item counting for
	// more the larger the values are that it could be compared with: one and, for
	// each workUnit of them, one more.
	maxWork  = 1 << 18
	workUnit = 1024
	// maxCells is how many items lists may have that a condition makes.
	maxCells = 100_000
)

// Program is a condition that has been checked. It is safe for concurrent use.
type Program struct {
	text string
	code *vm.Program
	uses reads
}

// reads are the names that a condition reads.
type reads struct {
	names map[string]bool
	args  []string // members of args by their names
	state []string // keys of the state
}

// Env is what a condition may look at. Only what it names is looked at.
type Env struct {
	// Args are a call's arguments, as JSON in maps, lists, json.Number or float64,
	// and so on.
	Args  map[string]any
	Tool  string // the name that the model sees
	Hints Hints
	// Annotations are what an MCP server says of its tool.
	Annotations map[string]any
	// State gives a key of the session's state; nil for none.
	State func(key string) (any, bool)
}

// Hints are what a condition reads as hints.read_only and so on, worded as in MCP;
// a tool of which nothing is known is destructive and of an open world.
type Hints struct {
	ReadOnly    bool
	Destructive bool
	Idempotent  bool
	OpenWorld   bool
}

// Approval checks a condition on a call. It may name args, the call's arguments;
// tool, the tool's name; hints, with read_only, destructive, idempotent and
// open_world; annotations, what an MCP server says of the tool; and state, the
// session's state. With arguments, other members of args than those are an error;
// nil stands for arguments that are not known.
//
// Errors are one line for the author of the file.
func Approval(text string, arguments []string) (*Program, error) {
	return compile(text, &scope{names: approvalNames(), args: arguments, anyArgs: arguments == nil})
}

// When checks a condition on the session's state, the only name that it may use.
func When(text string) (*Program, error) {
	return compile(text, &scope{names: whenNames()})
}

// String gives the text of the condition.
func (p *Program) String() string { return p.text }

// Eval decides. An error says in one line why the condition could not be decided;
// it quotes nothing of what the condition looked at.
func (p *Program) Eval(env Env) (bool, error) {
	vars, size, err := p.variables(env)
	if err != nil {
		return false, err
	}
	vars[budgetName] = &budget{left: maxWork, item: 1 + size/workUnit}
	machine := vm.VM{MemoryBudget: maxCells}
	got, err := machine.Run(p.code, vars)
	if err != nil {
		return false, p.undecided(err, env)
	}
	is, ok := got.(bool)
	if !ok {
		return false, errors.New("it gives neither true nor false for this call" + p.missing(env))
	}
	return is, nil
}

// variables are what the program sees, and how large it is, in bytes or so.
func (p *Program) variables(env Env) (map[string]any, int, error) {
	vars, size := make(map[string]any, len(p.uses.names)+1), 0
	set := func(name string, v any) error {
		plain, err := plainValue(v, &size)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		vars[name] = plain
		return nil
	}
	for name := range p.uses.names {
		var err error
		switch name {
		case "args":
			err = set(name, env.Args)
		case "annotations":
			err = set(name, env.Annotations)
		case "state":
			err = set(name, p.state(env))
		case "tool":
			vars[name] = env.Tool
		case "hints":
			vars[name] = map[string]any{"read_only": env.Hints.ReadOnly, "destructive": env.Hints.Destructive,
				"idempotent": env.Hints.Idempotent, "open_world": env.Hints.OpenWorld}
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return vars, size, nil
}

// state has the keys that the program reads.
func (p *Program) state(env Env) map[string]any {
	state := make(map[string]any, len(p.uses.state))
	if env.State == nil {
		return state
	}
	for _, key := range p.uses.state {
		if v, ok := env.State(key); ok {
			state[key] = v
		}
	}
	return state
}

// undecided words an error of the machine, whose own words are about Go.
func (p *Program) undecided(err error, env Env) error {
	var own *fault
	if errors.As(err, &own) {
		return own
	}
	why := "it cannot be decided for these values"
	var at *file.Error
	if errors.As(err, &at) {
		why += ", " + place(p.text, at.Location)
	}
	return errors.New(why + p.missing(env))
}

// missing names what the program reads and there is not.
func (p *Program) missing(env Env) string {
	var names []string
	for _, name := range p.uses.args {
		if env.Args[name] == nil {
			names = append(names, member("args", name))
		}
	}
	state := p.state(env)
	for _, key := range p.uses.state {
		if state[key] == nil {
			names = append(names, member("state", key))
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return fmt.Sprintf(" (not set: %s)", strings.Join(slices.Compact(names), ", "))
}
