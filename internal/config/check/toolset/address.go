package toolset

import (
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// IsCredential reports whether the name of a variable, a header or a parameter
// tells of a credential.
func IsCredential(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc([]string{"auth", "cookie", "key", "token", "secret", "passw", "credential"},
		func(word string) bool { return strings.Contains(lower, word) })
}

// IsURL reports whether a text that names a file or an address is an address.
func IsURL(s string) bool { return strings.Contains(s, "://") }

// address checks a URL that requests go to, which no message shows. It gives
// nil where it is none.
func (c *checker) address(raw string, p *strictyaml.Path) *url.URL {
	if raw == "" || c.Unset[p.String()] || !c.OK(p) {
		return nil
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		c.errorf(p, "", "want a URL such as https://host/path")
		return nil
	case u.User != nil:
		c.errorf(p, "write headers or auth", "a user name or password has no place in the URL")
	}
	for name := range u.Query() {
		if IsCredential(name) {
			c.warnf(p, "write it in headers or auth, if the server takes it there", "a secret in a URL ends up in the logs of whatever it passes")
			break
		}
	}
	return u
}

// encrypted warns of secrets that travel in the clear.
func (c *checker) encrypted(u *url.URL, p *strictyaml.Path, secret bool) {
	if u != nil && secret && u.Scheme == "http" && !isLoopback(u.Hostname()) {
		c.warnf(p, "use https", "secrets are sent without encryption")
	}
}

// secretHeaders reports whether headers seem to hold secrets.
func (c *checker) secretHeaders(headers map[string]config.Secret, p *strictyaml.Path) bool {
	for name := range headers {
		if n := c.node(p.Key(name)); IsCredential(name) || n != nil && strings.Contains(n.Text, "${") {
			return true
		}
	}
	return false
}

// ofConnection are the headers that a request's own connection has (RFC 9110,
// section 7.6.1), and those that say where it goes and where it ends.
var ofConnection = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Host", "Content-Length"}

// headers checks headers of every request.
func (c *checker) headers(headers map[string]config.Secret, p *strictyaml.Path) {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		q, canonical := p.Key(name), http.CanonicalHeaderKey(name)
		c.CheckHeader(q, name, headers[name].Reveal())
		switch other := seen[canonical]; {
		case other != "":
			c.errorf(q, "keep one of them", "the header stands here as %s and as %s", other, name)
		case slices.Contains(ofConnection, canonical):
			c.errorf(q, "remove it", "the header %s belongs to the connection, which sets it itself", name)
		}
		seen[canonical] = name
	}
}

// forwarded checks the name of a header that callers may have passed on.
func (c *checker) forwarded(name string, p *strictyaml.Path) {
	switch canonical := http.CanonicalHeaderKey(name); {
	case !c.OK(p):
	case !httpguts.ValidHeaderFieldName(name):
		c.errorf(p, "", "%q is no valid header name", name)
	case canonical == "Authorization" || canonical == "Cookie" || canonical == "Proxy-Authorization":
		c.errorf(p, "write headers, headers_from or oauth; or let callers send another header", "%s is never passed on: a caller's token for us is not for anyone else", name)
	case slices.Contains(ofConnection, canonical) || strings.HasPrefix(canonical, "Mcp-") || strings.HasPrefix(canonical, "Content-"):
		c.errorf(p, "remove it", "%s is never passed on: it is about the caller's own request", name)
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
