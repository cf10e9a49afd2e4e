package prompt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// parseForm reads a flat JSON Schema of type object. The fields keep its order.
func parseForm(schema json.RawMessage) ([]*field, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var form struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(schema, &form); err != nil {
		return nil, err
	}
	var fields []*field
	err := eachMember(form.Properties, func(name string, value json.RawMessage) error {
		f, err := newField(name, value, slices.Contains(form.Required, name))
		fields = append(fields, f)
		return err
	})
	return fields, err
}

// eachMember goes through the members of a JSON object in order.
func eachMember(object json.RawMessage, do func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(object))
	switch first, err := d.Token(); {
	case len(object) == 0 || err == nil && first == nil:
		return nil
	case err != nil:
		return err
	case first != json.Delim('{'):
		return errors.New("properties is no object")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := do(fmt.Sprint(name), value); err != nil {
			return err
		}
	}
	return nil
}

// content is the JSON object of the filled fields, in their order.
type content struct{ b bytes.Buffer }

func (c *content) set(f *field, value json.RawMessage) error {
	name, err := quoted(f.name, true)
	if err != nil {
		return err
	}
	sep := byte(',')
	if c.b.Len() == 0 {
		sep = '{'
	}
	c.b.WriteByte(sep)
	c.b.Write(name)
	c.b.WriteByte(':')
	c.b.Write(value)
	return nil
}

func (c *content) object() json.RawMessage {
	if c.b.Len() == 0 {
		return json.RawMessage("{}")
	}
	return append(c.b.Bytes(), '}')
}
