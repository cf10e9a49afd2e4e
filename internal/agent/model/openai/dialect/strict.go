package dialect

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// Bounds within which every model takes a strict schema; newer ones take more
// (OpenAI, "Structured Outputs", supported schemas).
const (
	strictDepth      = 5
	strictProperties = 100
	strictValues     = 500
	strictLength     = 15000 // characters of names and values
)

// strictness holds a schema against the rules of structured outputs.
type strictness struct {
	root               any
	properties, values int
	length             int
}

// isStrict reports whether a schema keeps all the rules as it is.
func isStrict(v any) bool {
	root, ok := v.(*object)
	if !ok || root.Get("type") != "object" {
		return false
	}
	s := &strictness{root: v}
	for _, key := range []string{"$defs", "definitions"} {
		if defs := root.Child(key); defs != nil {
			for _, name := range defs.Keys() {
				if s.length += len(name); !s.schema(defs.Get(name), 1) {
					return false
				}
			}
		}
	}
	return !root.Has("$ref") && s.schema(root, 0) &&
		s.properties <= strictProperties && s.values <= strictValues && s.length <= strictLength
}

func (s *strictness) schema(v any, depth int) bool {
	o, ok := v.(*object)
	if !ok || depth > strictDepth {
		return false
	}
	if ref, ok := o.Get("$ref").(string); ok {
		return len(o.Keys()) == 1 && (ref == "#" || strings.HasPrefix(ref, "#/$defs/") || strings.HasPrefix(ref, "#/definitions/")) && target(s.root, o) != nil
	}
	for _, key := range o.Keys() {
		if !s.keyword(o, key, depth) {
			return false
		}
	}
	if o.Has("anyOf") {
		return depth > 0 && !o.Has("type")
	}
	types := typesOf(o)
	switch {
	case len(types) == 0, len(types) > 2, len(types) == 2 && !slices.Contains(types, "null"):
		return false
	case slices.Contains(types, "object"):
		return s.object(o)
	case slices.Contains(types, "array"):
		return o.Child("items") != nil
	}
	return true
}

// keyword checks one keyword, and everything below it.
func (s *strictness) keyword(o *object, key string, depth int) bool {
	v := o.Get(key)
	switch key {
	case "type":
		return setType(&object{}, v) == nil
	case "title", "description":
		text, ok := v.(string)
		return ok && visible(text) == text
	case "$schema":
		return depth == 0
	case "$defs", "definitions":
		return depth == 0 && o.Child(key) != nil
	case "properties":
		return s.members(o.Child(key), depth)
	case "required", "additionalProperties": // see object
		return slices.Contains(typesOf(o), "object")
	case "items":
		return slices.Contains(typesOf(o), "array") && s.schema(v, depth+1)
	case "anyOf":
		return s.alternatives(v, depth)
	case "enum":
		return s.enum(v, typesOf(o))
	case "const":
		return s.enum([]any{v}, typesOf(o))
	case "pattern":
		text, ok := v.(string)
		return ok && portable(text)
	case "format":
		return slices.Contains([]any{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}, v)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems":
		_, ok := v.(json.Number)
		return ok && finite(v)
	}
	return false
}

func (s *strictness) members(properties *object, depth int) bool {
	if properties == nil {
		return false
	}
	for _, name := range properties.Keys() {
		s.properties++
		if s.length += len(name); !s.schema(properties.Get(name), depth+1) {
			return false
		}
	}
	return true
}

// object sees that all the properties are required and no others are allowed.
func (s *strictness) object(o *object) bool {
	names, _ := o.Get("required").([]any)
	properties := o.Child("properties")
	return o.Get("additionalProperties") == false && properties != nil && len(names) > 0 && len(names) == len(properties.Keys()) &&
		!slices.ContainsFunc(properties.Keys(), func(name string) bool { return !slices.Contains(names, any(name)) })
}

// alternatives allows one object among them: the service refuses objects that begin
// alike.
func (s *strictness) alternatives(v any, depth int) bool {
	list, ok := v.([]any)
	objects := 0
	for _, e := range list {
		if !s.schema(e, depth+1) {
			return false
		}
		if o := e.(*object); o.Has("$ref") || slices.Contains(typesOf(o), "object") {
			objects++
		}
	}
	return ok && len(list) > 0 && objects < 2
}

// enum sees that values are of a type that the schema has, and counts them.
func (s *strictness) enum(v any, types []any) bool {
	list, ok := v.([]any)
	for _, e := range list {
		s.values++
		kinds := []any{"null"}
		switch e := e.(type) {
		case string:
			s.length += len(e)
			kinds = []any{"string"}
		case json.Number:
			kinds = []any{"number"}
			if whole(e) {
				kinds = []any{"number", "integer"}
			}
			ok = ok && finite(e)
		case bool:
			kinds = []any{"boolean"}
		case nil:
		default:
			return false
		}
		ok = ok && slices.ContainsFunc(kinds, func(k any) bool { return slices.Contains(types, k) })
	}
	return ok && len(list) > 0
}

// whole reports whether a number is an integer.
func whole(n json.Number) bool {
	f, err := n.Float64()
	return err == nil && f == math.Trunc(f)
}
