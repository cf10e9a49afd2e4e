package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// argument is what the checks of a tool know of one of its arguments.
type argument struct {
	path     *strictyaml.Path
	kind     string // the type in its schema, empty when it says none or several
	optional bool   // may be missing in a call
	used     bool   // some place names it
}

// arguments are those of one tool.
type arguments struct {
	f     *file
	names []string // in the file's order
	by    map[string]*argument
	// unknown is set when they could not be read, so that any name may be one.
	unknown bool
}

func (as *arguments) add(name string, p *strictyaml.Path, optional bool) {
	as.names = append(as.names, name)
	a := &argument{path: p, optional: optional}
	if t := as.f.node(p).Get("type"); t != nil && t.Kind == strictyaml.Scalar {
		a.kind = t.Text
	}
	as.by[name] = a
}

// place notes that name is used at p; it reports a name that is no argument.
func (as *arguments) place(name string, p *strictyaml.Path) *argument {
	a := as.by[name]
	switch {
	case a != nil:
		a.used = true
	case !as.unknown:
		as.f.errorf(p, orLiteral(name, as.names), "{%s} is not a parameter of this tool", name)
	}
	return a
}

// template notes the places of a template.
func (as *arguments) template(t config.Template, p *strictyaml.Path) {
	for _, name := range t.Places() {
		as.place(name, p)
	}
}

// unused warns of arguments that nothing names.
func (as *arguments) unused() {
	for _, name := range as.names {
		if a := as.by[name]; !a.used && as.f.ok(a.path) {
			line, column := as.f.doc.KeyPosition(a.path)
			as.f.found = append(as.f.found, Problem{Severity: strictyaml.Warning, File: as.f.doc.File, Line: line, Column: column,
				Path: a.path.String(), Message: "the parameter " + name + " is never used", Hint: "put {" + name + "} where it belongs, or remove it"})
		}
	}
}

// arguments reads what a tool declares, and checks it.
func (f *file) arguments(t *config.Tool, p *strictyaml.Path) *arguments {
	as := &arguments{f: f, by: map[string]*argument{}}
	params, whole := p.Key("parameters"), p.Key("input_schema")
	if f.node(params) != nil && f.node(whole) != nil {
		f.errorf(whole, "keep one of them", "input_schema stands beside parameters")
	}
	if f.node(whole) == nil {
		as.unknown = !f.node(params).IsNull() && f.node(params).Kind != strictyaml.Mapping
		f.fromParameters(t, params, as)
		return as
	}
	f.fromInputSchema(t, whole, as)
	return as
}

// fromParameters checks parameters.
func (f *file) fromParameters(t *config.Tool, p *strictyaml.Path, as *arguments) {
	doubtful := 0
	for i := range t.Parameters {
		param, q := &t.Parameters[i], p.Key(t.Parameters[i].Name)
		as.add(param.Name, q, param.Optional && param.Default == nil)
		if !config.IsParameterName(param.Name) {
			f.errorf(q, "", "want a letter or _, then letters, digits, _ and - in the name of a parameter")
		}
		if !f.checkParameter(q) && f.ok(q) {
			doubtful++
			f.compile(param.Schema, q)
		}
	}
	if doubtful > 1 && f.ok(p) {
		f.compile(t.Schema, p) // two of them may define the same name
	}
}

// checkParameter checks one parameter's schema and reports whether that was
// enough.
func (f *file) checkParameter(p *strictyaml.Path) (plain bool) {
	n := f.node(p)
	if n == nil || n.Kind != strictyaml.Mapping {
		return true // said already
	}
	if r := n.Get("required"); r != nil && r.Class == strictyaml.Bool {
		f.errorf(p.Key("required"), "use optional: true where it may be missing", "a parameter is required by itself")
		return true
	}
	plain = true
	for _, pair := range n.Pairs {
		if pair.Key.Text != "optional" && pair.Key.Text != "allow_leading_dash" {
			plain = plainKeyword(pair.Key.Text, pair.Value) && plain
		}
	}
	f.checkKeywords(n, p)
	if d, t := n.Get("default"), n.Get("type"); d != nil && t != nil && t.Kind == strictyaml.Scalar && plain && !hasType(d, t.Text) {
		f.errorf(p.Key("default"), "", "the default is not of the type %s", t.Text)
	}
	return plain
}

