// Package dialect turns JSON Schema into what the Responses API takes for the
// parameters of a function and for an answer.
//
// Start with [Translate]. A schema that keeps all the rules of structured outputs
// goes as it is and the service holds the model to it (strict.go). Any other is
// brought into a form that the service does not refuse: JSON Schema 2020-12, type
// object at the top with no composition beside it (top.go), items in every array,
// references that lead somewhere (refer.go).
package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
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
	root, err := parse(raw)
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
	out, err = encode(root)
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
		o := newObject()
		if !v {
			o.set("not", newObject())
		}
		return o, nil
	case *object:
		for _, key := range slices.Clone(v.keys) {
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
	return nil, fmt.Errorf("%s is not a schema", kindOf(v))
}

// keyword brings one keyword of a schema into form. What is no keyword of JSON
// Schema 2020-12, nor becomes one, is dropped.
func (t *translator) keyword(o *object, key string, depth int) error {
	v := o.get(key)
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
		o.set(key, s)
		if allowed, ok := v.(bool); ok && key == "additionalProperties" {
			o.set(key, allowed) // the service knows it best so
		}
		return err
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return t.members(o, key, depth)
	case "dependencies", "dependentRequired":
		o.drop(key)
		note(o, key, v)
	case "uniqueItems", "readOnly", "writeOnly", "deprecated", "nullable":
		if _, ok := v.(bool); !ok {
			o.drop(key)
		}
	case "$ref", "$dynamicRef", "$recursiveRef", "additionalItems": // see refer and items
	default:
		o.drop(key)
	}
	return nil
}

func text(o *object, key string) error {
	s, ok := o.get(key).(string)
	if !ok {
		return fmt.Errorf("%s where text belongs", kindOf(o.get(key)))
	}
	if key != "pattern" {
		o.set(key, visible(s))
		return nil
	}
	// The service refuses patterns that it cannot read.
	if _, err := regexp.Compile(s); err != nil {
		o.drop(key)
		note(o, key, s)
	}
	return nil
}

// number brings a bound into form; one that is too large for a floating point
// number goes into the description.
func number(o *object, key string) error {
	n, ok := o.get(key).(json.Number)
	if exclusive, isFlag := o.get(key).(bool); isFlag && strings.HasPrefix(key, "exclusive") { // draft 4
		inclusive := strings.ToLower(strings.TrimPrefix(key, "exclusive"))
		o.drop(key)
		if bound, ok := o.get(inclusive).(json.Number); ok && exclusive {
			o.drop(inclusive)
			o.set(key, bound)
		}
		return nil
	}
	if !ok {
		return fmt.Errorf("%s where a number belongs", kindOf(o.get(key)))
	}
	f, err := n.Float64()
	counts := slices.Contains([]string{"Length", "Items", "Properties", "Contains"}, key[3:])
	switch {
	case err != nil || math.IsInf(f, 0):
		o.drop(key)
		note(o, key, n)
	case counts && (f != math.Trunc(f) || f < 0) && strings.HasSuffix(key, "Items"):
		return fmt.Errorf("%v is no number of items", n)
	case counts && (f != math.Trunc(f) || f < 0), key == "multipleOf" && f <= 0:
		o.drop(key) // it says nothing
	case counts && f > math.MaxInt32:
		o.drop(key)
		note(o, key, n)
	case counts:
		o.set(key, json.Number(strconv.Itoa(int(f))))
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
		o.set("type", types[0])
	default:
		o.set("type", types)
	}
	return nil
}

