package dialect

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

// index collects the names that parts of a schema have, and where those parts are;
// of several with the same name the first counts.
func index(v any, pointer string, named map[string]string) {
	switch v := v.(type) {
	case *object:
		for _, k := range [][2]string{{"$id", ""}, {"$anchor", "#"}, {"$dynamicAnchor", "#"}} {
			name, ok := v.Get(k[0]).(string)
			if _, known := named[k[1]+name]; ok && !known {
				named[k[1]+name] = pointer
			}
		}
		for _, key := range v.Keys() {
			index(v.Get(key), pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key), named)
		}
	case []any:
		for i, e := range v {
			index(e, pointer+"/"+strconv.Itoa(i), named)
		}
	}
}

// refer writes a schema's reference as one by JSON pointer, the form that the
// service follows. Without other documents around it a dynamic reference is like
// any other.
func (t *translator) refer(o *object) error {
	for _, key := range []string{"$recursiveRef", "$dynamicRef", "$ref"} {
		if !o.Has(key) {
			continue
		}
		ref, ok := o.Get(key).(string)
		if !ok {
			return fmt.Errorf("%s where text belongs", ordered.Kind(o.Get(key)))
		}
		o.Remove(key)
		pointer, err := t.pointer(ref)
		if err != nil {
			return err
		}
		if target, _ := follow(t.root, pointer); target != any(o) { // it says nothing of itself
			o.Set("$ref", "#"+pointer)
		}
	}
	return nil
}

// pointer gives the JSON pointer of what a reference leads to.
func (t *translator) pointer(ref string) (string, error) {
	place, fragment, _ := strings.Cut(ref, "#")
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return "", fmt.Errorf("%q: %w", ref, err)
	}
	base := ""
	if place != "" {
		at, ok := t.named[place]
		if !ok {
			return "", fmt.Errorf("%q leads out of the schema", ref)
		}
		base = at
	}
	pointer := base + fragment
	if fragment != "" && fragment[0] != '/' {
		at, ok := t.named["#"+fragment]
		if !ok {
			return "", fmt.Errorf("%q leads nowhere", ref)
		}
		pointer = at
	}
	if _, ok := follow(t.root, pointer); !ok {
		return "", fmt.Errorf("%q leads nowhere", ref)
	}
	return pointer, nil
}

// target gives the schema that an object's reference leads to in a finished
// tree; nil where it has none or leads nowhere.
func target(root any, o *object) *object {
	ref, ok := o.Get("$ref").(string)
	if !ok {
		return nil
	}
	at, _ := follow(root, strings.TrimPrefix(ref, "#"))
	s, _ := at.(*object)
	return s
}

// checkRefs sees that every reference still leads to a schema, since some parts
// have moved, and cuts those that lead in a circle and so say nothing.
func checkRefs(root, v any) error {
	switch v := v.(type) {
	case *object:
		if ref, ok := v.Get("$ref").(string); ok {
			seen := map[*object]bool{v: true}
			for at := target(root, v); ; at = target(root, at) {
				if at == nil {
					return fmt.Errorf("%q leads nowhere", ref)
				}
				if seen[at] {
					v.Remove("$ref")
					break
				}
				if seen[at] = true; !at.Has("$ref") {
					break
				}
			}
		}
		for _, key := range v.Keys() {
			if key == "enum" || key == "const" || key == "default" || key == "examples" || key == noteKey {
				continue // values, and what becomes text
			}
			if err := checkRefs(root, v.Get(key)); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range v {
			if err := checkRefs(root, e); err != nil {
				return err
			}
		}
	}
	return nil
}
