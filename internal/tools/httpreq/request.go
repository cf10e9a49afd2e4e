package httpreq

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/template"

	"golang.org/x/net/http/httpguts"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// header is one header of a tool.
type header struct {
	name  string
	value template.Text
}

func newHeaders(h *config.HTTP, ps params) ([]header, error) {
	var list []header
	for _, key := range slices.Sorted(maps.Keys(h.Headers)) {
		name, value := http.CanonicalHeaderKey(key), h.Headers[key]
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return nil, fmt.Errorf("headers: %q is not a valid header name", key)
		case webclient.ReservedHeader(name):
			return nil, fmt.Errorf("headers: %s is set by the client itself; remove it", name)
		case slices.ContainsFunc(list, func(other header) bool { return other.name == name }):
			return nil, fmt.Errorf("headers: %s is there twice", name)
		}
		for _, seg := range value.Segments {
			if !httpguts.ValidHeaderFieldValue(seg.Text) {
				return nil, fmt.Errorf("headers: the value of %s holds a line break or another control character; "+
					"where it comes from an environment variable, look at its end", name)
			}
		}
		if err := ps.undeclared(value); err != nil {
			return nil, fmt.Errorf("headers: %s: %w", name, err)
		}
		list = append(list, header{name, value})
	}
	return list, nil
}

// credential finds the one way in which a tool proves who it is.
func credential(h *config.HTTP, user *url.Userinfo, headers []header) (*webclient.Credential, error) {
	var c *webclient.Credential
	if h.Auth != nil {
		made, err := webclient.NewCredential(h.Auth)
		if err != nil {
			return nil, err
		}
		c = &made
	}
	if user != nil {
		if c != nil {
			return nil, errors.New("url: holds a user name besides auth; remove one of them")
		}
		password, _ := user.Password()
		c = &webclient.Credential{Name: "Authorization", Value: webclient.BasicAuth(user.Username(), password)}
	}
	if c == nil {
		return nil, nil
	}
	if webclient.ReservedHeader(c.Name) {
		return nil, fmt.Errorf("auth: %s is set by the client itself; use another header", c.Name)
	}
	for _, header := range headers {
		if header.name == c.Name {
			return nil, fmt.Errorf("headers: %s is set by auth or by the URL's user name too; remove one of them", c.Name)
		}
	}
	return c, nil
}

// pairs are the parameters of a query or a form.
type pairs []config.QueryParam

func (list pairs) check(ps params) error {
	for _, p := range list {
		if err := ps.undeclared(p.Value); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

// encode writes the pairs with their values put in, joined by "&". A value that
// is the place of a list gives one pair per item, one that is missing none.
func (list pairs) encode(a args, escape func(string) string) string {
	var b strings.Builder
	add := func(name, value string) {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(escape(name) + "=" + escape(value))
	}
	for _, p := range list {
		if name, only := p.Value.Only(); only {
			if items, isList := a.items(name); isList {
				for _, item := range items {
					add(p.Name, item)
				}
				continue
			}
		}
		if value, ok := a.expand(p.Value); ok {
			add(p.Name, value)
		}
	}
	return b.String()
}

// body makes the bytes of a body, and their type.
type body func(a args) (contentType string, data []byte, err error)

func newBody(b *config.Body, ps params) (body, error) {
	switch {
	case b == nil:
		return nil, nil
	case len(b.JSON) > 0:
		tree, err := parseJSONBody(b.JSON, ps)
		if err != nil {
			return nil, fmt.Errorf("body.json: %w", err)
		}
		contentType := orDefault(b.ContentType, "application/json")
		return func(a args) (string, []byte, error) {
			var out bytes.Buffer
			tree.write(&out, a)
			return contentType, out.Bytes(), nil
		}, nil
	case b.Raw != nil:
		return newRawBody(b, ps)
	case b.Form != nil:
		form := pairs(b.Form)
		if err := form.check(ps); err != nil {
			return nil, fmt.Errorf("body.form: %w", err)
		}
		contentType := orDefault(b.ContentType, "application/x-www-form-urlencoded")
		return func(a args) (string, []byte, error) {
			return contentType, []byte(form.encode(a, url.QueryEscape)), nil
		}, nil
	case b.Multipart != nil:
		return newMultipart(b, ps)
	}
	return nil, errors.New("body: needs json, form, multipart or raw")
}

func orDefault(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

// newRawBody makes a body of text. Where its syntax is known, a value inside it
// must not become syntax: in XML it is escaped, JSON and forms have their own
// keys. A body that is exactly one place is the value as it is.
func newRawBody(b *config.Body, ps params) (body, error) {
	t := *b.Raw
	if err := ps.undeclared(t); err != nil {
		return nil, fmt.Errorf("body.raw: %w", err)
	}
	contentType := orDefault(b.ContentType, "text/plain; charset=utf-8")
	mediaType, _, _ := mime.ParseMediaType(contentType)
	_, only := t.Only()
	isXML := false
	if len(t.Places()) > 0 && !only {
		switch {
		case mediaType == "application/json" || strings.HasSuffix(mediaType, "+json"):
			return nil, errors.New("body.raw: a value could become a part of the JSON; use body.json")
		case mediaType == "application/x-www-form-urlencoded":
			return nil, errors.New("body.raw: a value could become another field of the form; use body.form")
		}
		isXML = strings.HasSuffix(mediaType, "/xml") || strings.HasSuffix(mediaType, "+xml") || mediaType == "text/html"
	}
	return func(a args) (string, []byte, error) {
		if isXML {
			data, err := expandXML(t, a)
			return contentType, data, err
		}
		s, _ := a.expand(t)
		return contentType, []byte(s), nil
	}, nil
}

func expandXML(t template.Text, a args) ([]byte, error) {
	s, err := t.Expand(func(place string) (string, error) {
		value, _ := a.text(place)
		return escapeXML(value), nil
	})
	return []byte(s), err
}

// escapeXML makes s text of XML and of HTML: the five characters with a meaning
// are references, those that XML 1.0 (section 2.2) does not have are U+FFFD.
func escapeXML(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return '\uFFFD'
		}
		return r
	}, s))
}
