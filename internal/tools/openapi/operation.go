package openapi

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/openapi/document"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

const maxDescription = 2 << 10 // bytes

// builder makes the tools of one document.
type builder struct {
	*entry
	api      *api
	server   *url.URL
	schemas  *document.Schemas
	schemes  *schemes
	taken    map[string]bool // the names of tools
	warnings []string
}

func (b *builder) warn(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

// build makes the tools of a document, in a bounded time. The address is where it
// comes from, nil for a file. What is wrong with a single operation costs that
// operation only.
func (e *entry) build(a *api, address *url.URL) (tools []agent.Tool, warnings []string, err error) {
	b := &builder{entry: e, api: a, schemas: document.NewSchemas(a.text), taken: map[string]bool{}}
	if b.server, err = e.serverOf(a.doc.Servers, address); err != nil {
		return nil, nil, err
	}
	if b.schemes, err = newSchemes(a.doc, e.openapi.Auth, e.headers); err != nil {
		return nil, nil, err
	}
	f := newFilter(e.tool)
	until := time.Now().Add(loadTimeout)
	for _, at := range a.order {
		if time.Now().After(until) {
			return nil, nil, fmt.Errorf("takes longer than %s to read; choose fewer of its operations", loadTimeout)
		}
		op, params, err := a.operation(at)
		if err != nil {
			b.warn("%s %s %s and is left out", at.method, at.path, err)
			continue
		}
		if !f.takes(at, op) {
			continue
		}
		t, err := b.operation(at, op, params)
		if err != nil {
			b.warn("%s %s is left out: %s", at.method, at.path, err)
			continue
		}
		tools = append(tools, t)
	}
	b.warnings = append(b.warnings, b.schemes.warnings()...)
	return tools, append(f.warnings(), b.warnings...), nil
}

// operation makes the tool of one operation.
func (b *builder) operation(at endpoint, op *openapi3.Operation, params []*openapi3.Parameter) (agent.Tool, error) {
	server, err := b.ownServer(op.Servers)
	if err != nil {
		return nil, err
	}
	security := op.Security
	if security == nil {
		security = &b.api.doc.Security
	}
	t := &tool{entry: b.entry, method: at.method, server: server, sign: b.schemes.choose(*security)}
	plan := planner{builder: b, tool: t, taken: map[string]bool{}}
	if t.path, t.query, err = plan.path(at.path, params); err != nil {
		return nil, err
	}
	if op.RequestBody != nil {
		if err := plan.body(op.RequestBody.Value); err != nil {
			return nil, err
		}
	}
	effect, _ := webclient.MethodEffect(at.method)
	t.spec = agent.Spec{
		Description: describe(op),
		Hints:       agent.Hints{ReadOnly: effect.Safe, Idempotent: effect.Idempotent},
	}
	if t.spec.Parameters, err = b.schemas.Parameters(plan.properties); err != nil {
		return nil, err
	}
	name := toolName(b.tool.Prefix, op.OperationID, at)
	t.spec.Name = unique(b.taken, name, strings.ToLower(at.method), maxName)
	if t.spec.Name != name {
		b.warn("%s %s is called %s, since the document uses %s more than once", at.method, at.path, t.spec.Name, name)
	}
	return t, nil
}

// describe says what an operation does.
func describe(op *openapi3.Operation) string {
	var parts []string
	if op.Deprecated {
		parts = append(parts, "Deprecated.")
	}
	for _, s := range []string{op.Summary, op.Description} {
		if s = document.Clean(s, maxDescription); s != "" && !slices.Contains(parts, s) {
			parts = append(parts, s)
		}
	}
	return document.Clean(strings.Join(parts, "\n\n"), maxDescription)
}

// serverOf finds the base URL of the API: the one that the agent file names, or the
// document's first.
func (e *entry) serverOf(servers openapi3.Servers, address *url.URL) (*url.URL, error) {
	if e.server != nil {
		return e.server, nil
	}
	u, err := firstServer(servers, address)
	if err != nil {
		return nil, fmt.Errorf("%w; set server to the API's base URL", err)
	}
	if address != nil && webclient.Origin(u) != webclient.Origin(address) {
		// Whoever writes the document must not choose where requests and credentials go.
		return nil, fmt.Errorf("its server is %s, which is not where the document comes from; if that is right, write server: %s", webclient.Origin(u), u)
	}
	return u, nil
}

// ownServer gives the server of an operation, which may have one of its own as long
// as it has the origin of the others.
func (b *builder) ownServer(own *openapi3.Servers) (*url.URL, error) {
	if own == nil || len(*own) == 0 || b.entry.server != nil {
		return b.server, nil
	}
	u, err := firstServer(*own, b.server)
	if err != nil {
		return nil, err
	}
	if webclient.Origin(u) != webclient.Origin(b.server) {
		return nil, fmt.Errorf("its own server is %s, to which nothing is sent from here; make another openapi entry for it, with server: %s", webclient.Origin(u), u)
	}
	return u, nil
}

// firstServer reads the first of the servers, which is "/" if there is none.
func firstServer(servers openapi3.Servers, base *url.URL) (*url.URL, error) {
	raw := "/"
	if len(servers) > 0 && servers[0] != nil {
		raw = servers[0].URL
		for name, v := range servers[0].Variables {
			if v != nil {
				raw = strings.ReplaceAll(raw, "{"+name+"}", v.Default)
			}
		}
	}
	u, err := url.Parse(raw)
	if err == nil && base != nil {
		u = base.ResolveReference(u)
	}
	if err == nil {
		err = checkServer(u)
	}
	if err != nil {
		return nil, fmt.Errorf("its server %q cannot be used: %w", document.Clean(raw, 200), err)
	}
	return u, nil
}

// checkServer refuses what is no base URL of an API.
func checkServer(u *url.URL) error {
	switch {
	case u.Scheme == "" || u.Host == "":
		return errors.New("it has no scheme and host")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("it is not an http or https URL")
	case strings.ContainsAny(u.Host, "{}") || strings.ContainsAny(u.Path, "{}"):
		return errors.New("it has a variable without a default")
	case u.User != nil:
		return errors.New("it holds a user name, which belongs into auth")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("it has a query or a fragment")
	}
	if webclient.CheckPath(u.EscapedPath()) != nil {
		return errors.New(`its path has a "." or ".." segment`)
	}
	return nil
}

// filter chooses operations. Each of its patterns remembers whether it matches one.
type filter struct {
	include, exclude, tags, paths, methods *patterns
}

func newFilter(t *config.Tool) *filter {
	var methods []string
	for _, m := range t.OpenAPI.Methods {
		methods = append(methods, strings.ToUpper(m))
	}
	return &filter{
		include: newPatterns("include", t.Include), exclude: newPatterns("exclude", t.Exclude),
		tags: newPatterns("tags", t.OpenAPI.Tags), paths: newPatterns("paths", t.OpenAPI.Paths), methods: newPatterns("methods", methods),
	}
}

func (f *filter) takes(at endpoint, op *openapi3.Operation) bool {
	id := op.OperationID
	if id == "" {
		id = toolName("", "", at)
	}
	// All of them are asked, so that each learns what it matches.
	take := f.include.empty()
	for _, yes := range []bool{f.include.match(id) || take, f.tags.match(op.Tags...) || f.tags.empty(),
		f.paths.match(at.path) || f.paths.empty(), f.methods.match(at.method) || f.methods.empty(), !f.exclude.match(id)} {
		if !yes {
			return false
		}
	}
	return true
}

func (f *filter) warnings() []string {
	var list []string
	for _, p := range []*patterns{f.include, f.exclude, f.tags, f.paths, f.methods} {
		for _, glob := range p.globs {
			if !p.used[glob] {
				list = append(list, fmt.Sprintf("%s: %s matches no operation", p.key, glob))
			}
		}
	}
	return list
}

type patterns struct {
	key   string
	globs []string
	used  map[string]bool
}

func newPatterns(key string, globs []string) *patterns {
	return &patterns{key: key, globs: globs, used: map[string]bool{}}
}

func (p *patterns) empty() bool { return len(p.globs) == 0 }

func (p *patterns) match(names ...string) bool {
	found := false
	for _, glob := range p.globs {
		if slices.ContainsFunc(names, func(name string) bool { return config.Glob(glob, name) }) {
			p.used[glob], found = true, true
		}
	}
	return found
}
