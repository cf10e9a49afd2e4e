package configfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonFormat is JSON with comments and trailing commas, which stay where they
// are and are not added.
var jsonFormat = format{
	parse: func(text string, root []string) (document, error) { return parseJSON(text, root) },
	tree:  jsonTree,
}

type jsonDocument struct {
	text string
	top  hujson.Value
	root []string
	style
}

func parseJSON(text string, root []string) (*jsonDocument, error) {
	if strings.TrimSpace(text) == "" {
		text = "{}" + text
		if text == "{}" {
			text += "\n"
		}
	}
	top, err := hujson.Parse([]byte(text))
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	d := &jsonDocument{text: text, top: top, root: root, style: styleOf(text, "  ")}
	if obj, ok := top.Value.(*hujson.Object); ok && len(obj.Members) > 0 {
		outer, _ := d.indent(top.StartOffset)
		indent, own := d.indent(obj.Members[0].Name.StartOffset)
		if unit := strings.TrimPrefix(indent, outer); own && unit != "" {
			d.unit = unit
		}
	}
	return d, nil
}

func jsonTree(text string) (map[string]any, error) {
	d, err := parseJSON(text, nil)
	if err != nil {
		return nil, err
	}
	v := d.top.Clone()
	v.Standardize()
	decoder := json.NewDecoder(bytes.NewReader(v.Pack()))
	decoder.UseNumber()
	var tree map[string]any
	if err := decoder.Decode(&tree); err != nil || tree == nil {
		return nil, errors.New("line 1, column 1: it does not begin with an object")
	}
	return tree, nil
}

// indent gives the blanks that begin the line of an offset, and whether nothing
// else stands before the offset.
func (d *jsonDocument) indent(at int) (blanks string, own bool) {
	start := strings.LastIndexByte(d.text[:at], '\n') + 1
	blanks = leading(d.text[start:at], " \t")
	return blanks, start+len(blanks) == at
}

// leading gives the characters of a set that a text begins with.
func leading(text, set string) string {
	return text[:len(text)-len(strings.TrimLeft(text, set))]
}

// member finds a key. Which of two equal ones counts is up to the host, so that
// neither can be edited.
func (d *jsonDocument) member(obj *hujson.Object, key string) (int, error) {
	at := -1
	for i, m := range obj.Members {
		if name, ok := m.Name.Value.(hujson.Literal); ok && name.String() == key {
			if at >= 0 {
				return 0, fmt.Errorf("%s stands twice, the second time on line %d", key, 1+strings.Count(d.text[:m.Name.StartOffset], "\n"))
			}
			at = i
		}
	}
	return at, nil
}

// walk follows keys from the top as far as there are objects. It gives the last
// object, what is left of the keys, and the place of the first of these in the
// object, or -1.
func (d *jsonDocument) walk(keys []string) (v *hujson.Value, left []string, at int, err error) {
	v = &d.top
	for {
		obj, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil, nil, 0, fmt.Errorf("line %d: there should be an object", 1+strings.Count(d.text[:v.StartOffset], "\n"))
		}
		if at, err = d.member(obj, keys[0]); err != nil || at < 0 || len(keys) == 1 {
			return v, keys, at, err
		}
		v, keys = &obj.Members[at].Value, keys[1:]
	}
}

func (d *jsonDocument) set(name string, o Object) (string, error) {
	v, left, at, err := d.walk(append(slices.Clone(d.root), name))
	if err != nil {
		return "", err
	}
	obj := v.Value.(*hujson.Object)
	for _, key := range slices.Backward(left[1:]) {
		o = Object{{key, o}}
	}
	indent, st := d.layout(v, obj)
	written := o.json(indent, st)
	if at >= 0 {
		old := obj.Members[at].Value
		return splice(d.text, cut{old.StartOffset, old.EndOffset, written}), nil
	}
	return d.insert(v, obj, quoted(left[0])+": "+written), nil
}

