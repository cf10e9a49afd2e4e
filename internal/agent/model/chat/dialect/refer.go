package dialect

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

// reference writes out what a reference leads to. Within itself, a schema is only
// known by its type. Without other documents around it a dynamic reference is like
// any other.
func (t *translator) reference(ref any, depth int) (*object, error) {
	pointer, ok := ref.(string)
	if !ok {
		return nil, fmt.Errorf("%s where text belongs", ordered.Kind(ref))
	}
	if root, ok := t.root.(*object); ok { // the whole by its own name
		id, _ := root.Get("$id").(string)
		if rest, ok := strings.CutPrefix(pointer, id); ok && id != "" && (rest == "" || rest[0] == '#') {
			pointer = "#" + strings.TrimPrefix(rest, "#")
		}
	}
	target, err := t.resolve(pointer)
	if err != nil {
		return nil, err
	}
	if t.within[pointer] {
		stub := &object{}
		if s, ok := target.(*object); ok && s.Has("type") {
			if err := setTypes(stub, s.Get("type")); err != nil {
				return nil, err
			}
		}
		note(stub, "$ref", pointer)
		return stub, nil
	}
	t.within[pointer] = true
	defer delete(t.within, pointer)
	return t.schema(target, depth+1)
}

// resolve finds what a reference leads to: a JSON Pointer (RFC 6901), an anchor or
// the $id of a schema within the whole.
func (t *translator) resolve(pointer string) (any, error) {
	if t.named == nil {
		t.named = make(map[string]any)
		t.name(t.root)
	}
	if target, ok := t.named[pointer]; ok {
		return target, nil
	}
	path, ok := strings.CutPrefix(pointer, "#")
	if !ok {
		return nil, fmt.Errorf("%q leads out of the schema", pointer)
	}
	path, err := url.PathUnescape(path)
	if err != nil {
		return nil, fmt.Errorf("%q leads nowhere", pointer)
	}
	at := t.root
	if path == "" {
		return at, nil
	}
	steps := strings.Split(path, "/")
	if steps[0] != "" {
		return nil, fmt.Errorf("%q leads nowhere", pointer)
	}
	for _, step := range steps[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		found := false
		switch v := at.(type) {
		case *object:
			at, found = v.Get(step), v.Has(step)
		case []any:
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
				at, found = v[i], true
			}
		}
		if !found {
			return nil, fmt.Errorf("%q leads nowhere", pointer)
		}
	}
	return at, nil
}

// name collects the anchors and ids of a schema.
func (t *translator) name(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			t.name(item)
		}
	case *object:
		for _, key := range []string{"$anchor", "$dynamicAnchor"} {
			if anchor, ok := v.Get(key).(string); ok {
				t.named["#"+anchor] = v
			}
		}
		if id, ok := v.Get("$id").(string); ok && id != "" {
			t.named[id] = v
		}
		for _, item := range v.All() {
			t.name(item)
		}
	}
}
