package dialect

import (
	"strings"
	"unicode"

	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

// maxNote bounds the constraints that are told in words at one place, in bytes.
const maxNote = 1000

// note tells a constraint that the dialect has no place for in the description, as
// JSON.
type notes struct{ object }

func (n *notes) add(name string, value any) {
	if old := n.Get(name); old == nil || ordered.Same(old, value) {
		n.Set(name, value)
		return
	}
	all, _ := n.Get("allOf").([]any)
	other := &object{}
	other.Set(name, value)
	n.Set("allOf", append(all, other))
}

// tell puts the notes into the description of a schema.
func (n *notes) tell(out *object) {
	if len(n.Keys()) == 0 {
		return
	}
	text, err := ordered.Encode(&n.object)
	if err != nil || len(text) > maxNote {
		return // whoever runs the tool checks the arguments anyway
	}
	description, _ := out.Get("description").(string)
	out.Set("description", strings.TrimLeft(description+"\nFurther constraints (JSON Schema): "+visible(string(text)), "\n"))
}

// unseen reports whether a character cannot be seen, so that something can be
// hidden in a text with it.
func unseen(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Other_Default_Ignorable_Code_Point)
}

// visible drops from a text what cannot be seen.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unseen(r) {
			return -1
		}
		return r
	}, s)
}
