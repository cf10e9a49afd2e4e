package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

// join makes of into what matches both it and from.
func join(into, from *object) error {
	for _, key := range from.Keys() {
		theirs := from.Get(key)
		if !into.Has(key) {
			into.Set(key, theirs)
			continue
		}
		if err := joinKey(into, key, theirs); err != nil {
			return err
		}
	}
	return nil
}

func joinKey(into *object, key string, theirs any) error {
	ours := into.Get(key)
	switch key {
	case "title", "description":
	case noteKey:
		for _, k := range theirs.(*object).Keys() {
			note(into, k, theirs.(*object).Get(k))
		}
	case "type":
		return joinTypes(into, theirs)
	case "enum":
		both := common(ours.([]any), theirs.([]any))
		if len(both) == 0 {
			return errNever
		}
		into.Set(key, both)
	case "required":
		into.Set(key, union(ours.([]any), theirs.([]any)))
	case "properties":
		both := ours.(*object).Clone()
		for _, name := range theirs.(*object).Keys() {
			p := theirs.(*object).Get(name).(*object)
			if both.Has(name) {
				joined := both.Get(name).(*object).Clone()
				if err := join(joined, p); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				p = joined
			}
			both.Set(name, p)
		}
		into.Set(key, both)
	case "additionalProperties": // each speaks of its own properties
		into.Remove(key)
		note(into, key, ours)
	default:
		if !ordered.Same(ours, theirs) {
			note(into, key, theirs)
		}
	}
	return nil
}

func joinTypes(into *object, theirs any) error {
	from := typesOf(ordered.Of("type", theirs))
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
	case !ok || ordered.Same(first, b):
		return b
	case len(first.Keys()) == 0: // anything
		return first
	case len(first.Keys()) == 1 && first.Has("anyOf"):
		list := first.Get("anyOf").([]any)
		switch {
		case holds(list, b):
			return first
		case len(list) >= maxEither:
			return &object{}
		}
		return ordered.Of("anyOf", append(slices.Clone(list), b))
	case first.Has("enum") && b.Has("enum") && ordered.Same(first.Get("type"), b.Get("type")):
		both := first.Clone()
		values := union(first.Get("enum").([]any), b.Get("enum").([]any))
		if len(values) > maxEnum {
			return &object{}
		}
		both.Set("enum", values)
		return both
	}
	return ordered.Of("anyOf", []any{first, b})
}

// flatten brings the properties of alternatives to the top, where OpenAI takes
// nothing else.
func flatten(out *object) {
	out.Remove("enum")
	alternatives, ok := out.Get("anyOf").([]any)
	if !ok {
		return
	}
	out.Remove("anyOf")
	out.Remove("additionalProperties")
	note(out, "anyOf", told(alternatives))
	properties := &object{}
	if own, ok := out.Get("properties").(*object); ok {
		properties = own.Clone()
	}
	added := &object{}
	for _, a := range alternatives {
		theirs, _ := a.(*object).Get("properties").(*object)
		if theirs == nil {
			continue
		}
		for _, name := range theirs.Keys() {
			if !properties.Has(name) {
				added.Set(name, either(added.Get(name), theirs.Get(name).(*object)))
			}
		}
	}
	for _, name := range added.Keys() {
		properties.Set(name, added.Get(name))
	}
	out.Set("properties", properties)
}

func holds(list []any, v any) bool {
	return slices.ContainsFunc(list, func(item any) bool { return ordered.Same(item, v) })
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
