package schema

import (
	"encoding/json"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// plain reports whether n is a schema that is valid for sure, so that it
// need not be compiled: compiling one takes longer than reading the file. What
// it does not know it leaves to the compiler.
func plain(n *strictyaml.Node) bool {
	if n.Kind != strictyaml.Mapping {
		return n.Kind == strictyaml.Scalar && n.Class == strictyaml.Bool
	}
	return !slices.ContainsFunc(n.Pairs, func(p strictyaml.Pair) bool { return !plainKeyword(p.Key.Text, p.Value) })
}

var types = []string{"string", "integer", "number", "boolean", "array", "object", "null"}

func plainKeyword(key string, n *strictyaml.Node) bool {
	switch key {
	case "title", "description", "format", "$comment":
		return isText(n)
	case "pattern":
		_, err := syntax.Parse(n.Text, syntax.Perl)
		return isText(n) && err == nil
	case "type":
		return isText(n) && slices.Contains(types, n.Text)
	case "default", "const":
		return !hasHuge(n)
	case "enum", "examples":
		return n.Kind == strictyaml.List && !hasHuge(n)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return isNumber(n) && !hasHuge(n)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return isNumber(n) && strings.Trim(n.Text, "0123456789") == "" && !hasHuge(n)
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		return n.Kind == strictyaml.Scalar && n.Class == strictyaml.Bool
	case "items", "additionalProperties":
		return plain(n)
	case "properties":
		return n.Kind == strictyaml.Mapping && !slices.ContainsFunc(n.Pairs, func(p strictyaml.Pair) bool { return !plain(p.Value) })
	case "required":
		seen := map[string]bool{}
		for _, item := range n.Items {
			seen[item.Text] = isText(item)
		}
		return n.Kind == strictyaml.List && len(seen) == len(n.Items) && !slices.ContainsFunc(n.Items, func(item *strictyaml.Node) bool { return !isText(item) })
	}
	return false
}

// hasHuge reports whether a number is in n that the validator refuses.
func hasHuge(n *strictyaml.Node) bool {
	return isNumber(n) && jsonschema.Huge(json.Number(n.Text)) || slices.ContainsFunc(n.Items, hasHuge) ||
		slices.ContainsFunc(n.Pairs, func(p strictyaml.Pair) bool { return hasHuge(p.Value) })
}

func isText(n *strictyaml.Node) bool {
	return n.Kind == strictyaml.Scalar && (n.Class == strictyaml.Text || n.Class == strictyaml.Word || n.Class == strictyaml.Date)
}

func isNumber(n *strictyaml.Node) bool {
	return n.Kind == strictyaml.Scalar && (n.Class == strictyaml.Int || n.Class == strictyaml.Float) && json.Valid([]byte(n.Text))
}

// hasType reports whether a value is of a JSON Schema type.
func hasType(n *strictyaml.Node, kind string) bool {
	switch kind {
	case "string":
		return isText(n)
	case "integer":
		f, err := strconv.ParseFloat(n.Text, 64)
		return isNumber(n) && err == nil && (n.Class == strictyaml.Int || f == float64(int64(f)))
	case "number":
		return isNumber(n)
	case "boolean":
		return n.Kind == strictyaml.Scalar && n.Class == strictyaml.Bool
	case "array":
		return n.Kind == strictyaml.List
	case "object":
		return n.Kind == strictyaml.Mapping
	}
	return n.IsNull()
}

// ourKeywords are those of a parameter that are not JSON Schema's.
var ourKeywords = []string{"optional", "allow_leading_dash"}

// keywords are those of JSON Schema 2020-12, and some that its users know from
// elsewhere.
var keywords = []string{
	"$schema", "$id", "$ref", "$defs", "$anchor", "$dynamicRef", "$dynamicAnchor", "$comment", "$vocabulary", "definitions", "id",
	"title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples", "example", "nullable", "discriminator",
	"type", "enum", "const", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
	"multipleOf", "items", "prefixItems", "contains", "minContains", "maxContains", "minItems", "maxItems", "uniqueItems", "additionalItems",
	"unevaluatedItems", "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
	"maxProperties", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "not",
	"if", "then", "else", "contentEncoding", "contentMediaType", "contentSchema", "propertyOrdering", "xml", "externalDocs",
}
