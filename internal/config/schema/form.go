package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// fieldKeywords are what a field of a form may say, by its type, besides type,
// title, description and default: MCP 2025-11-25 and 2026-07-28, client/elicitation,
// requested schema. They are read to people who write forms.
var fieldKeywords = map[string][]string{
	"string":  {"minLength", "maxLength", "format", "enum", "enumNames", "oneOf"},
	"integer": {"minimum", "maximum"},
	"number":  {"minimum", "maximum"},
	"boolean": {},
	"array":   {"items", "minItems", "maxItems"},
}

var formats = []string{"email", "uri", "date", "date-time"}

// Form checks the schema of a form that a person fills in: a flat object of
// fields.
func (s Schema) Form() []Finding {
	var fs findings
	if !s.object(&fs, "a form is an object of fields") {
		return fs
	}
	for _, pair := range s.Node.Pairs {
		if key := pair.Key.Text; !slices.Contains([]string{"$schema", "type", "properties", "required"}, key) {
			fs.errorf(s.Path.Key(key), "a form has type, properties and required", "%s has no place in a form", key)
		}
	}
	properties, p := s.Node.Get("properties"), s.Path.Key("properties")
	switch {
	case properties == nil:
		fs.errorf(s.Path, "add properties: with a field by name; {} asks for a yes or no only", "the form says no fields")
		return fs
	case properties.Kind != strictyaml.Mapping:
		fs.errorf(p, "", "want a mapping of fields, not %s", properties.Kind)
		return fs
	}
	for _, pair := range properties.Pairs {
		name := pair.Key.Text
		(&field{&fs, name, pair.Value, p.Key(name)}).check()
	}
	if required := s.Node.Get("required"); required != nil {
		for i, item := range required.Items {
			if properties.Get(item.Text) == nil {
				fs.errorf(s.Path.Key("required").Index(i), "", "the form has no field %q", item.Text)
			}
		}
	}
	s.valid(&fs)
	return fs
}

// field is one field of a form.
type field struct {
	*findings
	name string
	node *strictyaml.Node
	path *strictyaml.Path
}

func (f *field) check() {
	n := f.node
	kinds := slices.Sorted(maps.Keys(fieldKeywords))
	if n.Kind != strictyaml.Mapping {
		f.errorf(f.path, "such as {type: string, title: Your name}", "want a mapping, not %s", n.Kind)
		return
	}
	kind := n.Get("type")
	if kind == nil || fieldKeywords[kind.Text] == nil {
		f.errorf(f.path, "a form is flat: a type is "+strings.Join(kinds, ", "), "the field %s has no type that a form can show", f.name)
		return
	}
	allowed := append([]string{"type", "title", "description", "default"}, fieldKeywords[kind.Text]...)
	for _, pair := range n.Pairs {
		if key := pair.Key.Text; !slices.Contains(allowed, key) {
			hint := "say it in the description; fields of this type have " + strings.Join(allowed, ", ")
			if near := strictyaml.Nearest(key, allowed); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			f.errorf(f.path.Key(key), hint, "%s has no place in a form's field of type %s", key, kind.Text)
		}
	}
	if format := n.Get("format"); format != nil && !slices.Contains(formats, format.Text) {
		hint := "formats are " + strings.Join(formats, ", ")
		if format.Text == "password" {
			hint = noSecrets
		}
		f.errorf(f.path.Key("format"), hint, "a form has no format %q", format.Text)
	}
	var options []string
	switch kind.Text {
	case "array":
		options = f.items()
	case "string":
		f.checkName()
		options = f.options(n, f.path, "oneOf")
	}
	f.checkDefault(kind.Text, options)
}

const noSecrets = "MCP forbids to ask for secrets in a form: let the agent's own environment hold them" //nolint:gosec // it speaks of secrets

// checkName warns of a field that seems to ask for a secret.
func (f *field) checkName() {
	plain := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(f.name))
	for _, word := range []string{"password", "passwd", "passphrase", "passcode", "secret", "token", "apikey", "accesskey", "privatekey", "credential"} {
		if strings.Contains(plain, word) {
			f.warnf(f.path, noSecrets, "the field %s seems to ask for a secret", f.name)
			return
		}
	}
}

