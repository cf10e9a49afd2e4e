package load

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/check"
	"github.com/adkmcp/adkmcp/internal/config/check/models"
	"github.com/adkmcp/adkmcp/internal/config/check/toolset"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// file is one agent file, or an agent inside of one, while it is being read.
type file struct {
	*loader
	*check.File
	named secretList // values of variables whose names tell of credentials
	abs   string     // the file's absolute path

	up     *file  // whose tool the agent is; nil for one that is served
	inside string // where in the file of up the agent stands; empty for a file
	// model is the agent's model, or that of the agent around it, and modelNode
	// what the file says of it.
	model     *config.Model
	modelNode *strictyaml.Node
	confined  map[*strictyaml.Node]bool // paths that must not leave the folder
	nesting   int                       // how many agents call each other in a row from this one on
}

// read makes an agent of a document. It fills f, of which abs, up and inside are
// set.
func (l *loader) read(doc *strictyaml.Document, f *file) *file {
	a := &config.Agent{File: doc.File, Dir: filepath.Dir(f.abs)}
	a.LookupEnv = l.environment(a.File, a.Dir)
	f.loader, f.nesting, f.confined = l, 1, map[*strictyaml.Node]bool{}
	f.File = &check.File{Doc: doc, Agent: a, Unset: map[string]bool{}, Validate: l.opts.Validate, Programs: l.programs}
	f.Doc = f.translate()
	l.file = f
	f.Found = append(f.Found, l.decoder.Decode(f.Doc, a)...)
	f.inheritModel()
	a.Serve.Name = cmp.Or(a.Serve.Name, a.Name)
	a.Serve.Title = cmp.Or(a.Serve.Title, a.Title)
	f.resolveModel(&a.Model, check.At("model"))
	f.resolveServe(&a.Serve, check.At("serve"))
	f.resolveServers()
	for i := range a.Tools {
		f.resolveTool(&a.Tools[i], check.At("tools").Index(i))
	}
	a.Definition = f.definition()
	a.Secrets = f.fileSecrets()
	f.Check()
	models.Check(f.File)
	toolset.Check(f.File)
	for _, p := range f.Found {
		p.Path = below(f.inside, p.Path)
		l.problems = append(l.problems, p)
	}
	l.docs[a] = f.Doc
	return f
}

// inheritModel gives an agent inside of another, which says nothing of a model,
// that of the one around it. A file means the same wherever it is used.
func (f *file) inheritModel() {
	own := f.Agent.Model.Clone() // before it takes over this agent's own settings
	f.model, f.modelNode = &own, f.Doc.Root.Get("model")
	if f.inside != "" && f.modelNode == nil {
		f.model, f.modelNode, f.Inherited = f.up.model, f.up.modelNode, true
		f.Agent.Model = f.model.Clone()
	}
}

// definition hashes what a file says, and what the agents say that are its tools.
func (f *file) definition() string {
	sum := sha256.New()
	add := func(doc *strictyaml.Document) {
		sum.Write(doc.Canonical(func(key string) bool { return key == "$schema" || strings.HasPrefix(key, "x-") }))
	}
	add(f.Doc)
	if f.Inherited && f.modelNode != nil {
		add(&strictyaml.Document{Root: f.modelNode})
	}
	for _, t := range f.Agent.Tools {
		if t.Agent != nil && t.Agent.Agent != nil {
			sum.Write([]byte(t.Agent.Agent.Definition))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
