package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/adkmcp/adkmcp/internal/agent/mediatype"
	"github.com/adkmcp/adkmcp/internal/config/template"
)

// textType is that of text that nothing else is known of.
const textType = "text/plain"

// readTemplate reads the file that a template names; mimeType may be empty. A
// file whose name has places lies in the folder before the first of them:
// os.Root follows no path and no link out of it, whoever races with it.
func (c *Catalog) readTemplate(t template.Text, values map[string]string, mimeType string) ([]byte, string, error) {
	if len(t.Places()) == 0 {
		return c.readFile(t.Plain(), mimeType)
	}
	folder, below := t.SplitFolder()
	name, err := below.Expand(func(place string) (string, error) { return segment(values[place]) })
	if err != nil {
		return nil, "", err
	}
	if name = filepath.FromSlash(name); !filepath.IsLocal(name) {
		return nil, "", ErrNotFound
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, "", fmt.Errorf("its folder cannot be opened: %w", reason(err))
	}
	defer func() { _ = root.Close() }()
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if absent(err) {
		return nil, "", ErrNotFound
	}
	data, mimeType, err := c.readOpened(f, err, mimeType)
	if errors.Is(err, errNotRegular) {
		err = ErrNotFound
	}
	return data, mimeType, err
}

// errNotRegular: it is a folder, a pipe or the like.
var errNotRegular = errors.New("it is not a regular file")

// segment sees that a value is a part of a path and nothing else: it neither
// leads anywhere nor names what is hidden.
func segment(value string) (string, error) {
	if value == "" || value[0] == '.' || strings.ContainsAny(value, "/\\\x00") {
		return "", ErrNotFound
	}
	return value, nil
}

// absent reports whether a name from outside names no file inside the folder.
// Errors of os.Root's own, for what leads out, are none of the system's.
func absent(err error) bool {
	var system syscall.Errno
	switch {
	case err == nil:
		return false
	case errors.Is(err, fs.ErrNotExist), !errors.As(err, &system):
		return true
	}
	return system == syscall.ENOTDIR || system == syscall.ELOOP || system == syscall.ENAMETOOLONG || system == syscall.ENXIO
}

// readFile reads a file whose path the agent's file gives.
func (c *Catalog) readFile(path, mimeType string) ([]byte, string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe is not waited for
	return c.readOpened(f, err, mimeType)
}

// readOpened reads and closes what was opened, if err is nil. Its errors leave
// the path out, which is nothing for callers.
func (c *Catalog) readOpened(f *os.File, err error, mimeType string) ([]byte, string, error) {
	if err != nil {
		return nil, "", reason(err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, "", reason(err)
	case !info.Mode().IsRegular():
		return nil, "", errNotRegular
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(c.opts.MaxRead)+1))
	switch {
	case err != nil:
		return nil, "", reason(err)
	case len(data) > c.opts.MaxRead:
		return nil, "", fmt.Errorf("%w: it has %d bytes, at most %d are served", errTooLarge, max(info.Size(), int64(len(data))), c.opts.MaxRead)
	}
	return data, cmp.Or(mimeType, mediatype.Of(f.Name(), data)), nil
}

// reason takes the operation and the path away from an error.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
