package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// Schema gives the JSON Schema (2020-12) of agent files, as the decoder reads
// them.
func Schema() ([]byte, error) {
	return NewDecoder(nil).Schema("An agent file of adkmcp", Agent{})
}

// NewDecoder makes the decoder of agent files. What expand gives for a text of a
// field that takes environment variables stands in its place; ok is false when it
// gives nothing, which it has reported.
func NewDecoder(expand func(c *strictyaml.Cursor, text string) (string, bool)) *strictyaml.Decoder {
	return strictyaml.NewDecoder(strictyaml.Options{Refused: refusedKeys, Expand: expand})
}

// textSchema describes a text.
func textSchema(members ...strictyaml.Member) strictyaml.Object {
	return append(strictyaml.Object{{Key: "type", Value: "string"}}, members...)
}

// DecodeYAML reads a text such as 30s.
func (d *Duration) DecodeYAML(c *strictyaml.Cursor) {
	const want = "a length of time such as 30s, 5m or 1h30m"
	n, ok := c.Scalar(want)
	if !ok {
		return
	}
	if n.Class == strictyaml.Int {
		c.Errorf("write "+n.Text+"s, "+n.Text+"m or "+n.Text+"h", "%s has no unit", n.Text)
		return
	}
	length, err := time.ParseDuration(n.Text)
	if err != nil || length <= 0 {
		c.Not(want)
		return
	}
	*d = Duration(length)
}

// DescribeYAML is the schema of DecodeYAML.
func (*Duration) DescribeYAML(*strictyaml.Generator) strictyaml.Object {
	return textSchema(strictyaml.Member{Key: "pattern", Value: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`})
}

// DecodeYAML reads a text, which no message shows.
func (s *Secret) DecodeYAML(c *strictyaml.Cursor) {
	n, ok := c.Scalar("text")
	if ok && n.Class != strictyaml.Text {
		c.Errorf("quote it", "YAML reads this as %s, not as text", n.Class)
	}
	if ok {
		*s = NewSecret(n.Text)
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*Secret) DescribeYAML(*strictyaml.Generator) strictyaml.Object { return textSchema() }

// DecodeYAML reads a text with places.
func (t *Template) DecodeYAML(c *strictyaml.Cursor) {
	if text, ok := c.Text(); ok {
		*t = ParseTemplate(text)
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*Template) DescribeYAML(*strictyaml.Generator) strictyaml.Object { return textSchema() }

// DecodeYAML reads one entry of a query or a form.
func (q *QueryParam) DecodeYAML(c *strictyaml.Cursor) {
	q.Name = c.Key()
	q.Value.DecodeYAML(c)
}

// DescribeYAML is the schema of DecodeYAML.
func (*QueryParam) DescribeYAML(*strictyaml.Generator) strictyaml.Object { return textSchema() }

// The providers that this version has.
const (
	Gemini   = "gemini"
	Scripted = "scripted"
)

// DecodeYAML reads a name, a provider/name or a mapping.
func (m *Model) DecodeYAML(c *strictyaml.Cursor) {
	*m = Model{}
	switch c.Node().Kind {
	case strictyaml.Mapping:
		c.DecodeStruct(m)
	case strictyaml.Scalar:
		c.Defaults(m)
		m.Name, _ = c.Text()
	default:
		c.Wrong("a model's name or a mapping")
	}
	if m.Name != "" && c.Node().Get("provider") == nil {
		m.derive(c)
	}
}

// derive finds the provider that a model's name stands for.
func (m *Model) derive(c *strictyaml.Cursor) {
	const hint = "this version has gemini-* and gemini/NAME, and provider: scripted with a script"
	provider, name, prefixed := strings.Cut(m.Name, "/")
	switch {
	case !prefixed && strings.HasPrefix(m.Name, "gemini-"):
		m.Provider = Gemini
	case prefixed && provider == Gemini && name != "":
		m.Provider, m.Name = provider, name
	default:
		c.KeyErrorf("name", hint, "the name does not say which provider runs the model")
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*Model) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	return strictyaml.AnyOf(textSchema(), g.Struct(Model{}))
}

// DecodeYAML reads a mapping of one tool to its arguments.
func (s *ScriptCall) DecodeYAML(c *strictyaml.Cursor) {
	const want = "a mapping of one tool to its arguments"
	calls := c.Pairs(want)
	if calls == nil {
		return
	}
	if len(calls) != 1 {
		c.Errorf("begin each call with a dash of its own", "want %s, not of %d", want, len(calls))
		return
	}
	s.Tool = calls[0].Key()
	switch n := calls[0].Node(); {
	case n.IsNull():
		s.Args = json.RawMessage("{}")
	case n.Kind != strictyaml.Mapping:
		calls[0].Wrong("a mapping of arguments")
	default:
		s.Args, _ = calls[0].JSON()
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*ScriptCall) DescribeYAML(*strictyaml.Generator) strictyaml.Object {
	args := strictyaml.Object{{Key: "type", Value: []string{"object", "null"}}}
	return strictyaml.Object{{Key: "type", Value: "object"}, {Key: "minProperties", Value: 1}, {Key: "maxProperties", Value: 1},
		{Key: "additionalProperties", Value: args}}
}

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
var kindKeys = []string{"shell", "http"}

// builtins are the tools without a kind key, each with the names that a model
// sees.
var builtins = map[string][]string{
	"current_time": {"current_time"},
	"files":        {"files_list", "files_read", "files_search", filesWrite},
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
	hint := "add shell or http, or name a built-in: " + strings.Join(names, ", ")
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
	c.KeyErrorf("name", hint, "there is no built-in tool %q, and no shell or http stands beside the name", name)
}

// DescribeYAML is the schema of DecodeYAML.
func (*Tool) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	require := func(key string) strictyaml.Object {
		return strictyaml.Object{{Key: "required", Value: []string{key}}}
	}
	names := strictyaml.Object{{Key: "enum", Value: slices.Sorted(maps.Keys(builtins))}}
	return append(g.Struct(Tool{}),
		strictyaml.Member{Key: "not", Value: strictyaml.Object{{Key: "required", Value: kindKeys}}},
		strictyaml.Member{Key: "if", Value: strictyaml.Object{{Key: "not", Value: strictyaml.AnyOf(require("shell"), require("http"))}}},
		strictyaml.Member{Key: "then", Value: strictyaml.Object{{Key: "properties", Value: strictyaml.Object{{Key: "name", Value: names}}}}})
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
