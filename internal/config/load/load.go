// Package load reads agent files and folders of them: it finds the files, puts
// the environment in, has them checked, and reports every problem with its place.
//
// Start with [Agents], or [Model] for a model in another file, then read file.go: a
// file is decoded as the types of package config say, resolved (env.go, servers.go)
// and checked (package check), and so are the agents that are its tools (agents.go).
// What ADK writes in another form is put into ours before (adk.go).
// Validating and serving read files through the same call, so that a file means
// the same to both.
package load

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/check"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// Problem is one thing that is wrong with a file; see package strictyaml.
type Problem = strictyaml.Problem

// Problems are those of all files, sorted by file, line and column.
type Problems = strictyaml.Problems

// Options say how files are read.
type Options struct {
	// LookupEnv gives an environment variable of the process.
	LookupEnv func(name string) (string, bool)
	// Validate makes a variable that is not set a warning instead of an error.
	Validate bool
	// Unasked means that no model is asked, since a recording plays: what a model wants
	// of the environment is of no matter then.
	Unasked bool
	// Logger hears at debug level of files that are left alone. It may be nil.
	Logger *slog.Logger
}

// Agents reads files and folders. Of a folder the agent files are read, not those
// in folders below it. Whoever runs the agents has to see first that the
// problems have no errors. The agents are in the order of the paths, those of a
// folder by file name. An agent of a folder that is a tool of another one is not
// among them, unless its file is one of the paths.
//
// The error, if any, joins what could not be read at all: a path that is not
// there or that nobody may read. The rest is reported as usual.
func Agents(paths []string, opts Options) ([]*config.Agent, Problems, error) {
	l := newLoader(opts)
	var unreadable []error
	for _, path := range paths {
		if err := l.path(path); err != nil {
			unreadable = append(unreadable, err)
		}
	}
	l.agents = l.served()
	l.checkNames()
	l.checkShared()
	return l.agents, l.problems.Sort(), errors.Join(unreadable...)
}

// loader reads the files of one [Agents].
type loader struct {
	opts     Options
	decoder  *strictyaml.Decoder
	file     *file             // that is being read, for the decoder's questions
	entries  map[string]*entry // by the files' absolute paths
	top      []*entry          // those that the paths lead to, in order
	dotenv   map[string]dotenv // by folder
	programs map[string]bool   // whether a name was found in a PATH
	agents   []*config.Agent
	docs     map[*config.Agent]*strictyaml.Document
	problems Problems
}

// entry is a file that was read.
type entry struct {
	file        *file // nil where nothing could be made of it
	named, used bool  // by a path of [Agents]; as the tool of an agent
}

func newLoader(opts Options) *loader {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	l := &loader{opts: opts, entries: map[string]*entry{}, dotenv: map[string]dotenv{}, programs: map[string]bool{}, docs: map[*config.Agent]*strictyaml.Document{}}
	l.decoder = config.NewDecoder(func(c *strictyaml.Cursor, text string) (string, bool) { return l.file.expand(c, text) })
	return l
}

func (l *loader) path(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("cannot read %s: %w", path, check.Reason(err))
	case info.IsDir():
		return l.folder(path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("cannot read %s: it is neither a file nor a folder", path)
	}
	return l.load(path, true)
}

func (l *loader) folder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", dir, check.Reason(err))
	}
	before := len(l.top) + len(l.problems)
	for _, entry := range entries {
		name := strings.ToLower(entry.Name())
		path := filepath.Join(dir, entry.Name())
		ext := filepath.Ext(name)
		if !slices.Contains([]string{".yaml", ".yml", ".json"}, ext) || strings.HasSuffix(strings.TrimSuffix(name, ext), ".test") {
			l.leave(path, "its name is not that of an agent file")
			continue
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			l.leave(path, "it is not a file")
			continue
		}
		if err := l.load(path, false); err != nil {
			return err
		}
	}
	if len(l.top)+len(l.problems) == before {
		l.problems = append(l.problems, Problem{Severity: strictyaml.Error, File: dir, Message: "this folder holds no agent file",
			Hint: "an agent file ends in .yaml, .yml or .json and has name and instruction at its top level"})
	}
	return nil
}

func (l *loader) leave(path, why string) {
	l.opts.Logger.Debug("file is left alone", "file", path, "reason", why)
}

// load reads one file; named says that it was named itself and has to be an
// agent.
func (l *loader) load(path string, named bool) error {
	e, err := l.open(path, named, nil)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", path, check.Reason(err))
	}
	if e == nil {
		return nil
	}
	if e.named = e.named || named; !slices.Contains(l.top, e) {
		l.top = append(l.top, e)
	}
	return nil
}

// open reads a file, if it has not been read; it gives nil for one that is no
// agent. The agent is a tool of that of the file up, unless up is nil.
func (l *loader) open(path string, named bool, up *file) (*entry, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if e := l.entries[abs]; e != nil {
		return e, nil
	}
	data, err := readBounded(path, strictyaml.MaxBytes+1)
	if err != nil {
		return nil, err
	}
	doc, problems := strictyaml.Parse(path, data)
	switch {
	case doc == nil && !named && !looksLikeAgent(data):
		l.leave(path, problems[0].Message)
		return nil, nil
	case doc != nil && !l.isAgent(doc, named):
		return nil, nil
	}
	e := &entry{}
	l.entries[abs] = e
	l.problems = append(l.problems, problems...)
	if doc != nil {
		e.file = l.read(doc, &file{abs: abs, up: up})
	}
	return e, nil
}

