package toolset

import (
	"maps"
	"slices"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// methods are those that operations of OpenAPI have.
var methods = []string{"GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"}

// openapi checks an entry of tools that is a document's. What the document
// says is seen when its tools are made.
func (c *checker) openapi(t *config.Tool, p *strictyaml.Path) {
	c.choice(t, p)
	o, p := t.OpenAPI, p.Key("openapi")
	document := p
	if c.node(p).Kind == strictyaml.Mapping {
		document = p.Key("document")
	}
	if IsURL(o.Document) {
		c.address(o.Document, document)
	} else if c.node(document) != nil {
		c.CheckFile(o.Document, document)
	}
	c.globs(o.Tags, p.Key("tags"))
	c.globs(o.Paths, p.Key("paths"))
	c.globs(o.Methods, p.Key("methods"))
	for i, method := range o.Methods {
		if method != "" && !slices.Contains(methods, method) {
			c.errorf(p.Key("methods").Index(i), nearest(method, methods), "%q is no HTTP method", method)
		}
	}
	c.headers(o.Headers, p.Key("headers"))
	for _, scheme := range slices.Sorted(maps.Keys(o.Auth)) {
		auth := o.Auth[scheme]
		c.CheckCredential(&auth, p.Key("auth").Key(scheme))
	}
	server := p.Key("server")
	c.encrypted(c.address(o.Server, server), server, len(o.Auth) > 0 || c.secretHeaders(o.Headers, p.Key("headers")))
}
