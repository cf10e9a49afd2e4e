package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The bounds of the schema of one tool.
const (
	maxParameters = 1 << 20 // bytes, with all its definitions
	maxSchema     = 2 << 20 // bytes of one schema in the document
	maxText       = 2 << 10 // bytes of one description
)

var errTooLarge = errors.New("the JSON Schema of its parameters is larger than 1 MiB")

// Schemas turns the schemas of a document into JSON Schema of 2020-12. What has no
// meaning there is left out, and so are properties that only answers have. What a
// schema refers to is converted once, however many tools need it.
type Schemas struct {
	doc   *Document
	defs  map[string]*definition // by reference
	names map[string]bool
}

// NewSchemas is for the schemas of d.
func NewSchemas(d *Document) *Schemas {
	return &Schemas{doc: d, defs: map[string]*definition{}, names: map[string]bool{}}
}

// Schema is one that has been converted.
type Schema struct {
	text []byte
	refs []*definition
	// same are those of refs that apply to the same value, through nothing but
	// combinations of schemas. A circle of them would never end.
	same []*definition
}

// definition is what a reference leads to; made is nil until somebody needs it.
type definition struct {
	ref, name string
	made      *Schema
}

// Note is what stands beside a schema and is said in it. A description replaces the
// schema's own.
type Note struct {
	Description string
	Deprecated  bool
}

// Convert converts a schema; nil is one that takes anything.
func (s *Schemas) Convert(v Value, n Note) (*Schema, error) {
	w := converter{schemas: s, made: &Schema{}}
	switch {
	case v == nil:
		v = Value("{}")
	case len(v) > maxSchema:
		return nil, errTooLarge
	}
	if n.Description = Clean(n.Description, maxText); n != (Note{}) && !v.IsObject() {
		v = Value("{}") // true, or what is no schema at all
	}
	if err := w.schema(v, &n, true); err != nil {
		return nil, err
	}
	w.made.text = w.b.Bytes()
	return w.made, nil
}

// All combines schemas that a value must match all.
func All(list []*Schema) *Schema {
	if len(list) == 1 {
		return list[0]
	}
	all := &Schema{text: []byte(`{"allOf":[`)}
	for i, s := range list {
		if i > 0 {
			all.text = append(all.text, ',')
		}
		all.text = append(all.text, s.text...)
		all.refs, all.same = append(all.refs, s.refs...), append(all.same, s.same...)
	}
	all.text = append(all.text, "]}"...)
	return all
}

// Property is an argument of a tool.
type Property struct {
	Name     string
	Schema   *Schema
	Required bool
}

// Parameters is the schema of an object that has these properties and no others,
// with the definitions that they lead to.
func (s *Schemas) Parameters(list []Property) (json.RawMessage, error) {
	var b bytes.Buffer
	var refs []*definition
	var required []string
	b.WriteString(`{"type":"object","properties":{`)
	for i, p := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		writeText(&b, p.Name)
		b.WriteByte(':')
		b.Write(p.Schema.text)
		refs = append(refs, p.Schema.refs...)
		if p.Required {
			required = append(required, p.Name)
		}
	}
	b.WriteByte('}')
	if len(required) > 0 {
		b.WriteString(`,"required":`)
		writeTexts(&b, required)
	}
	b.WriteString(`,"additionalProperties":false`)
	defs, err := s.reach(refs)
	if err != nil {
		return nil, err
	}
	for i, d := range defs {
		if i == 0 {
			b.WriteString(`,"$defs":{`)
		} else {
			b.WriteByte(',')
		}
		writeText(&b, d.name)
		b.WriteByte(':')
		b.Write(d.made.text)
		if b.Len() > maxParameters {
			return nil, errTooLarge
		}
	}
	if len(defs) > 0 {
		b.WriteByte('}')
	}
	b.WriteByte('}')
	return slices.Clip(b.Bytes()), nil
}

// reach gives the definitions that references lead to, directly or not, sorted by
// name. It goes from one to the next without recursion, as chains may be long.
func (s *Schemas) reach(refs []*definition) ([]*definition, error) {
	seen := map[*definition]bool{}
	var all []*definition
	size := 0
	for wait := slices.Clone(refs); len(wait) > 0; {
		d := wait[len(wait)-1]
		wait = wait[:len(wait)-1]
		if seen[d] {
			continue
		}
		seen[d] = true
		if d.made == nil {
			v, err := s.doc.Resolve(d.ref)
			if err != nil {
				return nil, err
			}
			if d.made, err = s.Convert(v, Note{}); err != nil {
				return nil, fmt.Errorf("%s: %w", d.ref, err)
			}
		}
		if size += len(d.made.text); size > maxParameters {
			return nil, errTooLarge
		}
		all = append(all, d)
		wait = append(wait, d.made.refs...)
	}
	slices.SortFunc(all, func(a, b *definition) int { return strings.Compare(a.name, b.name) })
	return all, circles(all)
}

// circles refuses definitions that are nothing but each other.
func circles(all []*definition) error {
	waits := map[*definition]int{}
	for _, d := range all {
		for _, to := range d.made.same {
			waits[to]++
		}
	}
	var free []*definition
	for _, d := range all {
		if waits[d] == 0 {
			free = append(free, d)
		}
	}
	done := 0
	for ; len(free) > 0; done++ {
		d := free[len(free)-1]
		free = free[:len(free)-1]
		for _, to := range d.made.same {
			if waits[to]--; waits[to] == 0 {
				free = append(free, to)
			}
		}
	}
	if done < len(all) {
		return errors.New("a schema refers to itself in circles, without anything between")
	}
	return nil
}

// define gives the definition of a reference.
func (s *Schemas) define(ref string) *definition {
	if d := s.defs[ref]; d != nil {
		return d
	}
	last := ref[strings.LastIndexByte(ref, '/')+1:]
	if !strings.HasPrefix(ref, "#/components/schemas/") || strings.Count(ref, "/") != 3 {
		last = strings.NewReplacer("#/components/", "", "#/", "", "#", "root", "~1", "_", "/", "_").Replace(ref)
	}
	name := strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, last)
	if len(name) > 100 {
		name = name[:100]
	}
	unique := name
	for i := 2; s.names[unique]; i++ {
		unique = fmt.Sprintf("%s_%d", name, i)
	}
	s.names[unique] = true
	d := &definition{ref: ref, name: unique}
	s.defs[ref] = d
	return d
}

func writeTexts(b *bytes.Buffer, list []string) {
	b.WriteByte('[')
	for i, s := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		writeText(b, s)
	}
	b.WriteByte(']')
}
