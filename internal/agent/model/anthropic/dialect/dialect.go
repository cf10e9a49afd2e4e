// Package dialect turns JSON Schema into what Anthropic takes for the input of a
// tool and for an answer.
//
// Start with [Translate], for tools; [Output] is for answers, where the service takes
// much less. Both first bring a schema into the 2020-12 draft (clean.go), since the
// service refuses anything else. What it cannot express is told in a description.
package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

// Bounds of a schema.
const (
	maxNodes = 5000 // schemas within it
	maxDepth = 50
	maxTop   = 500 // schemas that are written out at its top
	maxBytes = 512 << 10
)

// Translate gives the schema of a tool's input as the service takes it, or says why
// that cannot be. It never forbids what the tool allows: what has no place it tells
// the model in a description, as JSON. Whoever runs the tool checks the arguments
// against the tool's own schema.
//
// The rules are those that the service's refusals name: a valid schema of the
// 2020-12 draft of type object, no oneOf, allOf or anyOf at the top, and properties
// called by up to 64 letters, digits or any of _ . -.
func Translate(raw []byte) (json.RawMessage, error) {
	root, err := clean(raw)
	if err != nil {
		return nil, err
	}
	t := &top{refs: &resolver{root: root}, left: maxTop, way: map[string]bool{}}
	out, err := t.flat(root, 0)
	if err != nil {
		return nil, err
	}
	if types := typesOf(out); types != nil && !slices.Contains(types, "object") {
		return nil, fmt.Errorf("type must be object, not %v", out.Get("type"))
	}
	out.Set("type", "object")
	t.told.tell(out)
	if err := checkRefs(out, &resolver{root: out}); err != nil {
		return nil, err
	}
	return ordered.Encode(out)
}

