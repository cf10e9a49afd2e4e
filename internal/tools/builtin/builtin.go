// Package builtin holds the tools that need no program and no address: an
// agent file names them, with args where they take some.
//
// Start with [New] and its table. The files tools share [folder], which keeps
// them inside their folder; those of artifacts share [shelf].
package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/config"
)

// Deps are what built-in tools need from outside.
type Deps struct {
	// Now is the clock; its location is the local time zone.
	Now func() time.Time
	// Artifacts keeps what agents save.
	Artifacts artifact.Store
}

// table says what every name gives.
var table = map[string]func(*config.Tool, Deps) ([]agent.Tool, error){
	"current_time":    newCurrentTime,
	"files":           newFiles,
	"get_user_choice": newUserChoice,
	"load_artifacts":  newLoadArtifacts,
	"save_artifact":   newSaveArtifact,
}

// Names lists the names that [New] knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(table)) }

// New gives the tools of one entry, which names the built-in with t.Name. An
// error is a mistake in the agent file or a folder that is not there.
func New(t *config.Tool, d Deps) ([]agent.Tool, error) {
	build, ok := table[t.Name]
	if !ok {
		return nil, fmt.Errorf("there is no built-in tool %q: the names are %s", t.Name, strings.Join(Names(), ", "))
	}
	return build(t, d)
}

// refuseArgs is the error for settings of a tool that has none.
func refuseArgs(t *config.Tool) error {
	if t.Builtin != nil && !reflect.ValueOf(*t.Builtin).IsZero() {
		return fmt.Errorf("%s takes no args", t.Name)
	}
	return nil
}

// tool is a tool whose arguments are an A. What run reports as an error is for
// the model, except that the turn's end stays an error.
type tool[A any] struct {
	spec *agent.Spec
	run  func(ctx context.Context, call *agent.Call, args *A) (*agent.Result, error)
}

// newTool makes a tool that needs to know its arguments only.
func newTool[A any](spec *agent.Spec, run func(ctx context.Context, args *A) (*agent.Result, error)) agent.Tool {
	return &tool[A]{spec, func(ctx context.Context, _ *agent.Call, args *A) (*agent.Result, error) { return run(ctx, args) }}
}

// Spec implements [agent.Tool].
func (t *tool[A]) Spec() *agent.Spec { return t.spec }

// Call implements [agent.Tool].
func (t *tool[A]) Call(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	var args A
	err := json.Unmarshal(call.Args, &args)
	if err != nil {
		err = fmt.Errorf("the arguments cannot be read: %w", err)
	}
	var res *agent.Result
	if err == nil {
		res, err = t.run(ctx, call, &args)
	}
	if err != nil && ctx.Err() == nil {
		return agent.Failure(err.Error()), nil
	}
	return res, err
}

// number is a whole number as JSON may write it, such as 2.0; 0 if left out.
type number float64

// or gives the number, within what an int holds everywhere.
func (n number) or(otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return int(min(n, math.MaxInt32))
}
