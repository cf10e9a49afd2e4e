package strictyaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// JSON gives the value as JSON: mappings in their order, numbers as written,
// dates and words such as yes as the text that they are. It is not ok when a
// number has no such form, which has been reported.
func (c *Cursor) JSON() (raw json.RawMessage, ok bool) {
	w := jsonWriter{ok: true, number: func(p *Path, n *Node) {
		at := &Cursor{decoder: c.decoder, node: n, path: p}
		at.Errorf(fmt.Sprintf("write it in plain digits, or quote it: %q", n.Text), "JSON has no number %s", n.Text)
	}}
	w.value(c.path, c.node)
	return w.b.Bytes(), w.ok
}

// JSON gives the value at p as JSON with each of its texts edited.
func (d *Document) JSON(p *Path, edit func(p *Path, text string) string) json.RawMessage {
	w := jsonWriter{edit: edit}
	if n := d.Find(p); n != nil {
		w.value(p, n)
	}
	return w.b.Bytes()
}

// Canonical gives the document in a form that comments, quotes, anchors and the
// order of keys don't change, without some of the keys of the top level.
func (d *Document) Canonical(without func(key string) bool) []byte {
	w := jsonWriter{sorted: true}
	root := *d.Root
	root.Pairs = slices.DeleteFunc(slices.Clone(root.Pairs), func(p Pair) bool { return without(p.Key.Text) })
	w.value(nil, &root)
	return w.b.Bytes()
}

// jsonWriter writes nodes as JSON. Its functions may be nil.
type jsonWriter struct {
	b      bytes.Buffer
	ok     bool
	sorted bool
	edit   func(p *Path, text string) string
	number func(p *Path, n *Node) // hears of numbers that JSON has not
}

func (w *jsonWriter) value(p *Path, n *Node) {
	switch n.Kind {
	case List:
		w.b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				w.b.WriteByte(',')
			}
			w.value(p.Index(i), item)
		}
		w.b.WriteByte(']')
	case Mapping:
		pairs := n.Pairs
		if w.sorted {
			pairs = slices.Clone(pairs)
			slices.SortFunc(pairs, func(a, b Pair) int { return strings.Compare(a.Key.Text, b.Key.Text) })
		}
		w.b.WriteByte('{')
		for i, pair := range pairs {
			if i > 0 {
				w.b.WriteByte(',')
			}
			writeText(&w.b, pair.Key.Text)
			w.b.WriteByte(':')
			w.value(p.Key(pair.Key.Text), pair.Value)
		}
		w.b.WriteByte('}')
	default:
		w.scalar(p, n)
	}
}

func (w *jsonWriter) scalar(p *Path, n *Node) {
	switch n.Class {
	case Null:
		w.b.WriteString("null")
		return
	case Bool:
		w.b.WriteString(strings.ToLower(n.Text))
		return
	case Int, Float:
		if json.Valid([]byte(n.Text)) {
			w.b.WriteString(n.Text)
			return
		}
		if w.ok = false; w.number != nil {
			w.number(p, n)
		}
	}
	text := n.Text
	if w.edit != nil {
		text = w.edit(p, text)
	}
	writeText(&w.b, text)
}

// writeText writes a JSON string, without the escapes that only HTML needs.
func writeText(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if e.Encode(s) == nil { // text always encodes
		b.Truncate(b.Len() - 1)
	}
}
