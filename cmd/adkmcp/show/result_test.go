package show

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/mcphost"
)

func TestResult(t *testing.T) {
	size := int64(3)
	for name, c := range map[string]struct {
		result mcphost.Result
		want   string // what is printed and noted, in one
		failed bool
	}{
		"text": {mcphost.Result{Blocks: []mcphost.Block{{Kind: mcphost.Text, Text: "a\x1b[2Jb"}, {Kind: mcphost.Resource, Text: ""}}}, "ab\n\n", false},
		"data": {mcphost.Result{Blocks: []mcphost.Block{{Kind: mcphost.Image, MIMEType: "image/png", Data: []byte{}}}}, "[image image/png, 0 bytes] keep it with --save DIR\n", false},
		"links": {mcphost.Result{Blocks: []mcphost.Block{
			{Kind: mcphost.Link, URI: "x:1"},
			{Kind: mcphost.Link, URI: "x:2", Name: "x:2", MIMEType: "text/plain"},
			{Kind: mcphost.Link, URI: "x:3", Name: "three", Size: &size},
			{Kind: mcphost.Link, URI: "adkmcp://4", Name: "four", MIMEType: "a/b", Size: &size},
		}}, "x:1\nx:2 (text/plain)\nthree: x:3 (3 bytes)\nfour: adkmcp://4 (a/b, 3 bytes)\nkeep it with --save DIR\n", false},
		"structure":  {mcphost.Result{Structured: json.RawMessage(`{"a":1}`)}, `{"a":1}` + "\n", false},
		"both":       {mcphost.Result{Blocks: []mcphost.Block{{Kind: mcphost.Text, Text: "a"}}, Structured: json.RawMessage(`{"a":1}`)}, "a\n", false},
		"empty":      {mcphost.Result{}, "the result is empty\n", true},
		"unreadable": {mcphost.Result{Unreadable: []error{errors.New("odd")}}, "a block of the result cannot be shown: odd\n", true},
	} {
		p, out := printing("")
		err := p.Result(&c.result, func(string) ([]mcphost.Block, error) { return nil, errors.New("nothing was to be read") })
		if diff := cmp.Diff(c.want, out.String()); err != nil || diff != "" || p.Failed != c.failed {
			t.Errorf("%s: %v, %v\n%s", name, err, p.Failed, diff)
		}
	}
}

// TestLinked saves what links of ours lead to, and reads no others.
func TestLinked(t *testing.T) {
	dir := t.TempDir()
	p, out := printing(dir)
	var asked []string
	err := p.Result(&mcphost.Result{Blocks: []mcphost.Block{
		{Kind: mcphost.Link, URI: "https://example.com/", Name: "other"},
		{Kind: mcphost.Link, URI: "file:///etc/passwd", Name: "file"},
		{Kind: mcphost.Link, URI: "adkmcp://1", Name: "../report.md"},
		{Kind: mcphost.Link, URI: "adkmcp://2", Name: "gone"},
	}}, func(uri string) ([]mcphost.Block, error) {
		asked = append(asked, uri)
		if uri == "adkmcp://2" {
			return nil, errors.New("there is no such thing")
		}
		return []mcphost.Block{{Kind: mcphost.Resource, MIMEType: "text/markdown", Text: "# Text"}, {Kind: mcphost.Resource, MIMEType: "image/png", Data: []byte("png")}}, nil
	})
	if diff := cmp.Diff([]string{"adkmcp://1", "adkmcp://2"}, asked); err != nil || diff != "" || !p.Failed {
		t.Errorf("%v, %v\n%s", err, p.Failed, diff)
	}
	for name, want := range map[string]string{"report-1.md": "# Text", "report-2.png": "png"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if !strings.Contains(out.String(), "saved as "+filepath.Join(dir, "report-1.md")+"\n") || !strings.HasSuffix(out.String(), "there is no such thing\n") {
		t.Errorf("noted %q", out)
	}
}

// full is an output that takes nothing more.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestResultNobodyReads(t *testing.T) {
	p, _ := printing("")
	p.Out = full{}
	for _, r := range []mcphost.Result{{Blocks: []mcphost.Block{{Kind: mcphost.Link}}}, {Structured: json.RawMessage(`1`)}} {
		if err := p.Result(&r, nil); !errors.Is(err, os.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
}
