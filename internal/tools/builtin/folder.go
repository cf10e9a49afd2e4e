package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode"
)

// Bounds of what the files tools look at.
const (
	maxFileBytes = 8 << 20 // of a file that is searched, written or given as an image
	maxEntries   = 10_000  // of one folder
	maxVisited   = 50_000  // files and folders of one call
	maxDepth     = 32      // levels of folders
	roomForNotes = 512     // bytes of a result that its lines leave free
)

// folder is what the files tools of one entry share. Every access goes through
// os.Root, which follows no path and no link out of the folder, whoever races
// with it; the checks here only say so in better words.
type folder struct {
	path    string
	budget  int // bytes of a result's lines, so that their last one is not cut
	writing sync.Mutex
}

// open gives the folder for one call, and the place in it that the model's path
// names. It is not kept open in between, so that it can be replaced and, on
// Windows, removed while the program runs.
func (f *folder) open(path string) (root *os.Root, name string, err error) {
	if name, err = inside(path); err != nil {
		return nil, "", err
	}
	if root, err = os.OpenRoot(f.path); err != nil {
		return nil, "", fmt.Errorf("the folder of this tool cannot be opened: %w", reason(err))
	}
	return root, name, nil
}

// inside gives the form that os.Root takes of a path as the model writes it:
// slashes, relative to the folder. Nothing but slashes separates, on any
// system, and nothing is decoded, so that all see the same path.
func inside(name string) (string, error) {
	clean := path.Clean(name)
	switch {
	case strings.ContainsFunc(name, unicode.IsControl):
		return "", fmt.Errorf("%q holds a character that is not allowed in a path", name)
	case strings.Contains(name, `\`):
		return "", fmt.Errorf("%q holds a backslash: write / between folders", name)
	case strings.HasPrefix(name, "/"):
		return "", fmt.Errorf("%q is not inside the folder of this tool: paths start there, without a leading /", name)
	case clean == "..", strings.HasPrefix(clean, "../"), strings.Contains(strings.ToLower(name), "%2e%2e"):
		return "", fmt.Errorf("%q leads out of the folder of this tool", name)
	}
	if _, err := filepath.Localize(clean); err != nil {
		return "", fmt.Errorf("%q is not a path on this system", name)
	}
	return clean, nil
}

// problem says in words for the model why name could not be used.
func problem(root *os.Root, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return missing(root, name)
	}
	return fmt.Errorf("%s: %w", name, reason(err))
}

// reason takes the operation and the path away from an error: the path may be
// one of this machine.
func reason(err error) error {
	var onPath *fs.PathError
	var onLink *os.LinkError
	switch {
	case errors.As(err, &onPath):
		return onPath.Err
	case errors.As(err, &onLink):
		return onLink.Err
	}
	return err
}

// missing names what is in the nearest folder that there is.
func missing(root *os.Root, name string) error {
	const few = 20
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		found, _, err := entries(root, dir)
		if err != nil && dir != "." {
			continue
		}
		var names []string
		for _, e := range found[:min(len(found), few)] {
			names = append(names, label(e))
		}
		if len(found) > few {
			names = append(names, "...")
		}
		return fmt.Errorf("there is no %s; %s holds: %s", name, here(dir), cmp.Or(strings.Join(names, ", "), "nothing"))
	}
}

// here names a folder in a sentence.
func here(dir string) string {
	if dir == "." {
		return "the folder"
	}
	return dir
}

// label shows at an entry's name what it is.
func label(e fs.DirEntry) string {
	switch {
	case e.IsDir():
		return e.Name() + "/"
	case e.Type()&fs.ModeSymlink != 0:
		return e.Name() + " (link)"
	case !e.Type().IsRegular():
		return e.Name() + " (not a file)"
	}
	return e.Name()
}

// openAny opens for reading without waiting, as opening a named pipe would.
func openAny(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// openFile opens a regular file for reading.
func openFile(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	if err := refuseSecrets(root, name); err != nil {
		return nil, nil, err
	}
	f, info, err := openAny(root, name)
	switch {
	case err != nil:
		return nil, nil, problem(root, name, err)
	case info.Mode().IsRegular():
		return f, info, nil
	}
	_ = f.Close() // nothing was written
	if info.IsDir() {
		return nil, nil, fmt.Errorf("%s is a folder: files_list shows what it holds", name)
	}
	return nil, nil, fmt.Errorf("%s is not a file", name)
}

// entries gives what a folder holds, sorted by name, at most maxEntries of it,
// without files that hold secrets; more reports whether there is more.
func entries(root *os.Root, dir string) (found []fs.DirEntry, more bool, err error) {
	f, info, err := openAny(root, dir)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	if !info.IsDir() {
		return nil, false, errors.New("not a folder")
	}
	found, err = f.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if more = len(found) > maxEntries; more {
		found = found[:maxEntries]
	}
	found = slices.DeleteFunc(found, func(e fs.DirEntry) bool { return !e.IsDir() && holdsSecrets(e.Name()) })
	slices.SortFunc(found, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return found, more, nil
}

// walk goes through a folder and the folders in it. It follows no links and
// does not look into .git, which holds no text.
type walk struct {
	root *os.Root
	// visit gets every entry with its path; it ends the walk with false.
	visit func(name string, e fs.DirEntry) bool

	visited int
	partial bool // not everything was visited, because of a bound
}

// in visits what dir holds, depth levels deep. It reports whether to go on. A
// folder further down that cannot be read is left out.
func (w *walk) in(ctx context.Context, dir string, depth int) (bool, error) {
	found, more, err := entries(w.root, dir)
	if err != nil {
		return false, err
	}
	w.partial = w.partial || more
	for _, e := range found {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if w.visited++; w.visited > maxVisited {
			w.partial = true
			return false, nil
		}
		name := path.Join(dir, e.Name())
		if !w.visit(name, e) {
			return false, nil
		}
		if !e.IsDir() || e.Name() == ".git" || depth <= 1 {
			continue
		}
		goOn, err := w.in(ctx, name, depth-1)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err != nil {
			w.partial = true
			continue
		}
		if !goOn {
			return false, nil
		}
	}
	return true, nil
}
