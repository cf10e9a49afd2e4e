package style

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"strings"

	"github.com/adkmcp/adkmcp/internal/tools/openapi/document"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// Kind says how a body is written.
type Kind int

// The kinds of bodies.
const (
	JSON Kind = iota
	Form
	Multipart
	Text   // as the model gives it
	Binary // base64 in the argument, bytes in the body
)

// KindOf says how a body of some media type is written.
func KindOf(mediaType string) Kind {
	name, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		name = strings.ToLower(strings.TrimSpace(mediaType))
	}
	switch {
	case IsJSON(name), name == "*/*", name == "application/*":
		return JSON
	case name == "application/x-www-form-urlencoded":
		return Form
	case name == "multipart/form-data":
		return Multipart
	case strings.HasPrefix(name, "text/"), strings.HasSuffix(name, "xml"), strings.HasSuffix(name, "yaml"),
		name == "application/x-ndjson", name == "application/graphql":
		return Text
	}
	return Binary
}

// IsJSON reports whether a media type is JSON, whatever its parameters.
func IsJSON(mediaType string) bool {
	name, _, _ := strings.Cut(mediaType, ";")
	name = strings.ToLower(strings.TrimSpace(name))
	return name == "application/json" || name == "text/json" || strings.HasSuffix(name, "+json")
}

// Args are the arguments of a call, as the model wrote them.
type Args map[string]document.Value

// Body is the body of an operation: one argument, or one for each member.
type Body struct {
	Kind      Kind
	MediaType string
	Required  bool
	Whole     string // the name of the one argument; empty where there are fields
	Fields    []Field
	Encodings map[string]Encoding // of the members of a form
}

// Field is a member of a body that is an argument of its own.
type Field struct{ Argument, Name string }

// Encoding says how one member of a form is written.
type Encoding struct {
	ContentType string     // empty for that of the value
	Styled      *Parameter // written like a parameter; nil where the document doesn't say how
	Base64      bool       // bytes, base64 in the argument
	List        bool       // the schema is that of a list
}

// member is a member of a body in a call.
type member struct {
	name  string
	value document.Value
}

// members collects what a call gives; ok is false when there is to be no body.
func (b *Body) members(a Args) (list []member, ok bool) {
	if b.Whole != "" {
		for name, v := range a[b.Whole].Members() {
			list = append(list, member{name, v})
		}
		return list, a[b.Whole] != nil
	}
	for _, f := range b.Fields {
		if v := a[f.Argument]; v != nil {
			list = append(list, member{f.Name, v})
		}
	}
	return list, b.Required || len(list) > 0
}

// Write makes the body of a call; the content type is empty when there is none.
func (b *Body) Write(a Args) (contentType string, data []byte, err error) {
	list, ok := b.members(a)
	if !ok {
		return "", nil, nil
	}
	whole := a[b.Whole]
	switch b.Kind {
	case JSON:
		if b.Whole != "" {
			return b.MediaType, []byte(compact(whole)), nil
		}
		return b.MediaType, object(list), nil
	case Form:
		return b.MediaType, []byte(strings.Join(b.form(list), "&")), nil
	case Multipart:
		return b.multipart(list)
	case Binary:
		if data, err = webclient.DecodeBase64(plain(whole)); err != nil {
			return "", nil, fmt.Errorf("the argument %q %w", b.Whole, err)
		}
		return b.MediaType, data, nil
	}
	return b.MediaType, []byte(plain(whole)), nil
}

// object writes members as JSON, numbers as the model wrote them.
func object(list []member) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := webclient.Quote(m.name) // every text has a JSON form
		b.Write(name)
		b.WriteByte(':')
		_ = json.Compact(&b, m.value) // a value of arguments that have been checked
	}
	b.WriteByte('}')
	return b.Bytes()
}

// form writes application/x-www-form-urlencoded. Values of one type go as in a query,
// lists of them as one pair for each item; objects are JSON unless the document says
// how they are written.
func (b *Body) form(list []member) []string {
	var pairs []string
	for _, m := range list {
		p := Parameter{In: "query"}
		e := b.Encodings[m.name]
		if e.Styled != nil {
			p = *e.Styled
		} else {
			p.Defaults(nil)
			p.JSON = m.value.IsObject() || IsJSON(e.ContentType)
		}
		p.Name = m.name
		more, _ := p.Write(m.value) // fails for a path only
		pairs = append(pairs, more...)
	}
	return pairs
}

// multipart writes multipart/form-data: one part for each member, and for each item
// of a list.
func (b *Body) multipart(list []member) (contentType string, data []byte, err error) {
	var parts []webclient.Part
	for _, m := range list {
		e := b.Encodings[m.name]
		values := []document.Value{m.value}
		if m.value.IsList() && !IsJSON(e.ContentType) {
			values = values[:0]
			for item := range m.value.Items() {
				values = append(values, item)
			}
		}
		for _, v := range values {
			if string(v) == "null" {
				continue
			}
			p := webclient.Part{Name: m.name, ContentType: e.ContentType, Data: []byte(plain(v))}
			switch {
			case e.Base64:
				if p.Data, err = webclient.DecodeBase64(plain(v)); err != nil {
					return "", nil, fmt.Errorf("what goes into the part %q of the body %w", m.name, err)
				}
				p.Filename = m.name // servers take for a file what has one
				if p.ContentType == "" {
					p.ContentType = "application/octet-stream"
				}
			case p.ContentType == "" && (v.IsObject() || v.IsList()):
				p.ContentType = "application/json"
			case IsJSON(p.ContentType):
				p.Data = []byte(compact(v))
			}
			parts = append(parts, p)
		}
	}
	return webclient.Multipart(parts)
}
