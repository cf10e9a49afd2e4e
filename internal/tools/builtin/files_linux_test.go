package builtin

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// asNobody makes file accesses of the test those of a user without rights, if
// it runs as root, who may read everything.
func asNobody(t *testing.T, dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	for way := dir; way != filepath.Clean(os.TempDir()) && way != filepath.Dir(way); way = filepath.Dir(way) {
		if err := os.Chmod(way, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	runtime.LockOSThread()
	const nobody = 65534
	if _, err := unix.SetfsuidRetUid(nobody); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = unix.SetfsuidRetUid(0)
		runtime.UnlockOSThread()
	})
}

func TestUnreadable(t *testing.T) {
	dir, s := folderWith(t, map[string]string{"shut/a.txt": "hit", "no.txt": "hit"})
	for name, mode := range map[string]os.FileMode{"shut": 0, "no.txt": 0} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "shut"), 0o755) })
	asNobody(t, dir)
	if got, want := s.do(t, "files_read", args{"path": "no.txt"}), "error: no.txt: permission denied"; got != want {
		t.Errorf("got %q", got)
	}
	want := "no line matches in 0 files\n[not every file was searched: too many, or a folder that may not be read; name a folder]\n[1 file left out: over 8 MiB, or not to be read]"
	if got := s.do(t, "files_search", args{"pattern": "hit"}); got != want {
		t.Errorf("got %q", got)
	}
}
