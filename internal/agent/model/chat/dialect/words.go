package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

// types are those of JSON Schema.
func isType(name string) bool {
	switch name {
	case "string", "number", "integer", "boolean", "array", "object", "null":
		return true
	}
	return false
}

func setTypes(out *object, v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var names []string
	for _, item := range list {
		name, ok := item.(string)
		switch {
		case !ok:
			return fmt.Errorf("%s where the name of a type belongs", ordered.Kind(item))
		case !isType(name):
			return fmt.Errorf("no type is called %s", name)
		case !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	if names == nil {
		return errors.New("no type at all")
	}
	putTypes(out, names)
	return nil
}

func putTypes(out *object, names []string) {
	if len(names) == 1 {
		out.Set("type", names[0])
		return
	}
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = name
	}
	out.Set("type", list)
}

// typesOf gives the types of a translated schema, nil for any.
func typesOf(s *object) []string {
	switch v := s.Get("type").(type) {
	case string:
		return []string{v}
	case []any:
		names := make([]string, len(v))
		for i, item := range v {
			names[i], _ = item.(string)
		}
		return names
	}
	return nil
}

// allowNull lets null be a value too.
func allowNull(out *object) {
	if names := typesOf(out); names != nil && !slices.Contains(names, "null") {
		putTypes(out, append(names, "null"))
	}
	if values, ok := out.Get("enum").([]any); ok && !holds(values, nil) {
		out.Set("enum", append(slices.Clone(values), nil))
	}
	if list, ok := out.Get("anyOf").([]any); ok {
		out.Set("anyOf", append(slices.Clone(list), ordered.Of("type", "null")))
	}
}

// setEnum takes the values of enum, or of const.
func setEnum(out, in *object, key string) error {
	values, ok := in.Get(key).([]any)
	if key == "const" {
		values, ok = []any{in.Get(key)}, true
	}
	if !ok || len(values) == 0 {
		return fmt.Errorf("%s where a list of values belongs", ordered.Kind(in.Get(key)))
	}
	values = union(values, nil)
	if len(values) > maxEnum {
		note(out, fmt.Sprintf("enum of %d values, such as", len(values)), values[:20])
		return nil
	}
	if !readable(values) {
		note(out, key, in.Get(key))
		return nil
	}
	if out.Has("enum") {
		return joinKey(out, "enum", values)
	}
	out.Set("enum", values)
	return nil
}

// readable reports whether all numbers of a value are within what a server reads
// into floating point.
func readable(v any) bool {
	switch v := v.(type) {
	case json.Number:
		_, err := v.Float64()
		return err == nil
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !readable(item) })
	case *object:
		for _, item := range v.All() {
			if !readable(item) {
				return false
			}
		}
	}
	return true
}

func namesOf(v any) ([]any, error) {
	names, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s where a list belongs", ordered.Kind(v))
	}
	for _, n := range names {
		if _, ok := n.(string); !ok {
			return nil, fmt.Errorf("%s where a name belongs", ordered.Kind(n))
		}
	}
	return union(names, nil), nil
}

// setBound takes a bound of a number. llama.cpp reads it into 64 bits.
func setBound(out *object, key string, v any) error {
	n, ok := v.(json.Number)
	if !ok {
		if _, draft4 := v.(bool); draft4 && strings.HasPrefix(key, "exclusive") {
			note(out, key, v)
			return nil
		}
		return fmt.Errorf("%s where a number belongs", ordered.Kind(v))
	}
	f, err := n.Float64()
	if fits := err == nil && math.Abs(f) <= 1<<53; !fits {
		note(out, key, n)
	} else {
		out.Set(key, n)
	}
	return nil
}

// setCount takes a number of items.
func setCount(out *object, key string, v any) error {
	n, ok := v.(json.Number)
	if !ok {
		return fmt.Errorf("%s where a number belongs", ordered.Kind(v))
	}
	f, err := n.Float64()
	if err != nil || f < 0 || f != math.Trunc(f) {
		return fmt.Errorf("%s is no number of items", n)
	}
	if f > maxItems {
		note(out, key, n)
		return nil
	}
	out.Set(key, json.Number(strconv.Itoa(int(f))))
	return nil
}

// visible is a text without characters that a reader does not see.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
