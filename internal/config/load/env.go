package load

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/template"

	"github.com/joho/godotenv"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/check"
	"github.com/adkmcp/adkmcp/internal/config/check/toolset"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// dotenv is the .env file of a folder.
type dotenv map[string]string

// maxDotenv bounds a .env file in bytes.
const maxDotenv = 64 << 10

// environment is what a file sees: the process's variables, then those of the
// .env file beside it. The file is in the absolute folder dir.
func (l *loader) environment(file, dir string) func(name string) (string, bool) {
	vars, known := l.dotenv[dir]
	if !known {
		vars = l.readDotenv(filepath.Join(filepath.Dir(file), ".env"))
		l.dotenv[dir] = vars
	}
	return func(name string) (string, bool) {
		if v, ok := l.opts.LookupEnv(name); ok {
			return v, true
		}
		v, ok := vars[name]
		return v, ok
	}
}

// readDotenv reads a .env file, if there is one. Its problems never show what
// stands in it.
func (l *loader) readDotenv(path string) dotenv {
	wrong := func(line int, message string) {
		l.problems = append(l.problems, Problem{Severity: strictyaml.Error, File: path, Line: line, Column: 1, Message: message,
			Hint: "a line is NAME=value, a value with blanks or # is quoted"})
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist), err == nil && info.IsDir(): // a Python environment is often called so
		return nil
	case err == nil && !info.Mode().IsRegular():
		wrong(1, "neither a file nor a folder")
		return nil
	}
	data, err := readBounded(path, maxDotenv+1)
	switch {
	case err != nil:
		wrong(1, "the file cannot be read: "+check.Reason(err).Error())
		return nil
	case len(data) > maxDotenv:
		wrong(1, "the file is larger than 64 KiB")
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	vars, ok := parseDotenv(data)
	if ok {
		return vars
	}
	// The library does not say where: the place is behind the last lines that
	// can be read by themselves.
	lines := bytes.SplitAfter(data, []byte("\n"))
	lines = lines[:min(len(lines), 2000)]
	start := 0
	for end := range lines {
		if _, ok := parseDotenv(bytes.Join(lines[start:end+1], nil)); ok {
			start = end + 1
		}
	}
	wrong(min(start+1, len(lines)), "the line is no assignment, or a quote in it is not closed")
	return nil
}

func parseDotenv(data []byte) (dotenv, bool) {
	vars, err := godotenv.UnmarshalBytes(data)
	_, nameless := vars[""]
	return vars, err == nil && !nameless
}

// secretList collects what must not be printed.
type secretList []string

func (s *secretList) add(values ...string) {
	for _, v := range values {
		if v != "" && !slices.Contains(*s, v) {
			*s = append(*s, v)
		}
	}
}

// missing reports variables that are not set.
func (f *file) missing(p *strictyaml.Path, names []string) {
	for _, name := range names {
		severity, hint, message := f.notSet(p, name)
		f.Report(severity, p, hint, "%s", message)
	}
}

// notSet remembers that the place has no value, and says so.
func (f *file) notSet(p *strictyaml.Path, name string) (s strictyaml.Severity, hint, message string) {
	f.Unset[p.String()] = true
	f.Agent.Incomplete = f.Agent.Incomplete || !f.unasked(p)
	s = strictyaml.Error
	if f.opts.Validate {
		s = strictyaml.Warning
	}
	return s, "set it, put it into .env beside the file, or write ${" + name + ":-default}", "the environment variable " + name + " is not set"
}

// expand replaces the variables of a text without places, while it is decoded.
func (f *file) expand(c *strictyaml.Cursor, text string) (string, bool) {
	vars := template.ParseVars(text)
	f.noteSecrets(vars)
	t, names := vars.Resolve(f.Agent.LookupEnv)
	for _, name := range names {
		severity, hint, message := f.notSet(c.Path(), name)
		if !f.unasked(c.Path()) {
			c.Report(severity, hint, message)
		}
	}
	return t.Plain(), len(names) == 0
}

// unasked reports whether a value is a model's that is not asked.
func (f *file) unasked(p *strictyaml.Path) bool {
	path := p.String()
	ofModel := path == "model" || strings.HasPrefix(path, "model.") && path != "model.recording"
	return f.opts.Unasked && (ofModel || strings.Contains(path, ".hosted_mcp."))
}

// template replaces the variables of t and gives their values.
func (f *file) template(t *template.Text, p *strictyaml.Path) []string {
	f.noteSecrets(*t)
	resolved, names := t.Resolve(f.Agent.LookupEnv)
	f.missing(p, names)
	*t = resolved
	return resolved.EnvValues()
}