// items gives the options of a field of which several can be chosen.
func (f *field) items() []string {
	items, p := f.node.Get("items"), f.path.Key("items")
	if items == nil || items.Kind != strictyaml.Mapping {
		f.errorf(f.path, "add items: {type: string, enum: […]}", "a list in a form is a choice of several texts")
		return nil
	}
	if items.Get("enum") == nil && items.Get("anyOf") == nil {
		f.errorf(p, "write {type: string, enum: […]} or {anyOf: [{const: …, title: …}]}", "a list in a form is a choice of several texts")
		return nil
	}
	for _, pair := range items.Pairs {
		if key := pair.Key.Text; key != "enum" && key != "anyOf" && (key != "type" || pair.Value.Text != "string") {
			f.errorf(p.Key(key), "write {type: string, enum: […]} or {anyOf: [{const: …, title: …}]}", "%s has no place in the items of a form's field", key)
		}
	}
	if items.Get("enum") != nil && items.Get("type") == nil {
		f.errorf(p, "add type: string", "the items have no type")
	}
	return f.options(items, p, "anyOf")
}

// options gives the texts of which a person chooses; titled is the keyword that
// lists them with titles. There are none in a field without a choice.
func (f *field) options(n *strictyaml.Node, p *strictyaml.Path, titled string) []string {
	enum, list := n.Get("enum"), n.Get(titled)
	names := n.Get("enumNames")
	switch {
	case enum != nil && list != nil:
		f.errorf(p.Key(titled), "keep one of them", "%s stands beside enum", titled)
	case names != nil && (enum == nil || len(names.Items) != len(enum.Items) || slices.ContainsFunc(names.Items, func(n *strictyaml.Node) bool { return !isText(n) })):
		f.errorf(p.Key("enumNames"), "or write oneOf: [{const: …, title: …}]", "want one text for each text of enum")
	case list != nil:
		return f.titled(list, p.Key(titled))
	case enum != nil:
		return f.texts(enum.Items, p.Key("enum"))
	}
	return nil
}

// titled gives the options of a list of texts with titles.
func (f *field) titled(list *strictyaml.Node, p *strictyaml.Path) []string {
	var consts []*strictyaml.Node
	for i, item := range list.Items {
		value, title := item.Get("const"), item.Get("title")
		if value == nil || title == nil || len(item.Pairs) > 2 || !isText(title) {
			f.errorf(p.Index(i), "", "want {const: a text, title: another}")
			return nil
		}
		consts = append(consts, value)
	}
	return f.texts(consts, p)
}

// texts gives the options that nodes say, where each is a text of its own.
func (f *field) texts(nodes []*strictyaml.Node, p *strictyaml.Path) []string {
	var options []string
	for _, n := range nodes {
		if !isText(n) || slices.Contains(options, n.Text) {
			f.errorf(p, "", "want a list of texts, each of them once")
			return nil
		}
		options = append(options, n.Text)
	}
	if len(options) == 0 {
		f.errorf(p, "list what can be chosen", "there is nothing to choose from")
	}
	return options
}

// checkDefault sees that a default is of the field's type, and one of its
// options where it has some.
func (f *field) checkDefault(kind string, options []string) {
	d := f.node.Get("default")
	if d == nil {
		return
	}
	values := []*strictyaml.Node{d}
	if kind == "array" {
		values = d.Items
	}
	none := func(n *strictyaml.Node) bool {
		return len(options) > 0 && (!isText(n) || !slices.Contains(options, n.Text))
	}
	switch {
	case !hasType(d, kind):
		f.errorf(f.path.Key("default"), "", "the default is not of the type %s", kind)
	case slices.ContainsFunc(values, none):
		f.errorf(f.path.Key("default"), fmt.Sprintf("the options are %q", options), "the default is not an option")
	}
}
