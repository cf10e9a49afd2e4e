package model

import "encoding/json"

// Suspension is a question that the turn waits for: one that a tool call asks,
// or the model itself. It is stored with the conversation; the turn parks and
// goes on when an [Answer] comes.
type Suspension struct {
	// CallID names the tool call that asks; empty when the model does. The
	// runner sets it.
	CallID string `json:"call_id,omitempty"`
	// ID tells this question from every other one, also of a call that has the
	// same id since the model's service counts anew; the runner sets it.
	ID string `json:"id,omitempty"`
	// Tool is the name of the tool that asks; the runner sets it too.
	Tool string `json:"tool,omitempty"`
	// Kind is "approval", "question" or another word that the asking side and
	// the answering front end agree on.
	Kind    string          `json:"kind"`
	Message string          `json:"message"`
	Payload json.RawMessage `json:"payload,omitempty"` // see [Approval] and [Form]
	// Opaque is the asking side's own, which it finds again with the answer; nobody
	// else is shown it.
	Opaque json.RawMessage `json:"opaque,omitempty"`
}

// Kinds of a [Suspension].
const (
	Approval = "approval" // of a tool call; Payload is its arguments
	Question = "question" // Payload is a [Form]
	// Sampling asks the calling host's own model (MCP, client/sampling). Payload is
	// the params of sampling/createMessage, and that of the Answer its result.
	Sampling = "sampling"
)

// Form is the Payload of a question: the fields that a person fills in, as a
// flat JSON Schema of type object (MCP, client/elicitation).
type Form struct {
	Schema json.RawMessage `json:"schema"`
}

// What somebody did about a [Suspension], as in MCP elicitation.
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel" // nobody answered, or cared to
)

// Answer is what came back on a [Suspension].
type Answer struct {
	CallID string `json:"call_id,omitempty"` // the suspension's
	// ID is the suspension's. An answer that comes later than at once must have
	// it; without one it is for whatever the call asks now.
	ID string `json:"id,omitempty"`
	// Kind is the suspension's; the runner sets it.
	Kind   string `json:"kind,omitempty"`
	Action string `json:"action"` // Accept, Decline or Cancel
	// Reason says why nothing was accepted, in words for the model; empty where
	// there is no more to say than that.
	Reason string `json:"reason,omitempty"`
	// Payload is what was filled in, a JSON object; only with Accept of a question.
	Payload json.RawMessage `json:"payload,omitempty"`
}
