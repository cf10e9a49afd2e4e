package configfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Object is an entry before it is written in a file's format. Its members stand
// in order.
type Object []Member

// Member is a key and its value: a string, an int, a bool, a []string or an
// [Object].
type Member struct {
	Key   string
	Value any
}

// Add appends a member, unless its key or value is empty.
func (o *Object) Add(key string, value any) {
	empty := key == ""
	switch v := value.(type) {
	case string:
		empty = empty || v == ""
	case int:
		empty = empty || v == 0
	case []string:
		empty = empty || len(v) == 0
	case Object:
		empty = empty || len(v) == 0
	}
	if !empty {
		*o = append(*o, Member{key, value})
	}
}

// style is how lines are broken and indented. An empty unit puts all on one
// line.
type style struct{ newline, unit string }

// styleOf takes over what a text has; unit is what it is indented by.
func styleOf(text, unit string) style {
	if i := strings.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return style{"\r\n", unit}
	}
	return style{"\n", unit}
}

// quoted is a string as JSON has it, which YAML takes too.
func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can always be written
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

// scalar writes what is neither an object nor absent; lists stand on one line.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return quoted(v)
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = quoted(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprintf("%v", v)
}

// json writes an object whose closing brace is indented by indent.
func (o Object) json(indent string, st style) string {
	between, first, last := ","+st.newline+indent+st.unit, st.newline+indent+st.unit, st.newline+indent
	if st.unit == "" {
		between, first, last = ", ", "", ""
	}
	var b strings.Builder
	b.WriteString("{")
	for i, m := range o {
		if i == 0 {
			b.WriteString(first)
		} else {
			b.WriteString(between)
		}
		b.WriteString(quoted(m.Key) + ": ")
		if inner, ok := m.Value.(Object); ok {
			b.WriteString(inner.json(indent+st.unit, st))
		} else {
			b.WriteString(scalar(m.Value))
		}
	}
	if len(o) == 0 {
		last = ""
	}
	return b.String() + last + "}"
}

// toml writes an object as the lines of a table; objects in it are inline tables.
func (o Object) toml(newline string) string {
	var b strings.Builder
	for _, m := range o {
		b.WriteString(tomlKey(m.Key) + " = " + tomlValue(m.Value) + newline)
	}
	return b.String()
}

func tomlValue(v any) string {
	o, ok := v.(Object)
	if !ok {
		return scalar(v)
	}
	parts := make([]string, len(o))
	for i, m := range o {
		parts[i] = tomlKey(m.Key) + " = " + tomlValue(m.Value)
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// tomlKey quotes a key that is not bare (toml.io, Keys).
func tomlKey(key string) string {
	bare := key != ""
	for _, r := range key {
		bare = bare && (r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	}
	if bare {
		return key
	}
	return quoted(key)
}

// yaml writes an object as lines, the first of which begins with first and the
// others with indent.
func (o Object) yaml(first, indent, newline string) string {
	var b strings.Builder
	for _, m := range o {
		b.WriteString(first + yamlKey(m.Key) + ":")
		if inner, ok := m.Value.(Object); ok {
			b.WriteString(newline + inner.yaml(indent+"  ", indent+"  ", newline))
		} else {
			b.WriteString(" " + scalar(m.Value) + newline)
		}
		first = indent
	}
	return b.String()
}

// yamlKey quotes a key that YAML 1.1 or 1.2 may not take for a string.
func yamlKey(key string) string {
	switch strings.ToLower(key) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return quoted(key)
	}
	if key != tomlKey(key) || strings.ContainsRune("-0123456789", rune(key[0])) {
		return quoted(key)
	}
	return key
}
