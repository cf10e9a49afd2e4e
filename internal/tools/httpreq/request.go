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

	"golang.org/x/net/http/httpguts"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// methods says what a method does to the world, RFC 9110 section 9.2. A method
// that is not here cannot be used.
var methods = map[string]struct{ safe, idempotent bool }{
	http.MethodGet:     {safe: true, idempotent: true},
	http.MethodHead:    {safe: true, idempotent: true},
	http.MethodOptions: {safe: true, idempotent: true},
	http.MethodPut:     {idempotent: true},
	http.MethodDelete:  {idempotent: true},
	http.MethodPost:    {},
	http.MethodPatch:   {},
}

// reservedHeaders belong to the connection or decide where a request goes.
var reservedHeaders = map[string]bool{
	"Host": true, "Content-Length": true, "Transfer-Encoding": true, "Connection": true, "Keep-Alive": true,
	"Proxy-Connection": true, "Proxy-Authorization": true, "Te": true, "Trailer": true, "Upgrade": true,
	"Expect": true, "Accept-Encoding": true,
}

// header is one header of a tool.
type header struct {
	name  string
	value config.Template
}

func newHeaders(h *config.HTTP, ps params) ([]header, error) {
	var list []header
	for _, key := range slices.Sorted(maps.Keys(h.Headers)) {
		name, value := http.CanonicalHeaderKey(key), h.Headers[key]
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return nil, fmt.Errorf("headers: %q is not a valid header name", key)
		case reservedHeaders[name]:
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
	if reservedHeaders[c.Name] {
		return nil, fmt.Errorf("auth: %s is set by the client itself; use another header", c.Name)
	}
	for _, header := range headers {
		if header.name == c.Name {
			return nil, fmt.Errorf("headers: %s is set by auth or by the URL's user name too; remove one of them", c.Name)
		}
	}
	return c, nil
}

// checkAllowHosts refuses what could never match, before somebody wonders.
func checkAllowHosts(hosts []string) error {
	for _, h := range hosts {
		u, err := url.Parse("//" + h)
		if err != nil || u.Host != h || strings.ContainsAny(h, "*/@") || u.Hostname() == "" {
			return fmt.Errorf("allow_hosts: %q is not a host name such as api.example.com or api.example.com:8443", h)
		}
	}
	return nil
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

// body makes the bytes of a body.
type body struct {
	contentType string
	render      func(a args) ([]byte, error)
}

func newBody(b *config.Body, ps params) (*body, error) {
	switch {
	case b == nil:
		return nil, nil
	case len(b.JSON) > 0:
		tree, err := parseJSONBody(b.JSON, ps)
		if err != nil {
			return nil, fmt.Errorf("body.json: %w", err)
		}
		return &body{orDefault(b.ContentType, "application/json"), func(a args) ([]byte, error) {
			var out bytes.Buffer
			tree.write(&out, a)
			return out.Bytes(), nil
		}}, nil
	case b.Raw != nil:
		return newRawBody(b, ps)
	case b.Form != nil:
		form := pairs(b.Form)
		if err := form.check(ps); err != nil {
			return nil, fmt.Errorf("body.form: %w", err)
		}
		return &body{orDefault(b.ContentType, "application/x-www-form-urlencoded"), func(a args) ([]byte, error) {
			return []byte(form.encode(a, url.QueryEscape)), nil
		}}, nil
	}
	return nil, errors.New("body: needs json, form or raw")
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
func newRawBody(b *config.Body, ps params) (*body, error) {
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
	return &body{contentType, func(a args) ([]byte, error) {
		if isXML {
			return expandXML(t, a)
		}
		s, _ := a.expand(t)
		return []byte(s), nil
	}}, nil
}

func expandXML(t config.Template, a args) ([]byte, error) {
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
