package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
	"github.com/adkmcp/adkmcp/internal/config/template"
)

// DecodeYAML reads an argv list or a mapping.
func (s *Shell) DecodeYAML(c *strictyaml.Cursor) {
	switch c.Node().Kind {
	case strictyaml.List:
		c.Defaults(s)
		c.Decode(&s.Command)
	case strictyaml.Mapping:
		c.DecodeStruct(s)
	default:
		c.Wrong("an argv list or a mapping")
	}
	if s.Script != "" && s.Interpreter == nil {
		s.Interpreter = []template.Text{template.Parse("sh")}
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*Shell) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	return strictyaml.AnyOf(g.Of([]template.Text{}), g.Struct(Shell{}))
}

// DecodeYAML reads a mapping.
func (a *Ask) DecodeYAML(c *strictyaml.Cursor) {
	c.DecodeStruct(a)
	prose(c.Node().Get("message"), &a.Message)
}

// DescribeYAML is the schema of DecodeYAML.
func (*Ask) DescribeYAML(g *strictyaml.Generator) strictyaml.Object { return g.Struct(Ask{}) }

// DecodeYAML reads a parameter's JSON Schema and takes our own keys out of it.
func (p *Parameter) DecodeYAML(c *strictyaml.Cursor) {
	p.Name = c.Key()
	var b bytes.Buffer
	for _, key := range c.Pairs("a JSON Schema such as {type: string, description: A word}") {
		switch key.Key() {
		case "optional":
			key.Decode(&p.Optional)
			continue
		case "allow_leading_dash":
			key.Decode(&p.AllowLeadingDash)
			continue
		}
		raw, _ := key.JSON()
		if key.Key() == "default" {
			p.Default = raw
		}
		writeMember(&b, key.Key(), raw)
	}
	p.Schema = closeObject(&b)
	p.Optional = p.Optional || p.Default != nil
}

// writeMember adds an entry to the JSON object that b holds so far.
func writeMember(b *bytes.Buffer, key string, value json.RawMessage) {
	if b.Len() == 0 {
		b.WriteByte('{')
	} else {
		b.WriteByte(',')
	}
	b.Write(jsonText(key))
	b.WriteByte(':')
	b.Write(value)
}

func closeObject(b *bytes.Buffer) json.RawMessage {
	if b.Len() == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes()
}

// jsonText gives s as JSON; a text always has that form.
func jsonText(s string) []byte {
	raw, _ := json.Marshal(s)
	return raw
}

// DescribeYAML is the schema of DecodeYAML.
func (*Parameter) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	properties := strictyaml.Object{
		{Key: "type", Value: strictyaml.Object{{Key: "type", Value: []string{"string", "array"}}}},
		{Key: "description", Value: textSchema()},
		{Key: "optional", Value: g.Of(false)},
		{Key: "allow_leading_dash", Value: g.Of(false)},
		{Key: "required", Value: strictyaml.Object{{Key: "type", Value: "array"}}},
	}
	return strictyaml.Object{{Key: "type", Value: "object"}, {Key: "properties", Value: properties}}
}

// kindKeys say what kind of tool an entry is.
var kindKeys = []string{"shell", "http", "ask", "mcp", "openapi", "agent", "hosted_mcp"}

// anyKind names them in messages.
const anyKind = "shell, http, ask, mcp, openapi, agent or hosted_mcp"

// toolsetKeys choose and name the tools of the kinds that give several.
var toolsetKeys = []string{"include", "exclude", "prefix"}

// builtins are the tools without a kind key, each with the names that a model
// sees.
var builtins = map[string][]string{
	"code_execution":  {"code_execution"},
	"current_time":    {"current_time"},
	"files":           {"files_list", "files_read", "files_search", filesWrite},
	"get_user_choice": {"get_user_choice"},
	"google_search":   {"google_search"},
	"load_artifacts":  {"load_artifacts"},
	"load_memory":     {"load_memory"},
	"load_web_page":   {"load_web_page"},
	"preload_memory":  {"preload_memory"},
	"save_artifact":   {"save_artifact"},
	"url_context":     {"url_context"},
}

// filesWrite is there only where writing is allowed.
const filesWrite = "files_write"

// ToolSearch is the tool that finds deferred ones; it is there when there are
// any.
const ToolSearch = "tool_search"

