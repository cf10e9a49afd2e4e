// Package mirror repeats parts of a request in HTTP headers, as MCP 2026-07-28 wants
// it: its method, its name, and the arguments that a tool's schema marks with
// x-mcp-header (basic/transports/streamable-http, "Request Metadata").
//
// Start with [Headers].
package mirror

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

// Headers that repeat parts of a request (basic/transports/streamable-http,
// "Request Metadata").
const (
	headerMethod = "Mcp-Method"
	headerName   = "Mcp-Name"
	headerParam  = "Mcp-Param-"
)

// mirrorKey marks a property of a schema that is repeated in a header.
const mirrorKey = "x-mcp-header"

// maxExact is the largest integer that every reader of JSON takes for the same.
const maxExact = 1<<53 - 1

// Headers gives the headers of a request: those in base, and those that repeat parts
// of it. Params are the request's, without _meta; schema is that of the tool which
// it calls, nil for none.
func Headers(base http.Header, method string, params map[string]any, schema json.RawMessage) http.Header {
	h := base.Clone()
	if h == nil {
		h = make(http.Header, 2)
	}
	h.Set(headerMethod, method)
	field := ""
	switch method {
	case rpc.CallTool, "prompts/get":
		field = "name"
	case "resources/read":
		field = "uri"
	case "tasks/get", "tasks/update", "tasks/cancel":
		field = "taskId"
	}
	if name, ok := params[field].(string); ok {
		h.Set(headerName, headerValue(name))
	}
	if method == rpc.CallTool && len(schema) > 0 {
		addMirrors(h, schema, params["arguments"])
	}
	return h
}

// Check says which rule a tool's schema breaks ("Schema Extension"); such a tool must
// not be used.
func Check(schema json.RawMessage) error {
	_, err := mirrorsOf(schema)
	return err
}

// headerValue writes a value so that it can stand in a header ("Value Encoding").
func headerValue(v string) string {
	plain := strings.Trim(v, " \t") == v && (!strings.HasPrefix(v, "=?base64?") || !strings.HasSuffix(v, "?="))
	for i := 0; i < len(v) && plain; i++ {
		plain = v[i] >= 0x20 && v[i] <= 0x7e
	}
	if plain {
		return v
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(v)) + "?="
}

// addMirrors adds the headers that repeat arguments of a call. An argument that is
// not there, or not what its schema says, has none.
func addMirrors(h http.Header, schema json.RawMessage, arguments any) {
	mirrors, err := mirrorsOf(schema)
	if err != nil || len(mirrors) == 0 {
		return
	}
	raw, err := json.Marshal(arguments)
	if err != nil {
		return // and the call says so
	}
	args, _ := decode(raw)
	for _, m := range mirrors {
		if text, ok := textOf(at(args, m.path)); ok {
			h.Set(headerParam+m.header, headerValue(text))
		}
	}
}

// decode reads JSON and keeps numbers as they are written.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// at gives what lies in v on a path; nil for nothing.
func at(v any, path []string) any {
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

// textOf writes a value as the text that a header has.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		f, err := v.Float64()
		if err != nil || f > maxExact || f < -maxExact || f != float64(int64(f)) {
			return "", false
		}
		return strconv.FormatInt(int64(f), 10), true
	}
	return "", false
}

// mirror is an argument that is repeated in a header.
type mirror struct {
	path   []string
	header string
}

// mirrorsOf finds what a schema has repeated in headers. The error is a rule that it
// breaks ("Schema Extension"); such a tool must not be used.
func mirrorsOf(schema json.RawMessage) ([]mirror, error) {
	if !bytes.Contains(schema, []byte(mirrorKey)) {
		return nil, nil
	}
	root, err := decode(schema)
	if err != nil {
		return nil, err
	}
	var found []mirror
	err = findMirrors(root, []string{}, &found)
	return found, err
}

// findMirrors collects what is repeated in headers in a schema and all below it.
// The path leads to it over properties; it is nil where something else leads there.
func findMirrors(schema any, path []string, found *[]mirror) error {
	switch schema := schema.(type) {
	case []any:
		for _, s := range schema {
			if err := findMirrors(s, nil, found); err != nil {
				return err
			}
		}
	case map[string]any:
		if header, ok := schema[mirrorKey]; ok {
			if err := addMirror(schema, header, path, found); err != nil {
				return err
			}
		}
		for _, key := range slices.Sorted(maps.Keys(schema)) {
			if err := findBelow(key, schema[key], path, found); err != nil {
				return err
			}
		}
	}
	return nil
}

// findBelow looks into one keyword of a schema.
func findBelow(key string, value any, path []string, found *[]mirror) error {
	switch key {
	case "default", "const", "enum", "examples", mirrorKey: // data, no schemas
		return nil
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		schemas, _ := value.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(schemas)) {
			var below []string
			if path != nil && key == "properties" {
				below = append(slices.Clone(path), name)
			}
			if err := findMirrors(schemas[name], below, found); err != nil {
				return err
			}
		}
		return nil
	}
	return findMirrors(value, nil, found)
}

func addMirror(schema map[string]any, value any, path []string, found *[]mirror) error {
	header, ok := value.(string)
	switch {
	case len(path) == 0:
		return fmt.Errorf("its inputSchema has an %s that no chain of properties leads to", mirrorKey)
	case !ok || header == "" || strings.ContainsFunc(header, notToken):
		return fmt.Errorf("the %s of its argument %s is no name of a header", mirrorKey, strings.Join(path, "."))
	case !isPrimitive(schema["type"]):
		return fmt.Errorf("its argument %s has an %s, but is not of type string, integer or boolean", strings.Join(path, "."), mirrorKey)
	case slices.ContainsFunc(*found, func(m mirror) bool { return strings.EqualFold(m.header, header) }):
		return fmt.Errorf("two of its arguments have the %s %q", mirrorKey, header)
	}
	*found = append(*found, mirror{path, header})
	return nil
}

// notToken reports whether a rune cannot be part of a header's name (RFC 9110,
// section 5.6.2).
func notToken(r rune) bool {
	letter := r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// isPrimitive reports whether a schema's type can be repeated in a header. Null
// stands for no value.
func isPrimitive(kind any) bool {
	kinds, ok := kind.([]any)
	if !ok {
		kinds = []any{kind}
	}
	return len(kinds) > 0 && !slices.ContainsFunc(kinds, func(k any) bool {
		return k != "string" && k != "integer" && k != "boolean" && (k != "null" || len(kinds) == 1)
	})
}
