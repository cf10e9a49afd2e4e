// Package dialect turns JSON Schema into what the Responses API takes for the
// parameters of a function and for an answer.
//
// Start with [Translate]. A schema that keeps all the rules of structured outputs
// goes as it is and the service holds the model to it (strict.go). Any other is
// brought into a form that the service does not refuse: JSON Schema 2020-12, type
// object at the top with no composition beside it (top.go), items in every array,
// references that lead somewhere (refer.go), patterns that it can compile (pattern.go).
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

// Bounds of a schema.
const (
	maxNodes = 5000 // schemas
	maxDepth = 50
	maxNote  = 1000 // bytes of further constraints at one place
)

// noteKey holds, until the end of a translation, the constraints that go into the
// description. No JSON Schema keyword contains a blank.
const noteKey = "further constraints"

// translator brings one schema into form; it changes the tree that it is given.
type translator struct {
	root  any
	nodes int
	named map[string]string // anchors, with #, and $ids to JSON pointers
}

// Translate gives a schema of type object as the service takes it, or says why
// that cannot be. strict tells whether the service can hold the model to it. It
// never forbids what the schema allows: what cannot be expressed is told in a
// description, as JSON. Whoever runs a tool checks the arguments against the tool's
// own schema.
func Translate(raw []byte) (out json.RawMessage, strict bool, err error) {
	root, err := ordered.Parse(raw)
	if err != nil {
		return nil, false, err
	}
	if strict = isStrict(root); !strict {
		t := &translator{root: root, named: map[string]string{}}
		index(root, "", t.named)
		if root, err = t.schema(root, 0); err != nil {
			return nil, false, err
		}
		top, err := t.top(root)
		if err != nil {
			return nil, false, err
		}
		if err := checkRefs(top, top); err != nil {
			return nil, false, err
		}
		finish(top)
		root = top
	}
	out, err = ordered.Encode(root)
	return out, strict, err
}

// errNever is a schema that nothing matches.
var errNever = errors.New("nothing can match it")

