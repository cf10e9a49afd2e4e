package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
)

// form says what the value of a keyword is.
type form int

const (
	other      form = iota // not a keyword of ours
	anything               // any value
	label                  // a text for the reader
	word                   // any other text
	flag                   // true or false
	number                 // a number
	positive               // a number above zero
	count                  // a whole number that is not negative
	list                   // any values
	lists                  // names to names
	pattern                // a regular expression
	one                    // a schema
	same                   // a schema for the same value
	several                // schemas
	severalOf              // schemas for the same value
	each                   // names to schemas
	eachOf                 // names to schemas for the same value
	eachByForm             // patterns to schemas
)

// formOf gives the form of the keywords of JSON Schema 2020-12 that are kept as they
// are. What is missing is written in a way of its own, has no meaning for the one who
// fills in arguments, or is not JSON Schema.
func formOf(keyword string) form {
	switch keyword {
	case "default", "const":
		return anything
	case "title", "description":
		return label
	case "format", "contentEncoding", "contentMediaType":
		return word
	case "uniqueItems", "deprecated":
		return flag
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return number
	case "multipleOf":
		return positive
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return count
	case "examples":
		return list
	case "dependentRequired":
		return lists
	case "pattern":
		return pattern
	case "items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains", "propertyNames":
		return one
	case "not", "if", "then", "else":
		return same
	case "prefixItems":
		return several
	case "allOf", "anyOf", "oneOf":
		return severalOf
	case "properties":
		return each
	case "dependentSchemas":
		return eachOf
	case "patternProperties":
		return eachByForm
	}
	return other
}

// converter writes one schema.
type converter struct {
	schemas *Schemas
	b       bytes.Buffer
	made    *Schema
}

// schema writes v, with what is noted at its top. in is true where it applies to
// the value of the schema that it stands in.
func (w *converter) schema(v Value, n *Note, in bool) error {
	if !v.IsObject() {
		if v.IsBool() {
			w.b.Write(v)
			return nil
		}
		w.b.WriteString("{}") // no schema at all; nothing is known of the value
		return nil
	}
	w.b.WriteByte('{')
	o := object{converter: w, in: in, open: w.b.Len(), v: v, has: map[string]Value{}}
	for name, member := range v.Members() {
		o.has[name] = member
	}
	if n != nil {
		o.note(n)
	}
	if err := o.write(); err != nil {
		return err
	}
	w.b.WriteByte('}')
	return nil
}

// object is a schema that is an object, while it is written.
type object struct {
	*converter
	in   bool
	open int // where its first member begins
	v    Value
	has  map[string]Value // a keyword that has been written is gone
}

func (o *object) key(name string) {
	if o.b.Len() > o.open {
		o.b.WriteByte(',')
	}
	writeText(&o.b, name)
	o.b.WriteByte(':')
}

func (o *object) note(n *Note) {
	if n.Description != "" {
		o.key("description")
		writeText(&o.b, n.Description)
		delete(o.has, "description")
	}
	if n.Deprecated {
		o.key("deprecated")
		o.b.WriteString("true")
		delete(o.has, "deprecated")
	}
}

