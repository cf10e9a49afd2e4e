package dialect

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// The service's rules on keywords and types. They are those of the Schema that it
// makes of the JSON Schema, whose refusals name them: "only allowed for OBJECT
// type", "items: missing field", "only 'enum' and 'date-time' are supported for
// STRING type".
var (
	ofObjects = []string{"properties", "required", "additionalProperties"}
	ofArrays  = []string{"items", "prefixItems", "minItems", "maxItems"}
	ofNumbers = []string{"minimum", "maximum"}
	formats   = map[string][]string{
		"string": {"date-time"}, "number": {"float", "double"}, "integer": {"int32", "int64"},
	}
)

// finish completes a translated value: only properties that exist are
// required, and what could not be expressed goes into the description. With inOrder
// it says in which order the properties are.
func finish(v any, inOrder bool) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = finish(v[i], inOrder)
		}
		return out
	case schema:
		return finishSchema(v, inOrder)
	}
	return v
}

func finishSchema(in schema, inOrder bool) schema {
	out := maps.Clone(in)
	for _, key := range []string{"items", "prefixItems", "anyOf", "additionalProperties"} {
		if v, ok := out[key]; ok {
			out[key] = finish(v, inOrder)
		}
	}
	properties, _ := in["properties"].(schema)
	if properties != nil {
		finished := make(schema, len(properties))
		for name, p := range properties {
			finished[name] = finish(p, inOrder)
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
	fit(out)
	delete(out, orderKey)
	if order, _ := in[orderKey].([]any); inOrder && len(order) > 0 && out["properties"] != nil {
		out["propertyOrdering"] = order
	}
	notes, ok := out[noteKey].(schema)
	delete(out, noteKey)
	if text, err := json.Marshal(notes); ok && err == nil && len(text) <= maxNote {
		description, _ := out["description"].(string)
		out["description"] = strings.TrimLeft(description+"\nFurther constraints (JSON Schema): "+escape(string(text)), "\n")
	}
	return out
}

// fit brings a finished schema into line with the rules on keywords and types.
func fit(out schema) {
	types := typesOf(out)
	if types == nil {
		types = infer(out)
	}
	if types != nil {
		drop := func(keywords []string, kinds ...any) {
			if !slices.ContainsFunc(kinds, func(k any) bool { return slices.Contains(types, k) }) {
				for _, k := range keywords { // it says nothing about other types
					delete(out, k)
				}
			}
		}
		drop(ofObjects, "object")
		drop(ofArrays, "array")
		drop(ofNumbers, "number", "integer")
	}
	if slices.Contains(types, "array") && out["items"] == nil && out["prefixItems"] == nil {
		out["items"] = schema{}
	}
	fitFormat(out, types)
	if values, ok := out["enum"].([]any); ok && !holds(types, values) {
		delete(out, "enum")
		note(out, "enum", values)
	}
}

// infer sets the type of a schema that has none by its keywords. Where they cannot
// be meant so they go into the description.
func infer(out schema) []any {
	var types []any
	for _, g := range []struct {
		kind     string
		keywords []string
	}{{"array", ofArrays}, {"object", ofObjects}} {
		has := func(k string) bool { _, ok := out[k]; return ok }
		if !slices.ContainsFunc(g.keywords, has) {
			continue
		}
		alternatives, _ := out["anyOf"].([]any)
		other := func(a any) bool {
			s, _ := a.(schema)
			t := typesOf(s)
			return t != nil && !slices.Contains(t, any(g.kind))
		}
		if !slices.ContainsFunc(alternatives, other) {
			types = append(types, g.kind)
			continue
		}
		for _, k := range slices.DeleteFunc(slices.Clone(g.keywords), func(k string) bool { return !has(k) }) {
			note(out, k, out[k])
			delete(out, k)
		}
	}
	switch len(types) {
	case 0:
		return nil
	case 1:
		out["type"] = types[0]
	default:
		out["type"] = types
	}
	return types
}

func fitFormat(out schema, types []any) {
	format, ok := out["format"].(string)
	if !ok {
		return
	}
	if types == nil {
		types = []any{"string"}
	}
	for _, t := range types {
		if name, ok := t.(string); ok && slices.Contains(formats[name], format) {
			return
		}
	}
	delete(out, "format")
	note(out, "format", format)
}

// holds reports whether values of an enum are of one of the types.
func holds(types, values []any) bool {
	if types == nil {
		return true
	}
	for _, v := range values {
		kind := kindOf(v)
		if !slices.Contains(types, any(kind)) && (kind != "number" || !slices.Contains(types, any("integer"))) {
			return false
		}
	}
	return true
}

// allowNull adds null to the types of a schema that names any.
func allowNull(out schema) {
	if types := typesOf(out); types != nil && !slices.Contains(types, any("null")) {
		out["type"] = append(types, "null")
	}
}

// simplify writes alternatives of which all but one are null as that one.
func simplify(out schema) {
	alternatives, ok := out["anyOf"].([]any)
	if !ok {
		return
	}
	var rest []schema
	for _, a := range alternatives {
		if s := a.(schema); s["type"] != "null" {
			rest = append(rest, s)
		}
	}
	if len(rest) != 1 {
		return
	}
	types := typesOf(out)
	for key := range rest[0] {
		if _, both := out[key]; both && !slices.Contains([]string{"type", "title", "description", noteKey}, key) {
			return
		}
	}
	joined := maps.Clone(out)
	delete(joined, "anyOf")
	if join(joined, rest[0]) != nil {
		return
	}
	if len(rest) < len(alternatives) && (types == nil || slices.Contains(types, any("null"))) {
		allowNull(joined)
	}
	clear(out)
	maps.Copy(out, joined)
}

// unseen reports whether a character cannot be seen, so that something can be
// hidden in a text with it.
func unseen(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Other_Default_Ignorable_Code_Point)
}

// visible drops from a text what cannot be seen.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unseen(r) {
			return -1
		}
		return r
	}, s)
}

// escape writes what cannot be seen in a JSON text as JSON writes it.
func escape(text string) string {
	if !strings.ContainsFunc(text, unseen) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch high, low := utf16.EncodeRune(r); {
		case !unseen(r):
			b.WriteRune(r)
		case high != utf8.RuneError:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