// served are the agents that the paths lead to, without those that only others
// call.
func (l *loader) served() (agents []*config.Agent) {
	for _, e := range l.top {
		switch {
		case e.file == nil:
		case e.used && !e.named:
			l.opts.Logger.Debug("agent is not served by itself", "file", e.file.Doc.File, "reason", "it is a tool of another agent; name its file to serve it too")
		default:
			agents = append(agents, e.file.Agent)
		}
	}
	return agents
}

// readBounded reads a file up to a number of bytes.
func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// looksLikeAgent guesses whether a file that is not valid YAML was meant to be
// an agent, so that a slip of the pen does not make an agent vanish from its
// folder.
func looksLikeAgent(data []byte) bool {
	key := func(name string) bool { return regexp.MustCompile(`(?m)^[\s{,]{0,4}"?` + name + `"?\s*:`).Match(data) }
	return key("name") && (key("instruction") || key("agent_class"))
}

// isAgent decides whether a file is an agent, and reports it where it should
// have been one.
func (l *loader) isAgent(doc *strictyaml.Document, named bool) bool {
	root := doc.Root
	var keys []string
	for _, p := range root.Pairs {
		keys = append(keys, p.Key.Text)
	}
	has := func(key string) bool { return slices.Contains(keys, key) }
	if has("name") && (has("instruction") || has("agent_class")) {
		return true
	}
	near := strictyaml.Nearest("instruction", keys)
	switch {
	case named && (has("instruction") || has("agent_class") || near != "" || has("name") && (has("model") || has("tools"))):
		return true // but not a whole one, which the decoder says in detail
	case named:
		what := "it is " + root.Kind.String()
		if root.Kind == strictyaml.Mapping {
			what = "its keys are " + strings.Join(keys[:min(len(keys), 8)], ", ")
		}
		l.problems = append(l.problems, Problem{Severity: strictyaml.Error, File: doc.File, Line: 1, Column: 1,
			Message: "this is not an agent file: " + what, Hint: "an agent file has name and instruction at its top level"})
	case has("name") && near != "":
		pair := root.Pairs[slices.Index(keys, near)]
		l.problems = append(l.problems, Problem{Severity: strictyaml.Warning, File: doc.File, Line: pair.Key.Line, Column: pair.Key.Column, Path: near,
			Message: "this file is left alone since it has no instruction", Hint: `did you mean "instruction"?`})
	default:
		l.leave(doc.File, "it has no name and instruction at its top level")
	}
	return false
}

// checkNames sees that no two agents have the same name, as agents or as MCP
// tools.
func (l *loader) checkNames() {
	for _, served := range []bool{false, true} {
		first := map[string]*config.Agent{}
		for _, a := range l.agents {
			name, path := a.Name, check.At("name")
			if served {
				name = a.Serve.Name
				if l.docs[a].Root.Get("serve").Get("name") != nil {
					path = check.At("serve").Key("name")
				}
			}
			other := first[name]
			switch {
			case name == "":
			case other == nil:
				first[name] = a
			case served && other.Name == a.Name: // said already
			default:
				line, column := l.docs[a].Position(path)
				l.problems = append(l.problems, Problem{Severity: strictyaml.Error, File: a.File, Line: line, Column: column, Path: path.String(),
					Message: fmt.Sprintf("the name %q is also that of the agent in %s", name, other.File),
					Hint:    "each agent becomes an MCP tool of its own name; rename one of them"})
			}
		}
	}
}

// checkShared sees that no two agents have a prompt or a resource of the same
// name, or a resource of the same URI: a server offers those of all its agents
// together.
func (l *loader) checkShared() {
	prompts, resources, uris := map[string]*config.Agent{}, map[string]*config.Agent{}, map[string]*config.Agent{}
	for _, a := range l.agents {
		serve := check.At("serve")
		for i, prompt := range a.Serve.Prompts {
			l.alone(prompts, a, prompt.Name, serve.Key("prompts").Index(i).Key("name"))
		}
		for i, r := range a.Serve.Resources {
			p := serve.Key("resources").Index(i)
			l.alone(resources, a, r.Name, p.Key("name"))
			l.alone(uris, a, r.URI, p.Key("uri"))
			l.alone(uris, a, r.URITemplate, p.Key("uri_template"))
		}
	}
}

// alone reports that another agent has the name, which stands at p.
func (l *loader) alone(first map[string]*config.Agent, a *config.Agent, name string, p *strictyaml.Path) {
	switch other := first[name]; {
	case name == "" || other == a: // said already
	case other == nil:
		first[name] = a
	default:
		line, column := l.docs[a].Position(p)
		l.problems = append(l.problems, Problem{Severity: strictyaml.Error, File: a.File, Line: line, Column: column, Path: p.String(),
			Message: fmt.Sprintf("%q is also in the agent file %s", name, other.File),
			Hint:    "a server offers the prompts and resources of all its agents together; rename one of them"})
	}
}
