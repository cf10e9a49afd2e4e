package check

import (
	"encoding/json"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/schema"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
	"github.com/adkmcp/adkmcp/internal/config/template"
)

// argument is what the checks know of one name that places may have.
type argument struct {
	path     *strictyaml.Path
	kind     string // the type in its schema, empty when it says none or several
	optional bool   // may be missing in a call
	used     bool   // some place names it
}

// arguments are the names that the places of a tool, a prompt or a resource may
// have.
type arguments struct {
	f        *File
	noun, of string   // for messages: a parameter of this tool
	names    []string // in the file's order
	by       map[string]*argument
	// unknown is set when they could not be read, so that any name may be one.
	unknown bool
}

func (f *File) newArguments(noun, of string) *arguments {
	return &arguments{f: f, noun: noun, of: of, by: map[string]*argument{}}
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
		as.f.errorf(p, orLiteral(name, as.names), "{%s} is not %s of this %s", name, as.noun, as.of)
	}
	return a
}

// declared are the names, nil where they are not known.
func (as *arguments) declared() []string {
	if as.unknown {
		return nil
	}
	return append([]string{}, as.names...)
}

// template notes the places of a template.
func (as *arguments) template(t template.Text, p *strictyaml.Path) {
	for _, name := range t.Places() {
		as.place(name, p)
	}
}

// unused warns of arguments that nothing names.
func (as *arguments) unused() {
	_, noun, _ := strings.Cut(as.noun, " ")
	for _, name := range as.names {
		if a := as.by[name]; !a.used && as.f.ok(a.path) {
			line, column := as.f.Doc.KeyPosition(a.path)
			as.f.Found = append(as.f.Found, strictyaml.Problem{Severity: strictyaml.Warning, File: as.f.Doc.File, Line: line, Column: column,
				Path: a.path.String(), Message: "the " + noun + " " + name + " is never used", Hint: "put {" + name + "} where it belongs, or remove it"})
		}
	}
}

// arguments reads what a tool declares, and checks it.
func (f *File) arguments(t *config.Tool, p *strictyaml.Path) *arguments {
	as := f.newArguments("a parameter", "tool")
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
func (f *File) fromParameters(t *config.Tool, p *strictyaml.Path, as *arguments) {
	var each []schema.Schema
	for i := range t.Parameters {
		param, q := &t.Parameters[i], p.Key(t.Parameters[i].Name)
		as.add(param.Name, q, param.Optional && param.Default == nil)
		if !template.IsParameterName(param.Name) {
			f.errorf(q, "", "want a letter or _, then letters, digits, _ and - in the name of a parameter")
		}
		each = append(each, f.schema(param.Schema, q))
	}
	if len(each) > 0 {
		f.add(schema.Parameters(each, f.schema(t.Schema, p)))
	}
}

// fromInputSchema checks input_schema.
func (f *File) fromInputSchema(t *config.Tool, p *strictyaml.Path, as *arguments) {
	n := f.node(p)
	if n.Kind != strictyaml.Mapping {
		as.unknown = true
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
	f.add(f.schema(t.Schema, p).Arguments())
}

// schema is the JSON Schema at p, which must be there; raw is the same as JSON.
func (f *File) schema(raw json.RawMessage, p *strictyaml.Path) schema.Schema {
	if !f.ok(p) {
		raw = nil
	}
	return schema.Schema{Node: f.node(p), Path: p, JSON: raw}
}

// add takes over what is wrong with a schema.
func (f *File) add(found []schema.Finding) {
	for _, one := range found {
		f.Report(one.Severity, one.Path, one.Hint, "%s", one.Message)
	}
}
