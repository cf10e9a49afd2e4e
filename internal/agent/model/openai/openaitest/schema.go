package openaitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

type object = map[string]any

// CheckSchema holds a schema against the service's rules: those on every schema, and
// in strict mode those of structured outputs.
func CheckSchema(raw json.RawMessage, strict bool) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err
	}
	root, ok := v.(object)
	if !ok {
		return fmt.Errorf("schema must be a JSON Schema of 'type: \"object\"'")
	}
	if root["type"] != "object" {
		return fmt.Errorf("schema must be a JSON Schema of 'type: \"object\"', got 'type: %v'", root["type"])
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
		if _, ok := root[key]; ok {
			return errors.New("schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level")
		}
	}
	if _, ok := root["properties"].(object); !ok {
		return inContext("()", "object schema missing properties")
	}
	if err := (&checker{root: root}).schema(root, "()"); err != nil {
		return err
	}
	if strict {
		return (&strictly{root: root}).schema(root, 0, "()")
	}
	return nil
}

// inContext is a refusal in the service's words.
func inContext(at, format string, args ...any) error {
	return fmt.Errorf("%s, %s", "In context="+at, fmt.Sprintf(format, args...))
}

// checker holds a schema against JSON Schema 2020-12, as far as it is about
// keywords that are malformed, and the service's own rules.
type checker struct{ root object }

var types = []any{"string", "number", "integer", "boolean", "object", "array", "null"}

func (c *checker) schema(v any, at string) error {
	if _, ok := v.(bool); ok {
		return nil
	}
	s, ok := v.(object)
	if !ok {
		return inContext(at, "%v is not of type 'object', 'boolean'", v)
	}
	for key, value := range s {
		if err := c.keyword(key, value, at+"/"+key); err != nil {
			return err
		}
	}
	kinds := kinds(s)
	if _, ok := s["items"]; !ok && slices.Contains(kinds, any("array")) {
		return inContext(at, "array schema missing items")
	}
	return nil
}

func kinds(s object) []any {
	if list, ok := s["type"].([]any); ok {
		return list
	}
	return []any{s["type"]}
}

func (c *checker) keyword(key string, v any, at string) error {
	malformed := inContext(at, "%v is not valid under any of the given schemas", v)
	switch key {
	case "type":
		list, several := v.([]any)
		if !several {
			list = []any{v}
		}
		for i, t := range list {
			if !slices.Contains(types, t) || slices.Contains(list[:i], t) {
				return malformed
			}
		}
		if len(list) == 0 {
			return malformed
		}
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		all, ok := v.(object)
		if !ok {
			return malformed
		}
		for name, s := range all {
			if key == "patternProperties" && !isRegex(name) {
				return inContext(at, "'%s' is not a 'regex'", name)
			}
			if err := c.schema(s, at+"/"+name); err != nil {
				return err
			}
		}
	case "items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems", "contentSchema":
		return c.schema(v, at)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		list, ok := v.([]any)
		if !ok || len(list) == 0 {
			return malformed
		}
		for _, s := range list {
			if err := c.schema(s, at); err != nil {
				return err
			}
		}
	case "required", "examples", "enum":
		list, ok := v.([]any)
		if !ok || key == "enum" && len(list) == 0 {
			return malformed
		}
		for i, n := range list {
			if _, isText := n.(string); key == "required" && (!isText || slices.Contains(list[:i], n)) {
				return malformed
			}
		}
	default:
		if !c.value(key, v) {
			return malformed
		}
	}
	return nil
}

// value checks keywords that hold one value.
func (c *checker) value(key string, v any) bool {
	text, isText := v.(string)
	number, isNumber := v.(json.Number)
	f, err := number.Float64()
	finite := isNumber && err == nil && !math.IsInf(f, 0)
	switch key {
	case "title", "description", "format", "$comment", "contentEncoding", "contentMediaType":
		return isText && !strings.ContainsRune(text, 0)
	case "pattern":
		return isText && isRegex(text)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return finite
	case "multipleOf":
		return finite && f > 0
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return finite && f >= 0 && f == math.Trunc(f)
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		_, ok := v.(bool)
		return ok
	case "$ref":
		return isText && resolve(c.root, text) != nil
	case "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef":
		return false // the service does not follow them
	}
	return true
}

// foreign is what Go compiles and the service does not. It compiles patterns with
// Python's re (https://github.com/BerriAI/litellm/pull/40485), and has refused lookaround
// and the octal \0 besides (https://github.com/tombii/better-ccflare/issues/357).
var foreign = regexp.MustCompile(`^(?:[^\\]|\\.)*?(?:\\[pPCQEz0-9]|\\x\{|\(\?(?:[^:P]|P[^<]))`)

// isRegex reports whether the service compiles a pattern.
func isRegex(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil && !foreign.MatchString(pattern)
}

// resolve follows a reference within the schema; nil if it leads nowhere.
func resolve(root object, ref string) any {
	if ref == "#" {
		return root
	}
	pointer, ok := strings.CutPrefix(ref, "#/")
	var at any = root
	for _, step := range strings.Split(pointer, "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch v := at.(type) {
		case object:
			at = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		}
	}
	if _, isSchema := at.(object); !ok || !isSchema {
		return nil
	}
	return at
}

// strictly holds a schema against the rules of structured outputs.
type strictly struct {
	root       object
	properties int
}

var supported = []string{
	"type", "title", "description", "enum", "const", "properties", "required", "additionalProperties", "items", "anyOf", "$ref", "$defs", "definitions", "$schema",
	"pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems",
}

func (s *strictly) schema(v any, depth int, at string) error {
	o, ok := v.(object)
	if !ok || depth > 5 {
		return inContext(at, "schema must be an object, nested up to 5 levels")
	}
	for key := range o {
		if !slices.Contains(supported, key) {
			return inContext(at, "'%s' is not permitted", key)
		}
	}
	if _, ok := o["$ref"]; ok {
		if len(o) > 1 {
			return inContext(at, "$ref cannot have keywords")
		}
		return nil
	}
	for _, key := range []string{"$defs", "definitions", "properties"} {
		members, _ := o[key].(object)
		for name, m := range members {
			if s.properties++; s.properties > 100 {
				return errors.New("too many properties")
			}
			if err := s.schema(m, depth+1, at+"/"+name); err != nil {
				return err
			}
		}
	}
	alternatives, _ := o["anyOf"].([]any)
	for _, a := range alternatives {
		if err := s.schema(a, depth+1, at+"/anyOf"); err != nil {
			return err
		}
	}
	if items, ok := o["items"]; ok {
		if err := s.schema(items, depth+1, at+"/items"); err != nil {
			return err
		}
	}
	switch {
	case alternatives != nil:
		return nil
	case o["type"] == nil:
		return inContext(at, "schema must have a 'type' key")
	case !slices.Contains(kinds(o), any("object")):
		return nil
	case o["additionalProperties"] != false:
		return inContext(at, "'additionalProperties' is required to be supplied and to be false")
	}
	properties, _ := o["properties"].(object)
	required, _ := o["required"].([]any)
	for name := range properties {
		if !slices.Contains(required, any(name)) {
			return inContext(at, "'required' is required to be supplied and to be an array including every key in properties. Missing '%s'", name)
		}
	}
	return nil
}
