package load

import (
	"path/filepath"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// Model reads the model that a key at the top of a file names which is no agent file,
// as that of an agent file in its place: the variables and the .env file beside it, the
// paths, what is checked and what is a secret are the same. The agent is called as the
// key and has that model, and nothing else that matters. The problems are the model's,
// at their places in the file, and those of .env.
func Model(doc *strictyaml.Document, key string, opts Options) (*config.Agent, Problems, error) {
	abs, err := filepath.Abs(doc.File)
	if err != nil {
		return nil, nil, err
	}
	l, at := newLoader(opts), doc.Root
	text := func(s string) *strictyaml.Node {
		return &strictyaml.Node{Text: s, Class: strictyaml.Text, Line: at.Line, Column: at.Column}
	}
	agent := &strictyaml.Node{Kind: strictyaml.Mapping, Line: at.Line, Column: at.Column, Pairs: []strictyaml.Pair{
		{Key: text("name"), Value: text(key)}, {Key: text("instruction"), Value: text(key)}, {Key: text("model"), Value: at.Get(key)},
	}}
	f := l.read(&strictyaml.Document{File: doc.File, Root: agent}, &file{abs: abs})
	var problems Problems
	for _, p := range l.problems {
		rest, ofModel := strings.CutPrefix(p.Path, "model")
		switch {
		case p.File != doc.File:
			problems = append(problems, p)
		case ofModel && (rest == "" || rest[0] == '.' || rest[0] == '['):
			p.Path = key + rest
			problems = append(problems, p)
		}
	}
	return f.Agent, problems.Sort(), nil
}
