package credential

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

const (
	exchangeTimeout = 30 * time.Second // for one request to an authorization server
	maxRedirects    = 3
)

// guard is how authorization servers are reached. A server says where its
// authorization server is, so what it says must not lead into a private network,
// unless it is at home there itself.
type guard struct {
	server  *url.URL
	trusted string            // host and port that the operator wrote down; may be empty
	given   http.RoundTripper // instead of the next two
	public  *http.Transport
	private *http.Transport
	inside  atomic.Bool // the server is in a private network
}

func newGuard(server *url.URL, trusted string, given http.RoundTripper) *guard {
	g := &guard{server: server, given: given}
	if u, err := url.Parse(trusted); err == nil {
		g.trusted = u.Host
	}
	if given == nil {
		g.public = webclient.NewTransport(webclient.PublicOnly, webclient.Options{})
		g.private = webclient.NewTransport(webclient.Configured, webclient.Options{})
	}
	return g
}

func (g *guard) client() *http.Client {
	return &http.Client{Transport: g, Timeout: exchangeTimeout, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if via[0].Method != http.MethodGet || len(via) > maxRedirects { // a body with secrets stays where it was sent
			return http.ErrUseLastResponse
		}
		return nil // RoundTrip looks at each
	}}
}

// check says whether a URL may be used at all: https, or http on this machine if
// the server is on it too.
func (g *guard) check(u *url.URL) error {
	local := loopback(u) && (loopback(g.server) || u.Host == g.trusted)
	if u.Hostname() == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return fmt.Errorf("%s is not used for logins and tokens, which need https", origin(u))
	}
	return nil
}

// parse reads a URL that a server gave.
func (g *guard) parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("what the server gave as a URL is none")
	}
	return u, g.check(u)
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.check(r.URL); err != nil {
		return nil, err
	}
	switch {
	case g.given != nil:
		return g.given.RoundTrip(r)
	case g.inside.Load() || g.trusted != "" && r.URL.Host == g.trusted:
		return g.private.RoundTrip(r)
	}
	res, err := g.public.RoundTrip(r)
	var refused *webclient.RefusedError
	if !errors.As(err, &refused) || r.URL.Host != g.server.Host && !g.isInside(r.Context()) {
		return res, err
	}
	g.inside.Store(true)
	again := r.Clone(r.Context())
	if r.GetBody != nil {
		if again.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return g.private.RoundTrip(again)
}

// isInside finds out whether the server itself is in a private network.
func (g *guard) isInside(ctx context.Context) bool {
	port := g.server.Port()
	if port == "" {
		port = g.server.Scheme // net knows http and https by name
	}
	conn, err := g.public.DialContext(ctx, "tcp", net.JoinHostPort(g.server.Hostname(), port))
	if err == nil {
		_ = conn.Close()
	}
	var refused *webclient.RefusedError
	return errors.As(err, &refused)
}

// CloseIdleConnections is what http.Client looks for.
func (g *guard) CloseIdleConnections() {
	if g.given == nil {
		g.public.CloseIdleConnections()
		g.private.CloseIdleConnections()
	}
}

func loopback(u *url.URL) bool {
	if strings.EqualFold(u.Hostname(), "localhost") {
		return true
	}
	a, err := netip.ParseAddr(u.Hostname())
	return err == nil && a.IsLoopback()
}
