package geminitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/genai"
)

// refusal is what the service says, in its own words.
type refusal string

// Error implements error.
func (r refusal) Error() string { return string(r) }

// rawContent is a content whose parts are still to be checked for having data:
// an empty text is data, no text is none.
type rawContent struct {
	Role  string            `json:"role"`
	Parts []json.RawMessage `json:"parts"`
}

func (r rawContent) content() (*genai.Content, error) {
	if r.Role != genai.RoleUser && r.Role != genai.RoleModel {
		return nil, refusal("Please use a valid role: user, model.")
	}
	if len(r.Parts) == 0 {
		return nil, errors.New("must include at least one parts field")
	}
	c := &genai.Content{Role: r.Role}
	for i, raw := range r.Parts {
		var fields map[string]json.RawMessage
		p := &genai.Part{}
		if err := errors.Join(json.Unmarshal(raw, &fields), decode(raw, p)); err != nil {
			return nil, fmt.Errorf("parts[%d]: %w", i, err)
		}
		data := 0
		for _, name := range []string{"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"} {
			if _, ok := fields[name]; ok {
				data++
			}
		}
		if data != 1 {
			return nil, fmt.Errorf("parts[%d].data: required oneof field 'data' must have one initialized field", i)
		}
		c.Parts = append(c.Parts, p)
	}
	return c, nil
}

// checkContents holds a conversation against the rules on turns.
func checkContents(model string, contents []*genai.Content, said [][]*genai.Part) error {
	if len(contents) == 0 {
		return errors.New("contents is not specified")
	}
	for i, c := range contents {
		calls, responses := count(c)
		var before, after *genai.Content
		if i > 0 {
			before = contents[i-1]
		}
		if i+1 < len(contents) {
			after = contents[i+1]
		}
		var err error
		switch {
		case c.Role == genai.RoleModel && (before == nil || before.Role == genai.RoleModel):
			err = errors.New("a model turn must come immediately after a user turn")
		case c.Role == genai.RoleModel && after == nil:
			err = errors.New("the request must end with a user turn")
		case c.Role == genai.RoleModel && responses > 0, c.Role == genai.RoleUser && calls > 0:
			err = errors.New("a function call belongs to the model, a function response to the user")
		case c.Role == genai.RoleModel:
			if err = checkSaid(c, said); err == nil && calls > 0 {
				err = checkResponses(c, after)
			}
		case responses > 0:
			err = checkResponseTurn(model, before, c)
		default:
			err = checkMedia(c)
		}
		if err != nil {
			return fmt.Errorf("contents[%d]: %w", i, err)
		}
	}
	return nil
}

func count(c *genai.Content) (calls, responses int) {
	for _, p := range c.Parts {
		if p.FunctionCall != nil {
			calls++
		}
		if p.FunctionResponse != nil {
			responses++
		}
	}
	return calls, responses
}

// checkSaid holds a model turn against what the model has said: with calls it
// must be that, part for part; its signatures must be known in any case.
func checkSaid(c *genai.Content, said [][]*genai.Part) error {
	if calls, _ := count(c); calls > 0 {
		is := normal(c.Parts)
		if slices.ContainsFunc(said, func(s []*genai.Part) bool { return equal(s, is) }) {
			return nil
		}
		if slices.ContainsFunc(said, func(s []*genai.Part) bool { return equal(unsigned(s), unsigned(is)) }) {
			return refusal("Function call is missing a thought_signature in functionCall parts, or has another one")
		}
		return errors.New("the function calls are not the ones that the model made, or not in its order")
	}
	for _, p := range c.Parts {
		if len(p.ThoughtSignature) > 0 && !slices.ContainsFunc(slices.Concat(said...), func(s *genai.Part) bool {
			return string(s.ThoughtSignature) == string(p.ThoughtSignature) && s.Text == p.Text
		}) {
			return refusal("Corrupted thought signature.")
		}
	}
	return nil
}

// checkResponses holds the turn after function calls against them.
func checkResponses(calls, next *genai.Content) error {
	var called, answered []string
	for _, p := range calls.Parts {
		if p.FunctionCall != nil {
			called = append(called, p.FunctionCall.Name+" "+p.FunctionCall.ID)
		}
	}
	for _, p := range next.Parts {
		if p.FunctionResponse != nil {
			answered = append(answered, p.FunctionResponse.Name+" "+p.FunctionResponse.ID)
		}
	}
	if len(called) != len(answered) {
		return refusal(fmt.Sprintf("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn (%d calls, %d responses).", len(called), len(answered)))
	}
	slices.Sort(called)
	slices.Sort(answered)
	if !slices.Equal(called, answered) {
		return fmt.Errorf("the responses are to %v, the calls were %v", answered, called)
	}
	return nil
}

