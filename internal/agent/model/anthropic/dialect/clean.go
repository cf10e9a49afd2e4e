package dialect

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

// form is what the value of a keyword must be (JSON Schema 2020-12, its
// meta-schemas).
type form int

const (
	text    form = iota + 1
	label        // text for people; what cannot be seen is taken out
	number       // finite
	count        // a whole number from 0 upwards
	flag         // true or false
	free         // any JSON
	one          // a schema
	several      // a list of schemas, at least one
	named        // an object of schemas
	texts        // a list of different texts
	values       // a list, at least one
)

// forms are the keywords that are kept. Names of schemas and references are
// rewritten, those of older drafts translated (see older), and words that say nothing
// about values left out.
var forms = map[string]form{
	"title": label, "description": label, "format": text, "pattern": text,
	"contentEncoding": text, "contentMediaType": text, "contentSchema": one,
	"minimum": number, "maximum": number, "exclusiveMinimum": number, "exclusiveMaximum": number, "multipleOf": number,
	"minLength": count, "maxLength": count, "minItems": count, "maxItems": count,
	"minContains": count, "maxContains": count, "minProperties": count, "maxProperties": count,
	"uniqueItems": flag, "deprecated": flag, "readOnly": flag, "writeOnly": flag,
	"default": free, "const": free, "examples": values, "enum": values, "required": texts,
	"items": one, "contains": one, "additionalProperties": one, "propertyNames": one, "not": one,
	"if": one, "then": one, "else": one, "unevaluatedItems": one, "unevaluatedProperties": one,
	"allOf": several, "anyOf": several, "oneOf": several, "prefixItems": several,
	"properties": named, "patternProperties": named, "$defs": named, "definitions": named, "dependentSchemas": named,
}

