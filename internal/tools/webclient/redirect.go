package webclient

import (
	"net/http"
	"net/url"
	"strings"
)

// hop is one request on the way from a [Request] to its answer.
type hop struct {
	origin  *Request
	method  string
	url     *url.URL
	header  http.Header
	body    []byte
	dropped bool // headers stayed behind because the origin changed
}

func firstHop(r *Request) (*hop, error) {
	u, err := target(r.URL)
	if err != nil {
		return nil, err
	}
	return &hop{origin: r, method: r.Method, url: u, header: r.Header, body: r.Body}, nil
}

// target is u without the parts that are not sent.
func target(u *url.URL) (*url.URL, error) {
	clean := *u
	clean.User, clean.Fragment, clean.RawFragment = nil, "", ""
	clean.Scheme = strings.ToLower(u.Scheme)
	if _, web := defaultPorts[clean.Scheme]; !web {
		return nil, refuse("only http and https URLs are fetched, not %q", shorten(u.Scheme))
	}
	if u.Hostname() == "" {
		return nil, refuse("the URL has no host")
	}
	return &clean, nil
}

// next gives the request that an answer redirects to, nil when the answer is
// the final one. Methods change as RFC 9110 section 15.4 and browsers have it.
func (h *hop) next(res *http.Response) (*hop, error) {
	location := res.Header.Get("Location")
	keep := false
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		keep = true
	default:
		return nil, nil
	}
	if location == "" {
		return nil, nil
	}
	u, err := h.resolve(location)
	if err != nil {
		return nil, err
	}
	n := &hop{origin: h.origin, method: h.method, url: u, header: h.header.Clone(), body: h.body, dropped: h.dropped}
	if !keep {
		n.dropBody()
	}
	if n.dropped || Origin(u) != Origin(h.origin.URL) {
		// Once away, the headers stay away even when a later redirect comes back.
		n.dropped = true
		n.dropCredentials()
		if h.origin.PrivateBody && len(n.body) > 0 {
			return nil, refuse("%s: redirected to %s; the body holds credentials and is not sent there",
				Origin(h.origin.URL), Origin(u))
		}
	}
	return n, nil
}

// resolve finds out where a redirect leads and whether it may be followed.
func (h *hop) resolve(location string) (*url.URL, error) {
	from := Origin(h.origin.URL)
	parsed, err := h.url.Parse(location)
	if err != nil {
		return nil, refuse("%s: redirected to something that is no URL", from)
	}
	u, err := target(parsed)
	if err != nil {
		return nil, refuse("%s: redirect refused: %s", from, err)
	}
	if h.origin.Policy == Configured && !sameHost(h.origin.URL, u) && !allowed(h.origin.AllowHosts, u) {
		return nil, refuse("%s: redirected to %s, which is not followed because %q is not in allow_hosts",
			from, Origin(u), shorten(u.Hostname()))
	}
	if h.origin.Follow != nil {
		if err := h.origin.Follow(u); err != nil {
			return nil, refuse("%s: redirected to %s, which is not followed: %s", from, Origin(u), err)
		}
	}
	return u, nil
}

// sameHost reports whether two URLs lead to one host. Another port is another
// host, since it may be somebody else's server, except that the default ports
// of http and https belong together.
func sameHost(a, b *url.URL) bool {
	if !strings.EqualFold(a.Hostname(), b.Hostname()) {
		return false
	}
	standard := func(u *url.URL) bool { return port(u) == defaultPorts[strings.ToLower(u.Scheme)] }
	return port(a) == port(b) || standard(a) && standard(b)
}

func allowed(hosts []string, u *url.URL) bool {
	name := u.Hostname()
	for _, h := range hosts {
		if strings.EqualFold(h, name) || strings.EqualFold(h, u.Host) {
			return true
		}
	}
	return false
}

func (h *hop) dropBody() {
	if h.method != http.MethodGet && h.method != http.MethodHead {
		h.method = http.MethodGet
	}
	h.body = nil
	for name := range h.header {
		if strings.HasPrefix(http.CanonicalHeaderKey(name), "Content-") {
			delete(h.header, name)
		}
	}
}

// harmless are the headers that describe the answer that is wanted, or the
// body that is sent, and never carry credentials.
var harmless = map[string]bool{
	"Accept": true, "Accept-Language": true, "Content-Type": true, "Content-Language": true, "User-Agent": true,
}

func (h *hop) dropCredentials() {
	for name := range h.header {
		if !harmless[http.CanonicalHeaderKey(name)] {
			delete(h.header, name)
		}
	}
}
