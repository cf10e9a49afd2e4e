package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

// Bounds of the schema of an answer (the service's page on structured outputs).
const (
	maxOptional = 24 // properties that are not required
	maxUnions   = 16 // alternatives, and lists of types
)

// outputFormats are those that the service holds a text to.
var outputFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}

// Output gives the schema of an answer as the service takes it, or says why an answer
// cannot be held to it. Whatever matches the result matches the schema but for what
// descriptions say: the service knows no bounds and no patterns. Objects are closed,
// references written out; there is no recursion and nothing that may be any JSON.
func Output(raw []byte) (json.RawMessage, error) {
	root, err := clean(raw)
	if err != nil {
		return nil, err
	}
	c := &closer{refs: &resolver{root: root}}
	out, err := c.schema(root, 0, nil)
	switch {
	case err != nil:
		return nil, err
	case out.Get("type") != "object":
		return nil, errors.New("it must be an object")
	case c.optional > maxOptional:
		return nil, fmt.Errorf("more than %d properties are optional", maxOptional)
	case c.unions > maxUnions:
		return nil, fmt.Errorf("more than %d parts have alternatives", maxUnions)
	}
	return ordered.Encode(out)
}

// closer writes a schema in the service's words.
type closer struct {
	refs     *resolver
	nodes    int
	optional int
	unions   int
}

var (
	// errAnything: the service has no schema for any JSON.
	errAnything = errors.New("it must say of which type everything is")
	errTooLarge = errors.New("too large with its references written out")
)

func (c *closer) schema(v any, depth int, within map[string]bool) (*object, error) {
	if depth > maxDepth {
		return nil, errTooLarge
	}
	told := &notes{}
	in, within, err := c.joined(v, told, within)
	if err != nil {
		return nil, err
	}
	out := &object{}
	for _, name := range []string{"title", "description"} {
		if in.Has(name) {
			out.Set(name, in.Get(name))
		}
	}
	if err := c.kind(out, in, told, depth, within); err != nil {
		return nil, err
	}
	told.tell(out)
	return out, nil
}

// joined gives a schema without references and allOf at its top, and the references
// that led there.
func (c *closer) joined(v any, told *notes, within map[string]bool) (*object, map[string]bool, error) {
	in, ok := v.(*object)
	if !ok {
		return nil, nil, errAnything
	}
	if c.nodes++; c.nodes > maxNodes {
		return nil, nil, errTooLarge
	}
	out := &object{}
	for _, name := range in.Keys() {
		if name != "$ref" && name != "allOf" {
			out.Set(name, in.Get(name))
		}
	}
	parts, _ := in.Get("allOf").([]any)
	if ref, ok := in.Get("$ref").(string); ok {
		if within[ref] {
			return nil, nil, fmt.Errorf("%q is within itself", ref)
		}
		target, err := c.refs.find(ref)
		if err != nil {
			return nil, nil, err
		}
		within = maps.Clone(within)
		if within == nil {
			within = map[string]bool{}
		}
		within[ref] = true
		parts = append([]any{target}, parts...)
	}
	for _, p := range parts {
		part, through, err := c.joined(p, told, within)
		if err != nil {
			return nil, nil, err
		}
		within = through
		merge(out, part, told)
	}
	return out, within, nil
}

// kind writes what says of which kind a value is.
func (c *closer) kind(out, in *object, told *notes, depth int, within map[string]bool) error {
	for _, name := range []string{"anyOf", "oneOf"} {
		if list, ok := in.Get(name).([]any); ok {
			return c.alternatives(out, without(in, name), list, depth, within)
		}
	}
	for _, name := range []string{"enum", "const"} {
		if in.Has(name) {
			return setValues(out, in, name)
		}
	}
	types := typesOf(in)
	switch {
	case types == nil && in.Has("properties"):
		types = []any{"object"}
	case types == nil && in.Has("items"):
		types = []any{"array"}
	case types == nil:
		return errAnything
	case len(types) > 1:
		return c.types(out, in, types, depth, within)
	}
	out.Set("type", types[0])
	c.unsaid(in, told, types[0])
	switch types[0] {
	case "object":
		return c.properties(out, in, depth, within)
	case "array":
		return c.items(out, in, depth, within)
	case "string":
		if f, ok := in.Get("format").(string); ok {
			if slices.Contains(outputFormats, f) {
				out.Set("format", f)
			} else {
				told.add("format", f)
			}
		}
	}
	return nil
}

