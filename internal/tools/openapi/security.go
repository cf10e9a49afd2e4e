package openapi

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// credential is a secret in its place.
type credential struct{ in, name, value string } // in: header, query or cookie

// signature is what an operation needs to prove who is asking.
type signature []credential

// sets reports whether a parameter of that name is set by a credential.
func (s signature) sets(in, name string) bool {
	return slices.ContainsFunc(s, func(c credential) bool { return c.in == in && c.name == name })
}

// cookies are the values of credentials that are a Cookie header.
func (s signature) cookies() (values []string) {
	for _, c := range s {
		if c.in == "header" && strings.EqualFold(c.name, "Cookie") {
			values = append(values, c.value)
		}
	}
	return values
}

// schemes are the security schemes of a document with their credentials.
type schemes struct {
	known   map[string]credential
	missing map[string]bool // those without, as far as an operation has needed them
}

// newSchemes finds for each credential of the agent file where the document wants
// it. A scheme whose header is among the entry's own needs none. Errors name no
// secret.
func newSchemes(doc *openapi3.T, auth map[string]config.Auth, headers map[string]string) (*schemes, error) {
	s := &schemes{known: map[string]credential{}, missing: map[string]bool{}}
	var declared openapi3.SecuritySchemes
	if doc.Components != nil {
		declared = doc.Components.SecuritySchemes
	}
	for name, ref := range declared {
		if ref != nil && ref.Value != nil && headers[headerOf(ref.Value)] != "" {
			s.known[name] = credential{}
		}
	}
	for _, name := range sortedKeys(auth) {
		ref := declared[name]
		if ref == nil || ref.Value == nil {
			has := "none"
			if len(declared) > 0 {
				has = strings.Join(sortedKeys(declared), ", ")
			}
			return nil, fmt.Errorf("auth: the document has no security scheme %s; it has %s", name, has)
		}
		a := auth[name]
		c, err := place(ref.Value, &a)
		if err != nil {
			return nil, fmt.Errorf("auth: %s: %w", name, err)
		}
		s.known[name] = c
	}
	return s, nil
}

// headerOf is the header that a scheme uses, empty for none.
func headerOf(scheme *openapi3.SecurityScheme) string {
	switch {
	case scheme.Type != "apiKey":
		return "Authorization"
	case scheme.In == "header":
		return http.CanonicalHeaderKey(scheme.Name)
	}
	return ""
}

// place puts a credential where its scheme wants it. A header that the agent file
// names is sent as it says, whatever the scheme.
func place(scheme *openapi3.SecurityScheme, a *config.Auth) (credential, error) {
	if scheme.Type == "apiKey" && a.Header == nil {
		if a.Bearer.IsZero() {
			return credential{}, fmt.Errorf("is an API key in the %s %s; write it as bearer", scheme.In, scheme.Name)
		}
		c := credential{in: scheme.In, name: scheme.Name, value: a.Bearer.Reveal()}
		switch c.in {
		case "cookie":
			return c, checkName(c.in, c.name)
		case "query":
			return c, nil
		case "header":
			checked, err := webclient.NewCredential(&config.Auth{Header: &config.HeaderAuth{Name: c.name, Value: a.Bearer}})
			c.name = checked.Name
			return c, err
		}
		return c, fmt.Errorf("the document wants the key in %q, which is no place", scheme.In)
	}
	switch basic := scheme.Type == "http" && strings.EqualFold(scheme.Scheme, "basic"); {
	case scheme.Type == "apiKey", a.Header != nil:
	case basic && a.Basic == nil:
		return credential{}, errors.New("takes a user name and password; write them as basic")
	case !basic && a.Bearer.IsZero():
		return credential{}, errors.New("takes a token; write it as bearer")
	}
	c, err := webclient.NewCredential(a)
	if err == nil && webclient.ReservedHeader(c.Name) {
		err = fmt.Errorf("%s is set by the client itself; use another header", c.Name)
	}
	return credential{"header", c.Name, c.Value}, err
}

// choose takes the first of the alternatives for which there are all credentials.
func (s *schemes) choose(alternatives openapi3.SecurityRequirements) signature {
	optional := len(alternatives) == 0
	for _, needs := range alternatives {
		if len(needs) == 0 {
			optional = true
			continue
		}
		var found signature
		for _, name := range sortedKeys(needs) {
			if c, ok := s.known[name]; ok {
				found = append(found, c)
			}
		}
		if len(found) == len(needs) {
			return found
		}
	}
	if !optional {
		for _, needs := range alternatives {
			for name := range needs {
				if _, ok := s.known[name]; !ok {
					s.missing[name] = true
				}
			}
		}
	}
	return nil
}

// warnings names the schemes whose operations go out without a credential.
func (s *schemes) warnings() []string {
	var list []string
	for _, name := range sortedKeys(s.missing) {
		list = append(list, fmt.Sprintf("there is no auth for the security scheme %s; operations that need it are called without", name))
	}
	return list
}

// apply puts the credentials into a request.
func (s signature) apply(q *query, h http.Header) {
	for _, c := range s {
		switch c.in {
		case "header":
			h.Set(c.name, c.value)
		case "query":
			q.add(webclient.Escape(c.name, "") + "=" + webclient.Escape(c.value, ""))
		case "cookie":
			q.cookies = append(q.cookies, c.name+"="+webclient.Escape(c.value, "!#$&'()*+/:<=>?@[]^`{|}"))
		}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
