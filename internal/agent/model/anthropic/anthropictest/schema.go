package anthropictest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

type object = map[string]any

// invalid is how the service words it.
func invalid(format string, args ...any) error {
	return fmt.Errorf(": JSON schema is invalid. It must match JSON Schema draft 2020-12 (%s)", fmt.Sprintf(format, args...))
}

// CheckInput holds the schema of a tool's input against the rules.
func CheckInput(raw []byte) error {
	var v any
	if len(raw) == 0 {
		return errors.New(": Field required")
	}
	if err := decode(raw, &v); err != nil {
		return err
	}
	root, ok := v.(object)
	if !ok || root["type"] != "object" {
		return errors.New(".type: Input should be 'object'")
	}
	for _, word := range []string{"oneOf", "allOf", "anyOf"} {
		if _, ok := root[word]; ok {
			return errors.New(": input_schema does not support oneOf, allOf, or anyOf at the top level")
		}
	}
	c := &checker{root: root}
	return c.schema(root)
}

var propertyName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// checker holds schemas against the meta-schema of the 2020-12 draft.
type checker struct {
	root   any
	output bool // that of an answer, which has fewer keywords
	within int
	// counts of an answer's schema
	optional, unions int
}

func (c *checker) schema(v any) error {
	if _, ok := v.(bool); ok && !c.output {
		return nil
	}
	s, ok := v.(object)
	if !ok {
		return invalid("%v is not a schema", v)
	}
	if c.within++; c.within > 200 {
		return errors.New(": nested too deeply")
	}
	defer func() { c.within-- }()
	for name, value := range s {
		if err := c.keyword(name, value); err != nil {
			return fmt.Errorf(".%s%w", name, err)
		}
	}
	if c.output {
		return c.closed(s)
	}
	return nil
}

func (c *checker) keyword(name string, value any) error {
	ok := true
	switch name {
	case "title", "description", "pattern", "format", "$comment", "contentEncoding", "contentMediaType", "$schema", "$id", "$anchor":
		_, ok = value.(string)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		n, isNumber := value.(json.Number)
		f, err := n.Float64()
		ok = isNumber && err == nil && !math.IsInf(f, 0)
	case "minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties":
		n, _ := value.(json.Number)
		count, err := n.Int64()
		ok = err == nil && count >= 0
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		_, ok = value.(bool)
	case "type":
		ok = isType(value)
	case "enum", "examples":
		_, ok = value.([]any)
	case "required":
		ok = isNames(value)
	case "items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties", "contentSchema":
		if c.output && name == "additionalProperties" {
			ok = value == false
			break
		}
		return c.schema(value)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return c.list(value)
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return c.named(name, value)
	case "$ref":
		text, isText := value.(string)
		ok = isText && c.leads(text)
	}
	if !ok {
		return invalid("%s: %v", name, value)
	}
	return nil
}

func (c *checker) list(value any) error {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return invalid("no list of schemas")
	}
	for _, v := range list {
		if err := c.schema(v); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) named(word string, value any) error {
	all, ok := value.(object)
	if !ok {
		return invalid("no object of schemas")
	}
	for name, v := range all {
		if word == "properties" && !propertyName.MatchString(name) {
			return refusal(": Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'")
		}
		if err := c.schema(v); err != nil {
			return fmt.Errorf(".%s%w", name, err)
		}
	}
	return nil
}

// leads reports whether a JSON pointer leads somewhere.
func (c *checker) leads(ref string) bool {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return false
	}
	at := c.root
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch v := at.(type) {
		case object:
			if at, ok = v[step]; !ok {
				return false
			}
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i < 0 || i >= len(v) {
				return false
			}
			at = v[i]
		default:
			return false
		}
	}
	return true
}

func isType(value any) bool {
	all, several := value.([]any)
	if !several {
		all = []any{value}
	}
	for i, t := range all {
		name, _ := t.(string)
		if !slices.Contains(strings.Fields("string number integer boolean object array null"), name) || slices.Contains(all[:i], t) {
			return false
		}
	}
	return len(all) > 0
}

func isNames(value any) bool {
	all, ok := value.([]any)
	for i, n := range all {
		if _, isText := n.(string); !isText || slices.Contains(all[:i], n) {
			return false
		}
	}
	return ok
}

// CheckOutput holds the schema of an answer against the rules on structured outputs.
func CheckOutput(raw []byte) error {
	var v any
	if err := decode(raw, &v); err != nil {
		return err
	}
	c := &checker{root: v, output: true}
	if err := c.schema(v); err != nil {
		return err
	}
	if c.optional > 24 || c.unions > 16 {
		return errors.New(": Schema is too complex")
	}
	return nil
}

// outputWords are the keywords that a schema of an answer may hold.
var outputWords = strings.Fields("type title description properties required additionalProperties items minItems enum const anyOf format")

var outputFormats = strings.Fields("date-time time date duration email hostname uri ipv4 ipv6 uuid")

func (c *checker) closed(s object) error {
	for name := range s {
		if !slices.Contains(outputWords, name) {
			return refusal(": For '%v' type, property '%s' is not supported", s["type"], name)
		}
	}
	_, many := s["type"].([]any)
	_, either := s["anyOf"]
	if many || either {
		c.unions++
	}
	if s["type"] == nil && s["anyOf"] == nil && s["enum"] == nil && !has(s, "const") {
		return errors.New(": Schema must have a type")
	}
	if f, ok := s["format"].(string); ok && !slices.Contains(outputFormats, f) {
		return refusal(".format: '%s' is not supported", f)
	}
	if n, ok := s["minItems"].(json.Number); ok && n != "0" && n != "1" {
		return refusal(".minItems: values other than 0 or 1 are not supported")
	}
	if list, _ := s["enum"].([]any); slices.ContainsFunc(list, func(v any) bool {
		_, isObject := v.(object)
		_, isList := v.([]any)
		return isObject || isList
	}) {
		return errors.New(".enum: only plain values are supported")
	}
	if s["type"] != "object" {
		return nil
	}
	if s["additionalProperties"] != false {
		return errors.New(": For 'object' type, 'additionalProperties' must be explicitly set to false")
	}
	properties, _ := s["properties"].(object)
	required, _ := s["required"].([]any)
	for _, n := range required {
		if name, _ := n.(string); !has(properties, name) {
			return refusal(".required: %v is no property", n)
		}
	}
	c.optional += len(properties) - len(required)
	return nil
}

func has(s object, name string) bool { _, ok := s[name]; return ok }
