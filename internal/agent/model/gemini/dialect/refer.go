package dialect

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

// resolve finds what a reference within the document leads to: the whole, a JSON
// pointer (RFC 6901, section 6), an anchor, or a part with an $id of its own.
func (t *translator) resolve(ref string) (any, error) {
	place, fragment, _ := strings.Cut(ref, "#")
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", ref, err)
	}
	at, ok := t.root, true
	if place != "" {
		if at, ok = t.lookUp(place); !ok {
			return nil, fmt.Errorf("%q leads out of the schema", ref)
		}
	}
	switch {
	case fragment == "":
	case fragment[0] == '/':
		at, ok = follow(at, fragment)
	default:
		at, ok = t.lookUp("#" + fragment)
	}
	if !ok {
		return nil, fmt.Errorf("%q leads nowhere", ref)
	}
	return at, nil
}

// lookUp finds what has a name in the document.
func (t *translator) lookUp(name string) (any, bool) {
	if t.named == nil {
		t.named = map[string]any{}
		index(t.root, t.named)
	}
	at, ok := t.named[name]
	return at, ok
}

// index collects what has a name; of several with the same the first counts.
func index(v any, named map[string]any) {
	switch v := v.(type) {
	case *ordered.Object:
		for key, prefix := range map[string]string{"$id": "", "$anchor": "#", "$dynamicAnchor": "#"} {
			name, ok := v.Get(key).(string)
			if _, known := named[prefix+name]; ok && !known {
				named[prefix+name] = v
			}
		}
		for _, value := range v.All() {
			index(value, named)
		}
	case []any:
		for _, e := range v {
			index(e, named)
		}
	}
}

// follow goes the way of a JSON pointer.
func follow(at any, pointer string) (any, bool) {
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch v := at.(type) {
		case *ordered.Object:
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
