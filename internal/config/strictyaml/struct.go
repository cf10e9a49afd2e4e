package strictyaml

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// structShape is a mapping whose keys are the fields of a Go struct.
type structShape struct {
	t       reflect.Type
	fields  []field
	open    []string // beginnings of keys that are accepted and not kept
	refused map[string]string
	index   map[string]int // fields by each spelling of their key
}

type field struct {
	key      string // as messages and schema name it
	alias    string // a second spelling, or empty
	index    int    // -1: accepted and not kept
	shape    shape
	required bool
	def, env string // the tags default and env
	tag      reflect.StructTag
}

// structOf gives the shape of a struct type, made once for a decoder.
func (d *Decoder) structOf(t reflect.Type) *structShape {
	s := d.structs[t]
	if s == nil {
		s = &structShape{t: t}
		d.structs[t] = s
	}
	return s
}

// load reads the fields, on first use: most files use few of the types, and a
// type may contain itself.
func (s *structShape) load(d *Decoder) {
	if s.index != nil {
		return
	}
	s.index = make(map[string]int, s.t.NumField())
	s.refused = d.opts.Refused[s.t]
	for i := range s.t.NumField() {
		f := s.t.Field(i)
		key, tagged := f.Tag.Lookup("yaml")
		alias := f.Tag.Get("alias")
		if !tagged {
			key, _, _ = strings.Cut(f.Tag.Get("json"), ",")
			key, alias = snake(key), key
		}
		if key == "" || key == "-" || s.refused[key] != "" {
			continue
		}
		if prefix, open := strings.CutSuffix(key, "*"); open {
			s.open = append(s.open, prefix)
			continue
		}
		fd := field{key: key, alias: alias, index: i, tag: f.Tag, required: f.Tag.Get("required") == "true",
			def: f.Tag.Get("default"), env: f.Tag.Get("env")}
		if f.Name == "_" {
			fd.index = -1
		}
		fd.shape = d.shapeOf(f.Type, f.Tag)
		s.index[key] = len(s.fields)
		if alias != "" {
			s.index[alias] = len(s.fields)
		}
		s.fields = append(s.fields, fd)
	}
}

// snake spells maxOutputTokens as max_output_tokens.
func snake(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func (s *structShape) decode(c *Cursor, v reflect.Value) { s.fill(c, v, nil) }

// fill reads the mapping at c into v, all fields but some.
func (s *structShape) fill(c *Cursor, v reflect.Value, skip []string) {
	if c.node.Kind != Mapping {
		c.Wrong("a mapping")
		return
	}
	s.load(c.decoder)
	given := make([]string, len(s.fields)) // the spelling that was used
	var meant []string                     // keys that unknown ones were probably meant to be
	for j := range c.node.Pairs {
		p := &c.node.Pairs[j]
		key, at := p.Key.Text, c.at(p)
		i, ok := s.index[key]
		switch {
		case !ok:
			meant = append(meant, s.unknown(at, p.Key))
		case given[i] != "":
			at.report(Error, p.Key, "keep one of them", fmt.Sprintf("stands here as %s and as %s", given[i], key))
		default:
			given[i] = key
			s.fields[i].read(at, v, skip)
		}
	}
	for i := range s.fields {
		f := &s.fields[i]
		if given[i] != "" {
			continue
		}
		if f.required && !slices.Contains(meant, f.key) {
			c.Errorf("", "the key %q is missing", f.key)
		}
		f.setDefault(c.decoder, v)
	}
}

// read decodes the value at c into the field's place in v.
func (f *field) read(c *Cursor, v reflect.Value, skip []string) {
	switch {
	case f.index < 0 || slices.Contains(skip, f.key):
	case c.node.IsNull() && f.nullable():
		f.setDefault(c.decoder, v)
	default:
		if f.env != "" {
			c.env = f.env == "true"
		}
		if f.def != "" {
			f.setDefault(c.decoder, v)
		}
		f.shape.decode(c, v.Field(f.index))
	}
}

// nullable fields are lists and mappings; without a value they are as if their
// key were not there, which is how a file looks when all entries are commented
// out.
func (f *field) nullable() bool {
	switch s := f.shape.(type) {
	case listShape, mapShape, entriesShape, *structShape:
		return !f.required
	case pointerShape:
		_, ok := s.elem.(*structShape)
		return ok && !f.required
	}
	return false
}

// setDefault gives the field its default, and the fields of a struct theirs.
func (f *field) setDefault(d *Decoder, v reflect.Value) {
	if f.index < 0 {
		return
	}
	if s, ok := f.shape.(*structShape); ok {
		s.setDefaults(d, v.Field(f.index))
		return
	}
	if f.def == "" {
		return
	}
	n := &Node{Text: f.def, Class: classify(f.def)}
	if _, isList := f.shape.(listShape); isList {
		n = &Node{Kind: List, Items: []*Node{n}}
	}
	f.shape.decode(&Cursor{decoder: d, node: n}, v.Field(f.index))
}

func (s *structShape) setDefaults(d *Decoder, v reflect.Value) {
	s.load(d)
	for i := range s.fields {
		s.fields[i].setDefault(d, v)
	}
}

// unknown reports a key that the struct does not have, and gives the one that
// was probably meant.
func (s *structShape) unknown(c *Cursor, key *Node) (meant string) {
	name := key.Text
	if slices.ContainsFunc(s.open, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
		return ""
	}
	for _, spelling := range []string{name, snake(name)} {
		if hint, ok := s.refused[spelling]; ok {
			c.report(Error, key, hint, fmt.Sprintf("the key %q cannot be used here", name))
			return ""
		}
	}
	known := slices.Sorted(maps.Keys(s.index))
	hint := strings.TrimSpace(didYouMean(name, known) + " " + c.decoder.belongs(name, s))
	c.report(Error, key, hint, fmt.Sprintf("unknown key %q", name))
	return Nearest(name, known)
}
