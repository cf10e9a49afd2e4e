package load

import (
	"cmp"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/check"
	"github.com/adkmcp/adkmcp/internal/config/check/toolset"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
	"github.com/adkmcp/adkmcp/internal/config/template"
)

// resolveServers makes the servers of mcp_servers ready to be used.
func (f *file) resolveServers() {
	for i := range f.Agent.MCPServers {
		s := &f.Agent.MCPServers[i]
		f.resolveServer(s, check.At("mcp_servers").Key(s.Name))
	}
}

// resolveMCP finds the server of an entry of tools, and gives what must not be
// printed.
func (f *file) resolveMCP(m *config.MCP, p *strictyaml.Path) []string {
	m.Pin = f.absolute(m.Pin)
	if m.Server != nil {
		m.Server.Name = serverName(f.Doc.Find(p))
		f.resolveServer(m.Server, p)
	}
	for i := range f.Agent.MCPServers {
		if s := &f.Agent.MCPServers[i]; m.Ref != "" && s.Name == m.Ref {
			m.Server = s
		}
	}
	if m.Server == nil {
		return nil
	}
	return m.Server.Secrets
}

// resolveServer makes the paths of a server absolute and collects what must not be
// printed.
func (f *file) resolveServer(s *config.MCPServer, p *strictyaml.Path) {
	s.Command = f.absoluteProgram(s.Command)
	if s.Dir = f.absolute(s.Dir); s.Dir == "" {
		s.Dir = f.Agent.Dir
	}
	for i := range s.Roots {
		s.Roots[i] = f.absolute(s.Roots[i])
	}
	secrets := f.inValues(p.Key("env"))
	secrets.add(f.inValues(p.Key("headers"))...)
	secrets.add(inURL(s.URL)...)
	secrets.add(inQuery(s.URL)...)
	if o := s.OAuth; o != nil {
		secrets.add(o.ClientSecret.Reveal())
	}
	passed := slices.Clone(s.PassEnv)
	if h := s.HeadersFrom; h != nil {
		h.File = f.absolute(h.File)
		if len(h.Command) > 0 {
			h.Command[0] = f.absoluteProgram(h.Command[0])
		}
		passed = append(passed, h.PassEnv...)
	}
	for _, name := range append(passed, variables(f.Doc.Find(p))...) {
		if value, ok := f.Agent.LookupEnv(name); ok && toolset.IsCredential(name) {
			secrets.add(value)
		}
	}
	s.Secrets = secrets
}

// resolveOpenAPI makes the path of a document absolute, and gives what must not be
// printed.
func (f *file) resolveOpenAPI(o *config.OpenAPI, p *strictyaml.Path) []string {
	if !toolset.IsURL(o.Document) {
		o.Document = f.absolute(o.Document)
	}
	for i := range o.Methods {
		o.Methods[i] = strings.ToUpper(o.Methods[i])
	}
	secrets := f.inValues(p.Key("headers"))
	for _, address := range []string{o.Document, o.Server} {
		secrets.add(inURL(address)...)
		secrets.add(inQuery(address)...)
	}
	for _, scheme := range slices.Sorted(maps.Keys(o.Auth)) {
		auth := o.Auth[scheme]
		secrets.add(inAuth(&auth)...)
	}
	return secrets
}

// inValues gives what came out of the environment in the values of a mapping, and
// values whose keys tell of credentials.
func (f *file) inValues(p *strictyaml.Path) (secrets secretList) {
	n := f.Doc.Find(p)
	if n == nil {
		return nil
	}
	for _, pair := range n.Pairs {
		t, _ := template.ParseVars(pair.Value.Text).Resolve(f.Agent.LookupEnv)
		secrets.add(t.EnvValues()...)
		if toolset.IsCredential(pair.Key.Text) {
			secrets.add(credentials(t)...)
		}
	}
	return secrets
}

// inQuery gives the values of a URL's query whose names tell of credentials.
func inQuery(address string) (values []string) {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	for name, all := range u.Query() {
		if toolset.IsCredential(name) {
			values = append(values, all...)
		}
	}
	slices.Sort(values)
	return values
}

// variables lists those that the texts below a value name.
func variables(n *strictyaml.Node) (names []string) {
	if n == nil {
		return nil
	}
	for _, s := range template.ParseVars(n.Text).Segments {
		if s.Var != "" {
			names = append(names, s.Var)
		}
	}
	for _, item := range n.Items {
		names = append(names, variables(item)...)
	}
	for _, pair := range n.Pairs {
		names = append(names, variables(pair.Value)...)
	}
	return names
}

// absoluteProgram is [file.program] for a name without places.
func (f *file) absoluteProgram(name string) string {
	if strings.ContainsAny(name, `/`+string(filepath.Separator)) {
		return f.absolute(name)
	}
	return name
}

// serverName makes a name for a server that has none: that of its host, or of its
// program, or of the package that a runner of packages is told to run. What the
// environment says is not part of it.
func serverName(n *strictyaml.Node) string {
	text := func(n *strictyaml.Node) string {
		if n == nil {
			return ""
		}
		return n.Text
	}
	if u, err := url.Parse(text(n.Get("url"))); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	name := path.Base(strings.ReplaceAll(text(n.Get("command")), `\`, "/"))
	name = strings.TrimSuffix(name, path.Ext(name))
	args := n.Get("args")
	if !slices.Contains([]string{"npx", "bunx", "uvx", "node", "bun", "deno", "python", "python3"}, name) || args == nil {
		return name
	}
	for _, arg := range args.Items {
		if word := arg.Text; word != "" && !strings.HasPrefix(word, "-") && !strings.Contains(word, "$") {
			word, _, _ = strings.Cut(path.Base(strings.ReplaceAll(word, `\`, "/")), "@")
			return cmp.Or(strings.TrimSuffix(word, path.Ext(word)), name)
		}
	}
	return name
}
