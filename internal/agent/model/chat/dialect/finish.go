package dialect

import (
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

// note keeps a constraint for the description. It never changes what is already
// kept, since schemas are joined and shared.
func note(out *object, key string, value any) {
	notes := &object{}
	if known, ok := out.Get(noteKey).(*object); ok {
		notes = known.Clone()
	}
	if notes.Has(key) && !ordered.Same(notes.Get(key), value) {
		value = ordered.Of("allOf", []any{ordered.Of(key, notes.Get(key)), ordered.Of(key, value)})
		key = "also " + key
	}
	notes.Set(key, value)
	out.Set(noteKey, notes)
}

// finish gives each schema within a translated one the form in which it is sent:
// with a type, with items where it may be an array, and with what was noted in its
// description. It replaces the schemas within, since they may be shared.
func finish(s *object) {
	settle(s)
	describe(s)
	if properties, ok := s.Get("properties").(*object); ok {
		finished := &object{}
		for _, name := range properties.Keys() {
			finished.Set(name, finished1(properties.Get(name)))
		}
		s.Set("properties", finished)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if _, ok := s.Get(key).(*object); ok {
			s.Set(key, finished1(s.Get(key)))
		}
	}
	if list, ok := s.Get("anyOf").([]any); ok {
		all := make([]any, len(list))
		for i, item := range list {
			all[i] = finished1(item)
		}
		s.Set("anyOf", all)
	}
}

func finished1(v any) *object {
	s := v.(*object).Clone()
	finish(s)
	return s
}

// settle gives a schema its type and takes out what belongs to another one.
func settle(s *object) {
	if !s.Has("type") {
		switch {
		case s.Has("anyOf"), s.Has("enum"):
		case s.Has("properties"), s.Has("additionalProperties"), s.Has("required"):
			s.Set("type", "object")
		case s.Has("items"), s.Has("minItems"), s.Has("maxItems"):
			s.Set("type", "array")
		case s.Has("minimum"), s.Has("maximum"), s.Has("exclusiveMinimum"), s.Has("exclusiveMaximum"):
			s.Set("type", "number")
		case s.Has("format"):
			s.Set("type", "string")
		default:
			putTypes(s, []string{"string", "number", "boolean", "object", "array", "null"})
		}
	}
	may := func(name string) bool { return slices.Contains(typesOf(s), name) }
	if !may("object") {
		for _, key := range []string{"properties", "required", "additionalProperties"} {
			s.Remove(key)
		}
	}
	if !may("array") {
		for _, key := range []string{"items", "minItems", "maxItems"} {
			s.Remove(key)
		}
	} else if !s.Has("items") {
		items := &object{}
		putTypes(items, []string{"string", "number", "boolean", "object", "null"})
		s.Set("items", items)
	}
	settleRequired(s)
}

// settleRequired keeps required to properties that there are.
func settleRequired(s *object) {
	names, ok := s.Get("required").([]any)
	if !ok {
		return
	}
	properties, _ := s.Get("properties").(*object)
	var known, unknown []any
	for _, n := range names {
		if properties != nil && properties.Has(n.(string)) {
			known = append(known, n)
		} else {
			unknown = append(unknown, n)
		}
	}
	if unknown != nil {
		note(s, "required", unknown)
	}
	if known == nil {
		s.Remove("required")
		return
	}
	s.Set("required", known)
}

// describe puts what was noted into the description.
func describe(s *object) {
	text, _ := s.Get("description").(string)
	if title, _ := s.Get("title").(string); text == "" {
		text = title
	}
	if notes, ok := s.Get(noteKey).(*object); ok {
		if more := string(encode(notes)); len(more) <= maxLength {
			text = strings.TrimLeft(text+"\nFurther constraints (JSON Schema): "+visible(more), "\n")
		}
	}
	s.Remove(noteKey)
	s.Remove("title")
	s.Remove("description")
	if text != "" {
		s.Set("description", text)
	}
}

// told is a translated schema, or a list of them, as a description shows it.
func told(v any) any {
	switch v := v.(type) {
	case []any:
		all := make([]any, len(v))
		for i, item := range v {
			all[i] = told(item)
		}
		return all
	case *object:
		out := &object{}
		for _, key := range v.Keys() {
			if key == noteKey {
				notes := v.Get(key).(*object)
				for _, k := range notes.Keys() {
					out.Set(k, notes.Get(k))
				}
				continue
			}
			out.Set(key, told(v.Get(key)))
		}
		return out
	}
	return v
}

// isStrict reports whether all properties of every object are required and there
// are no others.
func isStrict(v any) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !isStrict(item) })
	case *object:
		if slices.Contains(typesOf(v), "object") {
			properties, _ := v.Get("properties").(*object)
			required, _ := v.Get("required").([]any)
			if properties == nil || len(properties.Keys()) != len(required) || v.Get("additionalProperties") != false {
				return false
			}
			for _, name := range properties.Keys() {
				if !isStrict(properties.Get(name)) {
					return false
				}
			}
		}
		return isStrict(v.Get("items")) && isStrict(v.Get("anyOf"))
	}
	return true
}
