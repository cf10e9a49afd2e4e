package style

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/adkmcp/adkmcp/internal/tools/openapi/document"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// Parameter is one parameter of an operation.
type Parameter struct {
	Argument string // what the model calls it
	Name, In string
	Style    string
	Explode  bool
	Reserved bool // reserved characters of a query stay as they are
	JSON     bool // the value is sent as JSON
	Required bool
}

// Defaults fills in the style where there is none, or none that the place has, and
// what goes with it where the document does not say it.
func (p *Parameter) Defaults(explode *bool) {
	styles := map[string][]string{
		"path": {"simple", "label", "matrix"}, "query": {"form", "spaceDelimited", "pipeDelimited", "deepObject"},
		"header": {"simple"}, "cookie": {"form"},
	}[p.In]
	if len(styles) > 0 && !slices.Contains(styles, p.Style) {
		p.Style = styles[0]
	}
	p.Explode = p.Style == "form"
	if explode != nil {
		p.Explode = *explode
	}
}

// value is an argument as a parameter holds it: one text, a list of texts, or names
// with texts. What is nested deeper is JSON.
type value struct {
	text   string
	items  []string
	fields [][2]string
	list   bool
	object bool
}

// read takes an argument apart. It is not ok when there is nothing to send.
func read(raw document.Value) (v value, ok bool) {
	switch {
	case raw == nil, string(raw) == "null":
		return v, false
	case raw.IsList():
		v.list = true
		for item := range raw.Items() {
			if string(item) != "null" {
				v.items = append(v.items, plain(item))
			}
		}
		return v, len(v.items) > 0
	case raw.IsObject():
		v.object = true
		for name, member := range raw.Members() {
			if string(member) != "null" {
				v.fields = append(v.fields, [2]string{name, plain(member)})
			}
		}
		return v, len(v.fields) > 0
	}
	return value{text: plain(raw)}, true
}

// plain gives a value as text, numbers as they were written.
func plain(raw document.Value) string {
	switch {
	case raw.IsText():
		return raw.Text()
	case raw.IsList(), raw.IsObject():
		return compact(raw)
	}
	return string(raw)
}

func compact(raw document.Value) string {
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // a value of arguments that have been checked
	return b.String()
}

// escape percent-encodes a value for a query or a path. Reserved characters that
// would begin another parameter are encoded all the same.
func (p *Parameter) escape(s string) string {
	switch {
	case p.In == "header":
		return s
	case p.In == "cookie": // RFC 6265, without "%"
		return webclient.Escape(s, "!#$&'()*+/:<=>?@[]^`{|}")
	case p.Reserved && p.In == "query":
		return webclient.Escape(s, ":/?@!$'()*,;=")
	}
	return webclient.Escape(s, "")
}

// Write gives the parameter as it stands in its place, nothing when the argument is
// missing. There is more than one text in a query or among cookies only.
func (p *Parameter) Write(raw document.Value) ([]string, error) {
	v, ok := read(raw)
	switch {
	case ok && p.JSON:
		v = value{text: compact(raw)}
	case ok && p.Style == "deepObject" && (v.object || v.list):
		return p.deep(nil, webclient.Escape(p.Name, ""), raw), nil
	}
	switch p.Style {
	case "simple", "label", "matrix":
		text := ""
		if ok {
			text = p.segment(v)
		}
		if p.In == "path" && (text == "" || text == ".") {
			return nil, fmt.Errorf("the argument %q is empty, but it is a part of the URL's path", p.Argument)
		}
		if !ok {
			return nil, nil
		}
		return []string{text}, nil
	}
	if !ok {
		return nil, nil
	}
	return p.named(v), nil
}

// Beside gives the names in texts of [Parameter.Write] that are not the parameter's
// own: an object with explode, and one of style deepObject, brings its own.
func (p *Parameter) Beside(texts []string) []string {
	var names []string
	for _, text := range texts {
		name, _, _ := strings.Cut(text, "=")
		if name == p.Name {
			continue
		}
		if decoded, err := url.PathUnescape(name); err == nil {
			name = decoded
		}
		if name != p.Name {
			names = append(names, name)
		}
	}
	return names
}

// segment writes a value in the styles of a path, which are those of RFC 6570.
func (p *Parameter) segment(v value) string {
	first, separator := "", ","
	switch {
	case p.Style == "label" && p.Explode:
		first, separator = ".", "."
	case p.Style == "label":
		first = "."
	case p.Style == "matrix" && p.Explode:
		first, separator = ";", ";"
	case p.Style == "matrix":
		first = ";" + p.escape(p.Name) + "="
	}
	name := "" // that stands before each item
	if p.Style == "matrix" && p.Explode {
		name = p.escape(p.Name) + "="
	}
	switch {
	case v.list:
		return first + join(v.items, separator, func(s string) string { return name + p.escape(s) })
	case v.object:
		return first + p.fields(v, separator)
	case p.Style != "matrix":
		return first + p.escape(v.text)
	case v.text == "":
		return ";" + p.escape(p.Name)
	}
	return ";" + p.escape(p.Name) + "=" + p.escape(v.text)
}

// fields writes an object: with explode name=value, otherwise names and values in
// turn.
func (p *Parameter) fields(v value, separator string) string {
	between := separator
	if p.Explode {
		between = "="
	}
	var list []string
	for _, f := range v.fields {
		list = append(list, p.escape(f[0])+between+p.escape(f[1]))
	}
	return strings.Join(list, separator)
}

func join(list []string, separator string, each func(string) string) string {
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(each(s))
	}
	return b.String()
}

// named writes a value in the styles of a query, as pairs of name and value.
func (p *Parameter) named(v value) []string {
	name := webclient.Escape(p.Name, "") + "="
	if p.In == "cookie" {
		name = p.Name + "="
	}
	separator := map[string]string{"spaceDelimited": "%20", "pipeDelimited": "%7C"}[p.Style]
	if separator == "" {
		separator = ","
	}
	var list []string
	switch {
	case v.list && p.Explode:
		for _, item := range v.items {
			list = append(list, name+p.escape(item))
		}
	case v.list:
		list = append(list, name+join(v.items, separator, p.escape))
	case v.object && p.Explode:
		for _, f := range v.fields {
			list = append(list, webclient.Escape(f[0], "")+"="+p.escape(f[1]))
		}
	case v.object:
		list = append(list, name+p.fields(v, separator))
	default:
		list = append(list, name+p.escape(v.text))
	}
	return list
}

// deep writes an object as name[key]=value. The specification leaves open what is
// nested in it: objects have one more key, lists their indexes.
func (p *Parameter) deep(list []string, name string, raw document.Value) []string {
	inside := func(key string) string { return name + webclient.Escape("["+key+"]", "") }
	switch {
	case string(raw) == "null":
	case raw.IsObject():
		for key, member := range raw.Members() {
			list = p.deep(list, inside(key), member)
		}
	case raw.IsList():
		i := 0
		for item := range raw.Items() {
			list = p.deep(list, inside(strconv.Itoa(i)), item)
			i++
		}
	default:
		list = append(list, name+"="+p.escape(plain(raw)))
	}
	return list
}
