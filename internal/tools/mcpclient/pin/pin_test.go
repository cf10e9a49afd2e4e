package pin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
)

func tool(name, description, schema string) protocol.Tool {
	return protocol.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)}
}

func TestSum(t *testing.T) {
	first := tool("a", "does", `{"type":"object","properties":{"x":{"maximum":1.0}}}`)
	sum := func(tl protocol.Tool) string {
		t.Helper()
		s, err := Sum(&tl)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if got := sum(tool("a", "does", `{ "properties":{"x":{"maximum":1.0}}, "type":"object"}`)); got != sum(first) {
		t.Error("the order of keys and blanks matter")
	}
	changed := map[string]func(*protocol.Tool){
		"name":        func(tl *protocol.Tool) { tl.Name = "b" },
		"title":       func(tl *protocol.Tool) { tl.Title = "b" },
		"description": func(tl *protocol.Tool) { tl.Description = "does\u200b" },
		"schema":      func(tl *protocol.Tool) { tl.InputSchema = json.RawMessage(`{"type":"object"}`) },
		"number": func(tl *protocol.Tool) {
			tl.InputSchema = json.RawMessage(strings.Replace(string(tl.InputSchema), "1.0", "2", 1))
		},
		"output":     func(tl *protocol.Tool) { tl.OutputSchema = json.RawMessage(`{}`) },
		"annotation": func(tl *protocol.Tool) { tl.Annotations = map[string]any{"readOnlyHint": true} },
		"not JSON":   func(tl *protocol.Tool) { tl.InputSchema = json.RawMessage(`{`) },
	}
	for name, change := range changed {
		other := first
		change(&other)
		if sum(other) == sum(first) {
			t.Errorf("%s: the same hash", name)
		}
	}
}

func TestWriteAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins.json")
	write := func(server string, want []string, tools ...protocol.Tool) {
		t.Helper()
		changes, err := Write(path, server, tools, false)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, changes); diff != "" {
			t.Error(diff)
		}
	}
	r := NewReader(path, "files")
	if _, err := r.Approved(); err == nil {
		t.Error("a missing file approves")
	}
	a, b := tool("a", "1", `{}`), tool("b", "1", `{}`)
	write("files", []string{"added a", "added b"}, b, a)
	write("other", []string{"added a"}, a)
	write("files", nil, a, b)
	first, err := r.Approved()
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.Approved()
	if err != nil || again != first {
		t.Errorf("another pointer for the same file: %v", err)
	}
	changed := tool("a", "2", `{}`)
	for _, tt := range []struct {
		tool        protocol.Tool
		same, known bool
	}{{a, true, true}, {changed, false, true}, {tool("c", "", ``), false, false}} {
		if same, known := first.Has(&tt.tool); same != tt.same || known != tt.known {
			t.Errorf("%s: %v, %v", tt.tool.Name, same, known)
		}
	}
	write("files", []string{"changed a", "removed b"}, changed)
	if now, err := r.Approved(); err != nil || now == first {
		t.Errorf("the changed file is not noticed: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if got, err := NewReader(path, "other").Approved(); err != nil || len(*got) != 1 {
		t.Errorf("the other server: %v, %v", got, err)
	}
}

// TestFilesThatApproveOfNothing: what cannot be understood fails closed, and is
// not written over.
func TestFilesThatApproveOfNothing(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"not JSON":       {`{`, "is no pin file"},
		"empty":          {``, "is no pin file"},
		"unknown key":    {`{"version":1,"servers":{},"all":true}`, "unknown field"},
		"two values":     {`{"version":1,"servers":{"files":{}}} {}`, "something stands behind it"},
		"later version":  {`{"version":2,"servers":{"files":{}}}`, "version 2"},
		"another server": {`{"version":1,"servers":{"x":{}}}`, "holds nothing of the server files"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pins.json")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := NewReader(path, "files").Approved(); err == nil || got != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v", got, err)
			}
			_, err := Write(path, "files", nil, false)
			if text, _ := os.ReadFile(path); name != "another server" && (err == nil || string(text) != tt.text) {
				t.Errorf("written over: %v, %s", err, text)
			}
		})
	}
}
