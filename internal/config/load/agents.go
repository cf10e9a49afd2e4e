package load

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/check"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// maxNesting is how many agents may call each other in a row.
const maxNesting = 8

// resolveAgent reads the agent that is a tool, and gives what of it must not be
// printed. What cannot be read has been reported, or will be by package check.
func (f *file) resolveAgent(t *config.Tool, entry *strictyaml.Path) []string {
	p := entry.Key("agent")
	var inner *file
	if n := f.Doc.Find(p); n != nil && n.Kind == strictyaml.Mapping {
		inner = f.innerAgent(n, p)
	} else if t.Agent.Path != "" {
		inner = f.innerFile(t.Agent, p)
	}
	switch {
	case inner == nil:
		return nil
	case inner.nesting >= maxNesting:
		f.Report(strictyaml.Error, p, "let one agent have several of them as its tools", "more than %d agents call each other in a row", maxNesting)
		return nil
	}
	a := inner.Agent
	t.Agent.Agent, t.Name = a, cmp.Or(t.Name, a.Name)
	if f.Doc.Find(entry.Key("timeout")) == nil {
		t.Timeout = a.Limits.Timeout // a turn has a bound of its own
	}
	f.nesting = max(f.nesting, inner.nesting+1)
	f.Agent.Incomplete = f.Agent.Incomplete || a.Incomplete
	return a.Secrets
}

// depth is how many agents there are from the one that is served to this one.
func (f *file) depth() int {
	n := 0
	for ; f != nil; f = f.up {
		n++
	}
	return n
}

// innerAgent reads an agent that stands inside of this one, as if it were a file
// of its own.
func (f *file) innerAgent(n *strictyaml.Node, p *strictyaml.Path) *file {
	if f.depth() > maxNesting {
		return nil // reported further up
	}
	return f.read(&strictyaml.Document{File: f.Doc.File, Root: n}, &file{abs: f.abs, up: f, inside: below(f.inside, p.String())})
}

// innerFile reads the agent file that a tool names, once for all who name it.
func (f *file) innerFile(t *config.AgentTool, p *strictyaml.Path) *file {
	written := t.Path
	t.Path = filepath.Clean(f.absolute(written))
	if f.confined[f.Doc.Find(p)] && !f.isBelow(written, t.Path) {
		f.Report(strictyaml.Error, p, "write agent: PATH, which may lead anywhere, instead of config_path", "the path leaves the folder of this file")
		return nil
	}
	if f.inCircle(t.Path, p) {
		return nil
	}
	e := f.entries[t.Path]
	if info, err := os.Stat(t.Path); e == nil && f.depth() <= maxNesting && err == nil && info.Mode().IsRegular() {
		shown := written
		if !filepath.IsAbs(shown) {
			shown = filepath.Join(filepath.Dir(f.Doc.File), filepath.FromSlash(shown))
		}
		if e, err = f.open(shown, true, f); err != nil {
			f.Report(strictyaml.Error, p, "", "the agent file cannot be read: %v", check.Reason(err))
		}
	}
	if e == nil {
		return nil
	}
	e.used = true
	return e.file
}

// isBelow reports whether a path stays in the folder of the file, symbolic links
// followed.
func (f *file) isBelow(written, abs string) bool {
	if !filepath.IsLocal(filepath.FromSlash(written)) {
		return false
	}
	target, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return true // there is no such file, which is said elsewhere
	}
	dir, err := filepath.EvalSymlinks(f.Agent.Dir)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(dir, target)
	return err == nil && filepath.IsLocal(rel)
}

// inCircle reports an agent that would end up calling itself.
func (f *file) inCircle(abs string, p *strictyaml.Path) bool {
	name := func(path string) string {
		if rel, err := filepath.Rel(f.Agent.Dir, path); err == nil {
			return rel
		}
		return path
	}
	chain := []string{name(abs)}
	for g := f; g != nil; g = g.up {
		if g.inside != "" {
			continue
		}
		chain = append([]string{name(g.abs)}, chain...)
		if g.abs == abs {
			f.Report(strictyaml.Error, p, "let one of them do without the other", "the agents call each other in a circle: %s", strings.Join(chain, " → "))
			return true
		}
	}
	return false
}

// below joins two key paths.
func below(outer, inner string) string {
	if outer == "" || inner == "" || inner[0] == '[' {
		return outer + inner
	}
	return outer + "." + inner
}
