package dialect

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

// resolver finds what references within a document lead to.
type resolver struct {
	root  any
	named map[string]place // anchors, with #, and $ids; nil until one is needed
}

// place is a part of the document and the JSON pointer to it.
type place struct {
	value   any
	pointer string
}

// find gives what a reference leads to: the whole, a JSON pointer (RFC 6901,
// section 6), an anchor, or a part with an $id of its own.
func (r *resolver) find(ref any) (any, error) {
	at, err := r.resolve(ref)
	return at.value, err
}

// pointer gives a reference as one that needs no names. There are no other documents,
// so a dynamic reference is like any other.
func (r *resolver) pointer(ref any) (string, error) {
	at, err := r.resolve(ref)
	return "#" + at.pointer, err
}

func (r *resolver) resolve(ref any) (place, error) {
	text, ok := ref.(string)
	if !ok {
		return place{}, fmt.Errorf("%s where text belongs", ordered.Kind(ref))
	}
	document, fragment, _ := strings.Cut(text, "#")
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return place{}, fmt.Errorf("%q: %w", text, err)
	}
	at := place{value: r.root}
	if document != "" {
		if at, ok = r.lookUp(document); !ok {
			return place{}, fmt.Errorf("%q leads out of the schema", text)
		}
	}
	switch {
	case fragment == "":
	case fragment[0] == '/':
		at.value, ok = follow(at.value, fragment)
		at.pointer += fragment
	default:
		at, ok = r.lookUp("#" + fragment)
	}
	if !ok {
		return place{}, fmt.Errorf("%q leads nowhere", text)
	}
	return at, nil
}

func (r *resolver) lookUp(name string) (place, bool) {
	if r.named == nil {
		r.named = map[string]place{}
		index(place{value: r.root}, r.named)
	}
	at, ok := r.named[name]
	return at, ok
}

// index collects what has a name; of several with the same the first counts.
func index(at place, named map[string]place) {
	switch v := at.value.(type) {
	case *object:
		for key, prefix := range map[string]string{"$id": "", "$anchor": "#", "$dynamicAnchor": "#"} {
			name, ok := v.Get(key).(string)
			if _, known := named[prefix+name]; ok && !known {
				named[prefix+name] = at
			}
		}
		for _, key := range v.Keys() {
			step := strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
			index(place{v.Get(key), at.pointer + "/" + step}, named)
		}
	case []any:
		for i, e := range v {
			index(place{e, at.pointer + "/" + strconv.Itoa(i)}, named)
		}
	}
}

// follow goes the way of a JSON pointer.
func follow(at any, pointer string) (any, bool) {
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch v := at.(type) {
		case *object:
			if !v.Has(step) {
				return nil, false
			}
			at = v.Get(step)
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}
