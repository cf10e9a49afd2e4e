package scripted_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/scripted"
	"github.com/adkmcp/adkmcp/internal/config"
)

// play plays one step with files.
func play(t *testing.T, step config.Step) ([]*genai.Part, error) {
	t.Helper()
	m, err := scripted.New([]config.Rule{{Steps: []config.Step{step}}})
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range m.Generate(t.Context(), &model.Request{Contents: []*genai.Content{user("go")}}) {
		if err != nil {
			return nil, err
		}
		return r.Content.Parts, nil
	}
	t.Fatal("no reply")
	return nil, nil
}

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTypesOfFiles(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{
		"a.png": "image/png", "a.JPG": "image/jpeg", "a.jpeg": "image/jpeg", "a.gif": "image/gif", "a.webp": "image/webp", "a.svg": "image/svg+xml",
		"a.wav": "audio/wav", "a.mp3": "audio/mpeg", "a.pdf": "application/pdf", "a.txt": "text/plain", "a.md": "text/markdown", "a.json": "application/json",
	} {
		parts, err := play(t, config.Step{Reply: "x", Files: []string{write(t, dir, name, "content")}})
		if err != nil || len(parts) != 2 || parts[1].InlineData == nil {
			t.Fatalf("%s: %v, %v", name, parts, err)
		}
		if b := parts[1].InlineData; b.MIMEType != want || b.DisplayName != name || string(b.Data) != "content" {
			t.Errorf("%s is %s %q", name, b.MIMEType, b.DisplayName)
		}
	}
	for content, want := range map[string]string{
		"\x89PNG\x0d\x0a\x1a\x0a": "image/png", "RIFF\x00\x00\x00\x00WAVEfmt\x20": "audio/wav", "words": "text/plain", "\x00\x01": "application/octet-stream",
	} {
		parts, err := play(t, config.Step{Reply: "x", Files: []string{write(t, dir, "plain", content)}})
		if err != nil || parts[1].InlineData.MIMEType != want {
			t.Errorf("%q is %v, %v", content, parts, err)
		}
	}
}

// TestFilesAreReadWhenTheyPlay, and go between what is said and what is called.
func TestFilesAreReadWhenTheyPlay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "late.txt")
	step := config.Step{Say: "Look.", Files: []string{path}, Call: []config.ScriptCall{{Tool: "x"}}}
	m, err := scripted.New([]config.Rule{{Steps: []config.Step{step}}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Dir(path), "late.txt", "now")
	for r, err := range m.Generate(t.Context(), &model.Request{Contents: []*genai.Content{user("go")}}) {
		if err != nil {
			t.Fatal(err)
		}
		if p := r.Content.Parts; len(p) != 3 || p[0].Text != "Look." || string(p[1].InlineData.Data) != "now" || p[2].FunctionCall == nil {
			t.Errorf("parts %v", p)
		}
	}
}

func TestFilesThatCannotBeSent(t *testing.T) {
	dir := t.TempDir()
	large := write(t, dir, "large.bin", strings.Repeat("x", 5<<20))
	for name, tt := range map[string]struct {
		files []string
		want  string
	}{
		"none":      {[]string{filepath.Join(dir, "gone.png")}, "the file gone.png of the model's script: no such file"},
		"a folder":  {[]string{dir}, "not a regular file"},
		"too large": {[]string{large, large}, "the file large.bin of the model's script: the files of one step may have 8388608 bytes together"},
	} {
		_, err := play(t, config.Step{Reply: "x", Files: tt.files})
		var known *model.Error
		if !errors.As(err, &known) || known.Code != model.Misconfigured || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if parts, err := play(t, config.Step{Reply: "x", Files: []string{large, write(t, dir, "rest.bin", strings.Repeat("x", 3<<20))}}); err != nil || len(parts) != 3 {
		t.Errorf("8 MiB: %v", err)
	}
}

// TestCorrectionsAreNoRequests: a rule fits the message that opened the turn, and
// what the runner says in between is no new one.
func TestCorrectionsAreNoRequests(t *testing.T) {
	for n, contents := range [][]*genai.Content{
		{user("forever")},
		{user("broken"), said("x"), user("forever"), said("first"), user("Your answer cannot be used.")},
	} {
		m, err := scripted.New(script)
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range m.Generate(t.Context(), &model.Request{Contents: contents, Turn: 2 * n}) {
			if want := []string{"first", "last"}[n]; err != nil || r.Content.Parts[0].Text != want {
				t.Errorf("%v, %v, want %q", r, err, want)
			}
		}
	}
}