func (o *object) write() error {
	if ref := o.has["$ref"]; ref.IsText() {
		d := o.schemas.define(ref.Text())
		o.made.refs = append(o.made.refs, d)
		if o.in {
			o.made.same = append(o.made.same, d)
		}
		o.key("$ref")
		writeText(&o.b, "#/$defs/"+d.name)
		if o.schemas.doc.Old { // what stands beside has no meaning in 3.0, except for the reader
			for name := range o.has {
				if f := formOf(name); f != label {
					delete(o.has, name)
				}
			}
		}
	}
	o.kind()
	o.bounds()
	if items := o.has["items"]; items.IsList() && o.has["prefixItems"] == nil { // as older drafts have it
		o.has["prefixItems"] = items
		delete(o.has, "items")
		if err := o.keyword("prefixItems", items); err != nil {
			return err
		}
	}
	if example := o.has["example"]; example != nil && !o.has["examples"].IsList() {
		o.key("examples")
		o.b.WriteByte('[')
		o.compact(example)
		o.b.WriteByte(']')
		delete(o.has, "examples")
	}
	for name := range o.v.Members() {
		v, left := o.has[name]
		if !left {
			continue
		}
		delete(o.has, name)
		if err := o.keyword(name, v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// kind writes type and enum, with null where nullable says so.
func (o *object) kind() {
	types := o.has["type"].Texts()
	if t := o.has["type"].Text(); t != "" {
		types = []string{t}
	}
	types = slices.DeleteFunc(types, func(t string) bool {
		return !slices.Contains([]string{"null", "boolean", "object", "array", "number", "string", "integer"}, t)
	})
	nullable := o.has["nullable"].IsTrue() && len(types) > 0
	if nullable && !slices.Contains(types, "null") {
		types = append(types, "null")
	}
	switch types = different(types); len(types) {
	case 0:
	case 1:
		o.key("type")
		writeText(&o.b, types[0])
	default:
		o.key("type")
		writeTexts(&o.b, types)
	}
	if enum := o.has["enum"]; usable(list, enum) {
		o.enum(enum, nullable)
	}
	delete(o.has, "type")
	delete(o.has, "enum")
}

func (o *object) enum(enum Value, nullable bool) {
	o.key("enum")
	o.b.WriteByte('[')
	n := 0
	for v := range enum.Items() {
		if n++; n > 1 {
			o.b.WriteByte(',')
		}
		o.compact(v)
		nullable = nullable && string(v) != "null"
	}
	if nullable {
		o.b.WriteString(",null")
	}
	o.b.WriteByte(']')
}

// bounds turns the exclusive bounds of 3.0, which are true or false, into numbers.
func (o *object) bounds() {
	for _, side := range [][2]string{{"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}} {
		exclusive := o.has[side[1]]
		if !exclusive.IsBool() {
			continue
		}
		delete(o.has, side[1])
		if bound := o.has[side[0]]; exclusive.IsTrue() && usable(number, bound) {
			o.key(side[1])
			o.b.Write(bound)
			delete(o.has, side[0])
		}
	}
}

// usable reports whether a value has the form that its keyword needs. What has not
// is left out, as the rest of the document may well be good.
func usable(f form, v Value) bool {
	switch f {
	case anything:
		return true
	case label, word:
		return v.IsText()
	case flag:
		return v.IsBool()
	case number, positive, count:
		if !v.IsNumber() || jsonschema.Huge(json.Number(v)) {
			return false
		}
		n, err := strconv.ParseFloat(string(v), 64)
		return err == nil && (f == number || f == positive && n > 0 || f == count && n >= 0 && n == float64(int64(n)))
	case list, several, severalOf:
		return v.IsList() && string(v) != "[]"
	case pattern:
		_, err := regexp.Compile(v.Text())
		return v.IsText() && err == nil
	case one, same:
		return v.IsObject() || v.IsBool()
	case lists, each, eachOf, eachByForm:
		return v.IsObject()
	}
	return false
}

// keyword writes a keyword that is left.
func (o *object) keyword(name string, v Value) error {
	if name == "required" {
		o.required(v)
		return nil
	}
	f := formOf(name)
	if !usable(f, v) {
		return nil
	}
	o.key(name)
	switch f {
	case label:
		writeText(&o.b, Clean(v.Text(), maxText))
	case one, same:
		return o.schema(v, nil, o.in && f == same)
	case several, severalOf:
		return o.several(v, o.in && f == severalOf)
	case each, eachOf, eachByForm:
		return o.each(v, f)
	case lists:
		o.lists(v)
	default:
		o.compact(v)
	}
	return nil
}

func (o *object) several(v Value, in bool) error {
	o.b.WriteByte('[')
	i := 0
	for item := range v.Items() {
		if i++; i > 1 {
			o.b.WriteByte(',')
		}
		if err := o.schema(item, nil, in); err != nil {
			return err
		}
	}
	o.b.WriteByte(']')
	return nil
}

func (o *object) each(v Value, f form) error {
	o.b.WriteByte('{')
	empty := true
	for name, schema := range v.Members() {
		if f == each && o.schemas.doc.ReadOnly(schema) {
			continue
		}
		if f == eachByForm {
			if _, err := regexp.Compile(name); err != nil {
				continue
			}
		}
		if !empty {
			o.b.WriteByte(',')
		}
		empty = false
		writeText(&o.b, name)
		o.b.WriteByte(':')
		if err := o.schema(schema, nil, o.in && f == eachOf); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	o.b.WriteByte('}')
	return nil
}

func (o *object) lists(v Value) {
	o.b.WriteByte('{')
	empty := true
	for name, value := range v.Members() {
		if !empty {
			o.b.WriteByte(',')
		}
		empty = false
		writeText(&o.b, name)
		o.b.WriteByte(':')
		writeTexts(&o.b, different(value.Texts()))
	}
	o.b.WriteByte('}')
}

// required leaves out the properties that only answers have.
func (o *object) required(v Value) {
	out := map[string]bool{}
	for name, schema := range o.v.Get("properties").Members() {
		if o.schemas.doc.ReadOnly(schema) {
			out[name] = true
		}
	}
	names := slices.DeleteFunc(different(v.Texts()), func(name string) bool { return out[name] })
	if len(names) > 0 {
		o.key("required")
		writeTexts(&o.b, names)
	}
}

// different gives the texts of a list once each.
func different(list []string) []string {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(s string) bool {
		again := seen[s]
		seen[s] = true
		return again
	})
}

func (w *converter) compact(v Value) { _ = json.Compact(&w.b, v) } // v is valid
