package dialect

import (
	"strconv"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

// object is an object of a schema.
type object = ordered.Object

// clone is a copy of a value that shares nothing with it.
func clone(v any) any {
	switch v := v.(type) {
	case *object:
		out := &object{}
		for key, member := range v.All() {
			out.Set(key, clone(member))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = clone(v[i])
		}
		return out
	}
	return v
}

// follow goes the way of a JSON pointer (RFC 6901).
func follow(at any, pointer string) (any, bool) {
	if pointer == "" {
		return at, true
	}
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
