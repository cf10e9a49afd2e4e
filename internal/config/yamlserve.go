package config

import (
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
	"github.com/adkmcp/adkmcp/internal/config/template"
)

// DecodeYAML reads a text such as 30s, or auto.
func (w *Wait) DecodeYAML(c *strictyaml.Cursor) {
	*w = Wait{}
	if n := c.Node(); n.Kind == strictyaml.Scalar && n.Text == "auto" {
		w.Auto = true
		return
	}
	w.Limit.decode(c, "auto, or a length of time such as 30s, 5m or 1h30m")
}

// DescribeYAML is the schema of DecodeYAML.
func (w *Wait) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	return strictyaml.AnyOf(strictyaml.Object{{Key: "const", Value: "auto"}}, w.Limit.DescribeYAML(g))
}

// DecodeYAML reads true, false or a mapping. False leaves no bound at all, for
// which package load puts nil.
func (a *Attachments) DecodeYAML(c *strictyaml.Cursor) {
	const want = "true, false or a mapping of bounds"
	switch n := c.Node(); {
	case n.Kind == strictyaml.Mapping:
		c.DecodeStruct(a)
	case n.Kind != strictyaml.Scalar || n.IsNull():
		c.Wrong(want)
	case n.Class != strictyaml.Bool:
		c.Not(want)
	case strings.EqualFold(n.Text, "true"):
		c.Defaults(a)
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*Attachments) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	return strictyaml.AnyOf(g.Of(false), g.Struct(Attachments{}))
}

// prose reads a template anew that is prose or names something: there a dollar
// is a dollar. The text stands at n.
func prose(n *strictyaml.Node, t *template.Text) {
	if n != nil && t != nil && n.Kind == strictyaml.Scalar {
		*t = template.ParsePlaces(n.Text)
	}
}

// DecodeYAML reads a mapping.
func (p *Prompt) DecodeYAML(c *strictyaml.Cursor) {
	c.DecodeStruct(p)
	prose(c.Node().Get("text"), p.Text)
}

// DescribeYAML is the schema of DecodeYAML.
func (*Prompt) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	return append(g.Struct(Prompt{}), exactlyOne("text", "messages"))
}

// DecodeYAML reads a mapping.
func (m *PromptMessage) DecodeYAML(c *strictyaml.Cursor) {
	c.DecodeStruct(m)
	prose(c.Node().Get("text"), m.Text)
	prose(c.Node().Get("resource"), m.Resource)
}

// DescribeYAML is the schema of DecodeYAML.
func (*PromptMessage) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	return append(g.Struct(PromptMessage{}), exactlyOne("text", "file", "resource"))
}

// DecodeYAML reads a mapping. Its file is a path and may hold variables.
func (r *Resource) DecodeYAML(c *strictyaml.Cursor) {
	c.DecodeStruct(r)
	prose(c.Node().Get("text"), r.Text)
}

// DescribeYAML is the schema of DecodeYAML.
func (*Resource) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	both := []strictyaml.Object{{exactlyOne("uri", "uri_template")}, {exactlyOne("text", "file")}}
	return append(g.Struct(Resource{}), strictyaml.Member{Key: "allOf", Value: both})
}

// exactlyOne is the rule that a mapping has exactly one of some keys.
func exactlyOne(keys ...string) strictyaml.Member {
	var each []strictyaml.Object
	for _, key := range keys {
		each = append(each, require(key))
	}
	return strictyaml.Member{Key: "oneOf", Value: each}
}
