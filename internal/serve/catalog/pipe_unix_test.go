//go:build unix

package catalog_test

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve/catalog"
)

// TestPipe reads a named pipe that nobody writes to, which would wait for ever,
// and a device.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	c := catalogOf(t, catalog.Options{},
		config.Resource{Name: "p", URI: "p://p", File: place(pipe)},
		config.Resource{Name: "z", URI: "p://z", File: place("/dev/zero")},
		config.Resource{Name: "t", URITemplate: "t://{x}", File: place(dir + "/{x}")},
	)
	for _, uri := range []string{"p://p", "p://z"} {
		if _, _, err := c.Read(t.Context(), "a", uri); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if _, _, err := c.Read(t.Context(), "a", "t://pipe"); !errors.Is(err, catalog.ErrNotFound) {
		t.Error(err)
	}
}
