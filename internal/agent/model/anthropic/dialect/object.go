package dialect

import (
	"slices"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

// object is an object of a schema.
type object = ordered.Object

// union is a list with what another has beside it.
func union(a, b []any) []any {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.ContainsFunc(out, func(o any) bool { return ordered.Same(o, v) }) {
			out = append(out, v)
		}
	}
	return out
}