func (f *file) templates(ts []template.Text, p *strictyaml.Path) {
	for i := range ts {
		f.template(&ts[i], p.Index(i))
	}
}

// templateMap replaces the variables of values and gives those of the
// environment.
func (f *file) templateMap(ts map[string]template.Text, p *strictyaml.Path) (values []string) {
	for _, name := range slices.Sorted(maps.Keys(ts)) {
		t := ts[name]
		values = append(values, f.template(&t, p.Key(name))...)
		ts[name] = t
	}
	return values
}

func (f *file) pairs(ps []config.QueryParam, p *strictyaml.Path) (values []string) {
	for i := range ps {
		values = append(values, f.template(&ps[i].Value, p.Key(ps[i].Name))...)
	}
	return values
}

func (f *file) parts(ps []config.Part, p *strictyaml.Path) (values []string) {
	for i := range ps {
		q := p.Key(ps[i].Name)
		values = append(values, f.template(&ps[i].Value, check.PartPath(f.Doc.Find(q), q))...)
		if ps[i].Filename != nil {
			values = append(values, f.template(ps[i].Filename, q.Key("filename"))...)
		}
	}
	return values
}

// resolveTool puts the environment into a tool, makes its paths absolute and
// collects what must not be printed.
func (f *file) resolveTool(t *config.Tool, p *strictyaml.Path) {
	var secrets secretList
	switch {
	case t.Builtin != nil:
		t.Builtin.Root = f.absolute(t.Builtin.Root)
	case t.Shell != nil:
		p = p.Key("shell")
		s := t.Shell
		f.templates(s.Command, check.CommandPath(f.Doc.Find(p), p))
		f.templates(s.Interpreter, p.Key("interpreter"))
		if s.Stdin != nil {
			f.template(s.Stdin, p.Key("stdin"))
		}
		secrets.add(f.templateMap(s.Env, p.Key("env"))...)
		for _, name := range s.PassEnv {
			f.noteSecret(name)
		}
		if s.Dir = f.absolute(s.Dir); s.Dir == "" {
			s.Dir = f.Agent.Dir
		}
		f.program(s.Command)
		f.program(s.Interpreter)
	case t.HTTP != nil:
		p = p.Key("http")
		h := t.HTTP
		secrets.add(f.url(h, p.Key("url"))...)
		secrets.add(inURL(h.URL)...)
		secrets.add(f.templateMap(h.Headers, p.Key("headers"))...)
		secrets.add(inHeaders(h.Headers)...)
		secrets.add(f.pairs(h.Query, p.Key("query"))...)
		if h.Body != nil {
			secrets.add(f.body(h.Body, p.Key("body"))...)
		}
		if h.Auth != nil {
			secrets.add(inAuth(h.Auth)...)
		}
	case t.MCP != nil:
		secrets.add(f.resolveMCP(t.MCP, p.Key("mcp"))...)
	case t.OpenAPI != nil:
		secrets.add(f.resolveOpenAPI(t.OpenAPI, p.Key("openapi"))...)
	case t.Agent != nil:
		secrets.add(f.resolveAgent(t, p)...)
	case t.HostedMCP != nil:
		secrets.add(hostedSecrets(t.HostedMCP)...)
	}
	t.Secrets = secrets
}

// resolveServe makes the paths of prompts and resources absolute.
func (f *file) resolveServe(s *config.Serve, p *strictyaml.Path) {
	if s.Attachments != nil && s.Attachments.MaxCount == 0 { // false; a mapping has one at least
		s.Attachments = nil
	}
	for i := range s.Prompts {
		for j := range s.Prompts[i].Messages {
			m := &s.Prompts[i].Messages[j]
			m.File = f.absolute(m.File)
		}
	}
	for i := range s.Resources {
		if r := &s.Resources[i]; r.File != nil {
			f.template(r.File, p.Key("resources").Index(i).Key("file"))
			*r.File = f.absoluteTemplate(*r.File)
		}
	}
}

// absolute makes a path of the file absolute; an empty one stays.
func (f *file) absolute(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(f.Agent.Dir, filepath.FromSlash(path))
}

// absoluteTemplate makes a path with places absolute; an empty one stays.
func (f *file) absoluteTemplate(t template.Text) template.Text {
	if len(t.Places()) == 0 {
		return template.Text{Segments: []template.Segment{{Text: f.absolute(t.Plain())}}}
	}
	folder, below := t.SplitFolder()
	folder = strings.TrimSuffix(filepath.Clean(f.absolute(cmp.Or(folder, "."))), string(filepath.Separator)) + string(filepath.Separator)
	if below.Segments[0].Place == "" {
		below.Segments[0].Text = folder + below.Segments[0].Text
		return below
	}
	return template.Text{Segments: append([]template.Segment{{Text: folder}}, below.Segments...)}
}