// typesOf lists the types of a schema; nil where it names none.
func typesOf(o *object) []any {
	switch v := o.get("type").(type) {
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
	v := o.get(key)
	list, ok := v.([]any)
	switch {
	case key == "enum" && (!ok || len(list) == 0):
		return fmt.Errorf("%s where a list of values belongs", kindOf(v))
	case key == "examples" && !ok:
		o.drop(key)
	case !finite(v):
		o.drop(key)
		note(o, key, v)
	case key == "enum":
		seen := make(map[string]bool, len(list))
		o.set(key, slices.DeleteFunc(list, func(v any) bool {
			name, err := encode(v)
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
		for _, e := range v.values {
			if !finite(e) {
				return false
			}
		}
	}
	return true
}

func required(o *object) error {
	names, ok := o.get("required").([]any)
	if !ok {
		return fmt.Errorf("%s where a list belongs", kindOf(o.get("required")))
	}
	var unique []any
	for _, n := range names {
		if _, ok := n.(string); !ok {
			return fmt.Errorf("%s where a name belongs", kindOf(n))
		}
		if !slices.Contains(unique, n) {
			unique = append(unique, n)
		}
	}
	if o.set("required", unique); unique == nil {
		o.drop("required")
	}
	return nil
}

// items brings items and prefixItems into form; until draft 2019-09 a list of items
// was what prefixItems is now, and additionalItems what items is.
func (t *translator) items(o *object, key string, depth int) error {
	list, ok := o.get(key).([]any)
	if !ok {
		if o.get(key) == false { // no more than those of prefixItems
			prefix, _ := o.get("prefixItems").([]any)
			if o.drop(key); !o.has("maxItems") {
				o.set("maxItems", json.Number(strconv.Itoa(len(prefix))))
			}
			return nil
		}
		s, err := t.schema(o.get(key), depth+1)
		o.set(key, s)
		return err
	}
	if key == "items" {
		o.drop(key)
		switch rest := o.get("additionalItems").(type) {
		case *object:
			s, err := t.schema(rest, depth+1)
			if err != nil {
				return err
			}
			o.set("items", s)
		case bool:
			if !rest && !o.has("maxItems") {
				o.set("maxItems", json.Number(strconv.Itoa(len(list))))
			}
		}
		if o.has("prefixItems") {
			return nil
		}
		o.set("prefixItems", list)
	}
	if len(list) == 0 {
		o.drop("prefixItems")
		return nil
	}
	return t.list(o, "prefixItems", depth)
}

func (t *translator) list(o *object, key string, depth int) error {
	list, ok := o.get(key).([]any)
	if !ok || len(list) == 0 {
		return fmt.Errorf("%s where a list of schemas belongs", kindOf(o.get(key)))
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
	members, ok := o.get(key).(*object)
	if !ok {
		return fmt.Errorf("%s where an object belongs", kindOf(o.get(key)))
	}
	for _, name := range slices.Clone(members.keys) {
		if key == "patternProperties" {
			if _, err := regexp.Compile(name); err != nil {
				unread := newObject()
				unread.set(name, members.get(name))
				note(o, key, unread)
				members.drop(name)
				continue
			}
		}
		s, err := t.schema(members.get(name), depth+1)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		members.set(name, s)
	}
	return nil
}

// complete adds what the service demands of a schema, and takes OpenAPI's nullable
// for what it means.
func complete(o *object) {
	if o.get("nullable") == true {
		if types := typesOf(o); types != nil && !slices.Contains(types, "null") {
			o.set("type", append(slices.Clone(types), "null"))
		}
		if values, ok := o.get("enum").([]any); ok && !slices.Contains(values, nil) {
			o.set("enum", append(slices.Clone(values), nil))
		}
	}
	o.drop("nullable", "additionalItems")
	if (slices.Contains(typesOf(o), "array") || o.has("prefixItems")) && !o.has("items") {
		o.set("items", newObject())
	}
}

// note keeps a constraint for the description.
func note(o *object, key string, value any) {
	notes := o.child(noteKey)
	if notes == nil {
		notes = newObject()
		o.set(noteKey, notes)
	}
	if notes.has(key) && !same(notes.get(key), value) {
		again := newObject()
		again.set(key, value)
		all, _ := notes.get("allOf").([]any)
		notes.set("allOf", append(slices.Clone(all), again))
		return
	}
	notes.set(key, value)
}

// finish tells what could not be expressed in the descriptions.
func finish(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			finish(e)
		}
	case *object:
		notes := v.child(noteKey)
		v.drop(noteKey)
		for _, e := range maps.All(v.values) {
			finish(e)
		}
		if notes == nil {
			return
		}
		finish(notes)
		if said, err := encode(notes); err == nil && len(said) <= maxNote {
			description, _ := v.get("description").(string)
			v.set("description", strings.TrimLeft(description+"\nFurther constraints (JSON Schema): "+visible(string(said)), "\n"))
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