// propertyName is the service's rule for names of properties.
var propertyName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`) })

// cleaner brings a schema into the 2020-12 draft.
type cleaner struct {
	refs  *resolver
	nodes int
}

// clean reads a schema and gives it in the 2020-12 draft: true, or an object. What is
// not valid there is told in a description; an error is for what is no schema at all.
func clean(raw []byte) (any, error) {
	if len(raw) > maxBytes {
		return nil, fmt.Errorf("larger than %d KiB", maxBytes>>10)
	}
	root, err := ordered.Parse(raw)
	if err != nil {
		return nil, err
	}
	c := &cleaner{refs: &resolver{root: root}}
	return c.schema(root, 0)
}

func (c *cleaner) schema(v any, depth int) (any, error) {
	c.nodes++
	switch {
	case c.nodes > maxNodes:
		return nil, fmt.Errorf("larger than %d parts", maxNodes)
	case depth > maxDepth:
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	in, ok := v.(*object)
	if !ok {
		if _, isFlag := v.(bool); isFlag {
			return v, nil
		}
		return nil, fmt.Errorf("%s is not a schema", ordered.Kind(v))
	}
	out, told := &object{}, &notes{}
	for _, name := range in.Keys() {
		if err := c.keyword(out, told, in, name, depth); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	nullable(in, out)
	nameProperties(out, told)
	told.tell(out)
	return out, nil
}

// keyword takes one keyword over.
func (c *cleaner) keyword(out *object, told *notes, in *object, name string, depth int) error {
	value := in.Get(name)
	switch name {
	case "$ref", "$dynamicRef", "$recursiveRef":
		pointer, err := c.refs.pointer(value)
		if err != nil {
			return err
		}
		out.Set("$ref", pointer)
		return nil
	case "type":
		setType(out, told, value)
		return nil
	}
	if done, err := c.older(out, told, in, name, depth); done || err != nil {
		return err
	}
	kept, err := c.value(forms[name], value, depth)
	switch {
	case err != nil:
		return err
	case kept == nil && forms[name] == free: // null is a value
		out.Set(name, nil)
	case kept != nil:
		out.Set(name, kept)
	case forms[name] != 0 && forms[name] != label:
		told.add(name, value)
	}
	return nil
}

// value gives a keyword's value in its form, nil for one that has another.
func (c *cleaner) value(f form, value any, depth int) (any, error) {
	switch f {
	case one:
		return c.schema(value, depth+1)
	case several:
		return c.list(value, depth)
	case named:
		return c.named(value, depth)
	case free:
		return value, nil
	}
	return plain(f, value), nil
}

// plain gives a value that holds no schema in its form, nil for one that has
// another.
func plain(f form, value any) any {
	switch v := value.(type) {
	case string:
		switch f {
		case text:
			return v
		case label:
			return visible(v)
		}
	case bool:
		if f == flag {
			return v
		}
	case json.Number:
		n, err := v.Float64()
		switch {
		case err != nil || math.IsInf(n, 0):
		case f == number:
			return v
		case f == count && n >= 0 && n == math.Trunc(n) && n <= math.MaxInt32:
			return json.Number(strconv.Itoa(int(n)))
		}
	case []any:
		switch {
		case f == values && len(v) > 0:
			return distinct(v)
		case f == texts && !slices.ContainsFunc(v, func(e any) bool { return ordered.Kind(e) != "string" }):
			return distinct(v)
		}
	}
	return nil
}

// distinct is a list without what it holds twice.
func distinct(list []any) []any {
	seen := make(map[string]bool, len(list))
	out := make([]any, 0, len(list))
	for _, v := range list {
		if key, err := ordered.Encode(v); err == nil && !seen[string(key)] {
			seen[string(key)] = true
			out = append(out, v)
		}
	}
	return out
}

func (c *cleaner) list(value any, depth int) (any, error) {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return nil, fmt.Errorf("%s where a list of schemas belongs", ordered.Kind(value))
	}
	out := make([]any, len(list))
	for i, v := range list {
		s, err := c.schema(v, depth+1)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", i, err)
		}
		out[i] = s
	}
	return out, nil
}

func (c *cleaner) named(value any, depth int) (any, error) {
	in, ok := value.(*object)
	if !ok {
		return nil, fmt.Errorf("%s where an object belongs", ordered.Kind(value))
	}
	out := &object{}
	for _, name := range in.Keys() {
		s, err := c.schema(in.Get(name), depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out.Set(name, s)
	}
	return out, nil
}

// older translates keywords of older drafts and of OpenAPI, and reports whether it
// was one.
func (c *cleaner) older(out *object, told *notes, in *object, name string, depth int) (done bool, err error) {
	value := in.Get(name)
	switch name {
	case "exclusiveMinimum", "exclusiveMaximum": // until draft 4 a flag beside the bound
		exclusive, isFlag := value.(bool)
		if isFlag && exclusive {
			told.add(name, true)
		}
		return isFlag, nil
	case "items": // until draft 2019-09 a list was what prefixItems is now
		list, ok := value.([]any)
		if !ok {
			return false, nil
		}
		if len(list) == 0 || in.Has("prefixItems") {
			return true, nil
		}
		prefix, err := c.list(list, depth)
		if err != nil {
			return true, err
		}
		out.Set("prefixItems", prefix)
		if rest := in.Get("additionalItems"); rest != nil {
			if rest, err = c.schema(rest, depth+1); err == nil {
				out.Set("items", rest)
			}
		}
		return true, err
	case "dependencies", "dependentRequired":
		told.add(name, value)
		return true, nil
	}
	return false, nil
}

// setType sets the type, one or several. Types in capitals are those of Gemini's
// API; one that there is not is told in words.
func setType(out *object, told *notes, value any) {
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	var types []any
	for _, v := range list {
		name, _ := v.(string)
		switch name = strings.ToLower(name); name {
		case "string", "number", "integer", "boolean", "object", "array", "null":
			types = append(types, name)
		}
	}
	if len(types) < len(list) || len(types) == 0 {
		told.add("type", value)
		return
	}
	out.Set("type", oneOrMany(distinct(types)))
}

// nullable adds null to the types where OpenAPI 3.0 says so.
func nullable(in, out *object) {
	if types := typesOf(out); in.Get("nullable") == true && types != nil && !slices.Contains(types, "null") {
		out.Set("type", append(slices.Clone(types), "null"))
	}
}

// nameProperties takes out properties whose names the service refuses, and tells the
// model of them. They are allowed nevertheless.
func nameProperties(out *object, told *notes) {
	properties, _ := out.Get("properties").(*object)
	if properties == nil {
		return
	}
	refused := &object{}
	for _, name := range slices.Clone(properties.Keys()) {
		if !propertyName().MatchString(name) {
			refused.Set(name, properties.Get(name))
			properties.Remove(name)
		}
	}
	if len(refused.Keys()) == 0 {
		return
	}
	told.add("properties", refused)
	for _, word := range closing {
		if out.Get(word) == false {
			out.Remove(word)
		}
	}
}