// program makes the program of a command absolute where it is named with a
// slash; a bare name is for the PATH.
func (f *file) program(command []template.Text) {
	if len(command) == 0 || len(command[0].Places()) > 0 {
		return
	}
	if path := command[0].Plain(); strings.ContainsAny(path, `/`+string(filepath.Separator)) {
		command[0] = template.Text{Segments: []template.Segment{{Text: f.absolute(path)}}}
	}
}

// url puts the environment into a URL template. A value is text there, whatever
// braces it holds.
func (f *file) url(h *config.HTTP, p *strictyaml.Path) []string {
	vars := template.ParseVars(h.URL)
	f.noteSecrets(vars)
	t, names := vars.Resolve(f.Agent.LookupEnv)
	f.missing(p, names)
	var b strings.Builder
	for _, s := range t.Segments {
		if s.FromEnv {
			s.Text = strings.NewReplacer("{", "%7B", "}", "%7D").Replace(s.Text)
		}
		b.WriteString(s.Text)
	}
	h.URL = b.String()
	return t.EnvValues()
}

// body puts the environment into a request's body.
func (f *file) body(b *config.Body, p *strictyaml.Path) (values []string) {
	values = append(f.pairs(b.Form, p.Key("form")), f.parts(b.Multipart, p.Key("multipart"))...)
	if b.Raw != nil {
		values = append(values, f.template(b.Raw, p.Key("raw"))...)
	}
	if bytes.IndexByte(b.JSON, '$') < 0 {
		return values
	}
	b.JSON = f.Doc.JSON(p.Key("json"), func(p *strictyaml.Path, text string) string {
		t := template.Parse(text)
		values = append(values, f.template(&t, p)...)
		source, ok := t.Source()
		if !ok {
			f.Report(strictyaml.Error, p, "put a blank between them", "the value of a variable and the place beside it would read as something else together")
		}
		return source
	})
	return values
}

// inAuth gives what signs requests.
func inAuth(a *config.Auth) []string {
	secrets := []string{a.Bearer.Reveal()}
	if a.Basic != nil {
		secrets = append(secrets, basic(a.Basic.Username, a.Basic.Password.Reveal())...)
	}
	if a.Header != nil {
		secrets = append(secrets, a.Header.Value.Reveal())
	}
	return secrets
}

// basic is a password, and what becomes of it in a request (RFC 7617).
func basic(username, password string) []string {
	if password == "" {
		return nil
	}
	return []string{password, base64.StdEncoding.EncodeToString([]byte(username + ":" + password))}
}

// noteSecrets remembers the values of variables whose names tell of
// credentials, wherever in the file they stand.
func (f *file) noteSecrets(t template.Text) {
	for _, s := range t.Segments {
		f.noteSecret(s.Var)
	}
}

func (f *file) noteSecret(variable string) {
	if toolset.IsCredential(variable) {
		value, _ := f.Agent.LookupEnv(variable)
		f.named.add(value)
	}
}

// inHeaders gives what the file itself says in headers whose names tell of
// credentials. Of "Bearer x" that is x.
func inHeaders(headers map[string]template.Text) []string {
	var values []string
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if !toolset.IsCredential(name) {
			continue
		}
		values = append(values, credentials(headers[name])...)
	}
	return values
}

// credentials gives the texts of a header whose name tells of credentials.
func credentials(t template.Text) (values []string) {
	for _, s := range t.Segments {
		text := strings.TrimSpace(s.Text)
		if _, token, ok := strings.Cut(text, " "); ok {
			text = token
		}
		values = append(values, text)
	}
	return values
}

// inURL gives the password in a URL, which may be a template.
func inURL(raw string) []string {
	_, rest, _ := strings.Cut(raw, "://")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	u, err := url.Parse("http://" + rest)
	if err != nil || u.User == nil {
		return nil
	}
	password, _ := u.User.Password()
	return basic(u.User.Username(), password)
}

// fileSecrets collects what must not be printed of the whole file.
func (f *file) fileSecrets() []string {
	var secrets secretList
	secrets.add(f.modelSecrets(&f.Agent.Model)...)
	for i := range f.Agent.Model.Fallback {
		secrets.add(f.modelSecrets(&f.Agent.Model.Fallback[i])...)
	}
	for i := range f.Agent.MCPServers {
		secrets.add(f.Agent.MCPServers[i].Secrets...)
	}
	for i := range f.Agent.Tools {
		secrets.add(f.Agent.Tools[i].Secrets...)
	}
	secrets.add(f.named...)
	return secrets
}
