package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// resolve follows a JSON pointer within the document (RFC 6901, section 6).
func resolve(root any, ref string) (any, error) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' {
		return nil, fmt.Errorf("%q leads out of the schema", ref)
	}
	at := root
	for _, step := range strings.Split(path, "/")[1:] {
		step, err := url.PathUnescape(step)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", ref, err)
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch v := at.(type) {
		case schema:
			at, ok = v[step]
		case []any:
			var i int
			if i, err = strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
				at, ok = v[i], true
			} else {
				ok = false
			}
		default:
			ok = false
		}
		if !ok {
			return nil, fmt.Errorf("%q leads nowhere", ref)
		}
	}
	return at, nil
}

// setType sets the type, one or several.
func setType(out schema, value any) error {
	list, several := value.([]any)
	if !several {
		list = []any{value}
	}
	if len(list) == 0 {
		return errors.New("no type at all")
	}
	for _, v := range list {
		switch v {
		case "string", "number", "integer", "boolean", "object", "array", "null":
		default:
			return fmt.Errorf("no type is called %v", v)
		}
	}
	out["type"] = value
	if several && len(list) == 1 {
		out["type"] = list[0]
	}
	return nil
}

// typesOf lists the types of a translated schema.
func typesOf(s schema) []any {
	switch v := s["type"].(type) {
	case nil:
		return nil
	case []any:
		return slices.Clone(v)
	default:
		return []any{v}
	}
}

// setEnum translates enum and const. The service takes strings and numbers; a
// null beside them is left to the type.
func setEnum(out, in schema, key string) error {
	values := []any{in[key]}
	if key == "enum" {
		list, ok := in[key].([]any)
		if !ok || len(list) == 0 {
			return fmt.Errorf("%s where a list of values belongs", kindOf(in[key]))
		}
		values = list
	}
	var kept []any
	kinds := map[string]bool{}
	for _, v := range values {
		kind := kindOf(v)
		kinds[kind] = true
		if kind == "string" || kind == "number" {
			kept = append(kept, v)
		}
	}
	switch {
	case kinds["object"] || kinds["array"] || kinds["boolean"]:
		note(out, key, in[key])
	case kept != nil:
		if _, both := out["enum"]; both {
			note(out, key, in[key])
			break
		}
		out["enum"] = kept
	}
	if in["type"] == nil && out["type"] == nil {
		types := make([]any, 0, len(kinds))
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			types = append(types, kind)
		}
		return setType(out, types)
	}
	return nil
}

// bound sets a bound unless there is a closer one.
func bound(out schema, key string, value any) {
	old, ok := out[key].(json.Number)
	n, isNumber := value.(json.Number)
	if ok && isNumber {
		a, errA := old.Float64()
		b, errB := n.Float64()
		if lower := strings.HasPrefix(key, "min"); errA != nil || errB != nil || lower && a >= b || !lower && a <= b {
			return
		}
	}
	out[key] = value
}

// note keeps a constraint for the description.
func note(out schema, key string, value any) {
	notes, ok := out[noteKey].(schema)
	if !ok {
		notes = schema{}
		out[noteKey] = notes
	}
	if old, ok := notes[key]; ok && !reflect.DeepEqual(old, value) {
		all, _ := notes["allOf"].([]any)
		notes["allOf"] = append(all, schema{key: value})
		return
	}
	notes[key] = value
}

// weight counts the values in a value.
func weight(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += weight(e)
		}
	case schema:
		for _, e := range v {
			n += weight(e)
		}
	}
	return n
}

// join makes a schema out of two that hold at the same time.
func join(into, other schema) error {
	for _, key := range slices.Sorted(maps.Keys(other)) {
		value := other[key]
		old, both := into[key]
		if !both {
			if key == "additionalProperties" && into["properties"] != nil {
				continue // it knew nothing of these properties
			}
			into[key] = value
			continue
		}
		switch key {
		case "type":
			types := commonTypes(typesOf(into), typesOf(other))
			if len(types) == 0 {
				return fmt.Errorf("nothing is both %v and %v", old, value)
			}
			if err := setType(into, types); err != nil {
				return err
			}
		case "properties":
			if err := joinProperties(old.(schema), value.(schema)); err != nil {
				return err
			}
			into["additionalProperties"] = true
		case "required":
			into[key] = union(old.([]any), value.([]any))
		case "minimum", "maximum", "minItems", "maxItems":
			bound(into, key, value)
		case noteKey:
			for k, v := range value.(schema) {
				note(into, k, v)
			}
		case "title", "description", "additionalProperties":
		default:
			if !reflect.DeepEqual(old, value) {
				note(into, key, finish(value))
			}
		}
	}
	return nil
}

func joinProperties(into, other schema) error {
	for _, name := range slices.Sorted(maps.Keys(other)) {
		old, both := into[name].(schema)
		if !both {
			into[name] = other[name]
			continue
		}
		if err := join(old, other[name].(schema)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func commonTypes(a, b []any) []any {
	var common []any
	for _, t := range a {
		switch {
		case slices.Contains(b, t), t == "integer" && slices.Contains(b, "number"):
			common = append(common, t)
		case t == "number" && slices.Contains(b, "integer"):
			common = append(common, "integer")
		}
	}
	return common
}

func union(a, b []any) []any {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// finish completes a translated value: only properties that exist are
// required, and what could not be expressed goes into the description.
func finish(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = finish(v[i])
		}
		return out
	case schema:
		return finishSchema(v)
	}
	return v
}

func finishSchema(in schema) schema {
	out := maps.Clone(in)
	for _, key := range []string{"items", "prefixItems", "anyOf", "additionalProperties"} {
		if v, ok := out[key]; ok {
			out[key] = finish(v)
		}
	}
	properties, _ := in["properties"].(schema)
	if properties != nil {
		finished := make(schema, len(properties))
		for name, p := range properties {
			finished[name] = finish(p)
		}
		out["properties"] = finished
	}
	if names, ok := in["required"].([]any); ok {
		known := slices.DeleteFunc(slices.Clone(names), func(n any) bool {
			name, ok := n.(string)
			_, exists := properties[name]
			return !ok || !exists
		})
		if len(known) < len(names) {
			note(out, "required", names)
		}
		out["required"] = known
		if len(known) == 0 {
			delete(out, "required")
		}
	}
	notes, ok := out[noteKey].(schema)
	delete(out, noteKey)
	if text, err := json.Marshal(notes); ok && err == nil && len(text) <= maxNote {
		description, _ := out["description"].(string)
		out["description"] = strings.TrimLeft(description+"\nFurther constraints (JSON Schema): "+string(text), "\n")
	}
	return out
}

// kindOf names the JSON type of a decoded value.
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
