package dialect

import (
	"fmt"
	"slices"
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
	from, parts := target(o, o), o.get("allOf")
	o.drop("$ref", "allOf")
	within := map[*object]bool{o: true}
	t.join(o, from, within)
	t.joinAll(o, parts, within)
	for _, key := range []string{"anyOf", "oneOf"} {
		if parts, ok := o.get(key).([]any); ok {
			o.drop(key)
			note(o, key, clone(parts))
			t.alternatives(o, parts)
		}
	}
	for _, key := range []string{"enum", "not"} {
		if v := o.get(key); o.has(key) {
			o.drop(key)
			note(o, key, v)
		}
	}
	if types := typesOf(o); types != nil && !slices.Contains(types, "object") {
		return nil, fmt.Errorf("type must be object, not %v", o.get("type"))
	}
	o.set("type", "object")
	if o.child("properties") == nil {
		o.set("properties", newObject())
	}
	return o, nil
}

// resolved gives the schema itself, or the one that it refers to and nothing else.
func (t *translator) resolved(v any) *object {
	o, ok := v.(*object)
	if !ok {
		return newObject()
	}
	seen := map[*object]bool{}
	for len(o.keys) == 1 && o.has("$ref") && !seen[o] {
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
	for _, key := range slices.Clone(other.keys) {
		value := clone(other.get(key))
		switch {
		case key == "$ref":
			t.join(into, target(t.root, other), within)
		case key == "allOf":
			t.joinAll(into, other.get(key), within)
		case key == "additionalProperties":
			if into.child("properties") == nil && !into.has(key) {
				into.set(key, value)
			} else {
				into.drop(key) // neither knew the other's properties
			}
		case key == "properties":
			t.addProperties(into, value)
		case key == "required" && into.has(key):
			into.set(key, union(into.get(key), value))
		case key == noteKey && into.has(key):
			note(into, "allOf", []any{value})
		case key == "title" && into.has(key), key == "description" && into.has(key):
		case !into.has(key):
			into.set(key, value)
		case !same(into.get(key), value):
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
	own := into.child("properties")
	if own == nil {
		own = newObject()
		into.set("properties", own)
	}
	for _, name := range more.keys {
		if !own.has(name) {
			own.set(name, more.get(name))
		} else if !same(own.get(name), more.get(name)) {
			both := newObject()
			both.set("allOf", []any{own.get(name), more.get(name)})
			own.set(name, both)
		}
	}
}

// alternatives brings the properties of alternatives to the top, where each may be
// there.
func (t *translator) alternatives(o *object, parts []any) {
	o.drop("additionalProperties")
	own := o.child("properties")
	if own == nil {
		own = newObject()
	}
	added := newObject()
	for _, p := range parts {
		theirs := t.resolved(p).child("properties")
		if theirs == nil {
			continue
		}
		for _, name := range theirs.keys {
			if !own.has(name) {
				added.set(name, either(added.child(name), clone(theirs.get(name))))
			}
		}
	}
	for _, name := range added.keys {
		own.set(name, added.get(name))
	}
	o.set("properties", own)
}

// either is a schema for what one of two takes; a may be nil for none.
func either(a *object, b any) any {
	if a == nil || same(a, b) {
		return b
	}
	if parts, ok := a.get("anyOf").([]any); ok && len(a.keys) == 1 {
		a.set("anyOf", append(slices.Clone(parts), b))
		return a
	}
	both := newObject()
	both.set("anyOf", []any{a, b})
	return both
}
