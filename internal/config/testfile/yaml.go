package testfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// Schema gives the JSON Schema (2020-12) of test files, as the decoder reads
// them.
func Schema() ([]byte, error) {
	return newDecoder().Schema("A test file of adkmcp", File{})
}

func newDecoder() *strictyaml.Decoder {
	return config.NewDecoder(nil) // no field takes variables
}

// DecodeYAML reads nothing: [Load] has the model read as an agent file's.
func (*Judge) DecodeYAML(*strictyaml.Cursor) {}

// DescribeYAML is the schema of a model.
func (*Judge) DescribeYAML(g *strictyaml.Generator) strictyaml.Object { return g.Of(config.Model{}) }

// DecodeYAML reads a case.
func (k *Case) DecodeYAML(c *strictyaml.Cursor) {
	k.Pos = config.Position{File: c.File(), Line: c.Node().Line, Column: c.Node().Column}
	c.DecodeStruct(k)
	if c.Node().Kind != strictyaml.Mapping {
		return
	}
	one := oneOf(c, "request", "arguments", "turns")
	if one == "turns" {
		if c.Node().Get("expect") != nil {
			c.KeyErrorf("expect", "give each turn an expect of its own", "does not go together with turns")
		}
		if len(k.Turns) == 0 {
			c.KeyErrorf("turns", "", "holds no turn")
		} else if !expecting(k.Turns) {
			c.KeyErrorf("turns", "give the last turn an expect", "no turn expects anything")
		}
		return
	}
	k.Turns = []Turn{{Request: k.Request, Arguments: k.Arguments, Expect: k.Expect}}
	checkInput(c)
	if one != "" && c.Node().Get("expect") == nil {
		c.Errorf("add expect with text, contains, calls or another", "the case expects nothing")
	}
}

func expecting(turns []Turn) bool {
	for i := range turns {
		if turns[i].Expect != nil {
			return true
		}
	}
	return false
}

// DescribeYAML is the schema of DecodeYAML.
func (*Case) DescribeYAML(g *strictyaml.Generator) strictyaml.Object { return g.Struct(Case{}) }

