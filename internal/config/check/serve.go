package check

import (
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adkmcp/adkmcp/internal/config/template"

	"github.com/yosida95/uritemplate/v3"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// checkServe checks what hosts see of the agent besides its tool.
func (f *File) checkServe() {
	s, p := &f.Agent.Serve, At("serve")
	if turn := f.Agent.Limits.Timeout; s.Timeout.Limit > turn && turn > 0 {
		f.warnf(p.Key("timeout"), "a caller gets the answer or the reason when the turn ends", "this is longer than limits.timeout, %s", turn)
	}
	byName, byURI := map[string]*strictyaml.Path{}, map[string]*strictyaml.Path{}
	for i := range s.Resources {
		q := p.Key("resources").Index(i)
		f.checkResource(&s.Resources[i], q)
		f.once(byName, s.Resources[i].Name, q.Key("name"))
		f.once(byURI, s.Resources[i].URI, q.Key("uri"))
		f.once(byURI, s.Resources[i].URITemplate, q.Key("uri_template"))
	}
	known := f.knownURIs()
	prompts := map[string]*strictyaml.Path{}
	for i := range s.Prompts {
		q := p.Key("prompts").Index(i)
		f.checkPrompt(&s.Prompts[i], q, known)
		f.once(prompts, s.Prompts[i].Name, q.Key("name"))
	}
}

// once sees that a name stands once; first says where each of them stands.
func (f *File) once(first map[string]*strictyaml.Path, name string, p *strictyaml.Path) {
	switch other := first[name]; {
	case name == "":
	case other == nil:
		first[name] = p
	default:
		line, _ := f.Doc.Position(other)
		f.errorf(p, "rename one of them", "%q stands on line %d already", name, line)
	}
}

func (f *File) checkPrompt(prompt *config.Prompt, p *strictyaml.Path, known func(uri string) bool) {
	f.oneOf(p, "the prompt says nothing", "text", "messages")
	as := f.newArguments("an argument", "prompt")
	first := map[string]*strictyaml.Path{}
	for i, arg := range prompt.Arguments {
		q := p.Key("arguments").Index(i).Key("name")
		if f.once(first, arg.Name, q); arg.Name != "" {
			as.add(arg.Name, q, !arg.Required)
		}
	}
	as.unknown = !f.ok(p.Key("arguments"))
	if prompt.Text != nil {
		as.template(*prompt.Text, p.Key("text"))
	}
	messages := p.Key("messages")
	if f.node(messages) != nil && len(prompt.Messages) == 0 && f.ok(messages) {
		f.errorf(messages, "begin a message with a dash", "the prompt has no message")
	}
	for i := range prompt.Messages {
		f.checkMessage(&prompt.Messages[i], messages.Index(i), as, known)
	}
	if f.ok(p) {
		as.unused()
	}
}

func (f *File) checkMessage(m *config.PromptMessage, p *strictyaml.Path, as *arguments, known func(uri string) bool) {
	f.oneOf(p, "the message says nothing", "text", "file", "resource")
	if m.Text != nil {
		as.template(*m.Text, p.Key("text"))
	}
	if file := p.Key("file"); f.node(file) != nil {
		f.checkFile(m.File, file)
	}
	if m.Resource == nil {
		return
	}
	p = p.Key("resource")
	as.template(*m.Resource, p)
	if _, place := m.Resource.Only(); !place && f.ok(p) && !known(sample(*m.Resource)) {
		f.errorf(p, "write the uri of an entry of serve.resources, or one that fits its uri_template", "this agent has no such resource")
	}
}

// sample puts the same text into every place.
func sample(t template.Text) string {
	s, _ := t.Expand(func(string) (string, error) { return "x", nil }) // which never fails
	return s
}

// knownURIs gives a function that reports whether a resource has a URI, or may
// have it.
func (f *File) knownURIs() func(uri string) bool {
	fixed := map[string]bool{}
	templates := sync.OnceValue(func() (all []*regexp.Regexp) {
		for _, r := range f.Agent.Serve.Resources {
			if t, err := uritemplate.New(r.URITemplate); err == nil && r.URITemplate != "" {
				all = append(all, t.Regexp())
			}
		}
		return all
	})
	for _, r := range f.Agent.Serve.Resources {
		fixed[r.URI] = true
	}
	return func(uri string) bool {
		return fixed[uri] || slices.ContainsFunc(templates(), func(t *regexp.Regexp) bool { return t.MatchString(uri) })
	}
}

func (f *File) checkResource(r *config.Resource, p *strictyaml.Path) {
	f.oneOf(p, "the resource has no URI", "uri", "uri_template")
	f.oneOf(p, "the resource holds nothing", "text", "file")
	as := f.newArguments("a place", "resource's uri_template")
	if uri := p.Key("uri"); f.node(uri) != nil && f.ok(uri) {
		f.checkURI(r.URI, uri, nil)
	}
	if uri := p.Key("uri_template"); f.node(uri) != nil {
		if f.ok(uri) {
			f.checkURI(r.URITemplate, uri, as)
		}
		as.unknown = !f.ok(uri)
	}
	if r.Text != nil {
		as.template(*r.Text, p.Key("text"))
	}
	if r.File != nil {
		f.checkResourceFile(r, p.Key("file"), as)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Values)) {
		if as.by[name] == nil && !as.unknown {
			f.errorf(p.Key("values").Key(name), "values complete the places of a uri_template", "%s is not a place of this resource's uri_template", name)
		}
	}
	if f.ok(p) {
		as.unused()
	}
}