// checkRefs sees that every reference still leads somewhere.
func checkRefs(v any, within *resolver) error {
	switch v := v.(type) {
	case *object:
		for _, name := range v.Keys() {
			switch name {
			case "const", "enum", "default", "examples":
				continue // data
			case "$ref":
				if text, ok := v.Get(name).(string); ok {
					if _, err := within.find(text); err != nil {
						return err
					}
				}
			}
			if err := checkRefs(v.Get(name), within); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range v {
			if err := checkRefs(e, within); err != nil {
				return err
			}
		}
	}
	return nil
}

// top writes out what the service does not take at the top of a schema.
type top struct {
	refs *resolver
	told notes
	left int             // schemas that may still be written out
	way  map[string]bool // references that are being written out
}

// flat gives a schema without references and combinations at its top. All that is
// below stays as it is, shared with what it was made of.
func (t *top) flat(v any, depth int) (*object, error) {
	if t.left--; depth > maxDepth || t.left < 0 {
		return nil, errors.New("references and combinations at the top lead too far")
	}
	in, ok := v.(*object)
	switch {
	case v == true:
		return &object{}, nil
	case !ok:
		return nil, errors.New("nothing can match it")
	}
	out := &object{}
	for _, name := range in.Keys() {
		switch name {
		case "$ref", "allOf", "anyOf", "oneOf":
		default:
			out.Set(name, in.Get(name))
		}
	}
	if ref, ok := in.Get("$ref").(string); ok {
		if err := t.refer(out, ref, depth); err != nil {
			return nil, err
		}
	}
	all, _ := in.Get("allOf").([]any)
	for _, part := range all {
		if err := t.join(out, part, depth); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		if alternatives, ok := in.Get(name).([]any); ok {
			t.told.add(name, alternatives)
			if err := t.gather(out, alternatives, depth); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func (t *top) refer(out *object, ref string, depth int) error {
	if t.way[ref] {
		return fmt.Errorf("%q leads to itself", ref)
	}
	target, err := t.refs.find(ref)
	if err != nil {
		return err
	}
	t.way[ref] = true
	defer delete(t.way, ref)
	return t.join(out, target, depth)
}

func (t *top) join(out *object, part any, depth int) error {
	flat, err := t.flat(part, depth+1)
	if err != nil {
		return err
	}
	merge(out, flat, &t.told)
	return nil
}

// gather brings the properties of alternatives up. None of them is required any
// more.
func (t *top) gather(out *object, alternatives []any, depth int) error {
	for _, word := range closing {
		out.Remove(word)
	}
	own, _ := out.Get("properties").(*object)
	properties := &object{}
	if own != nil {
		merge(properties, own, &t.told)
	}
	for _, a := range alternatives {
		if a == false {
			continue
		}
		// What an alternative says beside its properties is in the notes already.
		apart := &top{refs: t.refs, left: t.left, way: t.way}
		flat, err := apart.flat(a, depth+1)
		t.left = apart.left
		if err != nil {
			return err
		}
		theirs, ok := flat.Get("properties").(*object)
		if !ok {
			continue
		}
		for _, name := range theirs.Keys() {
			if own == nil || !own.Has(name) {
				properties.Set(name, either(properties.Get(name), theirs.Get(name)))
			}
		}
	}
	if len(properties.Keys()) > 0 {
		out.Set("properties", properties)
	}
	return nil
}

// either is a schema for what one of two takes; a may be nil for none.
func either(a, b any) any {
	if a == nil {
		return b
	}
	return combined("anyOf", a, b)
}

// combined is a schema of two, by anyOf or allOf.
func combined(word string, a, b any) any {
	if ordered.Same(a, b) {
		return a
	}
	parts := func(v any) []any {
		if s, ok := v.(*object); ok && len(s.Keys()) == 1 && s.Has(word) {
			return s.Get(word).([]any)
		}
		return []any{v}
	}
	out := &object{}
	out.Set(word, union(parts(a), parts(b)))
	return out
}

// closing are the words that forbid properties that are not listed.
var closing = []string{"additionalProperties", "unevaluatedProperties"}

// merge makes into a schema that says what another says too. What it has no place
// for goes to told.
func merge(into, other *object, told *notes) {
	open := into.Has("properties") && other.Has("properties") // each knows only its own
	for _, name := range other.Keys() {
		value := other.Get(name)
		old := into.Get(name)
		switch {
		case open && slices.Contains(closing, name):
			continue
		case !into.Has(name):
			into.Set(name, value)
			continue
		case ordered.Same(old, value), name == "description", name == "title":
			continue
		}
		switch name {
		case "properties", "$defs", "definitions":
			into.Set(name, both(old.(*object), value.(*object)))
		case "required":
			into.Set(name, union(old.([]any), value.([]any)))
		case "type":
			if types := common(typesOf(into), typesOf(other)); len(types) > 0 {
				into.Set(name, oneOrMany(types))
				continue
			}
			told.add(name, value)
		default:
			told.add(name, value)
		}
	}
	if open {
		for _, word := range closing {
			into.Remove(word)
		}
	}
}

// both has the properties of two schemas that hold at the same time.
func both(a, b *object) *object {
	out := &object{}
	for _, name := range a.Keys() {
		out.Set(name, a.Get(name))
	}
	for _, name := range b.Keys() {
		value := b.Get(name)
		if out.Has(name) {
			value = combined("allOf", out.Get(name), value)
		}
		out.Set(name, value)
	}
	return out
}

func typesOf(s *object) []any {
	switch v := s.Get("type").(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		return []any{v}
	}
}

func oneOrMany(types []any) any {
	if len(types) == 1 {
		return types[0]
	}
	return types
}

func common(a, b []any) []any {
	var out []any
	for _, t := range a {
		switch {
		case slices.Contains(b, t), t == "integer" && slices.Contains(b, "number"):
			out = append(out, t)
		case t == "number" && slices.Contains(b, "integer"):
			out = append(out, "integer")
		}
	}
	return out
}
