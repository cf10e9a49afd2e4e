package byhand

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// parameterLines describes the properties of an object's schema, in their order:
// name, type, whether it has to be there, and the first line of its description.
func parameterLines(schema json.RawMessage) []string {
	var object struct {
		Properties json.RawMessage
		Required   []string
	}
	if json.Unmarshal(schema, &object) != nil || len(object.Properties) == 0 {
		return nil
	}
	var lines []string
	d := json.NewDecoder(bytes.NewReader(object.Properties))
	if _, err := d.Token(); err != nil { // the brace
		return nil
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return lines
		}
		var property json.RawMessage
		if d.Decode(&property) != nil {
			return lines
		}
		name := fmt.Sprint(key)
		lines = append(lines, describe(name, property, slices.Contains(object.Required, name)))
	}
	return lines
}

func describe(name string, schema json.RawMessage, required bool) string {
	var p struct {
		Type        any
		Description string
		Enum        []json.RawMessage
	}
	_ = json.Unmarshal(schema, &p) // true and false are schemas too, of which there is nothing to say
	text := name
	if kind := typeName(p.Type); kind != "" {
		text += ": " + kind
	}
	if !required {
		text += ", optional"
	}
	if n := len(p.Enum); n > 0 && n <= 12 {
		text += ", one of " + string(bytes.Join(toBytes(p.Enum), []byte(" ")))
	}
	if first, _, _ := strings.Cut(p.Description, "\n"); first != "" {
		text += ". " + first
	}
	return text
}

func typeName(kind any) string {
	switch kind := kind.(type) {
	case string:
		return kind
	case []any:
		var names []string
		for _, one := range kind {
			names = append(names, fmt.Sprint(one))
		}
		return strings.Join(names, " or ")
	}
	return ""
}

func toBytes(raw []json.RawMessage) [][]byte {
	all := make([][]byte, len(raw))
	for i := range raw {
		all[i] = raw[i]
	}
	return all
}
