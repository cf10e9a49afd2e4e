package httpreq

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/adkmcp/adkmcp/internal/config/template"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// node is a piece of a JSON body: an object, a list, a text with places, or
// something that is sent as it is.
type node struct {
	fields  []field
	items   []node
	text    *template.Text
	literal json.RawMessage
	kind    byte // '{', '[', '"' or 0 for a literal
}

type field struct {
	name  json.RawMessage // with its quotes
	value node
}

// parseJSONBody reads the JSON of a body. A dollar has no meaning in it any
// more; braces are places, as [template.ParsePlaces] has it.
func parseJSONBody(raw json.RawMessage, ps params) (*node, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	n, err := parseNode(dec, ps)
	if err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, errors.New("holds more than one JSON value")
	}
	return &n, nil
}

func parseNode(dec *json.Decoder, ps params) (node, error) {
	token, err := dec.Token()
	if err != nil {
		return node{}, fmt.Errorf("is not valid JSON: %w", err)
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			return parseObject(dec, ps)
		}
		return parseList(dec, ps)
	case string:
		t := template.ParsePlaces(v)
		return node{kind: '"', text: &t}, ps.undeclared(t)
	default:
		literal, err := json.Marshal(v)
		return node{literal: literal}, err
	}
}

func parseObject(dec *json.Decoder, ps params) (node, error) {
	n := node{kind: '{'}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return n, err
		}
		name, err := webclient.Quote(fmt.Sprint(key))
		if err != nil {
			return n, err
		}
		value, err := parseNode(dec, ps)
		if err != nil {
			return n, fmt.Errorf("%s: %w", name, err)
		}
		n.fields = append(n.fields, field{name, value})
	}
	_, err := dec.Token()
	return n, err
}

func parseList(dec *json.Decoder, ps params) (node, error) {
	n := node{kind: '['}
	for dec.More() {
		item, err := parseNode(dec, ps)
		if err != nil {
			return n, err
		}
		n.items = append(n.items, item)
	}
	_, err := dec.Token()
	return n, err
}

// missing reports whether the node is the place of an argument that was not
// given. Such a node is left out together with its key.
func (n *node) missing(a args) bool {
	if n.text == nil {
		return false
	}
	name, only := n.text.Only()
	_, given := a[name]
	return only && !given
}

// write writes the node with values put in. A text that is exactly one place
// becomes the argument's own JSON, with its type and digits.
func (n *node) write(b *bytes.Buffer, a args) {
	switch n.kind {
	case '{':
		b.WriteByte('{')
		first := true
		for _, f := range n.fields {
			if f.value.missing(a) {
				continue
			}
			if !first {
				b.WriteByte(',')
			}
			first = false
			b.Write(f.name)
			b.WriteByte(':')
			f.value.write(b, a)
		}
		b.WriteByte('}')
	case '[':
		b.WriteByte('[')
		first := true
		for _, item := range n.items {
			if item.missing(a) {
				continue
			}
			if !first {
				b.WriteByte(',')
			}
			first = false
			item.write(b, a)
		}
		b.WriteByte(']')
	case '"':
		n.writeText(b, a)
	default:
		b.Write(n.literal)
	}
}

func (n *node) writeText(b *bytes.Buffer, a args) {
	if name, only := n.text.Only(); only {
		if raw, given := a[name]; given {
			_ = json.Compact(b, raw) // raw is one value of a document that was parsed before
		}
		return
	}
	s, _ := a.expand(*n.text)
	text, _ := webclient.Quote(s) // every text has a JSON form
	b.Write(text)
}
