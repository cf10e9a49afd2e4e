package config

import (
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// mcpKeys are the keys of [MCP] that stand beside those of a server.
var mcpKeys = []string{"required", "resources", "prompts", "pin"}

// DecodeYAML reads a server's name in mcp_servers, or a mapping.
func (m *MCP) DecodeYAML(c *strictyaml.Cursor) {
	switch n := c.Node(); {
	case n.Kind == strictyaml.List:
		c.Wrong("a server's name in mcp_servers, or a mapping")
	case n.Kind == strictyaml.Scalar:
		c.DecodeField(m, "server")
	case n.Get("server") != nil:
		c.DecodeStruct(m)
	default:
		m.Server = &MCPServer{}
		m.Server.decode(c)
		for _, p := range c.Pairs("a mapping") {
			if slices.Contains(mcpKeys, p.Key()) {
				p.DecodeField(m, p.Key())
			}
		}
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*MCP) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	inline := append(g.Struct(MCPServer{}), exactlyOne("command", "url"))
	return strictyaml.AnyOf(textSchema(), g.Struct(MCP{}), inline)
}

// DecodeYAML reads an entry of mcp_servers.
func (s *MCPServer) DecodeYAML(c *strictyaml.Cursor) {
	s.Name = c.Key()
	s.decode(c)
	for _, key := range mcpKeys {
		if c.Node().Get(key) != nil {
			c.KeyErrorf(key, "write it there: mcp: {server: "+s.Name+", "+key+": …}", "%s is for the entry of tools that uses the server", key)
		}
	}
}

func (s *MCPServer) decode(c *strictyaml.Cursor) {
	n := c.Node()
	s.Pos = Position{File: c.File(), Line: n.Line, Column: n.Column}
	c.DecodeStruct(s)
	if strings.HasPrefix(s.Transport, "streamable") {
		s.Transport = "http"
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*MCPServer) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	var beside []strictyaml.Object
	for _, key := range mcpKeys {
		beside = append(beside, require(key))
	}
	return append(g.Struct(MCPServer{}), exactlyOne("command", "url"), strictyaml.Member{Key: "not", Value: strictyaml.AnyOf(beside...)})
}

// DecodeYAML reads the document's path or URL, or a mapping.
func (o *OpenAPI) DecodeYAML(c *strictyaml.Cursor) {
	switch c.Node().Kind {
	case strictyaml.Mapping:
		c.DecodeStruct(o)
	case strictyaml.Scalar:
		c.DecodeField(o, "document")
	default:
		c.Wrong("the document's path or URL, or a mapping")
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*OpenAPI) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	return strictyaml.AnyOf(textSchema(), g.Struct(OpenAPI{}))
}

// DecodeYAML reads the path of an agent file. An agent that stands inside is read
// by package load, in the way of files.
func (a *AgentTool) DecodeYAML(c *strictyaml.Cursor) {
	switch c.Node().Kind {
	case strictyaml.Mapping:
	case strictyaml.Scalar:
		c.DecodeField(a, "path")
	default:
		c.Wrong("the path of an agent file, or an agent")
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*AgentTool) DescribeYAML(*strictyaml.Generator) strictyaml.Object {
	return strictyaml.AnyOf(textSchema(), strictyaml.Object{{Key: "$ref", Value: "#"}})
}
