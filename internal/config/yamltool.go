package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
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
		s.Interpreter = []Template{ParseTemplate("sh")}
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*Shell) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	return strictyaml.AnyOf(g.Of([]Template{}), g.Struct(Shell{}))
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

// kindKeys are the keys of which one says what kind of tool an entry is.
var kindKeys = []string{"shell", "http", "ask"}

// anyKind names them in messages.
const anyKind = "shell, http or ask"

// builtins are the tools without a kind key, each with the names that a model
// sees.
var builtins = map[string][]string{
	"current_time":    {"current_time"},
	"files":           {"files_list", "files_read", "files_search", filesWrite},
	"get_user_choice": {"get_user_choice"},
	"load_artifacts":  {"load_artifacts"},
	"save_artifact":   {"save_artifact"},
}

// filesWrite is there only where writing is allowed.
const filesWrite = "files_write"

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
	isBuiltin := len(kinds) == 0 && name != nil && builtins[name.Text] != nil
	switch {
	case isBuiltin || n.Kind != strictyaml.Mapping:
		c.DecodeStruct(t)
	case len(kinds) == 0: // nobody knows what its args mean
		c.DecodeStruct(t, "name", "args")
	default:
		c.DecodeStruct(t, "args")
	}
	switch {
	case n.Kind != strictyaml.Mapping:
	case len(kinds) > 1:
		c.KeyErrorf(kinds[1], "make two tools of it", "%s stands beside %s; a tool is of one kind", kinds[1], kinds[0])
	case len(kinds) == 1:
		t.Schema = t.schema(n.Get("input_schema"))
		refuseBeside(c, kinds[0]+" tools take parameters", "args")
		if n.Get("http") != nil && t.HTTP == nil {
			c.KeyErrorf("http", "", "has no value, want a mapping")
		}
	case isBuiltin:
		refuseBeside(c, "a built-in brings its own", "description", "parameters", "input_schema")
		if t.Builtin == nil {
			t.Builtin = &Builtin{}
		}
	case name != nil && !slices.ContainsFunc(n.Pairs, func(p strictyaml.Pair) bool { return refusedKeys[reflect.TypeFor[Tool]()][p.Key.Text] != "" }):
		unknownBuiltin(c, name.Text)
	}
}

func refuseBeside(c *strictyaml.Cursor, why string, keys ...string) {
	for _, key := range keys {
		if c.Node().Get(key) != nil {
			c.KeyErrorf(key, "remove it", "%s has no place in this tool: %s", key, why)
		}
	}
}

// unknownBuiltin says what to do about a name that is no built-in of ours.
func unknownBuiltin(c *strictyaml.Cursor, name string) {
	names := slices.Sorted(maps.Keys(builtins))
	hint := "add " + anyKind + ", or name a built-in: " + strings.Join(names, ", ")
	near := strictyaml.Nearest(name, names)
	switch {
	case strings.Contains(name, "."):
		c.KeyErrorf("name", "write a shell or http tool that does the same", "%s is a Python reference; Python cannot run here", name)
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
	names := strictyaml.Object{{Key: "enum", Value: slices.Sorted(maps.Keys(builtins))}}
	return append(g.Struct(Tool{}),
		strictyaml.Member{Key: "not", Value: strictyaml.AnyOf(two...)},
		strictyaml.Member{Key: "if", Value: strictyaml.Object{{Key: "not", Value: strictyaml.AnyOf(one...)}}},
		strictyaml.Member{Key: "then", Value: strictyaml.Object{{Key: "properties", Value: strictyaml.Object{{Key: "name", Value: names}}}}})
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

// Names lists the tools that a model sees of an entry.
func (t *Tool) Names() []string {
	if t.Builtin == nil {
		return []string{t.Name}
	}
	return slices.DeleteFunc(slices.Clone(builtins[t.Name]), func(name string) bool { return name == filesWrite && !t.Builtin.Write })
}
