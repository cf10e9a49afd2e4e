// Package dialect turns JSON Schema into the subset of it that Gemini takes
// for the parameters of a function and for an answer.
//
// Start with [Translate]; [Output] is for answers, whose properties keep their order.
// The subset (see ResponseJsonSchema in the API's GenerationConfig): type, format,
// title, description, enum of texts or of numbers, items, prefixItems, minItems, maxItems,
// minimum, maximum, anyOf, properties, additionalProperties, required. fit.go has
// the rules on which of them go together. References are written out (refer.go),
// although the service knows them, since it takes neither anything beside them nor
// cycles.
package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

// Bounds of a translated schema.
const (
	maxSchemaNodes = 5000 // schemas, and values of constraints that are told in words
	maxSchemaDepth = 50
	maxNote        = 1000 // bytes of further constraints at one place
	maxEnum        = 500  // values; of more the description has a few
	maxExamples    = 20
)

// noteKey holds, until the end of a translation, the constraints that go into
// the description. No JSON Schema keyword contains a blank.
const noteKey = "further constraints"

// orderKey holds, until then, the names of the properties in their order.
const orderKey = "order of properties"

// schema is one that is being made; those that are read are *[ordered.Object].
type schema = map[string]any

// translator turns one schema into the service's subset.
type translator struct {
	root   any
	nodes  int
	within map[string]bool // references that are being written out
	named  map[string]any  // anchors, with #, and $ids; nil until one is needed
}

// Translate gives the schema of a tool's parameters as the service takes it,
// or says why that cannot be. It never forbids what the tool allows: what the
// subset cannot express it tells the model in a description, as JSON. Whoever
// runs the tool checks the arguments against the tool's own schema.
func Translate(raw []byte) (json.RawMessage, error) { return translate(raw, false) }

// Output gives the schema of a model's answer as the service takes it: that of
// [Translate], and with it the order of the properties, in which the model
// writes them. What it writes first is what it thinks of first.
func Output(raw []byte) (json.RawMessage, error) { return translate(raw, true) }

func translate(raw []byte, inOrder bool) (json.RawMessage, error) {
	root, err := ordered.Parse(raw)
	if err != nil {
		return nil, err
	}
	t := &translator{root: root, within: map[string]bool{"#": true}}
	out, err := t.schema(root, 0)
	if err != nil {
		return nil, err
	}
	if out["type"] == nil {
		out["type"] = "object"
	}
	if !slices.Contains(typesOf(out), "object") {
		return nil, fmt.Errorf("type must be object, not %v", out["type"])
	}
	out["type"] = "object"
	flatten(out)
	return json.Marshal(finish(out, inOrder))
}

// flatten brings the properties of alternatives to the top, where the service
// wants them.
func flatten(out schema) {
	alternatives, ok := out["anyOf"].([]any)
	if !ok {
		return
	}
	delete(out, "anyOf")
	delete(out, "additionalProperties")
	note(out, "anyOf", finish(alternatives, false))
	properties, ok := out["properties"].(schema)
	if !ok {
		properties = schema{}
		out["properties"] = properties
	}
	added := schema{}
	order, _ := out[orderKey].([]any)
	for _, a := range alternatives {
		theirs, _ := a.(schema)["properties"].(schema)
		for name, p := range theirs {
			if _, own := properties[name]; !own {
				added[name] = either(added[name], p.(schema))
			}
		}
		more, _ := a.(schema)[orderKey].([]any)
		order = union(order, more)
	}
	maps.Copy(properties, added)
	out[orderKey] = order
}

// either is a schema for what one of two takes; a may be nil for none.
func either(a any, b schema) schema {
	first, ok := a.(schema)
	switch {
	case !ok || same(first, b):
		return b
	case first["enum"] != nil && b["enum"] != nil && same(first["type"], b["type"]):
		both := maps.Clone(first)
		both["enum"] = union(first["enum"].([]any), b["enum"].([]any))
		return both
	case first["anyOf"] != nil && len(first) == 1:
		return schema{"anyOf": append(slices.Clone(first["anyOf"].([]any)), b)}
	}
	return schema{"anyOf": []any{first, b}}
}

