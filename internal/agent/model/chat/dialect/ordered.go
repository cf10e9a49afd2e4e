package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// object is a JSON object that keeps its members in order. The zero value is empty.
type object struct {
	keys   []string
	values map[string]any // of nil, bool, string, json.Number, []any and *object
}

func objectOf(key string, value any) *object {
	o := &object{}
	o.set(key, value)
	return o
}

func (o *object) has(key string) bool { _, ok := o.values[key]; return ok }

func (o *object) get(key string) any { return o.values[key] }

func (o *object) set(key string, value any) {
	if o.values == nil {
		o.values = make(map[string]any)
	}
	if !o.has(key) {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

func (o *object) remove(key string) {
	if !o.has(key) {
		return
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

// clone is a copy that shares the values.
func (o *object) clone() *object {
	c := &object{}
	for _, k := range o.keys {
		c.set(k, o.values[k])
	}
	return c
}

func (o *object) json() json.RawMessage { return encode(o) }

// encode is the JSON of a value of a schema.
func encode(v any) []byte {
	var b bytes.Buffer
	write(&b, v)
	return b.Bytes()
}

func write(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case *object:
		b.WriteByte('{')
		for i, key := range v.keys {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, key)
			b.WriteByte(':')
			write(b, v.values[key])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, item)
		}
		b.WriteByte(']')
	default: // nil, a bool, a string or a number, which always have a JSON form
		e := json.NewEncoder(b)
		e.SetEscapeHTML(false)
		if e.Encode(v) == nil {
			b.Truncate(b.Len() - 1) // the line break
		}
	}
}

// maxNesting bounds the recursion over a schema as it came.
const maxNesting = 5000

// decode reads JSON, members in order and numbers as they are written.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := value(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands behind it")
	}
	return v, nil
}

func value(d *json.Decoder, depth int) (any, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("nested deeper than %d", maxNesting)
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := &object{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := value(d, depth+1)
			if err != nil {
				return nil, err
			}
			o.set(key.(string), v) // the decoder takes nothing else for a key
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

// weight counts the values in a value.
func weight(v any) int {
	n := 1
	switch v := v.(type) {
	case *object:
		for _, item := range v.values {
			n += weight(item)
		}
	case []any:
		for _, item := range v {
			n += weight(item)
		}
	}
	return n
}

func kindOf(v any) string {
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
