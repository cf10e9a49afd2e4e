package show

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/mcphost"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nc ü €":                "a\tb\nc ü €",
		"\x1b[1;31mred\x1b[0m":       "red",
		"a\x1b]0;title\x07b":         "ab",
		"a\x1b]8;;http://x\x1b\\b":   "ab",
		"a\x1b]0;never ended\nb":     "a0;never ended\nb",
		"\u009b2Jx\u0090q\u009cy":    "xy",
		"\x1bcx\x1b(By\x1b":          "xy",
		"one\rtwo\x00\x08\x7f\u0085": "onetwo",
	} {
		if got := Plain(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// printing gives a printer into dir and what it has noted.
func printing(dir string) (*Printer, *bytes.Buffer) {
	var notes bytes.Buffer
	same := func(text string) string { return text }
	return &Printer{Out: &notes, Notes: &notes, Dim: same, Red: same, Dir: dir}, &notes
}

// TestData gives names as a server might write them; files stay in the folder,
// under names that harm nobody.
func TestData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "when", "needed")
	p, notes := printing(dir)
	for _, c := range []struct{ name, mimeType, want string }{
		{"image", "image/png", "image-1.png"},
		{"report.md", "text/markdown", "report-2.md"},
		{"../../etc/passwd", "text/plain", "passwd-3.txt"},
		{"..", "image/jpeg", "resource-4.jpg"},
		{"-rf", "audio/mpeg", "rf-5.mp3"},
		{"C:\\con.exe", "application/octet-stream", "con-6.bin"},
		{"\x1b[2J\u202eöl", "no type", "2J--l-7.bin"},
		{strings.Repeat("x", 300), "image/svg+xml", strings.Repeat("x", 60) + "-8.svg"},
		{"", "x/../y", "resource-9.bin"},
	} {
		notes.Reset()
		p.Data("resource", c.name, c.mimeType, []byte("new"))
		if data, err := os.ReadFile(filepath.Join(dir, c.want)); err != nil || string(data) != "new" {
			t.Errorf("%q: got %q, %v, %s", c.name, data, err, notes)
		}
		if want := ", 3 bytes] saved as " + filepath.Join(dir, c.want) + "\n"; !strings.HasSuffix(notes.String(), want) {
			t.Errorf("%q: noted %q", c.name, notes)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 9 || p.Failed {
		t.Errorf("%d files, %v", len(files), err)
	}
}

func TestDataKept(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "image-1.png"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, _ := printing(dir)
	p.Data("image", "image", "image/png", []byte("new"))
	for file, want := range map[string]string{"image-1.png": "old", "image-2.png": "new"} {
		if data, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", file, data, err)
		}
	}
	p, notes := printing("")
	p.Data("image", "image", "image/png", []byte("new"))
	if diff := cmp.Diff("[image image/png, 3 bytes] keep it with --save DIR\n", notes.String()); diff != "" {
		t.Error(diff)
	}
	p, notes = printing(filepath.Join(dir, "image-1.png"))
	if p.Data("image", "image", "image/png", nil); !p.Failed || notes.Len() == 0 {
		t.Errorf("a folder that cannot be made: %q", notes)
	}
}

// TestTextResource is kept as a file where there is a folder, and printed else.
func TestTextResource(t *testing.T) {
	r := &mcphost.Result{Blocks: []mcphost.Block{{Kind: mcphost.Resource, MIMEType: "text/plain", URI: "x:y", Text: "words"}}}
	for _, dir := range []string{"", t.TempDir()} {
		var out bytes.Buffer
		p, _ := printing(dir)
		p.Out = &out
		if err := p.Result(r, nil); err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "resource-*"))
		if printed, kept := out.String() == "words\n", dir != "" && len(files) == 1; printed == kept {
			t.Errorf("in %q: printed %q, kept %v", dir, out.String(), files)
		}
	}
}
