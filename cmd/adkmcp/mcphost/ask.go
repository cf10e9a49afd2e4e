package mcphost

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

// Question is what a server asks during a call (MCP, client/elicitation, form
// mode).
type Question struct {
	Message string
	// Schema is a flat JSON Schema of type object; one without properties asks
	// for consent alone. Its properties come in the server's order where that
	// can be known, else the required ones first.
	Schema json.RawMessage
}

// Reply is the answer to a [Question].
type Reply struct {
	Action  string          // accept, decline or cancel
	Content json.RawMessage // the fields; only with accept
}

// elicitor is the MCP library's elicitation handler.
type elicitor func(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error)

// Elicit answers one question.
func (e elicitor) Elicit(ctx context.Context, req mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return e(ctx, req)
}

// newElicitor makes a handler that asks one question at a time. It gives up when
// life ends, which the library's own context does not tell everywhere.
func newElicitor(life context.Context, ask func(context.Context, Question) (Reply, error), s *sifter) elicitor {
	free := make(chan struct{}, 1)
	return func(ctx context.Context, req mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
		if m := req.Params.Mode; m != "" && m != mcp.ElicitationModeForm {
			return nil, fmt.Errorf("the server asks in a mode that it was not offered: %q", m)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(life, func() { cancel(context.Cause(life)) })()
		select {
		case free <- struct{}{}:
			defer func() { <-free }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		reply, err := ask(ctx, Question{Message: req.Params.Message, Schema: s.form(req.Params.RequestedSchema)})
		if err != nil {
			return nil, err
		}
		result := &mcp.ElicitationResult{}
		result.Action = mcp.ElicitationResponseAction(reply.Action)
		if reply.Content != nil {
			result.Content = reply.Content
		}
		return result, nil
	}
}

// keepForms notes the forms of an input_required result, for the library loses
// the order of their fields.
func (s *sifter) keepForms(inputRequests json.RawMessage) {
	var requests map[string]struct {
		Params struct {
			RequestedSchema json.RawMessage `json:"requestedSchema"`
		} `json:"params"`
	}
	if json.Unmarshal(inputRequests, &requests) != nil {
		return // the library says what is wrong
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forms = make(map[string]json.RawMessage, len(requests))
	for _, r := range requests {
		var decoded any
		if json.Unmarshal(r.Params.RequestedSchema, &decoded) == nil {
			s.forms[string(encode(decoded))] = r.Params.RequestedSchema
		}
	}
}

// form gives a decoded form as the server wrote it, as far as that is known.
func (s *sifter) form(decoded any) json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if raw, ok := s.forms[string(encode(decoded))]; ok {
		return raw
	}
	schema, ok := decoded.(map[string]any)
	if !ok {
		return encode(decoded)
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	names := slices.Sorted(maps.Keys(properties))
	slices.SortStableFunc(names, func(a, b string) int { return place(required, a) - place(required, b) })
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(append(append(encode(name), ':'), encode(properties[name])...))
	}
	b.WriteByte('}')
	schema = maps.Clone(schema)
	schema["properties"] = json.RawMessage(b.Bytes())
	return encode(schema)
}

// place is where a name stands in a list; behind it if nowhere.
func place(list []any, name string) int {
	if i := slices.Index(list, any(name)); i >= 0 {
		return i
	}
	return len(list)
}

// encode writes what has been read as JSON.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return text
}
