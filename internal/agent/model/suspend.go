package model

import "encoding/json"

// Suspension is a question that the turn waits for: one that a tool call asks,
// or the model itself. It is stored with the conversation; the turn parks and
// goes on when an [Answer] comes.
type Suspension struct {
	// CallID names the tool call that asks; empty when the model does. The
	// runner sets it.
	CallID string `json:"call_id,omitempty"`
	// Kind is "approval", "question" or another word that the asking side and
	// the answering front end agree on.
	Kind    string          `json:"kind"`
	Message string          `json:"message"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Answer is what came back on a [Suspension].
type Answer struct {
	CallID  string          `json:"call_id,omitempty"` // the suspension's
	Action  string          `json:"action"`            // accept, decline or cancel, as in MCP elicitation
	Payload json.RawMessage `json:"payload,omitempty"`
}