// adkEntries are the names of ADK's entries that package load turns into ours
// before they are decoded.
var adkEntries = []string{"AgentTool", "MCPToolset", "McpToolset"}

// DecodeYAML reads one entry of tools and sees that it is of one kind.
func (t *Tool) DecodeYAML(c *strictyaml.Cursor) {
	n := c.Node()
	t.Pos = Position{File: c.File(), Line: n.Line, Column: n.Column}
	var kinds []string
	for _, key := range kindKeys {
		if n.Get(key) != nil {
			kinds = append(kinds, key)
		}
	}
	name := n.Get("name")
	switch {
	case n.Kind != strictyaml.Mapping:
		c.DecodeStruct(t)
	case len(kinds) > 1:
		c.DecodeStruct(t, "args")
		c.KeyErrorf(kinds[1], "make two tools of it", "%s stands beside %s; a tool is of one kind", kinds[1], kinds[0])
	case len(kinds) == 1:
		c.DecodeStruct(t, "args")
		t.decodedKind(c, kinds[0])
	case name == nil:
		c.DecodeStruct(t, "args")
		t.nameMissing(c)
	case builtins[name.Text] != nil:
		c.DecodeStruct(t)
		t.decodedBuiltin(c)
	default: // nobody knows what its args mean
		c.DecodeStruct(t, "name", "args")
		unknownBuiltin(c, name.Text)
	}
	t.dropConstants()
}

// decodedKind sees that what stands beside the key of a kind goes with it.
func (t *Tool) decodedKind(c *strictyaml.Cursor, kind string) {
	const ownDescription = "the %s itself says what each tool is called, does and takes"
	switch kind {
	case "mcp", "openapi":
		whose := map[string]string{"mcp": "server", "openapi": "document"}[kind]
		refuseBeside(c, fmt.Sprintf(ownDescription, whose), "remove it; prefix goes before the names, include and exclude choose among them",
			"name", "description", "parameters", "input_schema", "args")
		return
	case "hosted_mcp":
		refuseBeside(c, "the model's service asks the server itself", "remove it; allowed_tools in hosted_mcp chooses among its tools",
			"name", "description", "parameters", "input_schema", "args", "include", "exclude", "prefix")
		return
	case "agent":
		refuseBeside(c, "the agent takes what its own input_schema says, by default one text", "remove it", "parameters", "input_schema", "args")
	default:
		if c.Node().Get("name") == nil {
			t.nameMissing(c)
		}
		t.Schema = t.schema(c.Node().Get("input_schema"))
		refuseBeside(c, kind+" tools take parameters", "remove it", "args")
	}
	if kind == "http" && t.HTTP == nil {
		c.KeyErrorf("http", "", "has no value, want a mapping")
	}
	refuseBeside(c, "it is for the tools of a server or a document", "remove it", toolsetKeys...)
}

// decodedBuiltin sees that what stands beside the name of a built-in goes with
// it.
func (t *Tool) decodedBuiltin(c *strictyaml.Cursor) {
	refuseBeside(c, "a built-in brings its own", "remove it", "description", "parameters", "input_schema")
	refuseBeside(c, "it is for the tools of a server or a document", "remove it", toolsetKeys...)
	if t.Builtin == nil {
		t.Builtin = &Builtin{}
	}
}

// nameMissing reports that there is no name, unless one is there that is
// misspelt, which has been reported.
func (t *Tool) nameMissing(c *strictyaml.Cursor) {
	if !slices.ContainsFunc(c.Node().Pairs, func(p strictyaml.Pair) bool { return strictyaml.Nearest(p.Key.Text, []string{"name"}) != "" }) {
		c.Errorf("", "the key %q is missing", "name")
	}
}

func refuseBeside(c *strictyaml.Cursor, why, hint string, keys ...string) {
	for _, key := range keys {
		if c.Node().Get(key) != nil {
			c.KeyErrorf(key, hint, "%s has no place in this tool: %s", key, why)
		}
	}
}

