package listing

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
)

func list(names ...string) []protocol.Tool {
	tools := make([]protocol.Tool, len(names))
	for i, name := range names {
		tools[i] = protocol.Tool{Name: name, Description: "does " + name}
	}
	return tools
}

// namesOf gives the names that are shown for tools that are listed.
func namesOf(entries []Entry) map[string]string {
	names := map[string]string{}
	for _, e := range entries {
		names[e.Tool.Name] = e.Spec.Name
	}
	return names
}

func TestFilter(t *testing.T) {
	for name, tt := range map[string]struct {
		rules    Rules
		want     []string
		warnings []string
	}{
		"everything":    {Rules{}, []string{"read_file", "write_file", "list"}, nil},
		"include":       {Rules{Include: []string{"*_file"}}, []string{"read_file", "write_file"}, nil},
		"exclude":       {Rules{Exclude: []string{"write*"}}, []string{"read_file", "list"}, nil},
		"both":          {Rules{Include: []string{"*_file"}, Exclude: []string{"write*"}}, []string{"read_file"}, nil},
		"prefix":        {Rules{Include: []string{"list"}, Prefix: "fs"}, []string{"fs_list"}, nil},
		"no match":      {Rules{Include: []string{"getTinyImage", "list"}, Exclude: []string{"x*"}}, []string{"list"}, []string{`"getTinyImage" matches no tool of the server`, `"x*" matches no tool of the server`}},
		"shown name":    {Rules{Include: []string{"fs_list"}, Prefix: "fs"}, nil, []string{`"fs_list" matches no tool of the server`}},
		"refused":       {Rules{Refuse: func(t *protocol.Tool) string { return map[string]string{"list": "it has changed"}[t.Name] }}, []string{"read_file", "write_file"}, []string{"the tool list is left out: it has changed"}},
		"a name of our": {Rules{Include: []string{"list"}, Taken: []string{"list"}}, nil, []string{"the tool list is left out: another one has its name"}},
	} {
		t.Run(name, func(t *testing.T) {
			entries, warnings := Apply(list("read_file", "write_file", "list"), &tt.rules)
			var got []string
			for _, e := range entries {
				got = append(got, e.Spec.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.warnings, warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 80)
	tools := []string{"a.b", "a_b", "a/b", "2d", "été", "ok-1", "files.read", "tool_search", "", long, long + "y"}
	entries, warnings := Apply(list(tools...), &Rules{})
	got := namesOf(entries)
	for original, want := range map[string]string{"a_b": "a_b", "2d": "t_2d", "été": "_t_", "ok-1": "ok-1", "files.read": "files_read"} {
		if original == "été" {
			want = "t__t_"
		}
		if got[original] != want {
			t.Errorf("%s is shown as %s, want %s", original, got[original], want)
		}
	}
	valid := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)
	seen := map[string]bool{}
	for original, name := range got {
		if !valid.MatchString(name) || seen[name] {
			t.Errorf("%q is shown as %q", original, name)
		}
		seen[name] = true
	}
	if len(got) != len(tools)-1 || len(warnings) != 1 || !strings.Contains(warnings[0], "tool_search is left out: the name tool_search is reserved") {
		t.Errorf("%d names, %v", len(got), warnings)
	}
	if !strings.HasPrefix(got["a.b"], "a_b_") || !strings.HasPrefix(got["a/b"], "a_b_") {
		t.Errorf("names that fall together: %s, %s", got["a.b"], got["a/b"])
	}
	slices.Reverse(tools)
	reversed, _ := Apply(list(tools...), &Rules{})
	if diff := cmp.Diff(got, namesOf(reversed)); diff != "" {
		t.Errorf("the names depend on the order: %s", diff)
	}
	twice, warnings := Apply(list("a", "a"), &Rules{})
	if len(twice) != 1 || len(warnings) != 1 {
		t.Errorf("%v, %v", twice, warnings)
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\r\nnext\n":                      "plain\ttext\nnext\n",
		"a\u200bb\u202ec\u2066d\ufeff\u00ad":         "abcd",
		"x\U000E0048\U000E0049\U000E0000\U000E01EFy": "xy", // tags and variation selectors
		"\x00\x1b[31mred\x7f":                        "[31mred",
		"\u3164\u115f\u034f\ufe0f!":                  "!",
		"a\u2028b\rc":                                "a\nb\nc",
		"bad\xff":                                    "bad\ufffd",
		"Grüße, 世界 🎲":                                "Grüße, 世界 🎲",
	} {
		if got := Clean(in, 100); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := Clean(strings.Repeat("ü", 100), 20); len(got) > 20 || !utf8.ValidString(got) || !strings.HasSuffix(got, "ü…") {
		t.Errorf("cut: %q", got)
	}
}

func TestSpec(t *testing.T) {
	yes := true
	tools := []protocol.Tool{
		{Name: "a", Title: "Title\u202e", InputSchema: json.RawMessage(`{"type":"object","properties":{}}`),
			Annotations: map[string]any{"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}},
		{Name: "b", Description: strings.Repeat("d", 5000), Annotations: map[string]any{"title": "t", "readOnlyHint": "true"}},
		{Name: "c", Description: "\u200b ", Annotations: map[string]any{"title": "From annotations"}},
	}
	entries, warnings := Apply(tools, &Rules{})
	if len(entries) != 3 || warnings != nil {
		t.Fatalf("%v, %v", entries, warnings)
	}
	a, b, c := entries[0].Spec, entries[1].Spec, entries[2].Spec
	if a.Description != "Title" || a.Hints != (agent.Hints{ReadOnly: true, NonDestructive: true, Idempotent: true, ClosedWorld: true}) || a.Annotations["readOnlyHint"] != true {
		t.Errorf("%+v", a)
	}
	if len(b.Description) > maxDescription || !strings.HasPrefix(b.Description, "ddd") || b.Hints != (agent.Hints{}) {
		t.Errorf("%d bytes, %+v", len(b.Description), b.Hints)
	}
	if c.Description != "From annotations" {
		t.Errorf("%q", c.Description)
	}
	entries, _ = Apply(tools[1:2], &Rules{Idempotent: &yes})
	if !entries[0].Spec.Hints.Idempotent {
		t.Error("the lever idempotent does nothing")
	}
}

// TestRepeatedNames: what is approved must be what a model reads, whichever of two
// values its provider takes.
func TestRepeatedNames(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"object","properties":{"x":{"description":"EVIL","description":"fine"}}}`:            `names "description" twice`,
		`{"type":"object","properties":{},"properties":{"y":{}}}`:                                     `names "properties" twice`,
		`{"type":"object","properties":{},"anyOf":[{"a":1,"\u0061":2}]}`:                              `names "a" twice`,
		`{"type":"object","properties":{"a":{"properties":{"a":{}}},"b":{"enum":[{"c":1},{"c":2}]}}}`: "",
	} {
		if _, err := Parameters(json.RawMessage(in)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
}

func TestParameters(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"as it came":      {`{"type":"object","properties":{"b":{"maximum":1.50},"a":{}},"x-mcp-header":1}`, `{"type":"object","properties":{"b":{"maximum":1.50},"a":{}},"x-mcp-header":1}`},
		"none":            {``, noParameters},
		"null":            {` null `, noParameters},
		"empty":           {`{ }`, `{"type":"object","properties":{}}`},
		"no type":         {`{"properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`},
		"no properties":   {`{"type":"object"}`, `{"properties":{},"type":"object"}`},
		"draft-07":        {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/definitions/n"}},"definitions":{"n":{"type":"integer"}}}`, ``},
		"draft-04":        {`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`, ``},
		"hidden text":     {`{"type":"object","properties":{"a":{"description":"x\u200by","enum":["\u200b"]}}}`, "{\"properties\":{\"a\":{\"description\":\"xy\",\"enum\":[\"\u200b\"]}},\"type\":\"object\"}"},
		"a property":      {`{"type":"object","properties":{"description":{"type":"string","title":"\u202e!"}}}`, `{"properties":{"description":{"title":"!","type":"string"}},"type":"object"}`},
		"harmless escape": {`{"type":"object","properties":{"a":{"description":"\u00fc"}}}`, ``},
		"looking ahead":   {`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!x)"},"b":{"pattern":"^y$"}},"patternProperties":{"(?=z)":{}}}`, `{"patternProperties":{},"properties":{"a":{"type":"string"},"b":{"pattern":"^y$"}},"type":"object"}`},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.want == "" && name != "none" {
				tt.want = tt.in
			}
			got, err := Parameters(json.RawMessage(tt.in))
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	long := fmt.Sprintf(`{"type":"object","properties":{"a":{"description":%q}}}`, strings.Repeat("x", 10_000))
	if got, err := Parameters(json.RawMessage(long)); err != nil || len(got) > maxDescription+200 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestSchemasThatCannotBeUsed: one bad tool costs nothing but itself.
func TestSchemasThatCannotBeUsed(t *testing.T) {
	bad := map[string]string{
		`[1]`:                 "is no JSON object",
		`{"type":"object"`:    "is no JSON object",
		`{"type":"array"}`:    "is not of type object",
		`{"type":["object"]}`: "is not of type object",
		`{"type":"object","properties":{"a":{"type":"text"}}}`:                       "cannot be used",
		`{"type":"object","properties":{"a":{"$ref":"https://example.com/x.json"}}}`: "refer to parts of itself only",
		`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`:         "refer to parts of itself only",
		`{"type":"object","properties":{"a":{"maximum":1e999999}}}`:                  "out of range",
		`{"$schema":"https://example.com/s","type":"object"}`:                        "refer to parts of itself only",
		`{"type":"object","description":"` + strings.Repeat("x", maxSchema) + `"}`:   "bytes, more than",
	}
	for schema, want := range bad {
		entries, warnings := Apply([]protocol.Tool{{Name: "bad\u202e", InputSchema: json.RawMessage(schema)}, {Name: "good"}}, &Rules{})
		if len(entries) != 1 || entries[0].Spec.Name != "good" {
			t.Errorf("%.60s: %v", schema, namesOf(entries))
		}
		if len(warnings) != 1 || !strings.HasPrefix(warnings[0], `the tool "bad\u202e" is left out: its input schema`) || !strings.Contains(warnings[0], want) {
			t.Errorf("%.60s: %v", schema, warnings)
		}
	}
}

func TestBounds(t *testing.T) {
	var many []protocol.Tool
	for i := range maxTools + 5 {
		many = append(many, protocol.Tool{Name: fmt.Sprintf("t%d", i), InputSchema: json.RawMessage(`[]`)})
	}
	entries, warnings := Apply(many, &Rules{})
	if len(entries) != 0 || len(warnings) != maxWarnings || !strings.Contains(warnings[0], "5 of them are left out") {
		t.Errorf("%d, %d warnings", len(entries), len(warnings))
	}
}
