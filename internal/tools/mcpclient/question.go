package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/listing"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/parking"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
)

// elicitationAsk has questions of a server passed on.
const elicitationAsk = "ask"

// Bounds of what a server may ask within one call.
const (
	maxQuestion = 4 << 10 // bytes that a person has to read
	maxSamples  = 10
	maxNotes    = 10
)

// Requests of a server that belong to a call.
const (
	methodElicit = "elicitation/create"
	methodSample = "sampling/createMessage"
)

// inquiry answers what a server asks during one call.
type inquiry struct {
	tool *tool
	call *parking.Call

	mu      sync.Mutex
	samples int
	notes   []string // for the model, on what was declined
}

// taken gives the notes.
func (q *inquiry) taken() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.notes
}

// note tells the model of something that it would not learn otherwise.
func (q *inquiry) note(format string, args ...any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.notes) < maxNotes {
		q.notes = append(q.notes, "["+fmt.Sprintf(format, args...)+"]")
	}
}

// ask implements the Ask of a [protocol.Call].
func (q *inquiry) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	set := q.tool.set
	switch {
	case method == methodElicit && set.cfg.MCP.Server.Elicitation == elicitationAsk:
		return q.elicit(ctx, params)
	case method == methodElicit:
		return answered(model.Decline, nil)
	case method == methodSample && set.deps.Sample != nil:
		return q.sample(ctx, params)
	}
	return nil, &protocol.Error{Code: -32601, Message: "this client does not answer " + method}
}

// sample has the agent's model answer, not too often.
func (q *inquiry) sample(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	q.mu.Lock()
	q.samples++
	many := q.samples > maxSamples
	q.mu.Unlock()
	if many {
		return nil, &protocol.Error{Code: -32603, Message: fmt.Sprintf("at most %d requests for the model are answered in one call", maxSamples)}
	}
	return q.tool.set.deps.Sample(ctx, params)
}

// elicit puts the server's question before the person (client/elicitation). What
// cannot be put is declined, and the model is told.
func (q *inquiry) elicit(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var p struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		URL     string          `json:"url"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &protocol.Error{Code: -32602, Message: "the params of elicitation/create cannot be read"}
	}
	name := q.tool.set.name
	message := listing.Clean(p.Message, maxQuestion)
	if p.Mode == "url" {
		q.note("the server %s wants the person to open %s (%s); that was declined here: tell the person the address", name, listing.Clean(p.URL, maxQuestion), message)
		return answered(model.Decline, nil)
	}
	schema, err := form(p.Schema)
	if err != nil {
		q.note("the server %s asked the person something that was declined, since %v", name, err)
		return answered(model.Decline, nil)
	}
	payload, err := json.Marshal(model.Form{Schema: schema})
	if err != nil {
		return nil, fmt.Errorf("the form of a question: %w", err)
	}
	a, err := q.call.Ask(ctx, &session.Suspension{Kind: model.Question, Message: name + " asks: " + message, Payload: payload})
	if errors.Is(err, parking.ErrFull) {
		q.note("the server %s asked the person something that could not be put, since %v", name, err)
		return nil, &protocol.Error{Code: -32603, Message: err.Error()}
	}
	if err != nil {
		return nil, err
	}
	return answered(a.Action, a.Payload)
}

// answered is the result of elicitation/create.
func answered(action string, filled json.RawMessage) (json.RawMessage, error) {
	result := struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content,omitempty"`
	}{Action: action}
	if action == model.Accept {
		result.Content = json.RawMessage("{}")
		if len(filled) > 0 {
			result.Content = filled
		}
	}
	return json.Marshal(result)
}

// form gives the schema of a question as a person can be shown it: an object whose
// fields are texts, numbers, yes or no, and choices.
func form(raw json.RawMessage) (json.RawMessage, error) {
	schema, err := listing.Parameters(raw)
	if err != nil {
		return nil, err
	}
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !isFlat(s.Properties[name]) {
			return nil, fmt.Errorf("its form has a field %q that cannot be shown", listing.Clean(name, 100))
		}
	}
	return schema, nil
}

func isFlat(field json.RawMessage) bool {
	var f struct {
		Type  string
		Items struct {
			Enum, AnyOf []json.RawMessage
		}
	}
	if json.Unmarshal(field, &f) != nil {
		return false
	}
	switch f.Type {
	case "string", "number", "integer", "boolean":
		return true
	case "array":
		return len(f.Items.Enum)+len(f.Items.AnyOf) > 0
	}
	return false
}
