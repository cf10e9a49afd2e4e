package dialect

import (
	"slices"
	"strings"
)

// note keeps a constraint for the description. It never changes what is already
// kept, since schemas are joined and shared.
func note(out *object, key string, value any) {
	notes := &object{}
	if known, ok := out.get(noteKey).(*object); ok {
		notes = known.clone()
	}
	if notes.has(key) && !same(notes.get(key), value) {
		value = objectOf("allOf", []any{objectOf(key, notes.get(key)), objectOf(key, value)})
		key = "also " + key
	}
	notes.set(key, value)
	out.set(noteKey, notes)
}

// finish gives each schema within a translated one the form in which it is sent:
// with a type, with items where it may be an array, and with what was noted in its
// description. It replaces the schemas within, since they may be shared.
func finish(s *object) {
	settle(s)
	describe(s)
	if properties, ok := s.get("properties").(*object); ok {
		finished := &object{}
		for _, name := range properties.keys {
			finished.set(name, finished1(properties.get(name)))
		}
		s.set("properties", finished)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if _, ok := s.get(key).(*object); ok {
			s.set(key, finished1(s.get(key)))
		}
	}
	if list, ok := s.get("anyOf").([]any); ok {
		all := make([]any, len(list))
		for i, item := range list {
			all[i] = finished1(item)
		}
		s.set("anyOf", all)
	}
}

func finished1(v any) *object {
	s := v.(*object).clone()
	finish(s)
	return s
}

// settle gives a schema its type and takes out what belongs to another one.
func settle(s *object) {
	if !s.has("type") {
		switch {
		case s.has("anyOf"), s.has("enum"):
		case s.has("properties"), s.has("additionalProperties"), s.has("required"):
			s.set("type", "object")
		case s.has("items"), s.has("minItems"), s.has("maxItems"):
			s.set("type", "array")
		case s.has("minimum"), s.has("maximum"), s.has("exclusiveMinimum"), s.has("exclusiveMaximum"):
			s.set("type", "number")
		case s.has("format"):
			s.set("type", "string")
		default:
			putTypes(s, []string{"string", "number", "boolean", "object", "array", "null"})
		}
	}
	may := func(name string) bool { return slices.Contains(typesOf(s), name) }
	if !may("object") {
		for _, key := range []string{"properties", "required", "additionalProperties"} {
			s.remove(key)
		}
	}
	if !may("array") {
		for _, key := range []string{"items", "minItems", "maxItems"} {
			s.remove(key)
		}
	} else if !s.has("items") {
		items := &object{}
		putTypes(items, []string{"string", "number", "boolean", "object", "null"})
		s.set("items", items)
	}
	settleRequired(s)
}

// settleRequired keeps required to properties that there are.
func settleRequired(s *object) {
	names, ok := s.get("required").([]any)
	if !ok {
		return
	}
	properties, _ := s.get("properties").(*object)
	var known, unknown []any
	for _, n := range names {
		if properties != nil && properties.has(n.(string)) {
			known = append(known, n)
		} else {
			unknown = append(unknown, n)
		}
	}
	if unknown != nil {
		note(s, "required", unknown)
	}
	if known == nil {
		s.remove("required")
		return
	}
	s.set("required", known)
}

// describe puts what was noted into the description.
func describe(s *object) {
	text, _ := s.get("description").(string)
	if title, _ := s.get("title").(string); text == "" {
		text = title
	}
	if notes, ok := s.get(noteKey).(*object); ok {
		if more := string(encode(notes)); len(more) <= maxLength {
			text = strings.TrimLeft(text+"\nFurther constraints (JSON Schema): "+visible(more), "\n")
		}
	}
	s.remove(noteKey)
	s.remove("title")
	s.remove("description")
	if text != "" {
		s.set("description", text)
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
		for _, key := range v.keys {
			if key == noteKey {
				notes := v.get(key).(*object)
				for _, k := range notes.keys {
					out.set(k, notes.get(k))
				}
				continue
			}
			out.set(key, told(v.get(key)))
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
			properties, _ := v.get("properties").(*object)
			required, _ := v.get("required").([]any)
			if properties == nil || len(properties.keys) != len(required) || v.get("additionalProperties") != false {
				return false
			}
			for _, name := range properties.keys {
				if !isStrict(properties.get(name)) {
					return false
				}
			}
		}
		return isStrict(v.get("items")) && isStrict(v.get("anyOf"))
	}
	return true
}
