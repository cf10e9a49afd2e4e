// Package ordered holds JSON whose objects keep the order of their members: a model
// writes an answer in the order in which its schema names the properties.
//
// Start with [Parse] and [Object]. The dialects of the providers work on it.
package ordered

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
)

// Object is a JSON object that keeps the order of its members. Its values are nil,
// bool, string, [json.Number], []any and *Object. The zero value is empty.
type Object struct {
	keys   []string
	values map[string]any
}

// Of is an object with one member.
func Of(key string, value any) *Object {
	o := &Object{}
	o.Set(key, value)
	return o
}

// Keys are the names of the members. Nobody writes to the list; it stays as it is when
// members are removed.
func (o *Object) Keys() []string { return o.keys }

// All gives the members in their order.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, key := range o.keys {
			if !yield(key, o.values[key]) {
				return
			}
		}
	}
}

// Has reports whether there is a member of a name.
func (o *Object) Has(key string) bool { _, ok := o.values[key]; return ok }

// Get gives a member; nil where there is none.
func (o *Object) Get(key string) any { return o.values[key] }

// Child gives a member that is an object itself; nil for none.
func (o *Object) Child(key string) *Object {
	c, _ := o.values[key].(*Object)
	return c
}

// Set gives a member a value, a new one at the end.
func (o *Object) Set(key string, value any) {
	if o.values == nil {
		o.values = make(map[string]any)
	}
	if !o.Has(key) {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

// Remove takes members out, as far as they are there.
func (o *Object) Remove(keys ...string) {
	for _, key := range keys {
		if !o.Has(key) {
			continue
		}
		delete(o.values, key)
		kept := make([]string, 0, len(o.keys))
		for _, k := range o.keys {
			if k != key {
				kept = append(kept, k)
			}
		}
		o.keys = kept
	}
}

// Clone is a copy that shares the values.
func (o *Object) Clone() *Object {
	c := &Object{}
	for key, value := range o.All() {
		c.Set(key, value)
	}
	return c
}

// MarshalJSON implements [json.Marshaler].
func (o *Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, key := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := Encode(key)
		if err != nil {
			return nil, err
		}
		value, err := Encode(o.values[key])
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Encode is the JSON of a value, with <, > and & as they are.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Parse reads one JSON text: objects become *Object and numbers stay as they are
// written. What is nested deeper than 5,000 levels is an error.
func Parse(raw []byte) (any, error) {
	if !json.Valid(raw) {
		return nil, errors.New("not JSON")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return value(d, 0)
}

// maxNesting bounds the recursion over what came from outside.
const maxNesting = 5000

func value(d *json.Decoder, depth int) (any, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("nested deeper than %d", maxNesting)
	}
	token, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	switch token {
	case json.Delim('{'):
		o := &Object{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, fmt.Errorf("not JSON: %w", err)
			}
			v, err := value(d, depth+1)
			if err != nil {
				return nil, err
			}
			name, _ := key.(string) // the decoder takes nothing else
			o.Set(name, v)
		}
		_, err = d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := value(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return token, nil
}

// Same reports whether two values are the same JSON, the order of members included.
func Same(a, b any) bool {
	x, errX := Encode(a)
	y, errY := Encode(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// Kind names the JSON type of a value.
func Kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}
