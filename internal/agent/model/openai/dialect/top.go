package dialect

import (
	"fmt"
	"slices"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

// top brings the outermost schema into form. The service wants it to be of type
// object and to have properties, and takes no $ref, allOf, anyOf, oneOf, enum or not
// there.
func (t *translator) top(root any) (*object, error) {
	o, ok := root.(*object)
	if !ok || t.root == false {
		return nil, errNever
	}
	t.root = o
	from, parts := target(o, o), o.Get("allOf")
	o.Remove("$ref", "allOf")
	within := map[*object]bool{o: true}
	t.join(o, from, within)
	t.joinAll(o, parts, within)
	for _, key := range []string{"anyOf", "oneOf"} {
		if parts, ok := o.Get(key).([]any); ok {
			o.Remove(key)
			note(o, key, clone(parts))
			t.alternatives(o, parts)
		}
	}
	for _, key := range []string{"enum", "not"} {
		if v := o.Get(key); o.Has(key) {
			o.Remove(key)
			note(o, key, v)
		}
	}
	if types := typesOf(o); types != nil && !slices.Contains(types, "object") {
		return nil, fmt.Errorf("type must be object, not %v", o.Get("type"))
	}
	o.Set("type", "object")
	if o.Child("properties") == nil {
		o.Set("properties", &object{})
	}
	return o, nil
}

// resolved gives the schema itself, or the one that it refers to and nothing else.
func (t *translator) resolved(v any) *object {
	o, ok := v.(*object)
	if !ok {
		return &object{}
	}
	seen := map[*object]bool{}
	for len(o.Keys()) == 1 && o.Has("$ref") && !seen[o] {
		seen[o] = true
		if next := target(t.root, o); next != nil {
			o = next
		}
	}
	return o
}

// join adds to a schema what another demands besides; within are those that are
// being added, since they may refer to each other.
func (t *translator) join(into, other *object, within map[*object]bool) {
	if other == nil || within[other] {
		return
	}
	within[other] = true
	defer delete(within, other)
	for _, key := range slices.Clone(other.Keys()) {
		value := clone(other.Get(key))
		switch {
		case key == "$ref":
			t.join(into, target(t.root, other), within)
		case key == "allOf":
			t.joinAll(into, other.Get(key), within)
		case key == "additionalProperties":
			if into.Child("properties") == nil && !into.Has(key) {
				into.Set(key, value)
			} else {
				into.Remove(key) // neither knew the other's properties
			}
		case key == "properties":
			t.addProperties(into, value)
		case key == "required" && into.Has(key):
			into.Set(key, union(into.Get(key), value))
		case key == noteKey && into.Has(key):
			note(into, "allOf", []any{value})
		case key == "title" && into.Has(key), key == "description" && into.Has(key):
		case !into.Has(key):
			into.Set(key, value)
		case !ordered.Same(into.Get(key), value):
			note(into, key, value)
		}
	}
}

func (t *translator) joinAll(into *object, parts any, within map[*object]bool) {
	list, _ := parts.([]any)
	for _, p := range list {
		o, _ := p.(*object)
		t.join(into, o, within)
	}
}

// union joins two lists, each value once.
func union(a, b any) []any {
	first, _ := a.([]any)
	second, _ := b.([]any)
	all := slices.Clone(first)
	for _, v := range second {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

func (t *translator) addProperties(into *object, properties any) {
	more, ok := properties.(*object)
	if !ok {
		return
	}
	own := into.Child("properties")
	if own == nil {
		own = &object{}
		into.Set("properties", own)
	}
	for _, name := range more.Keys() {
		if !own.Has(name) {
			own.Set(name, more.Get(name))
		} else if !ordered.Same(own.Get(name), more.Get(name)) {
			both := &object{}
			both.Set("allOf", []any{own.Get(name), more.Get(name)})
			own.Set(name, both)
		}
	}
}

// alternatives brings the properties of alternatives to the top, where each may be
// there.
func (t *translator) alternatives(o *object, parts []any) {
	o.Remove("additionalProperties")
	own := o.Child("properties")
	if own == nil {
		own = &object{}
	}
	added := &object{}
	for _, p := range parts {
		theirs := t.resolved(p).Child("properties")
		if theirs == nil {
			continue
		}
		for _, name := range theirs.Keys() {
			if !own.Has(name) {
				added.Set(name, either(added.Child(name), clone(theirs.Get(name))))
			}
		}
	}
	for _, name := range added.Keys() {
		own.Set(name, added.Get(name))
	}
	o.Set("properties", own)
}

// either is a schema for what one of two takes; a may be nil for none.
func either(a *object, b any) any {
	if a == nil || ordered.Same(a, b) {
		return b
	}
	if parts, ok := a.Get("anyOf").([]any); ok && len(a.Keys()) == 1 {
		a.Set("anyOf", append(slices.Clone(parts), b))
		return a
	}
	both := &object{}
	both.Set("anyOf", []any{a, b})
	return both
}
