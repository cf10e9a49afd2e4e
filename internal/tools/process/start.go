package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// StartError says why a program could not be started, in words for whoever
// asked for it.
type StartError struct {
	Program string
	Reason  string // completes a sentence that begins with the program
	Err     error  // the cause; may be nil
}

// Error gives the program and the reason.
func (e *StartError) Error() string { return fmt.Sprintf("program %q %s", e.Program, e.Reason) }

// Unwrap gives the cause.
func (e *StartError) Unwrap() error { return e.Err }

// program gives the path of the program, and finds out what the system would
// only say in a way that nobody understands.
func (s *Spec) program() (string, error) {
	name := s.Args[0]
	if info, err := os.Stat(s.Dir); !filepath.IsAbs(s.Dir) || err != nil || !info.IsDir() {
		return "", &StartError{name, fmt.Sprintf("has no folder to run in: %q is not there or is no absolute path of a folder", s.Dir), err}
	}
	if filepath.Base(name) == name {
		return s.search(name)
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	found, err := exec.LookPath(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &StartError{name, fmt.Sprintf("is not there (looked for %s)", path), err}
	case err != nil:
		return "", &StartError{name, fmt.Sprintf("at %s is not an executable file", path), err}
	}
	return found, nil
}

// search looks in the folders of the child's PATH. Relative ones, the empty
// one included, are left out: what they name would depend on where we run.
func (s *Spec) search(name string) (string, error) {
	list := s.lookup("PATH")
	for _, dir := range filepath.SplitList(list) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", &StartError{name, fmt.Sprintf("was not found in PATH (%s)", list), exec.ErrNotFound}
}

// lookup gives the value that the child sees for a variable.
func (s *Spec) lookup(name string) string {
	value := ""
	for _, entry := range s.Env {
		if k, v, ok := strings.Cut(entry, "="); ok && canonical(k) == name {
			value = v
		}
	}
	return value
}

// startError puts the system's answer to starting cmd in words.
func startError(cmd *exec.Cmd, err error) error {
	e := &StartError{Program: cmd.Args[0], Err: err}
	switch {
	case isTooLarge(err):
		size := 0
		for _, list := range [][]string{cmd.Args, cmd.Env} {
			for _, s := range list {
				size += len(s) + 1
			}
		}
		e.Reason = fmt.Sprintf("cannot be started: its arguments and environment are larger than the system allows (%d bytes%s)", size, largeHint)
	case isBusy(err):
		e.Reason = fmt.Sprintf("cannot be started now: somebody is writing to its file %s", cmd.Path)
	case isFormat(err):
		e.Reason = fmt.Sprintf("at %s is nothing that this system can run; a script needs a first line such as #!/bin/sh", cmd.Path)
	case errors.Is(err, fs.ErrNotExist):
		e.Reason = fmt.Sprintf("at %s needs an interpreter or loader that is not there", cmd.Path)
	default:
		e.Reason = fmt.Sprintf("cannot be started: %v", err)
	}
	return e
}

// canonical gives the form of a variable's name that tells names apart.
func canonical(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}
