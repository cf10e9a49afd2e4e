// Package session holds conversations: the events of which they consist, and
// the stores that keep them.
//
// Start with [Event], then [Store]. A conversation is its list of events and
// nothing else; the runner computes everything it needs by going over them.
package session

import (
	"encoding/json"
	"time"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// Version is the version of the events' JSON form.
const Version = 1

// Kind says what an [Event] records.
type Kind string

// The kinds. Resumed, Partial and Notice are streamed to the one who waits and
// never stored; they have no sequence number.
const (
	UserMessage  Kind = "user"          // opens a turn; Content
	ModelReply   Kind = "model"         // one model call's answer; Content, Usage, Model, Problem if it was cut or does not match output_schema, else Structured
	Correction   Kind = "correction"    // asks the model for such an answer once more; Content, and Text for people
	ToolStarted  Kind = "tool_started"  // before a call runs; Call
	ToolFinished Kind = "tool_finished" // after it; Call (id and name), Response
	Suspended    Kind = "suspended"     // a call waits for somebody; Suspension
	Answered     Kind = "answered"      // that somebody answered; Answer
	ToolsListed  Kind = "tools_listed"  // a source of tools listed others than before, or could not; Listing
	Compacted    Kind = "compacted"     // a summary was made of older contents; Compaction, Content, Usage, Model, Problem instead of Content where it failed
	TurnEnded    Kind = "ended"         // closes a turn; Problem unless it ended well
	Resumed      Kind = "resumed"       // the turn goes on; Earlier
	Partial      Kind = "partial"       // a piece of text while it streams; Content
	Notice       Kind = "notice"        // a line for the waiting person; Text
)

// TempPrefix begins the keys of the state that live as long as a turn.
const TempPrefix = "temp:"

// Event is one thing that happened in a conversation. Once stored it is
// immutable, and so is everything that it points to.
type Event struct {
	V          int       `json:"v"`
	Seq        int64     `json:"seq,omitempty"` // from 1, without gaps; set by the store
	Kind       Kind      `json:"kind"`
	Time       time.Time `json:"time"`
	Invocation string    `json:"invocation"`           // the turn
	Step       int       `json:"step,omitempty"`       // the model call within the turn, from 1
	Author     string    `json:"author"`               // "user" or the agent's name
	Branch     string    `json:"branch,omitempty"`     // which of several side by side
	Definition string    `json:"definition,omitempty"` // hash of the agent's definition

	Content      *genai.Content  `json:"content,omitempty"`
	FinishReason string          `json:"finish_reason,omitempty"`
	Usage        *model.Usage    `json:"usage,omitempty"`
	Model        string          `json:"model,omitempty"`      // that answered, as provider/name
	Opaque       json.RawMessage `json:"opaque,omitempty"`     // the provider's own, given back untouched
	Structured   json.RawMessage `json:"structured,omitempty"` // the JSON of an answer that matches output_schema

	Call       *Call                   `json:"call,omitempty"`
	Response   *genai.FunctionResponse `json:"response,omitempty"`
	IsError    bool                    `json:"is_error,omitempty"` // of the tool's response
	NotRun     bool                    `json:"not_run,omitempty"`  // an error of which the tool itself knows nothing
	Attach     bool                    `json:"attach,omitempty"`   // the response's media are part of the answer
	Listing    *Listing                `json:"listing,omitempty"`
	Compaction *Compaction             `json:"compaction,omitempty"`
	Suspension *Suspension             `json:"suspension,omitempty"`
	Answer     *Answer                 `json:"answer,omitempty"`
	StateDelta map[string]any          `json:"state_delta,omitempty"` // see [TempPrefix]
	Artifacts  []Artifact              `json:"artifacts,omitempty"`   // that a tool has saved
	Problem    *Problem                `json:"problem,omitempty"`
	Text       string                  `json:"text,omitempty"`
	// Earlier are the stored events of a turn that goes on, up to here and
	// without an answer that is yielded once more.
	Earlier []*Event `json:"-"`
}

// Call names a tool call. Args stand in the started event only.
type Call struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

// Listing is what a source of tools has listed, such as an MCP server.
type Listing struct {
	Source   string   `json:"source"`
	Tools    []string `json:"tools,omitempty"` // the names that the model sees
	Error    string   `json:"error,omitempty"` // why there are none
	Warnings []string `json:"warnings,omitempty"`
}

// Compaction says for what a summary stands. It counts contents: those that the
// events of the conversation come to for the model, from its start.
type Compaction struct {
	From   int    `json:"from"`   // the first one that it was made of, beside an earlier summary
	UpTo   int    `json:"up_to"`  // the first one that it does not stand for
	Reason string `json:"reason"` // one of those below
	// TurnOnly is set where the model is shown the current turn only: the summary
	// is of that turn's beginning and goes with it.
	TurnOnly bool `json:"turn_only,omitempty"`
}

// Reasons of a [Compaction].
const (
	Interval = "interval" // so many turns since the last one
	Tokens   = "tokens"   // a request had more tokens than the threshold
	Overflow = "overflow" // a request was more than the model takes
)

// Artifact names something that was saved in package artifact.
type Artifact struct {
	ID       string `json:"id"` // unguessable
	Name     string `json:"name"`
	Version  int    `json:"version"`
	MIMEType string `json:"mime_type"`
	Size     int    `json:"size"` // in bytes
}

// Suspension is package model's, since a model may suspend too.
type Suspension = model.Suspension

// Sampling is the kind of a suspension that package model has.
const Sampling = model.Sampling

// Answer is package model's.
type Answer = model.Answer

// Problem is why a turn did not end well.
type Problem struct {
	// Code is a model.Code or one of the codes below.
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Codes of a [Problem] beside those of package model.
const (
	Cancelled     = "cancelled"      // the caller stopped the turn
	Interrupted   = "interrupted"    // the program ended in the middle
	LimitReached  = "limit"          // a limit of the agent file
	MissingState  = "missing_state"  // the instruction names state that there is not
	TurnTimeout   = "turn_timeout"   // limits.timeout
	InvalidOutput = "invalid_output" // the answer does not match output_schema
	BadSetup      = "setup"          // a fault that the operator has to mend
	InternalError = "internal_error" // a Go error of ours or of the operator's setup
)

// Kept is the event as a store keeps it: itself, but for the request that a host's
// model is asked. That holds a whole conversation, and is made anew of the events.
func (e *Event) Kept() *Event {
	if e.Suspension == nil || e.Suspension.Kind != Sampling || e.Suspension.Payload == nil {
		return e
	}
	kept, q := *e, *e.Suspension
	q.Payload, kept.Suspension = nil, &q
	return &kept
}
