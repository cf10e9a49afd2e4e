package mirror

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestHeaderValues has the examples of the specification and some more.
func TestHeaderValues(t *testing.T) {
	for v, want := range map[string]string{
		"us-west1": "us-west1", "": "", "a b~": "a b~", "Hello, 世界": "=?base64?SGVsbG8sIOS4lueVjA==?=", " padded ": "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2": "=?base64?bGluZTEKbGluZTI=?=", "=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "=?base64?x": "=?base64?x",
		"a\tb": "=?base64?YQli?=", "\x7f": "=?base64?fw==?=",
	} {
		if got := headerValue(v); got != want {
			t.Errorf("%q: got %s, want %s", v, got, want)
		}
	}
}

func TestMirrorRules(t *testing.T) {
	of := func(key, value string) string {
		return `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},` + fmt.Sprintf("%q:%s}}", key, value)
	}
	for name, c := range map[string]struct {
		schema string
		bad    bool
	}{
		"none":            {`{"type":"object"}`, false},
		"no schema":       {`true`, false},
		"fine":            {of("b", `{"type":"integer","x-mcp-header":"B-2"}`), false},
		"below":           {of("b", `{"properties":{"c":{"type":"boolean","x-mcp-header":"C"}}}`), false},
		"a property":      {of("x-mcp-header", `{"type":"number"}`), false},
		"data":            {of("b", `{"default":{"x-mcp-header":1},"enum":[{"x-mcp-header":1}],"const":{"x-mcp-header":1}}`), false},
		"number":          {of("b", `{"type":"number","x-mcp-header":"B"}`), true},
		"object":          {of("b", `{"type":"object","x-mcp-header":"B"}`), true},
		"array":           {of("b", `{"type":"array","x-mcp-header":"B"}`), true},
		"null only":       {of("b", `{"type":["null"],"x-mcp-header":"B"}`), true},
		"no type":         {of("b", `{"x-mcp-header":"B"}`), true},
		"mixed":           {of("b", `{"type":["string","number"],"x-mcp-header":"B"}`), true},
		"empty":           {of("b", `{"type":"string","x-mcp-header":""}`), true},
		"space":           {of("b", `{"type":"string","x-mcp-header":"B C"}`), true},
		"colon":           {of("b", `{"type":"string","x-mcp-header":"B:"}`), true},
		"line":            {of("b", `{"type":"string","x-mcp-header":"B\r\n"}`), true},
		"not ASCII":       {of("b", `{"type":"string","x-mcp-header":"Größe"}`), true},
		"no text":         {of("b", `{"type":"string","x-mcp-header":5}`), true},
		"twice":           {of("b", `{"type":"string","x-mcp-header":"a"}`), true},
		"root":            {`{"type":"string","x-mcp-header":"A"}`, true},
		"in items":        {of("b", `{"type":"array","items":{"type":"string","x-mcp-header":"B"}}`), true},
		"below items":     {of("b", `{"items":{"properties":{"c":{"type":"string","x-mcp-header":"B"}}}}`), true},
		"in a choice":     {`{"anyOf":[{"properties":{"b":{"type":"string","x-mcp-header":"B"}}}]}`, true},
		"in a condition":  {`{"if":{},"then":{"properties":{"b":{"type":"string","x-mcp-header":"B"}}}}`, true},
		"in a definition": {`{"$defs":{"d":{"type":"string","x-mcp-header":"B"}}}`, true},
		"by a pattern":    {`{"patternProperties":{"b":{"type":"string","x-mcp-header":"B"}}}`, true},
	} {
		if err := Check(json.RawMessage(c.schema)); (err != nil) != c.bad {
			t.Errorf("%s: %v", name, err)
		}
	}
}