// errNever is a schema that nothing matches.
var errNever = errors.New("nothing can match it")

// schema translates a schema or a boolean.
func (t *translator) schema(v any, depth int) (schema, error) {
	t.nodes++
	switch {
	case t.nodes > maxSchemaNodes:
		return nil, fmt.Errorf("larger than %d parts with its references written out", maxSchemaNodes)
	case depth > maxSchemaDepth:
		return nil, fmt.Errorf("nested deeper than %d", maxSchemaDepth)
	}
	switch v := v.(type) {
	case bool:
		if !v {
			return nil, errNever
		}
		return schema{}, nil
	case *ordered.Object:
		return t.object(v, depth)
	}
	return nil, fmt.Errorf("%s is not a schema", kindOf(v))
}

// object translates a schema that is an object: keyword by keyword, then what
// refers to other schemas.
func (t *translator) object(in *ordered.Object, depth int) (schema, error) {
	out := schema{}
	for _, key := range slices.Sorted(slices.Values(in.Keys())) {
		if err := t.keyword(out, in, key, depth); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if !in.Has(key) {
			continue
		}
		target, err := t.reference(in.Get(key), depth)
		if err == nil {
			err = join(out, target)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	if in.Has("allOf") {
		parts, err := t.list(in.Get("allOf"), depth)
		if err != nil {
			return nil, fmt.Errorf("allOf: %w", err)
		}
		for _, part := range parts {
			if err := join(out, part); err != nil {
				return nil, fmt.Errorf("allOf: %w", err)
			}
		}
	}
	if in.Get("nullable") == true { // OpenAPI 3.0
		allowNull(out)
	}
	simplify(out)
	return out, nil
}

// keyword translates one keyword of a schema.
func (t *translator) keyword(out schema, in *ordered.Object, key string, depth int) error {
	value := in.Get(key)
	switch key {
	case "title", "description", "format":
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("%s where text belongs", kindOf(value))
		}
		out[key] = visible(text)
	case "minimum", "maximum", "minItems", "maxItems":
		n, ok := value.(json.Number)
		if !ok {
			return fmt.Errorf("%s where a number belongs", kindOf(value))
		}
		return setBound(out, key, n)
	case "exclusiveMinimum", "exclusiveMaximum":
		note(out, key, value)
		if n, ok := value.(json.Number); ok { // a boolean in draft 4
			return setBound(out, strings.ToLower(strings.TrimPrefix(key, "exclusive")), n)
		}
	case "type":
		return setType(out, value)
	case "enum", "const":
		return setEnum(out, in, key)
	case "required":
		names, ok := value.([]any)
		if !ok {
			return fmt.Errorf("%s where a list belongs", kindOf(value))
		}
		for _, n := range names {
			if _, ok := n.(string); !ok {
				return fmt.Errorf("%s where a name belongs", kindOf(n))
			}
		}
		out[key] = union(nil, names)
	case "properties":
		return t.properties(out, in, depth)
	case "additionalProperties":
		return t.additional(out, in, depth)
	case "items", "prefixItems":
		return t.items(out, in, key, depth)
	case "anyOf", "oneOf":
		return t.alternatives(out, key, value, depth)
	case "pattern", "minLength", "maxLength", "multipleOf", "uniqueItems", "default", "examples",
		"contains", "minContains", "maxContains", "minProperties", "maxProperties",
		"patternProperties", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies",
		"unevaluatedProperties", "unevaluatedItems", "additionalItems", "not", "if", "then", "else",
		"contentEncoding", "contentMediaType", "contentSchema":
		t.nodes += weight(value)
		note(out, key, value)
	}
	return nil // references and allOf come later; other words are annotations
}

func (t *translator) properties(out schema, in *ordered.Object, depth int) error {
	properties := in.Child("properties")
	if properties == nil {
		return fmt.Errorf("%s where an object belongs", kindOf(in.Get("properties")))
	}
	translated := make(schema, len(properties.Keys()))
	order := []any{}
	for name, value := range properties.All() {
		if name == "" { // the service takes no such name
			note(out, "properties", schema{"": value})
			continue
		}
		p, err := t.schema(value, depth+1)
		if errors.Is(err, errNever) {
			if required, _ := in.Get("required").([]any); slices.Contains(required, any(name)) {
				return fmt.Errorf("%s: required, but %w", name, err)
			}
			note(out, "not", schema{"required": []any{name}})
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		translated[name] = p
		order = append(order, name)
	}
	out["properties"], out[orderKey] = translated, order
	return nil
}

func (t *translator) additional(out schema, in *ordered.Object, depth int) error {
	value := in.Get("additionalProperties")
	if in.Has("patternProperties") {
		note(out, "additionalProperties", value)
		return nil
	}
	if allowed, ok := value.(bool); ok {
		out["additionalProperties"] = allowed
		return nil
	}
	s, err := t.schema(value, depth+1)
	if err != nil {
		return err
	}
	out["additionalProperties"] = s
	return nil
}

// items translates items and prefixItems; until draft 2019-09 a list of items
// was what prefixItems is now.
func (t *translator) items(out schema, in *ordered.Object, key string, depth int) error {
	value := in.Get(key)
	if list, ok := value.([]any); ok {
		if len(list) == 0 {
			return nil
		}
		parts, err := t.list(list, depth)
		if err != nil {
			return err
		}
		all := make([]any, len(parts))
		for i, part := range parts {
			all[i] = part
		}
		out["prefixItems"] = all
		return nil
	}
	if value == false {
		prefix, _ := in.Get("prefixItems").([]any)
		bound(out, "maxItems", json.Number(strconv.Itoa(len(prefix))))
		return nil
	}
	s, err := t.schema(value, depth+1)
	if err != nil {
		return err
	}
	out["items"] = s
	return nil
}

// alternatives translates anyOf, and oneOf which the service treats alike.
func (t *translator) alternatives(out schema, key string, value any, depth int) error {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return fmt.Errorf("%s where a list of schemas belongs", kindOf(value))
	}
	if _, both := out["anyOf"]; both {
		note(out, key, value)
		return nil
	}
	var possible []any
	for i, v := range list {
		s, err := t.schema(v, depth+1)
		switch {
		case errors.Is(err, errNever):
		case err != nil:
			return fmt.Errorf("%d: %w", i, err)
		default:
			possible = append(possible, s)
		}
	}
	if len(possible) == 0 {
		return errNever
	}
	out["anyOf"] = possible
	return nil
}

func (t *translator) list(value any, depth int) ([]schema, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("%s where a list of schemas belongs", kindOf(value))
	}
	all := make([]schema, len(list))
	for i, v := range list {
		var err error
		if all[i], err = t.schema(v, depth+1); err != nil {
			return nil, fmt.Errorf("%d: %w", i, err)
		}
	}
	return all, nil
}

// reference writes out what a reference leads to. Within itself, a schema is
// only known by its type. Without other documents around it a dynamic reference
// is like any other.
func (t *translator) reference(ref any, depth int) (schema, error) {
	pointer, ok := ref.(string)
	if !ok {
		return nil, fmt.Errorf("%s where text belongs", kindOf(ref))
	}
	if root, ok := t.root.(*ordered.Object); ok && root.Has("$id") { // the whole by its own name
		id, _ := root.Get("$id").(string)
		if rest, ok := strings.CutPrefix(pointer, id); ok && (rest == "" || rest[0] == '#') {
			pointer = "#" + strings.TrimPrefix(rest, "#")
		}
	}
	target, err := t.resolve(pointer)
	if err != nil {
		return nil, err
	}
	if t.within[pointer] {
		stub := schema{}
		if s, ok := target.(*ordered.Object); ok && s.Has("type") {
			if err := setType(stub, s.Get("type")); err != nil {
				return nil, err
			}
		}
		note(stub, "$ref", pointer)
		return stub, nil
	}
	t.within[pointer] = true
	defer delete(t.within, pointer)
	return t.schema(target, depth+1)
}
