package geminitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/genai"
)

var toolName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`)

// CheckTools holds declarations against the rules on names and schemas.
func CheckTools(tools []*genai.FunctionDeclaration) error {
	if len(tools) > 512 {
		return errors.New("at most 512 function declarations")
	}
	seen := map[string]bool{}
	for i, t := range tools {
		at := fmt.Sprintf("tools[0].function_declarations[%d]", i)
		if !toolName.MatchString(t.Name) {
			return fmt.Errorf("%s.name: Invalid function name", at)
		}
		if seen[t.Name] {
			return fmt.Errorf("%s.name: Duplicate function declaration found: %s", at, t.Name)
		}
		seen[t.Name] = true
		if t.ParametersJsonSchema == nil {
			continue
		}
		s, ok := t.ParametersJsonSchema.(map[string]any)
		if !ok || s["type"] != "object" {
			return fmt.Errorf("%s.parameters_json_schema: must describe an object", at)
		}
		if err := checkSchema(s); err != nil {
			return fmt.Errorf("%s.parameters_json_schema%w", at, err)
		}
	}
	return nil
}

// checkOutput holds the settings for the form of an answer against the rules
// on them.
func checkOutput(config map[string]any, tools bool) error {
	kind, _ := config["responseMimeType"].(string)
	schema, held := config["responseJsonSchema"]
	switch {
	case kind == "application/json" && tools: // the newest models take both
		return refusal("Function calling with a response mime type: 'application/json' is unsupported")
	case held && config["responseSchema"] != nil:
		return errors.New("only one of response_schema and response_json_schema can be set")
	case held && kind != "application/json":
		return errors.New("response_json_schema needs response_mime_type application/json")
	case held:
		return checkOutputSchema(schema)
	}
	return nil
}

func checkOutputSchema(schema any) error {
	if err := checkSchema(schema); err != nil {
		return fmt.Errorf("generation_config.response_json_schema%w", err)
	}
	return nil
}

// CheckOutput holds the schema of an answer against the rules on schemas.
func CheckOutput(raw []byte) error {
	var schema any
	if err := decode(raw, &schema); err != nil {
		return err
	}
	return checkOutputSchema(schema)
}

// checkSchema refuses what the API's documentation does not list, and what the
// service is known to refuse of it. References are refused altogether; the service
// takes some of them.
func checkSchema(v any) error {
	s, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf(": %v is not a schema", v)
	}
	for key, value := range s {
		if err := checkKeyword(s, key, value); err != nil {
			return err
		}
	}
	return checkTypes(s)
}

func checkKeyword(s map[string]any, key string, value any) error {
	ok := true
	var err error
	switch key {
	case "title", "description", "format":
		var text string
		text, ok = value.(string)
		ok = ok && !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
	case "minimum", "maximum":
		ok = isDouble(value)
	case "minItems", "maxItems":
		n, _ := value.(json.Number)
		count, isInteger := n.Int64()
		ok = isInteger == nil && count >= 0
	case "type":
		ok = isType(value)
	case "enum":
		err = checkEnum(s)
	case "required":
		err = checkRequired(s)
	case "propertyOrdering":
		err = checkOrdering(s)
	case "properties":
		err = checkProperties(value)
	case "additionalProperties":
		if _, ok = value.(bool); !ok {
			ok, err = true, checkSchema(value)
		}
	case "items":
		err = checkSchema(value)
	case "prefixItems", "anyOf", "oneOf":
		var all []any
		all, ok = value.([]any)
		ok = ok && len(all) > 0
		for _, p := range all {
			err = errors.Join(err, checkSchema(p))
		}
	default:
		return fmt.Errorf(": Unknown name %q", key)
	}
	if !ok {
		return fmt.Errorf(".%s: invalid value %v", key, value)
	}
	if err != nil {
		return fmt.Errorf(".%s%w", key, err)
	}
	return nil
}

func checkProperties(value any) error {
	all, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf(": invalid value %v", value)
	}
	for name, p := range all {
		if name == "" {
			return errors.New(": a name must not be empty")
		}
		if err := checkSchema(p); err != nil {
			return fmt.Errorf(".%s%w", name, err)
		}
	}
	return nil
}

// checkTypes holds keywords against the type that they stand with.
func checkTypes(s map[string]any) error {
	has := func(kind string) bool {
		all, several := s["type"].([]any)
		if !several {
			all = []any{s["type"]}
		}
		return slices.Contains(all, any(kind))
	}
	for _, rule := range []struct{ kind, keywords string }{
		{"object", "properties required additionalProperties propertyOrdering"}, {"array", "items prefixItems minItems maxItems"},
	} {
		for keyword := range strings.FieldsSeq(rule.keywords) {
			if _, ok := s[keyword]; ok && !has(rule.kind) {
				return refusal(fmt.Sprintf(".%s: only allowed for %s type", keyword, strings.ToUpper(rule.kind)))
			}
		}
	}
	if has("array") && s["items"] == nil && s["prefixItems"] == nil {
		return refusal(".items: missing field.")
	}
	switch s["format"] {
	case nil:
	case "date-time":
		if !has("string") && s["type"] != nil {
			return refusal(".format: only allowed for STRING type")
		}
	case "int32", "int64":
		if !has("integer") {
			return refusal(".format: only allowed for INTEGER type")
		}
	case "float", "double":
		if !has("number") {
			return refusal(".format: only allowed for NUMBER type")
		}
	default:
		return refusal(".format: only 'enum' and 'date-time' are supported for STRING type")
	}
	return nil
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

func isDouble(value any) bool {
	n, ok := value.(json.Number)
	f, err := n.Float64()
	return ok && err == nil && !math.IsInf(f, 0)
}

// checkEnum takes texts, or numbers, of the type that they stand with.
func checkEnum(s map[string]any) error {
	all, _ := s["enum"].([]any)
	types := fmt.Sprint(s["type"])
	texts := 0
	for i, v := range all {
		text, isText := v.(string)
		switch {
		case isText && text == "":
			return refusal(fmt.Sprintf("[%d]: cannot be empty", i))
		case isText && s["type"] != nil && !strings.Contains(types, "string"),
			!isText && s["type"] != nil && !strings.Contains(types, "number") && !strings.Contains(types, "integer"),
			!isText && !isDouble(v):
			return fmt.Errorf(": invalid value %v", v)
		case isText:
			texts++
		}
	}
	if len(all) == 0 || texts != 0 && texts != len(all) {
		return errors.New(": must hold texts, or numbers")
	}
	return nil
}

func checkOrdering(s map[string]any) error {
	properties, _ := s["properties"].(map[string]any)
	names, _ := s["propertyOrdering"].([]any)
	for _, n := range names {
		if name, _ := n.(string); properties[name] == nil {
			return fmt.Errorf(": %v is no property", n)
		}
	}
	if len(names) != len(properties) {
		return errors.New(": must name every property once")
	}
	return nil
}

func checkRequired(s map[string]any) error {
	properties, _ := s["properties"].(map[string]any)
	names, ok := s["required"].([]any)
	if !ok {
		return errors.New(": must be a list")
	}
	for i, n := range names {
		name, _ := n.(string)
		if _, ok := properties[name]; !ok {
			return fmt.Errorf("[%d]: property is not defined", i)
		}
	}
	return nil
}
