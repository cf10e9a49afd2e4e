package configfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var kinds = map[string]Kind{
	"json": {Format: JSON, Root: []string{"mcpServers"}},
	"deep": {Format: JSON, Root: []string{"mcp", "servers"}},
	"toml": {Format: TOML, Root: []string{"mcp_servers"}},
	"map":  {Format: YAMLMap, Root: []string{"extensions"}},
	"list": {Format: YAMLList, Root: []string{"mcpServers"}, Seed: "name: adkmcp\n"},
}

func entry() Object {
	return Object{
		{"name", "new"}, // a list has it inside
		{"command", "/opt/bin/adkmcp"},
		{"args", []string{"serve", "--stdio", `C:\a "b" <é>.yaml`}},
		{"env", Object{{"GEMINI_API_KEY", "${GEMINI_API_KEY:-}"}, {"NO", "x y"}}},
		{"timeout", 630},
		{"enabled", true},
	}
}

// TestSet takes texts before and after from testdata: a file KIND_NAME.txt holds
// both, with a line ---- between them. \r, \t and \ufeff stand for themselves,
// and a backslash at the end of the last line for no line break there.
func TestSet(t *testing.T) {
	files, err := filepath.Glob("testdata/set/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			before, want, ok := strings.Cut(string(data), "----\n")
			if !ok {
				t.Fatal("no line ----")
			}
			before, want = control(before), control(want)
			kind, _, _ := strings.Cut(name, "_")
			k := kinds[kind]
			got, err := k.Set(before, "new", entry())
			if err != nil {
				got = "error: " + err.Error() + "\n"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				if os.Getenv("UPDATE") != "" {
					_ = os.WriteFile(file, []byte(visible(before)+"----\n"+visible(got)), 0o600)
				}
				t.Fatalf("-want +got\n%s", diff)
			}
			if err == nil {
				undo(t, k, before, got)
			}
		})
	}
}

func control(s string) string {
	s = strings.NewReplacer(`\r`, "\r", `\t`, "\t", `\ufeff`, "\ufeff").Replace(s)
	return strings.ReplaceAll(s, "\\\n", "")
}

func visible(s string) string {
	s = strings.NewReplacer("\r", `\r`, "\t", `\t`, "\ufeff", `\ufeff`).Replace(s)
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\\\n"
	}
	return s
}

// undo sets again, which changes nothing, and removes, which gives the text
// before, but for an empty root.
func undo(t *testing.T, k Kind, before, after string) {
	t.Helper()
	again, err := k.Set(after, "new", entry())
	if err != nil || again != after {
		t.Errorf("set twice: %v\n%s", err, cmp.Diff(after, again))
	}
	removed, err := k.Remove(after, "new")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := k.Entries(before)
	if err != nil {
		t.Fatal(err)
	}
	if _, replaced := entries["new"]; removed == before || replaced {
		return
	}
	// What is left over is an empty root, which was not there or was written
	// another way.
	if len(entries) > 0 {
		t.Errorf("removed:\n%s", cmp.Diff(before, removed))
	}
	twice, err := k.Set(removed, "new", entry())
	if err != nil || twice != after {
		t.Errorf("set after remove: %v\n%s", err, cmp.Diff(after, twice))
	}
}

// TestKeys quotes keys that would mean something else.
func TestKeys(t *testing.T) {
	for key, want := range map[string][2]string{
		"env": {"env", "env"}, "X-Team": {"X-Team", "X-Team"}, "a.b": {`"a.b"`, `"a.b"`}, "": {`""`, `""`}, "é": {`"é"`, `"é"`},
		"y": {"y", `"y"`}, "Off": {"Off", `"Off"`}, "NULL": {"NULL", `"NULL"`}, "1": {"1", `"1"`}, "-": {"-", `"-"`}, "a\x7f": {`"a\u007f"`, `"a\u007f"`},
	} {
		if got := [2]string{tomlKey(key), yamlKey(key)}; got != want {
			t.Errorf("%q: %q", key, got)
		}
	}
}

// TestRemove takes entries out that somebody else has written.
func TestRemove(t *testing.T) {
	for _, c := range []struct{ kind, before, want string }{
		{"json", `{"mcpServers": {"a": {}, // c` + "\n" + `"new": {}}}`, `{"mcpServers": {"a": {} // c` + "\n}}"},
		{"json", `{"mcpServers": { // c` + "\n" + `"new": {}}}`, `{"mcpServers": { // c` + "\n}}"},
		{"json", `{"mcpServers": { // c` + "\n" + `"new": {}, "b": {}}}`, `{"mcpServers": { // c` + "\n" + `"b": {}}}`},
		{"json", `{"mcpServers": {"new": {}, "b": {}}}`, `{"mcpServers": {"b": {}}}`},
		{"json", `{"mcpServers": {"a": {}, "new": {}, "b": {}}}`, `{"mcpServers": {"a": {}, "b": {}}}`},
		{"json", "{\"mcpServers\": {\n  // about new\n  \"new\": {}, // behind\n  \"b\": {},\n}}", "{\"mcpServers\": {\n  // about new\n  // behind\n  \"b\": {},\n}}"},
		{"json", "{\"mcpServers\": {\n  \"new\": {},\n}}", "{\"mcpServers\": {}}"},
		{"deep", `{"mcp": {"servers": {"new": {}}}}`, `{"mcp": {"servers": {}}}`},
		{"deep", `{"mcp": {}}`, `{"mcp": {}}`},
		{"toml", "[mcp_servers.new]\na = 1\n\n# b\n[mcp_servers.b]\n", "\n# b\n[mcp_servers.b]\n"},
		{"toml", "x = 1\n[[mcp_servers.new.list]]\na = 1\n[[mcp_servers.new.list]]\n[z]", "x = 1\n[z]"},
		{"map", "extensions:\n  new: {a: 1} # flow\n  # about b\n  b: {}\n", "extensions:\n  # about b\n  b: {}\n"},
		{"map", "'extensions': # here\n  \"new\":\n    a: 1\n", "'extensions': {} # here\n"},
		{"list", "mcpServers:\n- name: new\n  x: 1\n\n- name: b\n", "mcpServers:\n\n- name: b\n"},
	} {
		if got, err := kinds[c.kind].Remove(c.before, "new"); err != nil || got != c.want {
			t.Errorf("%s: %v\n%s", c.kind, err, cmp.Diff(c.want, got))
		}
	}
}
