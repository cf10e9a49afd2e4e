package dialect

import "github.com/adkmcp/adkmcp/internal/agent/model/ordered"

// object is an object of a schema.
type object = ordered.Object

// encode is the JSON of a value of a schema, which always has that form.
func encode(v any) []byte {
	raw, _ := ordered.Encode(v)
	return raw
}

// weight counts the values in a value.
func weight(v any) int {
	n := 1
	switch v := v.(type) {
	case *object:
		for _, item := range v.All() {
			n += weight(item)
		}
	case []any:
		for _, item := range v {
			n += weight(item)
		}
	}
	return n
}
