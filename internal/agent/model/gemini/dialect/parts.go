package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

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
	if several {
		types := union(nil, list)
		if out["type"] = types; len(types) == 1 {
			out["type"] = types[0]
		}
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

// setEnum translates enum and const. The service takes texts that are not empty,
// or numbers; a null beside them is left to the type.
func setEnum(out schema, in *ordered.Object, key string) error {
	values := []any{in.Get(key)}
	if key == "enum" {
		list, ok := in.Get(key).([]any)
		if !ok || len(list) == 0 {
			return fmt.Errorf("%s where a list of values belongs", kindOf(in.Get(key)))
		}
		values = list
	}
	kinds := map[string]bool{}
	kept := make([]any, 0, min(len(values), maxEnum+1))
	fits := true
	seen := map[any]bool{}
	for _, v := range values {
		kind := kindOf(v)
		kinds[kind] = true
		switch {
		case kind == "null":
		case kind == "string" && v != "", kind == "number" && isFloat(v):
			if !seen[v] && len(kept) <= maxEnum {
				kept = append(kept, v)
			}
			seen[v] = true
		default:
			fits = false
		}
	}
	_, both := out["enum"]
	switch {
	case len(kept) > maxEnum:
		note(out, "examples", kept[:maxExamples])
	case !fits || both || kinds["string"] && kinds["number"]:
		note(out, key, in.Get(key))
	case len(kept) > 0:
		out["enum"] = kept
	}
	if in.Get("type") == nil && out["type"] == nil {
		types := make([]any, 0, len(kinds))
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			types = append(types, kind)
		}
		return setType(out, types)
	}
	return nil
}

// isFloat reports whether a number is one that the service can hold.
func isFloat(v any) bool {
	n, ok := v.(json.Number)
	f, err := n.Float64()
	return ok && err == nil && !math.IsInf(f, 0)
}

// setBound sets a bound as the service takes it, or keeps it for the description.
func setBound(out schema, key string, n json.Number) error {
	f, err := n.Float64()
	items := strings.HasSuffix(key, "Items")
	switch {
	case err != nil, items && f > math.MaxInt32:
		note(out, key, n)
		return nil //nolint:nilerr // it is no fault, but too large for the service
	case !items:
	case f != math.Trunc(f) || f < 0:
		return fmt.Errorf("%v is no number of items", n)
	default:
		n = json.Number(strconv.Itoa(int(f)))
	}
	bound(out, key, n)
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
	case *ordered.Object:
		for _, e := range v.All() {
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
		case "required", orderKey:
			into[key] = union(old.([]any), value.([]any))
		case "minimum", "maximum", "minItems", "maxItems":
			bound(into, key, value)
		case noteKey:
			for k, v := range value.(schema) {
				note(into, k, v)
			}
		case "title", "description", "additionalProperties":
		default:
			if !same(old, value) {
				note(into, key, finish(value, false))
			}
		}
	}
	return nil
}

// same reports whether two values of keywords say the same.
func same(a, b any) bool { return reflect.DeepEqual(finish(a, false), finish(b, false)) }

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

// kindOf names the JSON type of a value.
func kindOf(v any) string { return ordered.Kind(v) }
