package config

import (
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// Condition is an expression in the language of package condition, or just true
// or false.
type Condition struct {
	Expr string // empty for a constant
	Is   bool   // the constant
}

// CallRule matches calls: those whose arguments all match. A rule without arguments
// matches every call. Of a list one item is enough in a deny rule; in an allow rule all
// have to match.
type CallRule struct {
	Tool string            `yaml:"tool" doc:"mcp, openapi, files: the name that the model sees, a glob; by default any."`
	Args map[string]string `yaml:"args" doc:"Argument to a glob for its value as text; * stands for any characters. Of a list one item is enough to deny, and all are needed to allow."`
}

// Retry says how a failed call is tried again. In YAML it may be just the number
// of tries.
type Retry struct {
	Tries    int      `yaml:"tries" default:"3" min:"2" max:"20" doc:"How often a call is tried at most, the first time included."`
	Delay    Duration `yaml:"delay" default:"500ms" doc:"The pause before the second try; it doubles from try to try."`
	MaxDelay Duration `yaml:"max_delay" default:"10s" doc:"The longest pause."`
}

// Cache says how results are remembered, for each caller apart. In YAML it may be
// just true or false.
type Cache struct {
	TTL      Duration `yaml:"ttl" default:"5m" doc:"How long a result is good for."`
	Entries  int      `yaml:"entries" default:"128" min:"1" max:"100000" doc:"How many results are kept; the one that was used least recently goes first."`
	MaxBytes int      `yaml:"max_bytes" default:"4194304" min:"1024" max:"1073741824" doc:"How large they may be together."`
}

// RateLimit bounds the calls of a minute. In YAML it may be just the number.
type RateLimit struct {
	PerMinute int      `yaml:"per_minute" required:"true" min:"1" max:"1000000" doc:"How many calls run within any minute."`
	Exceeded  string   `yaml:"exceeded" default:"wait" enum:"wait,error" doc:"What becomes of one more: it waits, or the model reads that it should."`
	MaxWait   Duration `yaml:"max_wait" default:"60s" doc:"wait: how long at most; then the model reads that it should wait."`
	Per       string   `yaml:"per" default:"caller" enum:"caller,tool" doc:"caller: each caller has a limit of its own; tool: all share one."`
}

// dropConstants leaves out levers that are written and do nothing, so that nil
// stands for them.
func (t *Tool) dropConstants() {
	if t.RequiresApproval != nil && *t.RequiresApproval == (Condition{}) {
		t.RequiresApproval = nil
	}
	if t.When != nil && *t.When == (Condition{Is: true}) {
		t.When = nil
	}
	if t.Cache != nil && *t.Cache == (Cache{}) {
		t.Cache = nil
	}
}

// DecodeYAML reads true, false or an expression.
func (e *Condition) DecodeYAML(c *strictyaml.Cursor) {
	const want = "true, false or an expression"
	switch n := c.Node(); {
	case n.Kind != strictyaml.Scalar || n.IsNull():
		c.Wrong(want)
	case n.Class == strictyaml.Bool:
		e.Is = strings.EqualFold(n.Text, "true")
	case n.Class == strictyaml.Text && strings.TrimSpace(n.Text) == "":
		c.Wrong(want)
	default:
		e.Expr, _ = c.Text()
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*Condition) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	return strictyaml.AnyOf(g.Of(false), textSchema())
}

// DecodeYAML reads a number of tries or a mapping.
func (r *Retry) DecodeYAML(c *strictyaml.Cursor) { orMapping(c, r, "tries") }

// DescribeYAML is the schema of DecodeYAML.
func (*Retry) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	return strictyaml.AnyOf(g.Field(Retry{}, "tries"), g.Struct(Retry{}))
}

// DecodeYAML reads true, false or a mapping. False leaves the zero value, for
// which there is nil in a [Tool].
func (m *Cache) DecodeYAML(c *strictyaml.Cursor) {
	const want = "true, false or a mapping"
	switch n := c.Node(); {
	case n.Kind == strictyaml.Mapping:
		c.DecodeStruct(m)
	case n.Kind != strictyaml.Scalar || n.IsNull():
		c.Wrong(want)
	case n.Class != strictyaml.Bool:
		c.Not(want)
	case strings.EqualFold(n.Text, "true"):
		c.Defaults(m)
	}
}

// DescribeYAML is the schema of DecodeYAML.
func (*Cache) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	return strictyaml.AnyOf(g.Of(false), g.Struct(Cache{}))
}

// DecodeYAML reads a number of calls or a mapping.
func (r *RateLimit) DecodeYAML(c *strictyaml.Cursor) { orMapping(c, r, "per_minute") }

// DescribeYAML is the schema of DecodeYAML.
func (*RateLimit) DescribeYAML(g *strictyaml.Generator) strictyaml.Object {
	return strictyaml.AnyOf(g.Field(RateLimit{}, "per_minute"), g.Struct(RateLimit{}))
}

// orMapping reads a mapping, or a number that is the value of one of its keys.
func orMapping(c *strictyaml.Cursor, into any, key string) {
	switch c.Node().Kind {
	case strictyaml.Mapping:
		c.DecodeStruct(into)
	case strictyaml.Scalar:
		c.DecodeField(into, key)
	default:
		c.Wrong("a number or a mapping")
	}
}

// Glob reports whether s matches a pattern in which * stands for any characters,
// none included; everything else stands for itself, and the whole of s has to
// match. It is the one kind of glob that agent files have outside of paths.
func Glob(pattern, s string) bool {
	first, rest, some := strings.Cut(pattern, "*")
	if !some {
		return pattern == s
	}
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	for {
		var part string
		part, rest, some = strings.Cut(rest, "*")
		if !some { // the end of the pattern
			return strings.HasSuffix(s, part)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
}
