package document

import "slices"

// The bounds of an object that is taken apart: how many schemas it may be put
// together from, and how many properties it may have.
const (
	maxBranches = 100
	maxMembers  = 300
)

// ReadOnly reports whether a property comes in answers only.
func (d *Document) ReadOnly(v Value) bool {
	if v.Get("readOnly").IsTrue() {
		return true
	}
	ref := v.Get("$ref")
	if !ref.IsText() {
		return false
	}
	to, err := d.Resolve(ref.Text())
	return err == nil && to.Get("readOnly").IsTrue()
}

// Follow follows references until there is something else, or nil where they lead
// nowhere.
func (d *Document) Follow(v Value) Value {
	for range maxBranches {
		ref := v.Get("$ref")
		if !ref.IsText() {
			return v
		}
		to, err := d.Resolve(ref.Text())
		if err != nil {
			return nil
		}
		v = to
	}
	return nil
}

// Member is a property of an object, with all the schemas that it must match.
type Member struct {
	Name     string
	Schemas  []Value
	Required bool
}

// Members takes apart the schema of an object that has properties and nothing else
// to it; parts in allOf are put together. It is not ok for any other schema.
func (d *Document) Members(v Value) (members []Member, ok bool) {
	p := parts{doc: d}
	if !p.add(v) {
		return nil, false
	}
	members = slices.DeleteFunc(p.members, func(m Member) bool {
		return slices.ContainsFunc(m.Schemas, d.ReadOnly)
	})
	for i := range members {
		members[i].Required = slices.Contains(p.required, members[i].Name)
	}
	return members, len(members) > 0
}

type parts struct {
	doc      *Document
	members  []Member
	required []string
	count    int
}

func (p *parts) add(v Value) bool {
	if p.count++; p.count > maxBranches {
		return false
	}
	v = p.doc.Follow(v)
	if !v.IsObject() {
		return false
	}
	switch t := v.Get("type"); {
	case t == nil, t.Text() == "object":
	default: // null or something else may stand in its place
		return false
	}
	for name, value := range v.Members() {
		switch name {
		case "oneOf", "anyOf", "not", "if", "patternProperties", "dependentSchemas", "dependentRequired", "propertyNames",
			"minProperties", "maxProperties", "const", "enum":
			return false
		case "nullable":
			if value.IsTrue() {
				return false
			}
		case "allOf":
			for part := range value.Items() {
				if !p.add(part) {
					return false
				}
			}
		case "properties":
			for name, schema := range value.Members() {
				if p.member(name, schema); len(p.members) > maxMembers {
					return false
				}
			}
		case "required":
			p.required = append(p.required, value.Texts()...)
		}
	}
	return true
}

func (p *parts) member(name string, schema Value) {
	i := slices.IndexFunc(p.members, func(m Member) bool { return m.Name == name })
	if i < 0 {
		p.members = append(p.members, Member{Name: name, Schemas: []Value{schema}})
		return
	}
	p.members[i].Schemas = append(p.members[i].Schemas, schema)
}
