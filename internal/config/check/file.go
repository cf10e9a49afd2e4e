// Package check finds what is wrong with an agent file that its decoder cannot
// see: what keys mean together, and whether what they name is there.
//
// Start with [File.Check]; each part of an agent file has a Go file of its own.
package check

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// File is an agent file that has been decoded, and whose variables and paths have
// been resolved. All fields but Found must be set.
type File struct {
	Doc   *strictyaml.Document
	Agent *config.Agent
	// Found is what is wrong, that of the decoder included.
	Found strictyaml.Problems
	// Unset are the key paths of values with a variable that is not set.
	Unset map[string]bool
	// Validate makes what the environment lacks a warning instead of an error.
	Validate bool
	// Inherited means that the agent stands inside of another one and has its
	// model, which is checked there.
	Inherited bool
	// Programs remembers which names were found in which PATH; several files
	// may share it.
	Programs map[string]bool
}

// At is the path of a top-level key.
func At(key string) *strictyaml.Path { return (*strictyaml.Path)(nil).Key(key) }

// CommandPath is where the argv of a shell section stands.
func CommandPath(shell *strictyaml.Node, p *strictyaml.Path) *strictyaml.Path {
	if shell.Kind == strictyaml.List {
		return p
	}
	return p.Key("command")
}

// PartPath is where the value of a part of a multipart body stands.
func PartPath(part *strictyaml.Node, p *strictyaml.Path) *strictyaml.Path {
	if part.Kind == strictyaml.Mapping {
		return p.Key("value")
	}
	return p
}

// Report adds a problem at the value that p leads to. The hint says what to do
// and may be empty.
func (f *File) Report(s strictyaml.Severity, p *strictyaml.Path, hint, format string, args ...any) {
	if len(f.Found) > strictyaml.MaxProblems {
		return
	}
	line, column := f.Doc.Position(p)
	f.Found = append(f.Found, strictyaml.Problem{Severity: s, File: f.Doc.File, Line: line, Column: column, Path: p.String(),
		Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (f *File) errorf(p *strictyaml.Path, hint, format string, args ...any) {
	f.Report(strictyaml.Error, p, hint, format, args...)
}

func (f *File) warnf(p *strictyaml.Path, hint, format string, args ...any) {
	f.Report(strictyaml.Warning, p, hint, format, args...)
}

// ok reports whether nothing has been found wrong at p or below, so that what
// is missing there is really missing.
func (f *File) ok(p *strictyaml.Path) bool {
	path := p.String()
	return !slices.ContainsFunc(f.Found, func(found strictyaml.Problem) bool {
		rest, below := strings.CutPrefix(found.Path, path)
		return found.Severity == strictyaml.Error && below && (rest == "" || strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "["))
	})
}

// What follows is for packages toolset and models, which check parts of a file, too.

// OK reports whether nothing has been found wrong at p or below.
func (f *File) OK(p *strictyaml.Path) bool { return f.ok(p) }

// OneOf sees that a mapping has exactly one of some keys; none says what it means
// if there is none.
func (f *File) OneOf(p *strictyaml.Path, none string, keys ...string) { f.oneOf(p, none, keys...) }

// CheckFolder sees that a folder is there.
func (f *File) CheckFolder(path string, p *strictyaml.Path) { f.checkFolder(path, p) }

// CheckFile sees that a file is there.
func (f *File) CheckFile(path string, p *strictyaml.Path) { f.checkFile(path, p) }

// CheckHeader checks a header's name, and its value as far as it is known.
func (f *File) CheckHeader(p *strictyaml.Path, name, value string) { f.checkHeader(p, name, value) }

// Shown is a value as the file writes it, when that names a variable.
func (f *File) Shown(p *strictyaml.Path, value string) string { return f.shown(p, value) }

// node is the value at p, nil where there is none.
func (f *File) node(p *strictyaml.Path) *strictyaml.Node { return f.Doc.Find(p) }

// Reason gives the cause of a file error without the path, which stands before it.
func Reason(err error) error {
	var pathErr *os.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
