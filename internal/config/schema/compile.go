package schema

import (
	"errors"
	"strconv"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// compile lets the validator judge the schema.
func (s Schema) compile(fs *findings) {
	err := jsonschema.New(s.JSON, jsonschema.Options{}).Compile()
	var invalid *jsonschema.Invalid
	switch {
	case err == nil:
	case errors.As(err, &invalid):
		for _, place := range invalid.Places {
			n, p := s.at(place.At)
			fs.errorf(p, typeHint(n), "no valid JSON Schema: %s", place.Reason)
		}
	case errors.Is(err, jsonschema.ErrElsewhere):
		fs.errorf(s.Path, "only #/… inside of the same schema is followed", "a $ref leads out of the schema")
	default:
		fs.errorf(s.Path, "", "no valid JSON Schema: %s", err)
	}
}

// at follows a way into the schema; there may be nothing at its end, as
// additionalProperties of a tool are not in the file.
func (s Schema) at(way []string) (*strictyaml.Node, *strictyaml.Path) {
	n, p := s.Node, s.Path
	for _, key := range way {
		index, err := strconv.Atoi(key)
		if n == nil || n.Kind != strictyaml.List || err != nil || index >= len(n.Items) {
			n, p = n.Get(key), p.Key(key)
			continue
		}
		n, p = n.Items[index], p.Index(index)
	}
	return n, p
}

// otherTypes are names of types in other languages.
var otherTypes = map[string]string{
	"int": "integer", "str": "string", "text": "string", "bool": "boolean", "float": "number", "double": "number", "list": "array", "dict": "object", "map": "object",
}

// typeHint suggests the type that was meant.
func typeHint(n *strictyaml.Node) string {
	if n == nil || n.Kind != strictyaml.Scalar {
		return ""
	}
	meant := otherTypes[strings.ToLower(n.Text)]
	if meant == "" {
		meant = strictyaml.Nearest(n.Text, types)
	}
	if meant == "" || meant == n.Text {
		return ""
	}
	return `did you mean "` + meant + `"?`
}