// schema brings a schema or a boolean into form.
func (t *translator) schema(v any, depth int) (*object, error) {
	t.nodes++
	switch {
	case t.nodes > maxNodes:
		return nil, fmt.Errorf("larger than %d parts", maxNodes)
	case depth > maxDepth:
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	switch v := v.(type) {
	case bool:
		o := &object{}
		if !v {
			o.Set("not", &object{})
		}
		return o, nil
	case *object:
		for _, key := range slices.Clone(v.Keys()) {
			if err := t.keyword(v, key, depth); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		}
		if err := t.refer(v); err != nil {
			return nil, fmt.Errorf("$ref: %w", err)
		}
		complete(v)
		return v, nil
	}
	return nil, fmt.Errorf("%s is not a schema", ordered.Kind(v))
}

// keyword brings one keyword of a schema into form. What is no keyword of JSON
// Schema 2020-12, nor becomes one, is dropped.
func (t *translator) keyword(o *object, key string, depth int) error {
	v := o.Get(key)
	switch key {
	case "title", "description", "format", "pattern", "contentEncoding", "contentMediaType":
		return text(o, key)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return number(o, key)
	case "type":
		return setType(o, v)
	case "enum", "examples", "const", "default":
		return values(o, key)
	case "required":
		return required(o)
	case "items", "prefixItems":
		return t.items(o, key, depth)
	case "allOf", "anyOf", "oneOf":
		return t.list(o, key, depth)
	case "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems":
		s, err := t.schema(v, depth+1)
		o.Set(key, s)
		if allowed, ok := v.(bool); ok && key == "additionalProperties" {
			o.Set(key, allowed) // the service knows it best so
		}
		return err
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return t.members(o, key, depth)
	case "dependencies", "dependentRequired":
		o.Remove(key)
		note(o, key, v)
	case "uniqueItems", "readOnly", "writeOnly", "deprecated", "nullable":
		if _, ok := v.(bool); !ok {
			o.Remove(key)
		}
	case "$ref", "$dynamicRef", "$recursiveRef", "additionalItems": // see refer and items
	default:
		o.Remove(key)
	}
	return nil
}

func text(o *object, key string) error {
	s, ok := o.Get(key).(string)
	if !ok {
		return fmt.Errorf("%s where text belongs", ordered.Kind(o.Get(key)))
	}
	if key != "pattern" {
		o.Set(key, visible(s))
		return nil
	}
	if !portable(s) {
		o.Remove(key)
		note(o, key, s)
	}
	return nil
}

// number brings a bound into form; one that is too large for a floating point
// number goes into the description.
func number(o *object, key string) error {
	n, ok := o.Get(key).(json.Number)
	if exclusive, isFlag := o.Get(key).(bool); isFlag && strings.HasPrefix(key, "exclusive") { // draft 4
		inclusive := strings.ToLower(strings.TrimPrefix(key, "exclusive"))
		o.Remove(key)
		if bound, ok := o.Get(inclusive).(json.Number); ok && exclusive {
			o.Remove(inclusive)
			o.Set(key, bound)
		}
		return nil
	}
	if !ok {
		return fmt.Errorf("%s where a number belongs", ordered.Kind(o.Get(key)))
	}
	f, err := n.Float64()
	counts := slices.Contains([]string{"Length", "Items", "Properties", "Contains"}, key[3:])
	switch {
	case err != nil || math.IsInf(f, 0):
		o.Remove(key)
		note(o, key, n)
	case counts && (f != math.Trunc(f) || f < 0) && strings.HasSuffix(key, "Items"):
		return fmt.Errorf("%v is no number of items", n)
	case counts && (f != math.Trunc(f) || f < 0), key == "multipleOf" && f <= 0:
		o.Remove(key) // it says nothing
	case counts && f > math.MaxInt32:
		o.Remove(key)
		note(o, key, n)
	case counts:
		o.Set(key, json.Number(strconv.Itoa(int(f))))
	}
	return nil
}

// setType sets the type, one or several.
func setType(o *object, v any) error {
	list, several := v.([]any)
	if !several {
		list = []any{v}
	}
	var types []any
	for _, kind := range list {
		switch kind {
		case "string", "number", "integer", "boolean", "object", "array", "null":
			if !slices.Contains(types, kind) {
				types = append(types, kind)
			}
		default:
			return fmt.Errorf("no type is called %v", kind)
		}
	}
	switch len(types) {
	case 0:
		return errors.New("no type at all")
	case 1:
		o.Set("type", types[0])
	default:
		o.Set("type", types)
	}
	return nil
}

// typesOf lists the types of a schema; nil where it names none.
func typesOf(o *object) []any {
	switch v := o.Get("type").(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		return []any{v}
	}
}

// values brings keywords into form that hold values instead of schemas.
func values(o *object, key string) error {
	v := o.Get(key)
	list, ok := v.([]any)
	switch {
	case key == "enum" && (!ok || len(list) == 0):
		return fmt.Errorf("%s where a list of values belongs", ordered.Kind(v))
	case key == "examples" && !ok:
		o.Remove(key)
	case !finite(v):
		o.Remove(key)
		note(o, key, v)
	case key == "enum":
		seen := make(map[string]bool, len(list))
		o.Set(key, slices.DeleteFunc(list, func(v any) bool {
			name, err := ordered.Encode(v)
			again := seen[string(name)]
			seen[string(name)] = true
			return again || err != nil
		}))
	}
	return nil
}

// finite reports whether all the numbers in a value are floating point numbers.
func finite(v any) bool {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return err == nil && !math.IsInf(f, 0)
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !finite(e) })
	case *object:
		for _, e := range v.All() {
			if !finite(e) {
				return false
			}
		}
	}
	return true
}

func required(o *object) error {
	names, ok := o.Get("required").([]any)
	if !ok {
		return fmt.Errorf("%s where a list belongs", ordered.Kind(o.Get("required")))
	}
	var unique []any
	for _, n := range names {
		if _, ok := n.(string); !ok {
			return fmt.Errorf("%s where a name belongs", ordered.Kind(n))
		}
		if !slices.Contains(unique, n) {
			unique = append(unique, n)
		}
	}
	if o.Set("required", unique); unique == nil {
		o.Remove("required")
	}
	return nil
}

