//go:build unix

package builtin

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A named pipe that nobody writes to would keep its reader waiting for ever.
func TestNamedPipe(t *testing.T) {
	dir, s := folderWith(t, map[string]string{"a.txt": "hit"})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		tool string
		args args
		want string
	}{
		{"files_read", args{"path": "pipe"}, "error: pipe is not a file"},
		{"files_list", args{"path": "pipe"}, "error: pipe: not a folder"},
		{"files_write", args{"path": "pipe", "content": "x"}, "error: pipe is not a file"},
		{"files_list", args{}, "a.txt 3 bytes\npipe (not a file)\n"},
		{"files_search", args{"pattern": "hit"}, "a.txt:1: hit"},
		{"files_search", args{"pattern": "hit", "path": "pipe"}, "no line matches in 0 files\n[1 file left out: over 8 MiB, or not to be read]"},
	} {
		if got := s.do(t, tc.tool, tc.args); got != tc.want {
			t.Errorf("%s %v: %q, want %q", tc.tool, tc.args, got, tc.want)
		}
	}
}