// Media that the service reads.
var (
	responseMedia = regexp.MustCompile(`^(image/(png|jpeg|webp)|application/pdf|text/plain)$`)
	inputMedia    = regexp.MustCompile(`^(image/(png|jpeg|webp|heic|heif)|application/pdf|(text|audio|video)/[a-z0-9.+-]+)$`)
	oldModel      = regexp.MustCompile(`^gemini-[12]`)
)

// checkResponseTurn holds a turn with function responses against the rules on
// what it may hold.
func checkResponseTurn(model string, before, c *genai.Content) error {
	if before == nil {
		return errors.New("a function response without a call")
	}
	if calls, _ := count(before); calls == 0 {
		return errors.New("a function response turn must come immediately after a function call turn")
	}
	for _, p := range c.Parts {
		r := p.FunctionResponse
		if r == nil {
			if p.InlineData == nil {
				return errors.New("function responses cannot share a turn with other parts than their images")
			}
			continue
		}
		if len(r.Parts) > 0 && oldModel.MatchString(model) {
			return errors.New("multimodal function responses are not supported by this model")
		}
		var names []string
		for _, media := range r.Parts {
			if media.InlineData == nil || !responseMedia.MatchString(media.InlineData.MIMEType) {
				return errors.New("unsupported MIME type in a function response")
			}
			names = append(names, media.InlineData.DisplayName)
		}
		for _, ref := range refs(r.Response) {
			if !slices.Contains(names, ref) {
				return refusal(fmt.Sprintf("The referenced name `%s` in function_response.response does not match to a display_name in the function_response.parts.", ref))
			}
		}
	}
	return checkMedia(c)
}

func checkMedia(c *genai.Content) error {
	for _, p := range c.Parts {
		if p.InlineData != nil && !inputMedia.MatchString(p.InlineData.MIMEType) {
			return refusal(fmt.Sprintf("Unsupported MIME type: %s", p.InlineData.MIMEType))
		}
	}
	return nil
}

// refs lists the values of the keys $ref in a value.
func refs(v any) []string {
	var found []string
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if s, ok := value.(string); ok && key == "$ref" {
				found = append(found, s)
			}
			found = append(found, refs(value)...)
		}
	case []any:
		for _, value := range v {
			found = append(found, refs(value)...)
		}
	}
	return found
}

// normal is what must come back of parts: text that was streamed in pieces is
// one, empty parts and thoughts without a signature may be missing.
func normal(parts []*genai.Part) []*genai.Part {
	var out []*genai.Part
	open := false
	for _, p := range parts {
		plain := len(p.ThoughtSignature) == 0 && p.FunctionCall == nil && p.InlineData == nil && p.ExecutableCode == nil && p.CodeExecutionResult == nil
		switch {
		case plain && (p.Thought || p.Text == ""):
		case plain && open:
			joined := *out[len(out)-1]
			joined.Text += p.Text
			out[len(out)-1] = &joined
		default:
			out = append(out, p)
			open = plain
		}
	}
	return out
}

func unsigned(parts []*genai.Part) []*genai.Part {
	var out []*genai.Part
	for _, p := range parts {
		bare := *p
		bare.ThoughtSignature = nil
		out = append(out, &bare)
	}
	return normal(out)
}

func equal(a, b []*genai.Part) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

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

// checkSchema refuses what the API's documentation does not list. References
// are refused altogether; the service takes some of them.
func checkSchema(v any) error {
	s, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf(": %v is not a schema", v)
	}
	for key, value := range s {
		var err error
		switch key {
		case "title", "description", "format":
			_, ok = value.(string)
		case "minimum", "maximum", "minItems", "maxItems":
			_, ok = value.(json.Number)
		case "type":
			ok = isType(value)
		case "enum":
			ok, err = true, checkEnum(value)
		case "required":
			ok, err = true, checkRequired(s)
		case "propertyOrdering":
			ok, err = true, checkOrdering(s)
		case "properties":
			var all map[string]any
			all, ok = value.(map[string]any)
			for name, p := range all {
				if err = checkSchema(p); err != nil {
					err = fmt.Errorf(".%s%w", name, err)
					break
				}
			}
		case "additionalProperties":
			if _, ok = value.(bool); !ok {
				ok, err = true, checkSchema(value)
			}
		case "items":
			ok, err = true, checkSchema(value)
		case "prefixItems", "anyOf", "oneOf":
			var all []any
			all, ok = value.([]any)
			for _, p := range all {
				if err = checkSchema(p); err != nil {
					break
				}
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
	}
	return nil
}

func isType(value any) bool {
	all, several := value.([]any)
	if !several {
		all = []any{value}
	}
	for _, t := range all {
		name, _ := t.(string)
		if !slices.Contains(strings.Fields("string number integer boolean object array null"), name) {
			return false
		}
	}
	return len(all) > 0
}

func checkEnum(value any) error {
	all, _ := value.([]any)
	for _, v := range all {
		switch v.(type) {
		case string, json.Number:
		default:
			return fmt.Errorf(": invalid value %v", v)
		}
	}
	if len(all) == 0 {
		return errors.New(": must not be empty")
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