// checkKeywords warns of keywords that are nearly one of JSON Schema's; the
// others mean nothing and harm nobody.
func (f *file) checkKeywords(n *strictyaml.Node, p *strictyaml.Path) {
	for _, pair := range n.Pairs {
		key := pair.Key.Text
		if slices.Contains(schemaKeywords, key) || strings.HasPrefix(key, "x-") {
			continue
		}
		if near := strictyaml.Nearest(key, schemaKeywords); near != "" {
			f.warnf(p.Key(key), `did you mean "`+near+`"?`, "%q means nothing in JSON Schema", key)
		}
	}
}

// fromInputSchema checks input_schema.
func (f *file) fromInputSchema(t *config.Tool, p *strictyaml.Path, as *arguments) {
	n := f.node(p)
	if n.Kind != strictyaml.Mapping {
		f.errorf(p, "", "want a JSON Schema of type object, not %s", n.Kind)
		as.unknown = true
		return
	}
	if kind := n.Get("type"); kind == nil || kind.Text != "object" {
		f.errorf(p, "add type: object", "the arguments of a tool are an object")
		return
	}
	if more := n.Get("additionalProperties"); more != nil && (more.Class != strictyaml.Bool || !strings.EqualFold(more.Text, "false")) {
		f.errorf(p.Key("additionalProperties"), "declare every argument under properties", "arguments that are not declared would have no place in the tool")
	}
	required := map[string]bool{}
	if r := n.Get("required"); r != nil {
		for _, item := range r.Items {
			required[item.Text] = true
		}
	}
	if properties := n.Get("properties"); properties != nil {
		for _, pair := range properties.Pairs {
			name := pair.Key.Text
			as.add(name, p.Key("properties").Key(name), !required[name] && pair.Value.Get("default") == nil)
		}
	}
	f.checkKeywords(n, p)
	if !plainSchema(n) && f.ok(p) {
		f.compile(t.Schema, p)
	}
}

// plainSchema reports whether n is a schema that is valid for sure, so that it
// need not be compiled: compiling one takes longer than reading the file. What
// it does not know it leaves to the compiler.
func plainSchema(n *strictyaml.Node) bool {
	if n.Kind != strictyaml.Mapping {
		return n.Kind == strictyaml.Scalar && n.Class == strictyaml.Bool
	}
	return !slices.ContainsFunc(n.Pairs, func(p strictyaml.Pair) bool { return !plainKeyword(p.Key.Text, p.Value) })
}

var schemaTypes = []string{"string", "integer", "number", "boolean", "array", "object", "null"}

func plainKeyword(key string, n *strictyaml.Node) bool {
	switch key {
	case "title", "description", "format", "$comment":
		return isText(n)
	case "pattern":
		_, err := syntax.Parse(n.Text, syntax.Perl)
		return isText(n) && err == nil
	case "type":
		return isText(n) && slices.Contains(schemaTypes, n.Text)
	case "default", "const":
		return true
	case "enum", "examples":
		return n.Kind == strictyaml.List
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return isNumber(n)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return isNumber(n) && strings.Trim(n.Text, "0123456789") == ""
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		return n.Kind == strictyaml.Scalar && n.Class == strictyaml.Bool
	case "items", "additionalProperties":
		return plainSchema(n)
	case "properties":
		return n.Kind == strictyaml.Mapping && !slices.ContainsFunc(n.Pairs, func(p strictyaml.Pair) bool { return !plainSchema(p.Value) })
	case "required":
		seen := map[string]bool{}
		for _, item := range n.Items {
			seen[item.Text] = isText(item)
		}
		return n.Kind == strictyaml.List && len(seen) == len(n.Items) && !slices.ContainsFunc(n.Items, func(item *strictyaml.Node) bool { return !isText(item) })
	}
	return false
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

// refuseLoader keeps schemas from reaching for files and addresses.
type refuseLoader struct{}

var errElsewhere = errors.New("schemas elsewhere are not read")

// Load refuses every address.
func (refuseLoader) Load(string) (any, error) { return nil, errElsewhere }

// compile lets the validator judge the schema that stands at p.
func (f *file) compile(schema json.RawMessage, p *strictyaml.Path) {
	const name = "urn:schema"
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(refuseLoader{})
	if err == nil {
		err = c.AddResource(name, doc)
	}
	if err == nil {
		_, err = c.Compile(name)
	}
	var schemaErr *jsonschema.SchemaValidationError
	var loadErr *jsonschema.LoadURLError
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil:
	case errors.As(err, &schemaErr) && errors.As(schemaErr.Err, &invalid):
		f.invalidSchema(invalid, p)
	case errors.As(err, &loadErr):
		f.errorf(p, "only #/… inside of the same schema is followed", "a $ref leads out of the schema")
	default:
		f.errorf(p, "", "no valid JSON Schema: %s", strings.ReplaceAll(err.Error(), name, ""))
	}
}

