package load

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/check"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// file is one agent file while it is being read.
type file struct {
	*loader
	*check.File
	named secretList // values of variables whose names tell of credentials
}

// read makes an agent of a document.
func (l *loader) read(doc *strictyaml.Document, abs string) {
	a := &config.Agent{File: doc.File, Dir: filepath.Dir(abs)}
	a.LookupEnv = l.environment(a.File, a.Dir)
	f := &file{loader: l, File: &check.File{Doc: doc, Agent: a, Unset: map[string]bool{}, Programs: l.programs}}
	l.file = f
	f.Found = l.decoder.Decode(doc, a)
	a.Definition = definition(doc)
	a.Serve.Name = cmp.Or(a.Serve.Name, a.Name)
	a.Serve.Title = cmp.Or(a.Serve.Title, a.Title)
	for i := range a.Tools {
		f.resolveTool(&a.Tools[i], check.At("tools").Index(i))
	}
	f.resolveServe(&a.Serve, check.At("serve"))
	f.resolveScript(a.Model.Script)
	a.Secrets = f.modelSecrets()
	f.Check()
	l.problems = append(l.problems, f.Found...)
	l.agents = append(l.agents, a)
	l.docs[a] = doc
}

// definition hashes what a file says.
func definition(doc *strictyaml.Document) string {
	canonical := doc.Canonical(func(key string) bool { return key == "$schema" || strings.HasPrefix(key, "x-") })
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:16])
}