// DecodeYAML reads a turn.
func (t *Turn) DecodeYAML(c *strictyaml.Cursor) {
	c.DecodeStruct(t)
	if c.Node().Kind == strictyaml.Mapping {
		oneOf(c, "request", "arguments")
		checkInput(c)
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*Turn) DescribeYAML(g *strictyaml.Generator) strictyaml.Object { return g.Struct(Turn{}) }

// checkInput says what the tags cannot of the request of a turn, or of a case
// that is one.
func checkInput(c *strictyaml.Cursor) {
	if n := c.Node().Get("request"); n != nil && n.Kind == strictyaml.Scalar && n.Class == strictyaml.Text && strings.TrimSpace(n.Text) == "" {
		c.KeyErrorf("request", "", "the request is empty")
	}
	if n := c.Node().Get("arguments"); n != nil && n.Kind != strictyaml.Mapping {
		c.KeyErrorf("arguments", "", "want a mapping of arguments, not %s", n.Kind)
	}
}

// oneOf sees that a mapping has exactly one of some keys, and gives the first.
func oneOf(c *strictyaml.Cursor, keys ...string) string {
	first := ""
	for _, key := range keys {
		if c.Node().Get(key) == nil {
			continue
		}
		if first != "" {
			c.KeyErrorf(key, "keep one of them", "does not go together with %s", first)
		}
		first = cmp.Or(first, key)
	}
	if first == "" {
		last := len(keys) - 1
		c.Errorf("", "want one of the keys %s or %s", strings.Join(keys[:last], ", "), keys[last])
	}
	return first
}

// DecodeYAML reads what is expected.
func (e *Expect) DecodeYAML(c *strictyaml.Cursor) {
	c.DecodeStruct(e)
	n := c.Node()
	switch {
	case n.Kind != strictyaml.Mapping:
	case len(n.Pairs) == 0:
		c.Errorf("add text, contains, calls or another", "nothing is expected")
	case n.Get("calls_any_order") != nil && n.Get("calls") == nil:
		c.KeyErrorf("calls_any_order", "add calls", "there are no calls whose order it is about")
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*Expect) DescribeYAML(g *strictyaml.Generator) strictyaml.Object { return g.Struct(Expect{}) }

// DecodeYAML reads a text.
func (t *Text) DecodeYAML(c *strictyaml.Cursor) {
	text, ok := c.Text()
	if ok && strings.TrimSpace(text) == "" {
		c.Errorf("", "the text is empty")
	}
	*t = Text(text)
}

// DescribeYAML is the schema of DecodeYAML.
func (*Text) DescribeYAML(*strictyaml.Generator) strictyaml.Object { return textSchema() }

// DecodeYAML reads a text or a list of texts.
func (t *Texts) DecodeYAML(c *strictyaml.Cursor) { *t = oneOrMore[Text](c) }

// DescribeYAML is the schema of DecodeYAML.
func (*Texts) DescribeYAML(*strictyaml.Generator) strictyaml.Object { return textsSchema() }

// DecodeYAML reads a pattern.
func (p *Pattern) DecodeYAML(c *strictyaml.Cursor) {
	text, ok := c.Text()
	if !ok {
		return
	}
	re, err := regexp.Compile(text)
	if err != nil {
		c.Errorf("patterns are RE2", "%v", err)
	}
	p.Regexp = re
}

// DescribeYAML is the schema of DecodeYAML.
func (*Pattern) DescribeYAML(*strictyaml.Generator) strictyaml.Object { return textSchema() }

// DecodeYAML reads a pattern or a list of them.
func (p *Patterns) DecodeYAML(c *strictyaml.Cursor) { *p = oneOrMore[Pattern](c) }

// DescribeYAML is the schema of DecodeYAML.
func (*Patterns) DescribeYAML(*strictyaml.Generator) strictyaml.Object { return textsSchema() }

// oneOrMore reads a single value, or a list of them that is not empty.
func oneOrMore[T any](c *strictyaml.Cursor) (list []T) {
	switch n := c.Node(); {
	case n.Kind == strictyaml.List && len(n.Items) == 0:
		c.Errorf("", "the list is empty")
	case n.Kind == strictyaml.List:
		c.Decode(&list)
	case n.Kind == strictyaml.Mapping:
		c.Wrong("a text or a list of texts")
	default:
		list = make([]T, 1)
		c.Decode(&list[0])
	}
	return list
}

func textSchema() strictyaml.Object {
	return strictyaml.Object{{Key: "type", Value: "string"}}
}

func textsSchema() strictyaml.Object {
	return strictyaml.AnyOf(textSchema(), strictyaml.Object{{Key: "type", Value: "array"}, {Key: "items", Value: textSchema()}})
}

// DecodeYAML reads a call.
func (k *Call) DecodeYAML(c *strictyaml.Cursor) {
	if c.Node().Kind == strictyaml.Scalar {
		k.Tool, _ = c.Text()
		k.Args = json.RawMessage("{}")
		return
	}
	var call config.ScriptCall
	call.DecodeYAML(c)
	k.Tool, k.Args = call.Tool, call.Args
}

// DescribeYAML is the schema of DecodeYAML.
func (*Call) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	return strictyaml.AnyOf(g.Of(""), g.Of(config.ScriptCall{}))
}

// DecodeYAML reads one entry of json.
func (q *Query) DecodeYAML(c *strictyaml.Cursor) {
	q.Program = c.Key()
	query, err := gojq.Parse(q.Program)
	if err == nil {
		q.Code, err = gojq.Compile(query)
	}
	if err != nil {
		c.Errorf("programs are jq, such as .items[0].name", "%v", err)
	}
	q.Want = value(c)
}

// DescribeYAML is the schema of DecodeYAML.
func (*Query) DescribeYAML(*strictyaml.Generator) strictyaml.Object { return strictyaml.Object{} }

// DecodeYAML reads a result, or a list of them.
func (s *StandIn) DecodeYAML(c *strictyaml.Cursor) {
	s.Tool = c.Key()
	if s.Listed = c.Node().Kind == strictyaml.List; s.Listed {
		c.Decode(&s.Results)
		return
	}
	s.Results = make([]Result, 1)
	c.Decode(&s.Results[0])
}

// DescribeYAML is the schema of DecodeYAML.
func (*StandIn) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	return strictyaml.AnyOf(g.Of(Result{}), g.Of([]Result{}))
}

// DecodeYAML reads a text, a value, or a mapping of error to a text.
func (r *Result) DecodeYAML(c *strictyaml.Cursor) {
	switch n := c.Node(); {
	case n.Kind == strictyaml.Scalar:
		r.Output, _ = c.Text()
	case len(n.Pairs) == 1 && n.Get("error") != nil:
		r.IsError = true
		r.Output, _ = c.Pairs("")[0].Text()
	default:
		r.Output = value(c)
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*Result) DescribeYAML(*strictyaml.Generator) strictyaml.Object {
	return strictyaml.Object{{Key: "type", Value: []string{"string", "object", "array"}}}
}

// value gives any value, with numbers as written; nil where one has no form in
// JSON, which has been reported.
func value(c *strictyaml.Cursor) (v any) {
	raw, ok := c.JSON()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if !ok || d.Decode(&v) != nil {
		return nil
	}
	return v
}