// invalidSchema reports each place of a schema that is not valid, and of several
// reasons for one place the first.
func (f *file) invalidSchema(e *jsonschema.ValidationError, p *strictyaml.Path) {
	reasons := map[string]*jsonschema.ValidationError{}
	collectReasons(e, reasons)
	for _, place := range slices.Sorted(maps.Keys(reasons)) {
		if hasReasonBelow(reasons, place) {
			continue
		}
		q := p
		for _, key := range reasons[place].InstanceLocation {
			if n := f.node(q); n != nil && n.Kind == strictyaml.List {
				index, _ := strconv.Atoi(key) // the library made it
				q = q.Index(index)
			} else {
				q = q.Key(key)
			}
		}
		f.errorf(q, schemaHint(f.node(q)), "no valid JSON Schema: %s", reasons[place].ErrorKind.LocalizedString(message.NewPrinter(language.English)))
	}
}

func collectReasons(e *jsonschema.ValidationError, reasons map[string]*jsonschema.ValidationError) {
	for _, cause := range e.Causes {
		collectReasons(cause, reasons)
	}
	place := strings.Join(e.InstanceLocation, "/")
	if len(e.Causes) == 0 && reasons[place] == nil {
		reasons[place] = e
	}
}

func hasReasonBelow(reasons map[string]*jsonschema.ValidationError, place string) bool {
	for other := range reasons {
		if strings.HasPrefix(other, place+"/") {
			return true
		}
	}
	return false
}

// otherTypes are names of types in other languages.
var otherTypes = map[string]string{
	"int": "integer", "str": "string", "text": "string", "bool": "boolean", "float": "number", "double": "number", "list": "array", "dict": "object", "map": "object",
}

// schemaHint suggests the type that was meant.
func schemaHint(n *strictyaml.Node) string {
	if n == nil || n.Kind != strictyaml.Scalar {
		return ""
	}
	meant := otherTypes[strings.ToLower(n.Text)]
	if meant == "" {
		meant = strictyaml.Nearest(n.Text, schemaTypes)
	}
	if meant == "" || meant == n.Text {
		return ""
	}
	return `did you mean "` + meant + `"?`
}

// schemaKeywords are those of JSON Schema 2020-12, and our two.
var schemaKeywords = []string{
	"optional", "allow_leading_dash",
	"$schema", "$id", "$ref", "$defs", "$anchor", "$dynamicRef", "$dynamicAnchor", "$comment", "$vocabulary", "definitions", "id",
	"title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples", "example", "nullable", "discriminator",
	"type", "enum", "const", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
	"multipleOf", "items", "prefixItems", "contains", "minContains", "maxContains", "minItems", "maxItems", "uniqueItems", "additionalItems",
	"unevaluatedItems", "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
	"maxProperties", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "not",
	"if", "then", "else", "contentEncoding", "contentMediaType", "contentSchema", "propertyOrdering", "xml", "externalDocs",
}
