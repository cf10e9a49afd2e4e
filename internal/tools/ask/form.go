package ask

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
)

// defaultForm is that of a tool which names none.
const defaultForm = `{"type":"object","properties":{"answer":{"type":"string","title":"Answer","minLength":1}},"required":["answer"]}`

// form is what a person fills in.
type form struct {
	schema json.RawMessage
	text   bool               // the default form, whose only field is the answer
	empty  bool               // no fields: a question that can only be accepted or not
	answer *jsonschema.Schema // checks answers
}

// newForm makes the form of a schema, which may be empty for the default.
func newForm(schema json.RawMessage) (*form, error) {
	f := &form{schema: schema}
	if len(schema) == 0 {
		f.schema, f.text = json.RawMessage(defaultForm), true
	}
	f.answer = jsonschema.New(f.schema, jsonschema.Options{Whole: "the form", Is: "it is", Formats: true})
	fields, err := checkFlat(f.schema)
	f.empty = fields == 0
	return f, err
}

// field is what matters of a field's schema.
type field struct {
	Type  string
	Items struct {
		Enum, AnyOf []json.RawMessage
	}
}

// checkFlat sees that hosts can show a form: they take an object whose fields
// are texts, numbers, yes or no, and choices (MCP, client/elicitation). It gives
// the number of fields.
func checkFlat(schema json.RawMessage) (int, error) {
	var s struct {
		Type       string
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return 0, fmt.Errorf("ask.form: %w", err)
	}
	if s.Type != "object" || s.Properties == nil {
		return 0, errors.New("ask.form: want a JSON Schema with type: object, and the fields in properties")
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		var f field
		if err := json.Unmarshal(s.Properties[name], &f); err != nil || !f.flat() {
			errs = append(errs, fmt.Errorf("ask.form: the field %s must be of type string, number, integer or boolean, or an array whose items are an enum: hosts cannot show another", name))
		}
	}
	for _, name := range s.Required {
		if _, ok := s.Properties[name]; !ok {
			errs = append(errs, fmt.Errorf("ask.form: required names %s, which is no field", name))
		}
	}
	return len(s.Properties), errors.Join(errs...)
}

func (f *field) flat() bool {
	switch f.Type {
	case "string", "number", "integer", "boolean":
		return true
	case "array":
		return len(f.Items.Enum)+len(f.Items.AnyOf) > 0
	}
	return false
}

// result is what the model reads of an answer that fits: the fields, or just
// the text where there is only that.
func (f *form) result(answer json.RawMessage) (*agent.Result, error) {
	switch {
	case f.empty:
		return agent.Text("the person accepted"), nil
	case !f.text:
		return &agent.Result{Output: answer}, nil
	}
	var fields map[string]any
	if err := json.Unmarshal(answer, &fields); err != nil {
		return nil, fmt.Errorf("the answer: %w", err)
	}
	return &agent.Result{Output: fields["answer"]}, nil
}