// unknownBuiltin says what to do about a name that is no built-in of ours.
func unknownBuiltin(c *strictyaml.Cursor, name string) {
	if c.Node().Get("code") != nil || c.Node().Get("func") != nil {
		return // said already
	}
	names := slices.Sorted(maps.Keys(builtins))
	hint := "add " + anyKind + ", or name a built-in: " + strings.Join(names, ", ")
	near := strictyaml.Nearest(name, names)
	switch {
	case strings.Contains(name, "."):
		c.KeyErrorf("name", "write a shell or http tool that does the same", "%s is a Python reference; Python cannot run here", name)
		return
	case name == ToolSearch:
		c.KeyErrorf("name", "remove it, and write defer: true in the tools that it should find", "%s is there by itself as soon as a tool is deferred", name)
		return
	case adkTools[name] != "":
		hint = adkTools[name]
	case near != "":
		hint = `did you mean "` + near + `"? Else ` + hint
	}
	c.KeyErrorf("name", hint, "there is no built-in tool %q, and no %s stands beside the name", name, anyKind)
}

// DescribeYAML is the schema of DecodeYAML.
func (*Tool) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	var one, two []strictyaml.Object
	for i, key := range kindKeys {
		one = append(one, require(key))
		for _, other := range kindKeys[:i] {
			two = append(two, require(other, key))
		}
	}
	none := strictyaml.Object{{Key: "not", Value: strictyaml.AnyOf(one...)}}
	named := strictyaml.Object{{Key: "not", Value: strictyaml.AnyOf(require("mcp"), require("openapi"), require("agent"), require("hosted_mcp"))}}
	ours := append(g.Struct(Tool{}), strictyaml.Member{Key: "not", Value: strictyaml.AnyOf(two...)}, strictyaml.Member{Key: "allOf", Value: []strictyaml.Object{
		{{Key: "if", Value: none}, {Key: "then", Value: nameIn(slices.Sorted(maps.Keys(builtins)))}},
		{{Key: "if", Value: named}, {Key: "then", Value: require("name")}},
	}})
	adk := strictyaml.Object{{Key: "properties", Value: strictyaml.Object{{Key: "args", Value: strictyaml.Object{{Key: "type", Value: "object"}}}}}}
	return strictyaml.Object{
		{Key: "if", Value: append(nameIn(adkEntries), require("name")...)},
		{Key: "then", Value: adk},
		{Key: "else", Value: ours},
	}
}

// nameIn is the schema of entries whose name is one of some.
func nameIn(names []string) strictyaml.Object {
	name := strictyaml.Object{{Key: "name", Value: strictyaml.Object{{Key: "enum", Value: names}}}}
	return strictyaml.Object{{Key: "properties", Value: name}}
}

// require is the schema of mappings that have all of some keys.
func require(keys ...string) strictyaml.Object {
	return strictyaml.Object{{Key: "required", Value: keys}}
}

// schema is the JSON Schema of the arguments; whole is input_schema in the file.
func (t *Tool) schema(whole *strictyaml.Node) json.RawMessage {
	var b bytes.Buffer
	if whole != nil {
		if whole.Kind != strictyaml.Mapping || whole.Get("additionalProperties") != nil || len(t.InputSchema) < 2 {
			return t.InputSchema
		}
		b.Write(bytes.TrimSuffix(t.InputSchema, []byte("}")))
		if len(whole.Pairs) > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"additionalProperties":false}`)
		return b.Bytes()
	}
	var properties bytes.Buffer
	required := []string{}
	for _, p := range t.Parameters {
		writeMember(&properties, p.Name, p.Schema)
		if !p.Optional {
			required = append(required, p.Name)
		}
	}
	writeMember(&b, "type", json.RawMessage(`"object"`))
	writeMember(&b, "properties", closeObject(&properties))
	if len(required) > 0 {
		raw, _ := json.Marshal(required) // texts always have a JSON form
		writeMember(&b, "required", raw)
	}
	writeMember(&b, "additionalProperties", json.RawMessage("false"))
	return closeObject(&b)
}

// Names lists the tools that a model sees of an entry, as far as the file says it:
// those of an mcp, openapi or hosted_mcp entry are known only when it is used.
func (t *Tool) Names() []string {
	switch {
	case t.MCP != nil || t.OpenAPI != nil || t.HostedMCP != nil:
		return nil
	case t.Builtin == nil:
		return []string{t.Name}
	}
	return slices.DeleteFunc(slices.Clone(builtins[t.Name]), func(name string) bool { return name == filesWrite && !t.Builtin.Write })
}
