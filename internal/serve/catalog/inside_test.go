package catalog_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve/catalog"
)

// secret stands in files that no value of a place may lead to.
const secret = "SECRET"

// sandbox makes a folder with notes, and around it what they may be confused
// with, and gives resources whose files lie in it.
func sandbox(t testing.TB) []config.Resource {
	t.Helper()
	dir := t.TempDir()
	notes := filepath.Join(dir, "notes")
	for name, text := range map[string]string{
		"notes/a.md": "inside", "notes/sub/b.md": "inside", "notes/..data/b.md": "inside", "notes/.hidden.md": secret, "notes/.git/b.md": secret,
		"secret.md": secret, "notes-evil/b.md": secret, "notes-evil.md": secret,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"out.md": "../secret.md", "outdir": "../notes-evil", "in.md": "a.md", "absolute.md": filepath.Join(dir, "secret.md"), "loop.md": "loop.md"} {
		if err := os.Symlink(target, filepath.Join(notes, link)); err != nil {
			t.Skip("no links on this system:", err)
		}
	}
	return []config.Resource{
		{Name: "one", URITemplate: "one://{x}", File: place(notes + "/{x}.md")},
		{Name: "two", URITemplate: "two://{x}/{y}", File: place(notes + "/{x}/{y}")},
		{Name: "bare", URITemplate: "bare://{x}", File: place(notes + "/{x}")},
		{Name: "middle", URITemplate: "middle://{x}", File: place(notes + "/{x}/b.md")},
		{Name: "part", URITemplate: "part://{x}", File: place(notes + "{x}/b.md")},
	}
}

// encoded writes every byte of a value as %20 and the like.
func encoded(value string) string {
	var b strings.Builder
	for i := range len(value) {
		fmt.Fprintf(&b, "%%%02x", value[i])
	}
	return b.String()
}

func TestInside(t *testing.T) {
	c := catalogOf(t, catalog.Options{}, sandbox(t)...)
	for _, uri := range []string{"one://a", "one://in", "two://sub/b.md", "bare://a.md", "middle://sub", "one://" + encoded("a")} {
		if data, _, err := c.Read(t.Context(), "a", uri); string(data) != "inside" {
			t.Errorf("%s: %q %v", uri, data, err)
		}
	}
	for _, value := range []string{
		"../secret", "/etc/passwd", "a/../../secret", `..\secret`, "%2e%2e/secret", "..", ".", "...", "a\x00", "\x00",
		"../notes-evil", "../notes-evil/b", "/notes-evil", ".hidden", ".hidden.md", ".git", "sub/b", "sub", "sub/", "a/", "/a", `sub\b`,
		"out", "out.md", "outdir", "absolute", "absolute.md", "loop", "loop.md", "..data", "nothing", strings.Repeat("x", 300), strings.Repeat("x", 5000),
		"a\n", "a\r", "\xff", "ａ", "C:", "C:secret", "a.md::$DATA", "CON", "~", "~/secret.md", "$HOME", "{x}", "*", "-evil",
	} {
		for _, uri := range []string{
			"one://" + encoded(value), "two://" + encoded(value) + "/b.md", "two://sub/" + encoded(value),
			"bare://" + encoded(value), "middle://" + encoded(value),
			"one://" + value, "bare://" + value, "two://" + value,
		} {
			data, _, err := c.Read(t.Context(), "a", uri)
			if string(data) == "inside" {
				continue // such as bare://sub/b.md
			}
			if len(data) > 0 || !errors.Is(err, catalog.ErrNotFound) {
				t.Errorf("%.100q: got %q, %v", uri, data, err)
			}
		}
	}
}

// TestSiblingFolder has a place right behind a folder's name, where the folder
// before the place is the one above: the value still is one part of the path.
func TestSiblingFolder(t *testing.T) {
	c := catalogOf(t, catalog.Options{}, sandbox(t)...)
	if data, _, err := c.Read(t.Context(), "a", "part://-evil"); string(data) != secret { // as the file says
		t.Errorf("%q %v", data, err)
	}
	for _, value := range []string{"/../notes-evil", "/..", "..", "/", "\\"} {
		if data, _, err := c.Read(t.Context(), "a", "part://"+encoded(value)); !errors.Is(err, catalog.ErrNotFound) {
			t.Errorf("%q: got %q, %v", value, data, err)
		}
	}
}

// FuzzInside looks for a value that leads out of the folder.
func FuzzInside(f *testing.F) {
	c := catalogOf(f, catalog.Options{}, sandbox(f)[:4]...)
	for _, value := range []string{"a", "../secret", "..", "sub", "..%2fsecret", "%2e%2e%2fsecret", "sub/../../secret", ".hidden", "out", "a%00", "notes-evil"} {
		f.Add(value, value)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, uri := range []string{
			"one://" + a, "one://" + encoded(a), "two://" + a + "/" + b, "two://" + encoded(a) + "/" + encoded(b),
			"bare://" + a, "bare://" + encoded(a), "middle://" + a, "middle://" + encoded(a),
		} {
			data, _, err := c.Read(t.Context(), "a", uri)
			if err == nil && string(data) != "inside" {
				t.Errorf("%q: got %q", uri, data)
			}
		}
	})
}