// layout gives how the members of an object are indented; on one line they have
// no style.
func (d *jsonDocument) layout(v *hujson.Value, obj *hujson.Object) (string, style) {
	outer, _ := d.indent(v.StartOffset)
	if len(obj.Members) == 0 {
		if text := strings.TrimSpace(d.text); len(text) > len("{}") && !strings.Contains(text, "\n") {
			return "", style{}
		}
		return outer + d.unit, d.style
	}
	if indent, own := d.indent(obj.Members[len(obj.Members)-1].Name.StartOffset); own {
		return indent, d.style
	}
	if strings.Contains(d.text[v.StartOffset:v.EndOffset], "\n") {
		return outer + d.unit, d.style
	}
	return "", style{}
}

// insert puts a member behind the last one of an object, and behind the comments
// there.
func (d *jsonDocument) insert(v *hujson.Value, obj *hujson.Object, written string) string {
	indent, st := d.layout(v, obj)
	before := st.newline + indent
	if st.unit == "" {
		before = " "
	}
	end := v.EndOffset - 1 // the brace
	if len(obj.Members) == 0 {
		outer, _ := d.indent(v.StartOffset)
		from := len(strings.TrimRight(d.text[:end], " \t\r\n"))
		if st.unit == "" {
			before, outer = "", ""
		}
		return splice(d.text, cut{from, end, before + written + st.newline + outer})
	}
	last := obj.Members[len(obj.Members)-1].Value
	at := len(strings.TrimRight(d.text[:end], " \t\r\n"))
	if last.AfterExtra != nil { // there is a trailing comma
		return splice(d.text, cut{at, at, before + written + ","})
	}
	return splice(d.text, cut{last.EndOffset, last.EndOffset, ","}, cut{at, at, before + written})
}

func (d *jsonDocument) remove(name string) (string, error) {
	v, left, i, err := d.walk(append(slices.Clone(d.root), name))
	if err != nil {
		return "", err
	}
	if len(left) > 1 || i < 0 {
		return d.text, nil
	}
	obj := v.Value.(*hujson.Object)
	m, last := obj.Members[i], i == len(obj.Members)-1
	start, end := m.Name.StartOffset, m.Value.EndOffset
	var cuts []cut
	switch {
	case !last || m.Value.AfterExtra != nil:
		end += len(m.Value.AfterExtra) + 1
	case i > 0: // the comma before it would become a trailing one
		prev := obj.Members[i-1].Value
		comma := prev.EndOffset + len(prev.AfterExtra)
		cuts = append(cuts, cut{comma, comma + 1, ""})
	}
	from := len(strings.TrimRight(d.text[:start], " \t\r\n"))
	behindComment := strings.Contains(string(m.Name.BeforeExtra), "//")
	blanks := leading(d.text[end:], " \t")
	endsLine := strings.HasPrefix(strings.TrimLeft(d.text[end:], " \t\r"), "\n")
	switch sameLine := !strings.Contains(d.text[from:start], "\n"); {
	case len(obj.Members) == 1 && strings.TrimSpace(d.text[v.StartOffset+1:start]+d.text[end:v.EndOffset-1]) == "":
		return splice(d.text, cut{v.StartOffset, v.EndOffset, "{}"}), nil
	case sameLine && i == 0 && !last && !endsLine:
		start, end = from, end+len(blanks)
	case sameLine, endsLine, last && !behindComment:
		start = from
	default: // what follows goes to the start of the line; the comment must not swallow it
		end += len(blanks)
	}
	return splice(d.text, append(cuts, cut{start, end, ""})...), nil
}

// cut replaces the bytes from one offset to another.
type cut struct {
	from, to int
	by       string
}

// splice makes several cuts, which are in order and do not overlap.
func splice(text string, cuts ...cut) string {
	var b strings.Builder
	at := 0
	for _, c := range cuts {
		b.WriteString(text[at:c.from] + c.by)
		at = c.to
	}
	return b.String() + text[at:]
}
