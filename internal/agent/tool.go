package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// Tool is something that the model may call. Anyone may implement it; a Tool
// is safe for concurrent use.
type Tool interface {
	// Spec describes the tool. It is cheap, always gives the same pointer and
	// nobody writes to it.
	Spec() *Spec
	// Call runs the tool. What the model should read, failures included, is a
	// Result. An error means that the operator has to act, unless the
	// middleware turns it into a result; it ends the turn.
	Call(ctx context.Context, call *Call) (*Result, error)
}

// Toolset is a source of tools. It is asked at every step, so that its list
// may change; it answers from memory where it can. The same tool is the same
// value each time.
//
// An error ends the turn; a [SetupError] is shown to the caller, any other one
// stands in the log only.
type Toolset interface {
	Tools(ctx context.Context, q *Query) ([]Tool, error)
}

// Query says for whom a [Toolset] is asked, and where the turn stands.
type Query struct {
	Agent  string
	Caller Caller
	// Key is the conversation's, under whose owner things are kept.
	Key        session.Key
	Invocation string
	// Peek asks what can be said without contacting anybody, as when an agent is
	// described to a host; what is not known then is [ErrNotListed].
	Peek bool
	// State gives a key of the session's state, Failures how often calls of a
	// tool have failed in this turn, Input the text that opened it. They are for
	// the goroutine that asks, and nil with Peek.
	State    func(key string) (any, bool)
	Failures func(tool string) int
	Input    func() string
	// Report takes what a source of tools has listed, or why it could not. The
	// same pointer says the same. It may be nil.
	Report func(*session.Listing)
}

// ErrNotListed means that the tools of a source are not known yet.
var ErrNotListed = errors.New("the tools are not listed yet")

// SetupError is a fault that the operator has to mend, in words that the caller
// may read: they hold no secrets.
type SetupError struct{ Message string }

func (e *SetupError) Error() string { return e.Message }

// Instructor is a [Tool] that adds to the system instruction of each model call,
// after the agent's own. What it gives must not change within a turn without need,
// since services remember the beginning of a conversation.
type Instructor interface {
	Tool
	Instruct(ctx context.Context, q *Query) (string, error)
}

// Spec describes a [Tool] to the model and to the one who serves the agent.
type Spec struct {
	Name        string
	Description string
	// Parameters is a JSON Schema (2020-12) whose type is object.
	Parameters json.RawMessage
	Hints      Hints
	// Annotations are what an MCP server says of the tool, as it said it, for
	// conditions; nil elsewhere.
	Annotations map[string]any
	// Hosted names a tool that the model's own service runs, such as
	// google_search: the model is not given a function, and Call is never made.
	Hosted string
	// Hidden is set for a tool that is no function either: an [Instructor] only.
	Hidden bool
}

// Hints say what a tool can do to the world. The zero value is the worst that
// a tool can be, so that forgetting one never promises too much.
type Hints struct {
	ReadOnly       bool // changes nothing
	NonDestructive bool // adds, but never removes or overwrites
	Idempotent     bool // the same call twice has the effect of one
	ClosedWorld    bool // reaches nothing outside this program and its folders
}

// Caller is who asked for the turn.
type Caller struct {
	// Principal is the verified caller; "local" on stdio and in the terminal.
	Principal string
	// Header is the incoming request's, nil where there was none.
	Header http.Header
	// Hops counts the agents that have called each other to come here; see
	// [MaxHops].
	Hops int
	// Interactive is set where the caller is a person at our own terminal.
	Interactive bool
}

// MaxHops is how many agents may call each other in a row.
const MaxHops = 8

// MetaHops is the key of a request's _meta that carries [Caller].Hops from one
// adkmcp to the next.
const MetaHops = "adkmcp/hops"

// Call is one call of a tool, with everything that the tool needs to know of
// it. It is not kept after Call returns.
type Call struct {
	ID         string
	Name       string
	Args       json.RawMessage // a JSON object, numbers as the model wrote them
	Agent      string
	Invocation string
	// Key is the conversation's, under whose owner things are kept.
	Key    session.Key
	Caller Caller
	// Progress tells the waiting person something in one line; never nil.
	Progress func(text string)
	// State is the session's state when the step began, with the app: and user: keys
	// that conversations share; nobody writes to it.
	State map[string]any
	// Approved is set when a person has just approved this very call, which then runs
	// rather than being answered from what an earlier one gave.
	Approved bool
	// Answer is set when the tool suspended this very call earlier and the
	// answer has come; Asked is what it answers.
	Answer *session.Answer
	Asked  *session.Suspension
}

// Result is what a tool gives back.
type Result struct {
	// Output is what the model reads: a string, or a value that marshals to
	// JSON. It goes under "output", or under "error" when IsError is set.
	Output any
	// Media are images and other bytes that go along with the output.
	Media []*genai.Blob
	// Attach makes the media part of the agent's answer, for the caller to see.
	Attach bool
	// IsError marks a failure that the model should know of.
	IsError bool
	// NotRun marks an error of which the tool itself knows nothing, such as
	// arguments that do not fit or a call that nobody approved. It is no failure
	// of the tool.
	NotRun bool
	// Transient marks a failure on the way to the tool, such as a lost connection:
	// the same call may succeed later.
	Transient bool
	// Usage is what models used that the tool has asked; it counts as the turn's.
	Usage *model.Usage
	// StateDelta sets keys of the session's state.
	StateDelta map[string]any
	// Artifacts are what the tool has saved; the caller gets links to them.
	Artifacts []session.Artifact
	// Suspend parks the turn until somebody answers; the call then comes
	// again with its Answer. Everything else in the Result is ignored.
	Suspend *session.Suspension
}

// Text is a Result that holds text.
func Text(s string) *Result { return &Result{Output: s} }

// NotRun is a Result that tells the model why the tool was not run.
func NotRun(s string) *Result { return &Result{Output: s, IsError: true, NotRun: true} }

// Failure is a Result that tells the model what went wrong.
func Failure(s string) *Result { return &Result{Output: s, IsError: true} }
