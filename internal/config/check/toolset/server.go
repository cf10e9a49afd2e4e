package toolset

import (
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
	"github.com/adkmcp/adkmcp/internal/config/template"
)

// server checks how a server is reached.
func (c *checker) server(s *config.MCPServer, p *strictyaml.Path) {
	n, ofCommand, ofURL := c.node(p), []string{"args", "env", "dir", "cwd", "pass_env"}, []string{"headers", "headers_from", "forward_headers", "oauth"}
	c.OneOf(p, "says no way to reach the server", "command", "url")
	byCommand := n.Get("command") != nil
	if byCommand == (n.Get("url") != nil) {
		return
	}
	transport := c.spelled(p, "transport", "type")
	switch {
	case byCommand && (s.Transport == "http" || s.Transport == "sse"):
		c.errorf(transport, "remove it, or write url instead of command", "a server that is a command is reached through stdio, not %s", s.Transport)
	case !byCommand && s.Transport == "stdio":
		c.errorf(transport, "write http or sse, or remove it", "a server with a url is not reached through stdio")
	}
	misplaced, belongs := ofCommand, "command"
	if byCommand {
		misplaced, belongs = ofURL, "url"
	}
	for _, key := range misplaced {
		if n.Get(key) != nil {
			c.errorf(p.Key(key), "remove it", "%s is for servers with %s", key, belongs)
		}
	}
	for i, root := range s.Roots {
		c.CheckFolder(root, p.Key("roots").Index(i))
	}
	if byCommand {
		c.child(s, p)
		return
	}
	c.remote(s, p)
}

// spelled is the path of a key, or of its other spelling where that is used.
func (c *checker) spelled(p *strictyaml.Path, key, other string) *strictyaml.Path {
	if c.node(p.Key(other)) != nil {
		return p.Key(other)
	}
	return p.Key(key)
}

// child checks a server that we start.
func (c *checker) child(s *config.MCPServer, p *strictyaml.Path) {
	env := p.Key("env")
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if !template.IsVariableName(name) {
			c.errorf(env.Key(name), "", "%q is no name of an environment variable", name)
		}
	}
	c.CheckFolder(s.Dir, c.spelled(p, "dir", "cwd"))
	path, set := s.Env["PATH"]
	c.CheckExecutable(s.Command, path.Reveal(), set, p.Key("command"))
}

// remote checks a server that is there already.
func (c *checker) remote(s *config.MCPServer, p *strictyaml.Path) {
	at := p.Key("url")
	u := c.address(s.URL, at)
	c.headers(s.Headers, p.Key("headers"))
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		switch canonical := http.CanonicalHeaderKey(name); {
		case strings.HasPrefix(canonical, "Mcp-"):
			c.errorf(p.Key("headers").Key(name), "remove it", "the header %s is part of the protocol, which sets it itself", name)
		case canonical == "Authorization" && s.OAuth != nil:
			c.errorf(p.Key("headers").Key(name), "keep one of them", "oauth sets the header %s", name)
		}
	}
	for i, name := range s.ForwardHeaders {
		c.forwarded(name, p.Key("forward_headers").Index(i))
	}
	if s.HeadersFrom != nil {
		c.headersFrom(s.HeadersFrom, p.Key("headers_from"))
	}
	if s.OAuth != nil {
		c.oauth(s.OAuth, p.Key("oauth"))
	}
	c.encrypted(u, at, c.secretHeaders(s.Headers, p.Key("headers")) || s.HeadersFrom != nil || s.OAuth != nil)
}

// headersFrom checks where changing headers come from.
func (c *checker) headersFrom(h *config.HeadersFrom, p *strictyaml.Path) {
	c.OneOf(p, "says nowhere to take headers from", "command", "file")
	command := p.Key("command")
	switch {
	case c.node(command) != nil && len(h.Command) > 0:
		c.CheckExecutable(h.Command[0], "", false, command.Index(0))
	case c.node(command) != nil && c.OK(command):
		c.errorf(command, "name the program", "the command is empty")
	case h.File != "":
		c.CheckFolder(filepath.Dir(h.File), p.Key("file"))
	}
}

// oauth checks how tokens are got.
func (c *checker) oauth(o *config.OAuth, p *strictyaml.Path) {
	client := o.Grant == "client_credentials"
	switch {
	case !c.OK(p):
	case client && (o.ClientID == "" || o.ClientSecret.IsZero()) && !c.Unset[p.Key("client_id").String()] && !c.Unset[p.Key("client_secret").String()]:
		c.errorf(p, "add them; the server's operator gives them", "client_credentials needs client_id and client_secret")
	case !o.ClientSecret.IsZero() && o.ClientID == "" && !c.Unset[p.Key("client_id").String()]:
		c.errorf(p.Key("client_secret"), "add client_id", "the secret is that of no client")
	case !client && o.TokenURL != "":
		c.errorf(p.Key("token_url"), "remove it", "token_url is for client_credentials; at a login the server says where tokens come from")
	case o.TokenURL != "":
		c.encrypted(c.address(o.TokenURL, p.Key("token_url")), p.Key("token_url"), true)
	}
}
