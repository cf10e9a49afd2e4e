package listing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
)

// maxSchema bounds a schema, in bytes: the model reads all of it at every step.
const maxSchema = 256 << 10

// noParameters is the schema of a tool that says none.
const noParameters = `{"type":"object","properties":{}}`

// Parameters gives a tool's input schema as it came, with a type and properties
// added where they are missing. It differs in two cases: texts with something
// hidden in them are cleaned, and patterns that are none in RE2, such as those
// that look ahead, are left out, since the server checks them anyway. The error
// says why the schema cannot be used.
func Parameters(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(noParameters), nil
	}
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("its input schema has %d bytes, more than %d", len(raw), maxSchema)
	}
	if name, twice := repeated(raw); twice {
		return nil, fmt.Errorf("its input schema names %q twice in one object, and readers differ in which of them counts", Clean(name, 100))
	}
	whole, err := complete(raw)
	if err != nil {
		return nil, err
	}
	if hidden(whole) {
		if whole, err = rewrite(whole, false); err != nil {
			return nil, err
		}
	}
	if compile(whole) == nil {
		return whole, nil
	}
	mended, err := rewrite(whole, true)
	if err != nil {
		return nil, err
	}
	if err := compile(mended); err != nil {
		return nil, fmt.Errorf("its input schema cannot be used: %w", err)
	}
	return mended, nil
}

// repeated finds a name that an object of a JSON value has twice.
func repeated(raw json.RawMessage) (name string, twice bool) {
	if !json.Valid(raw) {
		return "", false // which is said elsewhere
	}
	return repeatedIn(json.NewDecoder(bytes.NewReader(raw)))
}

func repeatedIn(d *json.Decoder) (name string, twice bool) {
	token, err := d.Token()
	object := token == json.Delim('{')
	if err != nil || !object && token != json.Delim('[') {
		return "", false
	}
	seen := map[string]bool{}
	for d.More() {
		if object {
			key, _ := d.Token() // a text, in what is valid
			name, _ = key.(string)
			if seen[name] {
				return name, true
			}
			seen[name] = true
		}
		if inner, twice := repeatedIn(d); twice {
			return inner, true
		}
	}
	_, _ = d.Token() // the end
	return "", false
}

func compile(schema json.RawMessage) error {
	return jsonschema.New(schema, jsonschema.Options{}).Compile()
}

// complete adds what an object schema must say.
func complete(raw json.RawMessage) (json.RawMessage, error) {
	var s map[string]json.RawMessage
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return nil, errors.New("its input schema is no JSON object")
	}
	var add []string
	switch kind, said := s["type"]; {
	case !said:
		add = append(add, `"type":"object"`)
	case string(bytes.TrimSpace(kind)) != `"object"`:
		return nil, errors.New("its input schema is not of type object")
	}
	if _, said := s["properties"]; !said {
		add = append(add, `"properties":{}`)
	}
	if len(add) == 0 {
		return raw, nil
	}
	rest := bytes.TrimSpace(raw[1:]) // behind the brace
	if rest[0] != '}' {
		add = append(add, "")
	}
	return json.RawMessage("{" + strings.Join(add, ",") + string(rest)), nil
}

// hidden reports whether a schema holds what is invisible, as it is or escaped,
// or texts that are too long.
func hidden(raw json.RawMessage) bool {
	return hides(string(raw)) || bytes.Contains(raw, []byte(`\u`)) || len(raw) > maxDescription
}

// rewrite gives a schema with its texts cleaned, and without patterns that RE2
// does not have if they stand in the way.
func rewrite(raw json.RawMessage, patterns bool) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var schema any
	if err := d.Decode(&schema); err != nil {
		return nil, fmt.Errorf("its input schema is no JSON: %w", err)
	}
	if !rewriteValue(schema, patterns) {
		return raw, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(schema); err != nil {
		return nil, fmt.Errorf("its input schema cannot be written: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// rewriteValue reports whether it has changed anything.
func rewriteValue(v any, patterns bool) (changed bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			changed = rewriteValue(e, patterns) || changed
		}
	case map[string]any:
		for key, e := range v {
			changed = rewriteKeyword(v, key, e, patterns) || changed
		}
	}
	return changed
}

// rewriteKeyword rewrites one keyword of a schema, or one property. A property
// may be called like a keyword, but then its value is no text.
func rewriteKeyword(in map[string]any, key string, value any, patterns bool) bool {
	text, isText := value.(string)
	switch key {
	case "enum", "const", "default", "examples", "required":
		if _, property := value.(map[string]any); !property {
			return false // values, which have to stay as they are
		}
	case "description", "title", "$comment":
		if clean := Clean(text, maxDescription); isText && clean != text {
			in[key] = clean
			return true
		}
	case "pattern":
		if _, err := regexp.Compile(text); patterns && isText && err != nil {
			delete(in, key)
			return true
		}
	case "patternProperties":
		return rewritePatterns(value, patterns)
	}
	return rewriteValue(value, patterns)
}

// rewritePatterns rewrites properties that are told by patterns.
func rewritePatterns(value any, patterns bool) (changed bool) {
	properties, ok := value.(map[string]any)
	for pattern, schema := range properties {
		if _, err := regexp.Compile(pattern); ok && patterns && err != nil {
			delete(properties, pattern)
			changed = true
			continue
		}
		changed = rewriteValue(schema, patterns) || changed
	}
	return changed
}