// items brings items and prefixItems into form; until draft 2019-09 a list of items
// was what prefixItems is now, and additionalItems what items is.
func (t *translator) items(o *object, key string, depth int) error {
	list, ok := o.Get(key).([]any)
	if !ok {
		if o.Get(key) == false { // no more than those of prefixItems
			prefix, _ := o.Get("prefixItems").([]any)
			if o.Remove(key); !o.Has("maxItems") {
				o.Set("maxItems", json.Number(strconv.Itoa(len(prefix))))
			}
			return nil
		}
		s, err := t.schema(o.Get(key), depth+1)
		o.Set(key, s)
		return err
	}
	if key == "items" {
		o.Remove(key)
		switch rest := o.Get("additionalItems").(type) {
		case *object:
			s, err := t.schema(rest, depth+1)
			if err != nil {
				return err
			}
			o.Set("items", s)
		case bool:
			if !rest && !o.Has("maxItems") {
				o.Set("maxItems", json.Number(strconv.Itoa(len(list))))
			}
		}
		if o.Has("prefixItems") {
			return nil
		}
		o.Set("prefixItems", list)
	}
	if len(list) == 0 {
		o.Remove("prefixItems")
		return nil
	}
	return t.list(o, "prefixItems", depth)
}

func (t *translator) list(o *object, key string, depth int) error {
	list, ok := o.Get(key).([]any)
	if !ok || len(list) == 0 {
		return fmt.Errorf("%s where a list of schemas belongs", ordered.Kind(o.Get(key)))
	}
	for i := range list {
		s, err := t.schema(list[i], depth+1)
		if err != nil {
			return fmt.Errorf("%d: %w", i, err)
		}
		list[i] = s
	}
	return nil
}

func (t *translator) members(o *object, key string, depth int) error {
	members, ok := o.Get(key).(*object)
	if !ok {
		return fmt.Errorf("%s where an object belongs", ordered.Kind(o.Get(key)))
	}
	for _, name := range slices.Clone(members.Keys()) {
		if key == "patternProperties" {
			if !portable(name) {
				unread := &object{}
				unread.Set(name, members.Get(name))
				note(o, key, unread)
				members.Remove(name)
				continue
			}
		}
		s, err := t.schema(members.Get(name), depth+1)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		members.Set(name, s)
	}
	return nil
}

// complete adds what the service demands of a schema, and takes OpenAPI's nullable
// for what it means.
func complete(o *object) {
	if o.Get("nullable") == true {
		if types := typesOf(o); types != nil && !slices.Contains(types, "null") {
			o.Set("type", append(slices.Clone(types), "null"))
		}
		if values, ok := o.Get("enum").([]any); ok && !slices.Contains(values, nil) {
			o.Set("enum", append(slices.Clone(values), nil))
		}
	}
	o.Remove("nullable", "additionalItems")
	if (slices.Contains(typesOf(o), "array") || o.Has("prefixItems")) && !o.Has("items") {
		o.Set("items", &object{})
	}
}

// note keeps a constraint for the description.
func note(o *object, key string, value any) {
	notes := o.Child(noteKey)
	if notes == nil {
		notes = &object{}
		o.Set(noteKey, notes)
	}
	if notes.Has(key) && !ordered.Same(notes.Get(key), value) {
		again := &object{}
		again.Set(key, value)
		all, _ := notes.Get("allOf").([]any)
		notes.Set("allOf", append(slices.Clone(all), again))
		return
	}
	notes.Set(key, value)
}

// finish tells what could not be expressed in the descriptions.
func finish(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			finish(e)
		}
	case *object:
		notes := v.Child(noteKey)
		v.Remove(noteKey)
		for _, e := range v.All() {
			finish(e)
		}
		if notes == nil {
			return
		}
		finish(notes)
		if said, err := ordered.Encode(notes); err == nil && len(said) <= maxNote {
			description, _ := v.Get("description").(string)
			v.Set("description", strings.TrimLeft(description+"\nFurther constraints (JSON Schema): "+visible(string(said)), "\n"))
		}
	}
}

// visible drops from a text what cannot be seen, so that nothing can be hidden in
// it.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		return r
	}, s)
}
