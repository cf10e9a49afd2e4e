package strictyaml

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
)

// Object is a JSON object whose members keep their order.
type Object []Member

// Member is one entry of an [Object].
type Member struct {
	Key   string
	Value any
}

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		writeText(&b, m.Key)
		b.WriteByte(':')
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(m.Value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// AnyOf is the schema of a value that fits one of several.
func AnyOf(schemas ...Object) Object { return Object{{"anyOf", schemas}} }

// Generator describes types in JSON Schema 2020-12.
type Generator struct {
	decoder *Decoder
	names   map[reflect.Type]string
	defs    map[string]Object
}

// Schema gives the JSON Schema of documents that decode into the struct v,
// indented and always the same.
func (d *Decoder) Schema(title string, v any) ([]byte, error) {
	g := &Generator{decoder: d, names: map[reflect.Type]string{}, defs: map[string]Object{}}
	doc := Object{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}}
	doc = append(doc, d.structOf(reflect.TypeOf(v)).describe(g)...)
	defs := Object{}
	for _, name := range slices.Sorted(maps.Keys(g.defs)) {
		defs = append(defs, Member{name, g.defs[name]})
	}
	doc = append(doc, Member{"$defs", defs})
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(doc)
	return b.Bytes(), err
}

// Of describes the type of v.
func (g *Generator) Of(v any) Object { return g.decoder.shapeOf(reflect.TypeOf(v), "").schema(g) }

// Struct describes the fields of the struct v, whatever DescribeYAML method it
// has.
func (g *Generator) Struct(v any) Object { return g.decoder.structOf(reflect.TypeOf(v)).schema(g) }

// Field describes the value of one key of the struct v.
func (g *Generator) Field(v any, key string) Object {
	s := g.decoder.structOf(reflect.TypeOf(v))
	s.load(g.decoder)
	return s.fields[s.index[key]].shape.schema(g)
}

// schema puts the struct into $defs, once, and refers to it.
func (s *structShape) schema(g *Generator) Object {
	name := g.names[s.t]
	if name == "" {
		name = s.t.Name()
		if _, taken := g.defs[name]; taken {
			name = s.t.String()
		}
		g.names[s.t] = name
		g.defs[name] = nil // holds the name while the fields are described
		g.defs[name] = s.describe(g)
	}
	return Object{{"$ref", "#/$defs/" + name}}
}

func (s *structShape) describe(g *Generator) Object {
	s.load(g.decoder)
	properties, required := Object{}, []string{}
	for _, f := range s.fields {
		o := f.schema(g)
		properties = append(properties, Member{f.key, o})
		if f.alias != "" && f.alias != f.key {
			properties = append(properties, Member{f.alias, o})
		}
		if f.required {
			required = append(required, f.key)
		}
	}
	o := Object{{"type", "object"}, {"properties", properties}}
	if len(s.open) > 0 {
		patterns := Object{}
		for _, prefix := range s.open {
			patterns = append(patterns, Member{"^" + regexp.QuoteMeta(prefix), Object{}})
		}
		o = append(o, Member{"patternProperties", patterns})
	}
	if len(required) > 0 {
		o = append(o, Member{"required", required})
	}
	return append(o, Member{"additionalProperties", false})
}

func (f *field) schema(g *Generator) Object {
	o := f.shape.schema(g)
	if t := f.tag.Get("type"); t != "" {
		o = Object{{"type", t}}
	}
	if f.env == "true" && o.restricted() {
		o = AnyOf(o, Object{{"type", "string"}, {"pattern", `\$`}})
	}
	if f.nullable() {
		if len(o) > 0 && o[0].Key == "type" {
			o = append(Object{{"type", []any{o[0].Value, "null"}}}, o[1:]...)
		} else {
			o = AnyOf(o, Object{{"type", "null"}})
		}
	}
	if doc := f.tag.Get("doc"); doc != "" {
		o = append(Object{{"description", doc}}, o...)
	}
	if f.def != "" {
		var value any = f.def
		if c := classify(f.def); c == Int || c == Float {
			value = json.Number(f.def)
		}
		if _, isList := f.shape.(listShape); isList {
			value = []any{value}
		}
		o = append(o, Member{"default", value})
	}
	return o
}

// restricted reports whether the schema refuses some texts, so that a variable
// in the place of the value has to be allowed.
func (o Object) restricted() bool {
	return slices.ContainsFunc(o, func(m Member) bool {
		return m.Key == "enum" || m.Key == "pattern" || m.Key == "type" && (m.Value == "integer" || m.Value == "number" || m.Value == "boolean")
	})
}
