package chattest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// checkTools holds declarations against the rules.
func (m *Manner) checkTools(tools []tool) error {
	if len(tools) == 0 || len(tools) > 128 {
		return fmt.Errorf("%d tools: array too short or too long", len(tools))
	}
	seen := map[string]bool{}
	for _, t := range tools {
		switch {
		case t.Type != "function":
			return fmt.Errorf("tool of type %q", t.Type)
		case !goodName.MatchString(t.Function.Name):
			return fmt.Errorf("function name %q does not match %s", t.Function.Name, goodName)
		case m.MaxDescription > 0 && utf8.RuneCountInString(t.Function.Description) > m.MaxDescription:
			return fmt.Errorf("function %q: description too long, expected a maximum length of %d", t.Function.Name, m.MaxDescription)
		case seen[t.Function.Name]:
			return fmt.Errorf("two tools are called %q", t.Function.Name)
		}
		seen[t.Function.Name] = true
		if err := checkTop(t.Function.Parameters); err != nil {
			return fmt.Errorf("invalid schema for function %q: %w", t.Function.Name, err)
		}
	}
	return nil
}

func checkFormat(f *format, r *Request) error {
	if f.Type != "json_schema" || f.Schema == nil || !goodName.MatchString(f.Schema.Name) {
		return errors.New("response_format must be a json_schema with a name")
	}
	if err := checkTop(f.Schema.Schema); err != nil {
		return fmt.Errorf("invalid schema for response_format: %w", err)
	}
	if f.Schema.Strict != nil && *f.Schema.Strict {
		if err := checkStrict(f.Schema.Schema); err != nil {
			return fmt.Errorf("invalid schema for response_format with strict: %w", err)
		}
	}
	r.Schema = f.Schema.Schema
	return nil
}

// checkTop holds the schema of parameters or of an answer against the rules.
func checkTop(raw json.RawMessage) error {
	var top map[string]any
	if err := json.Unmarshal(raw, &top); err != nil || top == nil {
		return fmt.Errorf("%.40q is no object", raw)
	}
	if top["type"] != "object" {
		return fmt.Errorf("schema must be a JSON Schema of 'type: \"object\"', got %v", top["type"])
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "enum", "not"} {
		if _, ok := top[key]; ok {
			return fmt.Errorf("schema must not have %q at the top level", key)
		}
	}
	if _, ok := top["properties"].(map[string]any); !ok {
		return errors.New("properties is required")
	}
	return checkSchema(top, "$")
}

// checkSchema holds a schema against what all servers take: OpenAI's rules on
// arrays, the types that Ollama reads into, and what becomes a grammar in llama.cpp.
func checkSchema(v any, at string) error {
	s, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: json: cannot unmarshal %T into a schema", at, v)
	}
	for key, value := range s {
		if err := checkKeyword(key, value, at); err != nil {
			return fmt.Errorf("%s.%s: %w", at, key, err)
		}
	}
	types, err := typesOf(s["type"])
	_, isEnum := s["enum"]
	_, isEither := s["anyOf"]
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", at, err)
	case types == nil && !isEnum && !isEither:
		return fmt.Errorf("%s: unrecognized schema: no type", at)
	case slices.Contains(types, "array") && s["items"] == nil:
		return fmt.Errorf("%s: array schema missing items", at)
	}
	return checkRequired(s, at)
}

func checkRequired(s map[string]any, at string) error {
	names, _ := s["required"].([]any)
	properties, _ := s["properties"].(map[string]any)
	for i, n := range names {
		name, _ := n.(string)
		if _, ok := properties[name]; !ok {
			return fmt.Errorf("%s: required %q is not a property", at, name)
		}
		if slices.Contains(names[:i], n) {
			return fmt.Errorf("%s: required has non-unique elements", at)
		}
	}
	return nil
}

func typesOf(v any) ([]string, error) {
	known := []string{"string", "number", "integer", "boolean", "array", "object", "null"}
	list, ok := v.([]any)
	if !ok && v != nil {
		list = []any{v}
	}
	if ok && len(list) < 2 {
		return nil, errors.New("a list of types with fewer than two")
	}
	var types []string
	for _, item := range list {
		name, _ := item.(string)
		if !slices.Contains(known, name) || slices.Contains(types, name) {
			return nil, fmt.Errorf("%v is not valid under any of the given schemas", item)
		}
		types = append(types, name)
	}
	return types, nil
}

func checkKeyword(key string, value any, at string) error {
	number, isNumber := value.(float64)
	list, isList := value.([]any)
	members, isObject := value.(map[string]any)
	switch key {
	case "type":
		return nil // see checkSchema
	case "description", "format":
		said, isText := value.(string)
		if !isText || strings.ContainsAny(said, "\x00\x1b") {
			return errors.New("no clean text")
		}
	case "enum":
		if !isList || len(list) == 0 || len(list) > 500 {
			return errors.New("not a list of 1 to 500 values")
		}
	case "required":
		if !isList || len(list) == 0 {
			return errors.New("not a list of names")
		}
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		if !isNumber || number > 1<<53 || number < -1<<53 {
			return errors.New("no number of a usual size")
		}
	case "minItems", "maxItems":
		if !isNumber || number < 0 || number > 1000 || number != float64(int(number)) {
			return errors.New("the repetitions exceed sane defaults")
		}
	case "properties":
		if !isObject {
			return errors.New("not an object")
		}
		for name, p := range members {
			if err := checkSchema(p, at+"."+name); err != nil {
				return err
			}
		}
	case "additionalProperties":
		if _, isBool := value.(bool); !isBool {
			return checkSchema(value, at+"."+key)
		}
	case "items":
		return checkSchema(value, at+"."+key)
	case "anyOf":
		if !isList || len(list) == 0 {
			return errors.New("not a list of schemas")
		}
		for i, item := range list {
			if err := checkSchema(item, fmt.Sprintf("%s.%s[%d]", at, key, i)); err != nil {
				return err
			}
		}
	default:
		return errors.New("a keyword that not all servers take")
	}
	return nil
}

// checkStrict holds a schema against OpenAI's rules for strict.
func checkStrict(raw json.RawMessage) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	var walk func(v any) error
	walk = func(v any) error {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				if err := walk(item); err != nil {
					return err
				}
			}
		case map[string]any:
			types, _ := typesOf(v["type"])
			properties, _ := v["properties"].(map[string]any)
			required, _ := v["required"].([]any)
			if slices.Contains(types, "object") && (v["additionalProperties"] != false || len(required) != len(properties)) {
				return errors.New("additionalProperties must be false and all properties required")
			}
			for _, item := range v {
				if err := walk(item); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return walk(v)
}
