package agent

import (
	"context"
	"encoding/json"
	"net/http"

	"google.golang.org/genai"

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
// may change; it answers from memory where it can.
type Toolset interface {
	Tools(ctx context.Context, q *Query) ([]Tool, error)
}

// Query says for whom a [Toolset] is asked.
type Query struct {
	Agent  string
	Caller Caller
}

// Spec describes a [Tool] to the model and to the one who serves the agent.
type Spec struct {
	Name        string
	Description string
	// Parameters is a JSON Schema (2020-12) whose type is object.
	Parameters json.RawMessage
	Hints      Hints
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
}

// Call is one call of a tool, with everything that the tool needs to know of
// it. It is not kept after Call returns.
type Call struct {
	ID         string
	Name       string
	Args       json.RawMessage // a JSON object, numbers as the model wrote them
	Agent      string
	Invocation string
	// Conversation is the handle of the conversation.
	Conversation string
	Caller       Caller
	// Progress tells the waiting person something in one line; never nil.
	Progress func(text string)
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
	// IsError marks a failure that the model should know of.
	IsError bool
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

// Failure is a Result that tells the model what went wrong.
func Failure(s string) *Result { return &Result{Output: s, IsError: true} }
