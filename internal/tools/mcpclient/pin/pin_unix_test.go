//go:build unix

package pin

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
)

// TestOnlyFiles: what is no file, or one without a bound, is not read, links to it
// included.
func TestOnlyFiles(t *testing.T) {
	dir := t.TempDir()
	pipe, large := filepath.Join(dir, "pipe"), filepath.Join(dir, "large")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxFile+1); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{pipe: "no regular file", dir: "no regular file", "/dev/zero": "no regular file", large: "larger than 4 MiB"} {
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{target, link} {
			if _, err := NewReader(path, "files").Approved(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", path, err)
			}
			if _, err := Write(path, "files", nil, false); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s is written: %v", path, err)
			}
		}
	}
}

// TestLink: a link to a pin file stays one.
func TestLink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "real.json"), filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(target, "files", []protocol.Tool{tool("a", "1", `{}`)}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(link, "files", []protocol.Tool{tool("b", "1", `{}`)}, false); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != target {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	got, err := NewReader(target, "files").Approved()
	if err != nil || len(*got) != 1 || (*got)["b"] == "" {
		t.Errorf("%v, %v", got, err)
	}
}