// unsaid tells the constraints that the service has no words for.
func (c *closer) unsaid(in *object, told *notes, kind any) {
	for _, name := range in.Keys() {
		switch name {
		case "title", "description", "type", "properties", "required", "additionalProperties", "unevaluatedProperties",
			"items", "format", "minItems", "$defs", "definitions", "deprecated", "readOnly", "writeOnly":
			continue
		}
		told.add(name, in.Get(name))
	}
	if n := in.Get("minItems"); n != nil && kind == "array" && n != json.Number("0") && n != json.Number("1") {
		told.add("minItems", n)
	}
}

// types writes a list of types: as such where each of them is plain, else as
// alternatives.
func (c *closer) types(out, in *object, types []any, depth int, within map[string]bool) error {
	if !slices.Contains(types, "object") && !slices.Contains(types, "array") {
		c.unions++
		out.Set("type", types)
		return nil
	}
	list := make([]any, len(types))
	for i, t := range types {
		one := &object{}
		one.Set("type", t)
		list[i] = one
	}
	return c.alternatives(out, without(in, "type"), list, depth, within)
}

// without gives what a schema says of values besides one keyword.
func without(in *object, keyword string) *object {
	out := &object{}
	for _, n := range in.Keys() {
		switch n {
		case keyword, "title", "description", "default", "$defs", "definitions":
		default:
			out.Set(n, in.Get(n))
		}
	}
	return out
}

// alternatives writes each of them with the base that holds for all.
func (c *closer) alternatives(out, base *object, list []any, depth int, within map[string]bool) error {
	c.unions++
	var possible []any
	for _, a := range list {
		if a == false {
			continue
		}
		told := &notes{}
		one, through, err := c.joined(a, told, within)
		if err != nil {
			return err
		}
		merge(one, base, told)
		if types := typesOf(one); len(types) == 1 {
			keepOf(one, types[0])
		}
		closed, err := c.schema(one, depth+1, through)
		if err != nil {
			return err
		}
		told.tell(closed)
		possible = append(possible, closed)
	}
	switch len(possible) {
	case 0:
		return errors.New("nothing can match it")
	case 1:
		c.unions--
		merge(out, possible[0].(*object), &notes{})
	default:
		out.Set("anyOf", possible)
	}
	return nil
}

// keepOf drops from a schema of one type what is about others.
func keepOf(s *object, kind any) {
	about := map[string]string{"properties": "object", "required": "object", "additionalProperties": "object", "items": "array", "minItems": "array", "maxItems": "array", "prefixItems": "array"}
	for word, of := range about {
		if of != kind {
			s.Remove(word)
		}
	}
}

// setValues writes an enum or a constant.
func setValues(out, in *object, name string) error {
	list, ok := in.Get(name).([]any)
	if !ok {
		list = []any{in.Get(name)}
	}
	for _, v := range list {
		if k := ordered.Kind(v); k == "object" || k == "array" {
			return fmt.Errorf("%s: only plain values", name)
		}
	}
	if in.Has("type") {
		out.Set("type", in.Get("type"))
	}
	out.Set(name, in.Get(name))
	return nil
}

func (c *closer) properties(out, in *object, depth int, within map[string]bool) error {
	properties, _ := in.Get("properties").(*object)
	if properties == nil {
		properties = &object{}
	}
	if len(properties.Keys()) == 0 && in.Get("additionalProperties") != false {
		return errors.New("an object must list its properties")
	}
	required, _ := in.Get("required").([]any)
	closed := &object{}
	for _, name := range properties.Keys() {
		if properties.Get(name) == false {
			continue
		}
		p, err := c.schema(properties.Get(name), depth+1, within)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !slices.Contains(required, any(name)) {
			c.optional++
		}
		closed.Set(name, p)
	}
	for _, name := range required {
		if text, _ := name.(string); !closed.Has(text) {
			return fmt.Errorf("%v is required but no property", name)
		}
	}
	out.Set("properties", closed)
	if len(required) > 0 {
		out.Set("required", required)
	}
	out.Set("additionalProperties", false)
	return nil
}

func (c *closer) items(out, in *object, depth int, within map[string]bool) error {
	if in.Has("prefixItems") {
		return errors.New("a list must have items of one schema")
	}
	items, err := c.schema(in.Get("items"), depth+1, within)
	if err != nil {
		return fmt.Errorf("items: %w", err)
	}
	out.Set("items", items)
	if n, ok := in.Get("minItems").(json.Number); ok {
		if n != "0" && !strings.HasPrefix(string(n), "-") {
			n = "1"
		}
		out.Set("minItems", n)
	}
	return nil
}
