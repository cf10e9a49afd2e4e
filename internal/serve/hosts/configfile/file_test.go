package configfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func put(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func opened(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestWrite keeps permissions, follows links, and never overwrites a backup.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "link.json")
	put(t, real, "one", 0o640)
	put(t, real+".bak", "not ours", 0o600)
	if err := os.Symlink(real, link); err != nil {
		t.Skip("no links here:", err)
	}
	backup, err := opened(t, link).Write("two", 0o600)
	if err != nil || backup != real+".bak.1" {
		t.Fatal(backup, err)
	}
	if backup, err = opened(t, link).Write("three", 0o600); err != nil || backup != real+".bak.2" {
		t.Fatal(backup, err)
	}
	if got := []string{text(t, link), text(t, real+".bak"), text(t, real+".bak.1"), text(t, real+".bak.2")}; !cmp.Equal(got, []string{"three", "not ours", "one", "two"}) {
		t.Error(got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is gone", err)
	}
	for _, path := range []string{real, backup} {
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
			t.Error(path, info.Mode(), err)
		}
	}
	fresh := filepath.Join(dir, "new.json")
	if backup, err := opened(t, fresh).Write("new", 0o600); err != nil || backup != "" || text(t, fresh) != "new" {
		t.Error(backup, err)
	}
	if got := names(t, dir); len(got) != 6 {
		t.Error("something is left behind:", got)
	}
}

// TestWriteMeanwhile leaves a file alone that somebody else has changed, made or
// removed since it was read.
func TestWriteMeanwhile(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"changed": func(path string) error { return os.WriteFile(path, []byte("theirs"), 0o600) },
		"removed": os.Remove,
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.json")
		put(t, path, "one", 0o600)
		f := opened(t, path)
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		before := names(t, dir)
		if _, err := f.Write("ours", 0o600); err == nil {
			t.Errorf("%s: no error", name)
		}
		if got := names(t, dir); !cmp.Equal(got, before) {
			t.Errorf("%s: left behind %v", name, got)
		}
	}
	path := filepath.Join(t.TempDir(), "a.json")
	f := opened(t, path)
	put(t, path, "theirs", 0o600)
	if _, err := f.Write("ours", 0o600); err == nil || text(t, path) != "theirs" {
		t.Error("a new file was overwritten:", err)
	}
}

// TestOpen refuses what is no configuration file.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put(t, at("utf16.json"), "\xff\xfe{\x00}\x00", 0o600)
	put(t, at("deep.json"), strings.Repeat("[", 100_000), 0o600)
	put(t, at("strings.json"), `{"a": "`+strings.Repeat(`[\"`, 5000)+`"}`, 0o600)
	put(t, at("large.json"), "", 0o600)
	if err := os.Truncate(at("large.json"), largest+1); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("nowhere"), at("dangling.json")); err != nil {
		t.Skip("no links here:", err)
	}
	for path, want := range map[string]string{
		"utf16.json": "not UTF-8", "deep.json": "nests", "dangling.json": "a link to a file that is not there", ".": "is not a file",
		"large.json": "larger than 64 MiB",
	} {
		if _, err := Open(at(path)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"strings.json", "missing.json", "no/folder.json"} {
		if _, err := Open(at(path)); err != nil {
			t.Error(err)
		}
	}
}

func TestDiff(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"middle", "1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\n3\n4\nx\ny\n6\n7\n8\n", "@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+x\n+y\n 6\n 7\n 8\n"},
		{"new", "", "a\n", "@@ -0,0 +1,1 @@\n+a\n"},
		{"end", "a", "a\nb", "@@ -1,1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n\\ No newline at end of file\n"},
		{"all", "a\n", "", "@@ -1,1 +0,0 @@\n-a\n"},
	} {
		if diff := cmp.Diff("--- f\n+++ g\n"+c.want, Diff("f", "g", c.before, c.after)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