// checkURI checks the URI of a resource, or a template of URIs, whose places it
// notes in as. Only the simplest expressions of RFC 6570 are taken: hosts match
// templates themselves, and none does it like another.
func (f *File) checkURI(uri string, p *strictyaml.Path, as *arguments) {
	t, err := uritemplate.New(uri)
	if err != nil {
		f.errorf(p, "write blanks and other special characters as %20 and the like, and places as {name}", "this is no URI")
		return
	}
	places := expression().FindAllStringSubmatch(uri, -1)
	switch {
	case as == nil && len(places) > 0:
		f.errorf(p, "write uri_template", "a uri has no places, and %s is one", places[0][0])
		return
	case as != nil && len(places) == 0:
		f.errorf(p, "write uri, or a place such as {name}", "a uri_template has places")
		return
	}
	for _, m := range places {
		if m[1] != "" || !template.IsVariableName(m[2]) {
			f.errorf(p, "write {name} with letters, digits and _", "%s is more than a place", m[0])
			return
		}
		if as.by[m[2]] != nil {
			f.errorf(p, "rename one of them", "the place %s stands twice", m[0])
			return
		}
		as.add(m[2], p, false)
	}
	for part := range strings.SplitSeq(uri, "/") {
		if strings.Count(part, "{") > 1 {
			f.errorf(p, "put a slash between them", "two places stand in the same part of the path, and nobody could tell where one ends")
			return
		}
	}
	f.checkScheme(sampleURI(t), p)
}

// sampleURI puts the same text into every place.
func sampleURI(t *uritemplate.Template) string {
	values := uritemplate.Values{}
	for _, name := range t.Varnames() {
		values.Set(name, uritemplate.String("x"))
	}
	s, _ := t.Expand(values) // which fails with other kinds of values only
	return s
}

func (f *File) checkScheme(uri string, p *strictyaml.Path) {
	written, _, _ := strings.Cut(f.node(p).Text, ":")
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		f.errorf(p, "such as notes://today", "this is no URI")
	case u.Scheme == "" || strings.Contains(written, "{"):
		f.errorf(p, "such as notes://today", "a URI begins with a scheme")
	case u.Scheme == "adkmcp":
		f.errorf(p, "take another scheme", "adkmcp:// is for what adkmcp itself serves")
	}
}

// checkResourceFile sees that a file is there; where its name has places, that
// the folder before them is, and that the rest stays inside.
func (f *File) checkResourceFile(r *config.Resource, p *strictyaml.Path, as *arguments) {
	as.template(*r.File, p)
	if !f.ok(p) {
		return
	}
	if len(r.File.Places()) == 0 {
		f.checkFile(r.File.Plain(), p)
		return
	}
	folder, below := r.File.SplitFolder()
	f.checkFolder(filepath.Clean(folder), p)
	if slices.Contains(strings.Split(filepath.ToSlash(sample(below)), "/"), "..") {
		f.errorf(p, "name the folder before the first place", "what stands behind a place must not lead out of its folder")
	}
}
