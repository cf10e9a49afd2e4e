// Package dialect turns JSON Schema into the part of it that every server of the
// Chat Completions API takes for the parameters of a function and for an answer.
//
// Start with [Parameters] and [Output]. Each server refuses something else:
//
//   - OpenAI wants an object without alternatives at the top, and items in every
//     array;
//   - Ollama reads schemas into types of its own, so that a boolean where a schema
//     may stand makes it refuse the request, and passes over references and allOf;
//   - llama.cpp makes a grammar of them: each schema needs a type, patterns must be
//     anchored and short, and repetitions few.
//
// What is left is type, description, format, enum, items, minItems, maxItems,
// minimum, maximum, their exclusive forms, anyOf, properties, additionalProperties
// and required. References are written out (refer.go), allOf is joined (join.go),
// everything else is told to the model in the description (finish.go). Members stay
// in the order in which they were written, since models fill them in that order.
package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

// Bounds of a translated schema.
const (
	maxNodes  = 5000 // schemas, and values that are told in words
	maxDepth  = 50
	maxEnum   = 500  // values; of more the description has a few
	maxItems  = 1000 // the highest minItems and maxItems that a grammar can hold
	maxLength = 1000 // bytes of further constraints at one place
)

// noteKey holds, until the end of a translation, the constraints that go into the
// description. No JSON Schema keyword contains a blank.
const noteKey = "further constraints"

// Parameters gives the schema of a tool's parameters, of type object and with
// properties, or says why that cannot be. It never forbids what the tool allows;
// whoever runs the tool checks the arguments against the tool's own schema. raw may
// be empty for no parameters.
func Parameters(raw []byte) (json.RawMessage, error) {
	if len(raw) == 0 {
		raw = []byte(`{}`)
	}
	out, err := translate(raw)
	if err != nil {
		return nil, err
	}
	return encode(out), nil
}

// Output gives the schema that an answer is held to. strict reports whether it is
// one that OpenAI takes with strict: all properties of every object are required,
// and there are no others (Structured Outputs, "supported schemas").
func Output(raw []byte) (schema json.RawMessage, strict bool, err error) {
	out, err := translate(raw)
	if err != nil {
		return nil, false, err
	}
	return encode(out), isStrict(out), nil
}

func translate(raw []byte) (*object, error) {
	root, err := ordered.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	t := &translator{root: root, within: map[string]bool{"#": true}}
	out, err := t.schema(root, 0)
	if err != nil {
		return nil, err
	}
	if out.Has("type") && !slices.Contains(typesOf(out), "object") {
		return nil, fmt.Errorf("type must be object, not %v", out.Get("type"))
	}
	out.Set("type", "object")
	flatten(out)
	if !out.Has("properties") {
		out.Set("properties", &object{})
	}
	finish(out)
	return out, nil
}

// translator turns one schema into the common part.
type translator struct {
	root   any
	nodes  int
	within map[string]bool // references that are being written out
	named  map[string]any  // anchors, with #, and $ids; nil until one is needed
}

// errNever is a schema that nothing matches.
var errNever = errors.New("nothing can match it")

// schema translates a schema or a boolean.
func (t *translator) schema(v any, depth int) (*object, error) {
	t.nodes++
	switch {
	case t.nodes > maxNodes:
		return nil, fmt.Errorf("larger than %d parts with its references written out", maxNodes)
	case depth > maxDepth:
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	case v == false:
		return nil, errNever
	case v == true:
		return &object{}, nil
	}
	in, ok := v.(*object)
	if !ok {
		return nil, fmt.Errorf("%s is not a schema", ordered.Kind(v))
	}
	out := &object{}
	for _, key := range in.Keys() {
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
	if err := t.all(out, in, depth); err != nil {
		return nil, fmt.Errorf("allOf: %w", err)
	}
	if in.Get("nullable") == true { // OpenAPI 3.0
		allowNull(out)
	}
	return out, nil
}

// all joins what must hold at the same time.
func (t *translator) all(out, in *object, depth int) error {
	if !in.Has("allOf") {
		return nil
	}
	parts, err := t.list(in.Get("allOf"), depth)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := join(out, part); err != nil {
			return err
		}
	}
	return nil
}

