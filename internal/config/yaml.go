package config

import (
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
	d.decode(c, "a length of time such as 30s, 5m or 1h30m")
}

func (d *Duration) decode(c *strictyaml.Cursor, want string) {
	n, ok := c.Scalar(want)
	if !ok {
		return
	}
	if n.Class == strictyaml.Int {
		c.Errorf("write "+n.Text+"s, "+n.Text+"m or "+n.Text+"h", "%s has no unit", n.Text)
		return
	}
	length, err := time.ParseDuration(n.Text)
	switch {
	case err != nil:
		c.Not(want)
		return
	case length <= 0:
		c.Errorf("", "must be longer than 0")
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

// DecodeYAML reads one entry of a query or a form.
func (q *QueryParam) DecodeYAML(c *strictyaml.Cursor) {
	q.Name = c.Key()
	q.Value.DecodeYAML(c)
}

// DescribeYAML is the schema of DecodeYAML.
func (*QueryParam) DescribeYAML(*strictyaml.Generator) strictyaml.Object { return textSchema() }

// DecodeYAML reads the value of a part, or a mapping.
func (m *Part) DecodeYAML(c *strictyaml.Cursor) {
	if c.Node().Kind == strictyaml.Mapping {
		c.DecodeStruct(m)
	} else {
		m.Value.DecodeYAML(c)
	}
	m.Name = c.Key()
}

// DescribeYAML is the schema of DecodeYAML.
func (*Part) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	return strictyaml.AnyOf(textSchema(), g.Struct(Part{}))
}
