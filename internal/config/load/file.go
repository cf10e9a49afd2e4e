package load

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// file is one agent file while it is being read.
type file struct {
	*loader
	doc   *strictyaml.Document
	agent *config.Agent
	found Problems
	unset map[string]bool // key paths with a variable that is not set
	named secretList      // values of variables whose names tell of credentials
}

// read makes an agent of a document.
func (l *loader) read(doc *strictyaml.Document, abs string) {
	a := &config.Agent{File: doc.File, Dir: filepath.Dir(abs)}
	a.LookupEnv = l.environment(a.File, a.Dir)
	f := &file{loader: l, doc: doc, agent: a, unset: map[string]bool{}}
	l.file = f
	f.found = l.decoder.Decode(doc, a)
	a.Definition = definition(doc)
	a.Serve.Name = cmp.Or(a.Serve.Name, a.Name)
	a.Serve.Title = cmp.Or(a.Serve.Title, a.Title)
	for i := range a.Tools {
		f.resolveTool(&a.Tools[i], at("tools").Index(i))
	}
	a.Secrets = f.modelSecrets()
	f.check()
	l.problems = append(l.problems, f.found...)
	l.agents = append(l.agents, a)
	l.docs[a] = doc
}

// definition hashes what a file says.
func definition(doc *strictyaml.Document) string {
	canonical := doc.Canonical(func(key string) bool { return key == "$schema" || strings.HasPrefix(key, "x-") })
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:16])
}

// at is the path of a top-level key.
func at(key string) *strictyaml.Path { return (*strictyaml.Path)(nil).Key(key) }

// report adds a problem at the value that p leads to.
func (f *file) report(s strictyaml.Severity, p *strictyaml.Path, hint, format string, args ...any) {
	if len(f.found) > strictyaml.MaxProblems {
		return
	}
	line, column := f.doc.Position(p)
	f.found = append(f.found, Problem{Severity: s, File: f.doc.File, Line: line, Column: column, Path: p.String(),
		Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (f *file) errorf(p *strictyaml.Path, hint, format string, args ...any) {
	f.report(strictyaml.Error, p, hint, format, args...)
}

func (f *file) warnf(p *strictyaml.Path, hint, format string, args ...any) {
	f.report(strictyaml.Warning, p, hint, format, args...)
}

// ok reports whether nothing has been found wrong at p or below, so that what
// is missing there is really missing.
func (f *file) ok(p *strictyaml.Path) bool {
	path := p.String()
	return !slices.ContainsFunc(f.found, func(found Problem) bool {
		rest, below := strings.CutPrefix(found.Path, path)
		return found.Severity == strictyaml.Error && below && (rest == "" || strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "["))
	})
}

// node is the value at p, nil where there is none.
func (f *file) node(p *strictyaml.Path) *strictyaml.Node { return f.doc.Find(p) }
