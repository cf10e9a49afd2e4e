package httpreq

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/template"
)

// param is what a tool declares about one argument.
type param struct {
	required bool
	def      json.RawMessage
	object   bool
}

// always reports whether there is a value in every call.
func (p param) always() bool { return p.required || len(p.def) > 0 }

type params map[string]param

// declared collects a tool's arguments, from parameters or from input_schema.
func declared(t *config.Tool) (params, error) {
	ps := params{}
	for _, p := range t.Parameters {
		object, _ := property(p.Schema)
		ps[p.Name] = param{required: !p.Optional, def: p.Default, object: object}
	}
	if len(t.InputSchema) == 0 {
		return ps, nil
	}
	var schema struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(t.InputSchema, &schema); err != nil {
		return nil, errors.New("input_schema: is not a JSON Schema whose properties are an object and whose required is a list of names")
	}
	for name, raw := range schema.Properties {
		object, def := property(raw)
		ps[name] = param{def: def, object: object}
	}
	for _, name := range schema.Required {
		p := ps[name]
		p.required = true
		ps[name] = p
	}
	return ps, nil
}

// property reads what matters here of an argument's schema. A schema may be
// true, or have a list of types; then nothing is known about it.
func property(schema json.RawMessage) (object bool, def json.RawMessage) {
	var s struct {
		Type    any
		Default json.RawMessage
	}
	if json.Unmarshal(schema, &s) != nil {
		return false, nil
	}
	return s.Type == "object", s.Default
}

// undeclared finds the first place of a template that is no argument.
func (ps params) undeclared(t template.Text) error {
	for _, name := range t.Places() {
		if _, ok := ps[name]; !ok {
			return fmt.Errorf("{%s} is not a parameter of this tool; write {{%s}} for the text {%s}", name, name, name)
		}
	}
	return nil
}

// args are the arguments of one call, as the model wrote them.
type args map[string]json.RawMessage

// read takes a call's arguments, fills in defaults and leaves out what is not
// declared.
func (ps params) read(raw json.RawMessage) (args, error) {
	var given map[string]json.RawMessage
	if len(bytes.TrimSpace(raw)) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil {
			return nil, errors.New("the arguments are not a JSON object")
		}
	}
	a := args{}
	for name, p := range ps {
		v, ok := given[name]
		switch {
		case ok:
			a[name] = bytes.TrimSpace(v)
		case len(p.def) > 0:
			a[name] = bytes.TrimSpace(p.def)
		case p.required:
			return nil, fmt.Errorf("the argument %q is missing", name)
		}
	}
	return a, nil
}

// text gives an argument as text: a string as it is, a number or boolean as it
// was written, a list or object as compact JSON. ok is false for one that is
// missing or null.
func (a args) text(name string) (s string, ok bool) {
	raw, given := a[name]
	if !given || string(raw) == "null" {
		return "", false
	}
	return plain(raw), true
}

// items gives the items of a list as texts, without those that are null. ok is
// false for everything but a list.
func (a args) items(name string) (items []string, ok bool) {
	raw := a[name]
	if !bytes.HasPrefix(raw, []byte("[")) {
		return nil, false
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, false
	}
	for _, item := range list {
		if item = bytes.TrimSpace(item); string(item) != "null" {
			items = append(items, plain(item))
		}
	}
	return items, true
}

func plain(raw json.RawMessage) string {
	switch raw[0] {
	case '"':
		var s string
		_ = json.Unmarshal(raw, &s) // raw is one value of a document that was parsed before
		return s
	case '[', '{':
		var b bytes.Buffer
		_ = json.Compact(&b, raw)
		return b.String()
	default:
		return string(raw)
	}
}

// expand puts arguments into a template. A template that is exactly one place
// gives no value (ok is false) when its argument is missing; inside a longer
// text a missing argument is empty.
func (a args) expand(t template.Text) (s string, ok bool) {
	if name, only := t.Only(); only {
		return a.text(name)
	}
	var b strings.Builder
	for _, seg := range t.Segments {
		if seg.Place == "" {
			b.WriteString(seg.Text)
			continue
		}
		v, _ := a.text(seg.Place)
		b.WriteString(v)
	}
	return b.String(), true
}