// keyword translates one keyword of a schema.
func (t *translator) keyword(out, in *object, key string, depth int) error {
	value := in.Get(key)
	switch key {
	case "title", "description", "format":
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("%s where text belongs", ordered.Kind(value))
		}
		out.Set(key, visible(text))
	case "type":
		return setTypes(out, value)
	case "enum", "const":
		return setEnum(out, in, key)
	case "required":
		names, err := namesOf(value)
		out.Set(key, names)
		return err
	case "properties":
		return t.properties(out, in, depth)
	case "additionalProperties":
		return t.additional(out, in, depth)
	case "items", "prefixItems":
		return t.items(out, in, key, depth)
	case "anyOf", "oneOf":
		return t.alternatives(out, key, value, depth)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return setBound(out, key, value)
	case "minItems", "maxItems":
		return setCount(out, key, value)
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

func (t *translator) properties(out, in *object, depth int) error {
	properties, ok := in.Get("properties").(*object)
	if !ok {
		return fmt.Errorf("%s where an object belongs", ordered.Kind(in.Get("properties")))
	}
	translated := &object{}
	for _, name := range properties.Keys() {
		p, err := t.schema(properties.Get(name), depth+1)
		if errors.Is(err, errNever) {
			if required, _ := in.Get("required").([]any); slices.Contains(required, any(name)) {
				return fmt.Errorf("%s: required, but %w", name, err)
			}
			note(out, "not", ordered.Of("required", []any{name}))
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		translated.Set(name, p)
	}
	out.Set("properties", translated)
	return nil
}

func (t *translator) additional(out, in *object, depth int) error {
	value := in.Get("additionalProperties")
	if in.Has("patternProperties") {
		note(out, "additionalProperties", value)
		return nil
	}
	if allowed, ok := value.(bool); ok {
		out.Set("additionalProperties", allowed)
		return nil
	}
	s, err := t.schema(value, depth+1)
	if err != nil {
		return err
	}
	out.Set("additionalProperties", s)
	return nil
}

// items translates items and prefixItems; until draft 2019-09 a list of items was
// what prefixItems is now. Tuples become arrays of whatever stands in them, since
// OpenAI wants items in every array.
func (t *translator) items(out, in *object, key string, depth int) error {
	value := in.Get(key)
	if list, ok := value.([]any); ok {
		t.nodes += weight(value)
		note(out, "prefixItems", value)
		parts, err := t.list(list, depth)
		if err != nil || len(parts) == 0 || in.Has("items") && key == "prefixItems" {
			return err
		}
		all := make([]any, len(parts))
		for i, part := range parts {
			all[i] = part
		}
		out.Set("items", ordered.Of("anyOf", all))
		return nil
	}
	if value == false {
		prefix, _ := in.Get("prefixItems").([]any)
		if err := setCount(out, "maxItems", json.Number(strconv.Itoa(len(prefix)))); err != nil || len(prefix) == 0 {
			return err
		}
		parts, err := t.list(prefix, depth)
		if err != nil {
			return err
		}
		var items any
		for _, part := range parts {
			items = either(items, part)
		}
		out.Set("items", items)
		return nil
	}
	s, err := t.schema(value, depth+1)
	if err != nil {
		return err
	}
	if prefix, ok := in.Get("prefixItems").([]any); ok {
		parts, err := t.list(prefix, depth)
		if err != nil {
			return err
		}
		for _, part := range parts {
			s = either(s, part)
		}
	}
	out.Set("items", s)
	return nil
}

// alternatives translates anyOf, and oneOf as if it were the same.
func (t *translator) alternatives(out *object, key string, value any, depth int) error {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return fmt.Errorf("%s where a list of schemas belongs", ordered.Kind(value))
	}
	if out.Has("anyOf") {
		t.nodes += weight(value)
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
	out.Set("anyOf", possible)
	return nil
}

func (t *translator) list(value any, depth int) ([]*object, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("%s where a list of schemas belongs", ordered.Kind(value))
	}
	all := make([]*object, len(list))
	for i, v := range list {
		var err error
		if all[i], err = t.schema(v, depth+1); err != nil {
			return nil, fmt.Errorf("%d: %w", i, err)
		}
	}
	return all, nil
}
