package httpserver

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

	"github.com/adkmcp/adkmcp/internal/config"
)

// anonymous is the principal of everybody where no token is asked for.
const anonymous = "anonymous"

// Token lets a principal in.
type Token struct {
	Principal string
	Secret    config.Secret
}

// guard lets requests in that come by one of our names, not from a foreign web
// page, and with a token. It is only read.
type guard struct {
	hosts   map[string]bool
	origins map[string]bool
	tokens  []hashed
}

type hashed struct {
	principal string
	hash      [sha256.Size]byte
}

func newGuard(c *Config) (*guard, error) {
	g := &guard{hosts: make(map[string]bool), origins: make(map[string]bool)}
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

// principalOf gives the verified caller of an admitted request.
func principalOf(ctx context.Context) string {
	p, _ := ctx.Value(principalKey{}).(string)
	return p
}

// admit gives the request with its principal, or nil after having refused it.
func (g *guard) admit(w http.ResponseWriter, r *http.Request) *http.Request {
	probe := r.URL.Path == "/livez" || r.URL.Path == "/readyz"
	if !probe && !g.knownHost(r.Host) {
		refuse(w, http.StatusForbidden, codeInvalidRequest, "unknown host name: the operator can allow it with --allow-host")
		return nil
	}
	origin := r.Header.Get("Origin")
	if origin != "" && !g.knownOrigin(origin, r.Host) {
		refuse(w, http.StatusForbidden, codeInvalidRequest, "unknown origin: the operator can allow it with --allow-origin")
		return nil
	}
	if probe {
		return r
	}
	if origin != "" && crossOrigin(w, r, origin) {
		return nil
	}
	principal, ok := g.principal(r.Header.Get("Authorization"))
	if !ok {
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(w, http.StatusUnauthorized, codeInvalidRequest, "a valid bearer token is needed in the Authorization header")
		return nil
	}
	return r.WithContext(context.WithValue(r.Context(), principalKey{}, principal))
}

// knownHost keeps web pages out that made their own name point to us (DNS
// rebinding): that takes a name, so addresses and localhost, which browsers
// never look up, are fine and any other name must be allowed.
func (g *guard) knownHost(host string) bool {
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
func (g *guard) knownOrigin(origin, host string) bool {
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
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate")
	if r.Method != http.MethodOptions {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "POST, DELETE")
	h.Set("Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// principal says whose token the Authorization header holds. It compares with
// every token and in constant time, so that time tells nothing about them.
func (g *guard) principal(authorization string) (string, bool) {
	if len(g.tokens) == 0 {
		return anonymous, true
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
