package schema

import (
	"slices"

	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// ownArguments are those that an agent's tool has of itself.
var ownArguments = []string{"conversation", "attachments"}

// choices are keywords at the top of a schema for which hosts drop a tool, or
// for which the services behind them refuse every request with that tool.
var choices = []string{"oneOf", "anyOf", "allOf", "not", "$ref"}

// Input checks the schema of an agent's arguments, which MCP hosts hand to their
// models.
func (s Schema) Input() []Finding {
	var fs findings
	if !s.written(&fs) || !s.object(&fs, "the arguments of a tool are an object") {
		return fs
	}
	for _, key := range choices {
		if s.Node.Get(key) != nil {
			fs.errorf(s.Path.Key(key), "declare all arguments under properties, and say in the descriptions which go together",
				"hosts drop a tool that has %s at the top of its schema", key)
		}
	}
	properties := s.Path.Key("properties")
	for _, name := range ownArguments {
		if s.Node.Get("properties").Get(name) != nil {
			fs.errorf(properties.Key(name), "rename it", "%q is an argument that the agent's tool has of itself", name)
		}
	}
	s.whole(&fs)
	if !fs.hasErrors() {
		hostTrouble(s.Node, s.Path, &fs)
	}
	return fs
}

// hostTrouble warns of what is good JSON Schema, and too much for some hosts or
// for the services behind them.
func hostTrouble(n *strictyaml.Node, p *strictyaml.Path, fs *findings) {
	kind := n.Get("type")
	switch {
	case n.Get("$ref") != nil:
		fs.warnf(p.Key("$ref"), "write the schema out", "some hosts do not follow a $ref")
	case kind != nil && kind.Kind == strictyaml.List:
		fs.warnf(p.Key("type"), "write one type, and leave what may be missing out of required", "some hosts take a single type only")
	case kind != nil && kind.Text == "array" && n.Get("items") == nil:
		fs.warnf(p, "add items, such as items: {type: string}", "some hosts fail at an array without items")
	case n.Get("properties") != nil && (kind == nil || kind.Text != "object"):
		fs.warnf(p.Key("properties"), "add type: object", "some hosts fail at properties of what is no object")
	}
	if n.Get("const") != nil {
		fs.warnf(p.Key("const"), "write an enum of one text", "some hosts do not know const")
	}
	if enum := n.Get("enum"); enum != nil && slices.ContainsFunc(enum.Items, func(item *strictyaml.Node) bool { return !isText(item) || item.Text == "" }) {
		fs.warnf(p.Key("enum"), "make them texts with something in them", "some hosts take nothing but texts in an enum, and no empty one")
	}
	for _, key := range []string{"items", "additionalProperties", "not", "contains"} {
		if below := n.Get(key); below != nil {
			hostTrouble(below, p.Key(key), fs)
		}
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf", "prefixItems"} {
		if below := n.Get(key); below != nil {
			for i, item := range below.Items {
				hostTrouble(item, p.Key(key).Index(i), fs)
			}
		}
	}
	for _, key := range []string{"properties", "patternProperties", "$defs"} {
		if below := n.Get(key); below != nil {
			for _, pair := range below.Pairs {
				hostTrouble(pair.Value, p.Key(key).Key(pair.Key.Text), fs)
			}
		}
	}
}
