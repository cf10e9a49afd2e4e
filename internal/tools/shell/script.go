package shell

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// variables gives the parameters of a script as environment variables of their
// own name. An absent one is not set.
func (t *tool) variables(args values) ([]string, error) {
	if t.shell.Script == "" {
		return nil, nil
	}
	vars := make([]string, 0, len(args))
	for _, name := range slices.Sorted(maps.Keys(args)) {
		text, err := args[name].text(name)
		if err != nil {
			return nil, err
		}
		vars = append(vars, name+"="+text)
	}
	return vars, nil
}

// private is a folder that only this user can look into, for one call.
type private struct{ dir string }

func newPrivate(under string) (*private, error) {
	dir, err := os.MkdirTemp(under, "adkmcp-*") // mode 0700
	if err != nil {
		return nil, err
	}
	return &private{dir}, nil
}

// home is the HOME of the call.
func (p *private) home() string { return p.dir }

// script writes a script's text to a file and gives its path.
func (p *private) script(text, interpreter string) (string, error) {
	path := filepath.Join(p.dir, ".adkmcp-script"+extension(interpreter))
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// extension gives what a file's name must end with for interpreters that care.
func extension(interpreter string) string {
	name := strings.ToLower(interpreter[strings.LastIndexAny(interpreter, `/\`)+1:])
	switch strings.TrimSuffix(name, ".exe") {
	case "powershell", "pwsh":
		return ".ps1"
	case "cmd":
		return ".cmd"
	}
	return ""
}

// remove removes the folder with everything in it. Folders that a program made
// read-only are opened first, as a module cache has them.
func (p *private) remove() error {
	err := os.RemoveAll(p.dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(p.dir, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder that goes away; RemoveAll reports what this could not help
		}
		return nil
	})
	return os.RemoveAll(p.dir)
}
