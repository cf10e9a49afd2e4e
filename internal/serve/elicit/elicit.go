// Package elicit puts the questions of a parked turn into the form in which MCP
// asks a client: its user (client/elicitation), or its model (client/sampling). It
// reads what came back, too.
//
// Start with [Unfit], [For] and [Answer]; sampling.go has what is about models.
// [Sealer] makes what a client of MCP 2026-07-28 carries from one request to the
// next (basic/patterns/mrtr).
package elicit

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// Method is that of a request that puts a form before the client's user.
const Method = "elicitation/create"

// Since is the first protocol version that has elicitation.
const Since = "2025-06-18"

// firstWithModes is the first protocol version whose elicitations say that they
// are forms.
const firstWithModes = "2025-11-25"

// approvalForm is what a person fills in to let a tool run. A client that
// accepts without looking sends no fields, and so approves nothing.
var approvalForm = json.RawMessage(`{"type":"object","properties":{"approve":{"type":"boolean","title":"Run it","description":"Whether the tool may run with these arguments"}},"required":["approve"]}`)

// Form is the params of a request of [Method].
type Form struct {
	Mode    string          `json:"mode,omitempty"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"`
}

// Request is a request to the client, as it also lies in the result of another
// one (basic/patterns/mrtr, "InputRequests").
type Request struct {
	Method string `json:"method"`
	Params any    `json:"params"`
}

// Unfit says why a question cannot be put to this client, whatever the transport;
// it is empty if it can.
func Unfit(q *session.Suspension, c *turns.Client) (why string) {
	switch {
	case q.Kind == model.Sampling:
		_, why = fit(q.Payload, c)
		return why
	case !c.Elicits || c.Protocol < Since:
		return "nobody can be asked: the caller's program takes no questions (MCP elicitation)"
	}
	return ""
}

// For is the request that puts a question to this client, for which it is not
// [Unfit].
func For(q *session.Suspension, c *turns.Client) Request {
	if q.Kind == model.Sampling {
		params, _ := fit(q.Payload, c)
		return Request{SamplingMethod, params}
	}
	return Request{Method, Params(q, c.Protocol)}
}

// Doing says in words for people what a turn is at while a question is asked.
func Doing(q *session.Suspension) string {
	if q.Kind == model.Sampling {
		return "asking the host's model"
	}
	return "waiting for a person's answer"
}

// Params puts a question as a form for a client of this protocol version.
func Params(q *session.Suspension, protocol string) Form {
	f := Form{Message: q.Message, Schema: approvalForm}
	if protocol >= firstWithModes {
		f.Mode = "form"
	}
	if q.Kind == model.Approval {
		f.Message += "\n\nArguments: " + indented(q.Payload)
		return f
	}
	var form model.Form
	if json.Unmarshal(q.Payload, &form) == nil && len(form.Schema) > 0 {
		f.Schema = form.Schema
	}
	return f
}

// indented shows arguments as a person reads them.
func indented(args json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, args, "", "  ") != nil {
		return string(args)
	}
	return strings.TrimSpace(b.String())
}

// Answer reads what a client gave as the result of the request of [For]. What
// cannot be read is no consent.
func Answer(q *session.Suspension, result json.RawMessage) session.Answer {
	if q.Kind == model.Sampling {
		return sampled(q, result)
	}
	a := session.Answer{CallID: q.CallID, ID: q.ID, Action: model.Cancel}
	var got struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(result, &got) != nil {
		a.Reason = "the client's answer could not be read"
		return a
	}
	switch got.Action {
	case model.Decline:
		a.Action = model.Decline
	case model.Accept:
		a.Action = model.Accept
	}
	if a.Action != model.Accept {
		return a
	}
	if q.Kind == model.Approval {
		var content struct {
			Approve *bool `json:"approve"`
		}
		switch err := json.Unmarshal(got.Content, &content); {
		case err != nil || content.Approve == nil:
			a.Action, a.Reason = model.Cancel, "the client did not say whether the person approved it"
		case !*content.Approve:
			a.Action = model.Decline
		}
		return a
	}
	a.Payload = got.Content
	if len(a.Payload) == 0 {
		a.Payload = json.RawMessage("{}")
	}
	return a
}

// UserRejected is the code of the error with which a client says that its user does
// not let its model answer (client/sampling, "Error Handling").
const UserRejected = -1

// Unanswered is the answer of a client that was asked and gave none. One whose user
// does not let its model answer has declined; code is that of its error, 0 for none.
func Unanswered(q *session.Suspension, reason string, code int) session.Answer {
	a := session.Answer{CallID: q.CallID, ID: q.ID, Action: model.Cancel, Reason: reason}
	if q.Kind == model.Sampling && code == UserRejected {
		a.Action = model.Decline
	}
	return a
}

// Keys are the names of questions among the requests of a result: that of the
// tool that asks, with a number if it is taken. No two are the same, or the answer
// to one would be taken for that to another.
func Keys(questions []*session.Suspension) []string {
	keys := make([]string, len(questions))
	taken := make(map[string]bool, len(questions))
	for i, q := range questions {
		name := q.Tool
		if name == "" {
			name = "model"
		}
		keys[i] = name
		for n := 2; taken[keys[i]]; n++ {
			keys[i] = name + "-" + strconv.Itoa(n)
		}
		taken[keys[i]] = true
	}
	return keys
}
