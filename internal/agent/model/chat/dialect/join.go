package dialect

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// join makes of into what matches both it and from.
func join(into, from *object) error {
	for _, key := range from.keys {
		theirs := from.get(key)
		if !into.has(key) {
			into.set(key, theirs)
			continue
		}
		if err := joinKey(into, key, theirs); err != nil {
			return err
		}
	}
	return nil
}

func joinKey(into *object, key string, theirs any) error {
	ours := into.get(key)
	switch key {
	case "title", "description":
	case noteKey:
		for _, k := range theirs.(*object).keys {
			note(into, k, theirs.(*object).get(k))
		}
	case "type":
		return joinTypes(into, theirs)
	case "enum":
		both := common(ours.([]any), theirs.([]any))
		if len(both) == 0 {
			return errNever
		}
		into.set(key, both)
	case "required":
		into.set(key, union(ours.([]any), theirs.([]any)))
	case "properties":
		both := ours.(*object).clone()
		for _, name := range theirs.(*object).keys {
			p := theirs.(*object).get(name).(*object)
			if both.has(name) {
				joined := both.get(name).(*object).clone()
				if err := join(joined, p); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				p = joined
			}
			both.set(name, p)
		}
		into.set(key, both)
	case "additionalProperties": // each speaks of its own properties
		into.remove(key)
		note(into, key, ours)
	default:
		if !same(ours, theirs) {
			note(into, key, theirs)
		}
	}
	return nil
}

func joinTypes(into *object, theirs any) error {
	from := typesOf(objectOf("type", theirs))
	var both []string
	for _, t := range typesOf(into) {
		switch {
		case slices.Contains(from, t):
			both = append(both, t)
		case t == "number" && slices.Contains(from, "integer"), t == "integer" && slices.Contains(from, "number"):
			both = append(both, "integer")
		}
	}
	if len(both) == 0 {
		return fmt.Errorf("nothing is both %s and %s", strings.Join(typesOf(into), " or "), strings.Join(from, " or "))
	}
	putTypes(into, both)
	return nil
}

// maxEither bounds the alternatives that are gathered for one property; of more, it
// may be anything.
const maxEither = 50

// either is a schema for what one of two takes; a may be nil for none.
func either(a any, b *object) *object {
	first, ok := a.(*object)
	switch {
	case !ok || same(first, b):
		return b
	case len(first.keys) == 0: // anything
		return first
	case len(first.keys) == 1 && first.has("anyOf"):
		list := first.get("anyOf").([]any)
		switch {
		case holds(list, b):
			return first
		case len(list) >= maxEither:
			return &object{}
		}
		return objectOf("anyOf", append(slices.Clone(list), b))
	case first.has("enum") && b.has("enum") && same(first.get("type"), b.get("type")):
		both := first.clone()
		values := union(first.get("enum").([]any), b.get("enum").([]any))
		if len(values) > maxEnum {
			return &object{}
		}
		both.set("enum", values)
		return both
	}
	return objectOf("anyOf", []any{first, b})
}

// flatten brings the properties of alternatives to the top, where OpenAI takes
// nothing else.
func flatten(out *object) {
	out.remove("enum")
	alternatives, ok := out.get("anyOf").([]any)
	if !ok {
		return
	}
	out.remove("anyOf")
	out.remove("additionalProperties")
	note(out, "anyOf", told(alternatives))
	properties := &object{}
	if own, ok := out.get("properties").(*object); ok {
		properties = own.clone()
	}
	added := &object{}
	for _, a := range alternatives {
		theirs, _ := a.(*object).get("properties").(*object)
		if theirs == nil {
			continue
		}
		for _, name := range theirs.keys {
			if !properties.has(name) {
				added.set(name, either(added.get(name), theirs.get(name).(*object)))
			}
		}
	}
	for _, name := range added.keys {
		properties.set(name, added.get(name))
	}
	out.set("properties", properties)
}

func same(a, b any) bool { return bytes.Equal(encode(a), encode(b)) }

func holds(list []any, v any) bool {
	return slices.ContainsFunc(list, func(item any) bool { return same(item, v) })
}

// common is the values of a that are in b too.
func common(a, b []any) []any {
	known := make(map[string]bool, len(b))
	for _, v := range b {
		known[string(encode(v))] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(v any) bool { return !known[string(encode(v))] })
}

// union is the values of both, each once.
func union(a, b []any) []any {
	all, seen := []any{}, map[string]bool{}
	for _, v := range slices.Concat(a, b) {
		if key := string(encode(v)); !seen[key] {
			seen[key] = true
			all = append(all, v)
		}
	}
	return all
}
