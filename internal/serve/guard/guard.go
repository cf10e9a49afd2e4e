// Package guard stands before an HTTP server and says what comes in: how many
// connections, over which certificate, and of their requests those that name a
// known host, come from no foreign web page and bring a token.
//
// Start with [Guard]. [Count] is for the listener, [Certificate] for TLS.
package guard

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/adkmcp/adkmcp/internal/config"
)

// Anonymous is the principal of everybody where no token is asked for.
const Anonymous = "anonymous"

// Token lets a principal in.
type Token struct {
	Principal string
	Secret    config.Secret
}

// Config makes a [Guard].
type Config struct {
	// Tokens are the bearer tokens that open the server. Without any, everybody
	// gets in, as [Anonymous].
	Tokens []Token
	// AllowHosts and AllowOrigins are names under which the server is reached,
	// and web origins that may use it, beside its own.
	AllowHosts   []string
	AllowOrigins []string
}

// Guard lets requests in that come by one of our names, not from a foreign web
// page, and with a token. It is only read.
type Guard struct {
	hosts   map[string]bool
	origins map[string]bool
	tokens  []hashed
}

type hashed struct {
	principal string
	hash      [sha256.Size]byte
}

// New makes a guard. The error names the flag that is wrong.
func New(c *Config) (*Guard, error) {
	g := &Guard{hosts: make(map[string]bool), origins: make(map[string]bool)}
	for _, host := range c.AllowHosts {
		g.hosts[hostName(host)] = true
	}
	for _, origin := range c.AllowOrigins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || strings.Trim(u.Path, "/") != "" {
			return nil, fmt.Errorf("--allow-origin %s: an origin is a scheme and a host, such as https://app.example.com", origin)
		}
		g.origins[strings.ToLower(u.Scheme+"://"+u.Host)] = true
	}
	seen := make(map[[sha256.Size]byte]string)
	for _, t := range c.Tokens {
		if t.Principal == "" || t.Secret.IsZero() {
			return nil, errors.New("--auth-token needs NAME=ENV_VAR, and the variable must hold the token")
		}
		h := hashed{t.Principal, sha256.Sum256([]byte(t.Secret.Reveal()))}
		if other, ok := seen[h.hash]; ok {
			return nil, fmt.Errorf("--auth-token: %s and %s have the same token", other, t.Principal)
		}
		seen[h.hash] = t.Principal
		g.tokens = append(g.tokens, h)
	}
	return g, nil
}

type principalKey struct{}

// PrincipalOf gives the verified caller of an admitted request, by its context.
func PrincipalOf(ctx context.Context) string {
	p, _ := ctx.Value(principalKey{}).(string)
	return p
}

// Refusal is why a request stays outside.
type Refusal struct {
	Status  int // of HTTP
	Message string
}

// Admit gives the request with its principal, or why it stays outside; neither
// if it was a browser's question, which has been answered. Headers that go with
// either are set. A probe, which tells and does nothing, needs no known host and
// no token.
func (g *Guard) Admit(w http.ResponseWriter, r *http.Request, probe bool) (*http.Request, *Refusal) {
	if !probe && !g.knownHost(r.Host) {
		return nil, &Refusal{http.StatusForbidden, "unknown host name: the operator can allow it with --allow-host"}
	}
	origin := r.Header.Get("Origin")
	if origin != "" && !g.knownOrigin(origin, r.Host) {
		return nil, &Refusal{http.StatusForbidden, "unknown origin: the operator can allow it with --allow-origin"}
	}
	if probe {
		return r, nil
	}
	if origin != "" && crossOrigin(w, r, origin) {
		return nil, nil
	}
	principal, ok := g.principal(r.Header.Get("Authorization"))
	if !ok {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return nil, &Refusal{http.StatusUnauthorized, "a valid bearer token is needed in the Authorization header"}
	}
	return r.WithContext(context.WithValue(r.Context(), principalKey{}, principal)), nil
}

// knownHost keeps web pages out that made their own name point to us (DNS
// rebinding): that takes a name, so addresses and localhost, which browsers
// never look up, are fine and any other name must be allowed.
func (g *Guard) knownHost(host string) bool {
	name := hostName(host)
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" {
		return true
	}
	return g.hosts[name]
}

// hostName gives the name in a Host header, without port and in lower case.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// knownOrigin reports whether a web page of origin may use us: one of our own,
// or one that the operator allowed. MCP requires the check (basic/transports,
// "Security").
func (g *Guard) knownOrigin(origin, host string) bool {
	origin = strings.ToLower(origin)
	_, own, ok := strings.Cut(origin, "://")
	return g.origins[origin] || ok && own == strings.ToLower(host)
}

// crossOrigin lets an allowed page read our answers, and answers the browser's
// question beforehand; it reports whether that was all.
func crossOrigin(w http.ResponseWriter, r *http.Request, origin string) bool {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, Retry-After, WWW-Authenticate")
	if r.Method != http.MethodOptions {
		return false
	}
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", strings.Join(allowedHeaders(r), ", "))
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// allowedHeaders are those that a page may send: MCP's own, and of those that
// mirror arguments of tools (basic/transports/streamable-http, "Custom Headers")
// the ones that the browser asks for.
func allowedHeaders(r *http.Request) []string {
	names := []string{"Accept", "Authorization", "Content-Type", "Last-Event-ID", "Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"}
	for _, value := range r.Header.Values("Access-Control-Request-Headers") {
		for name := range strings.SplitSeq(value, ",") {
			name = strings.TrimSpace(name)
			if rest, ok := strings.CutPrefix(strings.ToLower(name), "mcp-param-"); ok && rest != "" && httpguts.ValidHeaderFieldName(name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// principal says whose token the Authorization header holds. It compares with
// every token and in constant time, so that time tells nothing about them.
func (g *Guard) principal(authorization string) (string, bool) {
	if len(g.tokens) == 0 {
		return Anonymous, true
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	hash := sha256.Sum256([]byte(strings.TrimSpace(token)))
	found := -1
	for i := range g.tokens {
		if subtle.ConstantTimeCompare(hash[:], g.tokens[i].hash[:]) == 1 {
			found = i
		}
	}
	if found < 0 || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return g.tokens[found].principal, true
}
