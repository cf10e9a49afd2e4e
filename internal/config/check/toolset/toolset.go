// Package toolset finds what is wrong with what an agent file says of MCP servers
// and OpenAPI documents, as far as it can be seen without asking them.
//
// Start with [Check]. It is a part of package check with a room of its own.
package toolset

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/check"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// checker is an agent file of which the toolsets are being checked.
type checker struct{ *check.File }

// Check adds to what has been found of a file what is wrong with its mcp_servers
// and with the entries of its tools that are a server's or a document's.
func Check(f *check.File) {
	c := &checker{f}
	c.servers()
	for i := range f.Agent.Tools {
		t, p := &f.Agent.Tools[i], check.At("tools").Index(i)
		switch {
		case t.MCP != nil:
			c.mcp(t, p)
		case t.OpenAPI != nil:
			c.openapi(t, p)
		}
	}
}

func (c *checker) errorf(p *strictyaml.Path, hint, format string, args ...any) {
	c.Report(strictyaml.Error, p, hint, format, args...)
}

func (c *checker) warnf(p *strictyaml.Path, hint, format string, args ...any) {
	c.Report(strictyaml.Warning, p, hint, format, args...)
}

// node is the value at p, nil where there is none.
func (c *checker) node(p *strictyaml.Path) *strictyaml.Node { return c.Doc.Find(p) }

// nearest is the hint for a name that is none of some.
func nearest(name string, known []string) string {
	if near := strictyaml.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(known) == 0 {
		return "there is none"
	}
	return "there are " + strings.Join(known, ", ")
}

// servers checks mcp_servers, and that each of them is used.
func (c *checker) servers() {
	for i := range c.Agent.MCPServers {
		s := &c.Agent.MCPServers[i]
		p := check.At("mcp_servers").Key(s.Name)
		c.server(s, p)
		used := slices.ContainsFunc(c.Agent.Tools, func(t config.Tool) bool { return t.MCP != nil && t.MCP.Ref == s.Name })
		if !used && c.OK(check.At("tools")) {
			c.warnf(p, "add mcp: "+s.Name+" to tools, or remove it", "no tool uses this server")
		}
	}
}

// mcp checks an entry of tools that is a server's.
func (c *checker) mcp(t *config.Tool, p *strictyaml.Path) {
	c.choice(t, p)
	m, p := t.MCP, p.Key("mcp")
	if pin := p.Key("pin"); m.Pin != "" {
		c.CheckFolder(filepath.Dir(m.Pin), pin)
	}
	if m.Ref == "" && m.Server != nil {
		c.server(m.Server, p)
	}
	if m.Ref == "" || m.Server != nil {
		return
	}
	var names []string
	for i := range c.Agent.MCPServers {
		names = append(names, c.Agent.MCPServers[i].Name)
	}
	if c.node(p.Key("server")) != nil {
		p = p.Key("server")
	}
	c.errorf(p, nearest(m.Ref, names), "mcp_servers has no server %q", m.Ref)
}

// choice sees that an entry with several tools leaves some.
func (c *checker) choice(t *config.Tool, p *strictyaml.Path) {
	c.globs(t.Include, p.Key("include"))
	c.globs(t.Exclude, p.Key("exclude"))
}

// globs sees that a list which chooses says something.
func (c *checker) globs(globs []string, p *strictyaml.Path) {
	if c.node(p) == nil || !c.OK(p) {
		return
	}
	if len(globs) == 0 {
		c.errorf(p, "name something, or remove it", "the list is empty")
	}
	for i, glob := range globs {
		if glob == "" {
			c.errorf(p.Index(i), "remove it", "the name is empty")
		}
	}
}
