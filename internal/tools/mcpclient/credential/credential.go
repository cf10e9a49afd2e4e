// Package credential gives the headers that prove to an MCP server who is asking:
// fixed ones, ones that a command or a file gives, and tokens of OAuth.
//
// Start with [New]. changing.go holds commands and files. For OAuth, discovery.go
// finds the authorization server, token.go asks it for tokens, machine.go does so
// as a client of its own, person.go and login.go for a person with a browser, and
// store.go keeps what a login gave. The grants are those of golang.org/x/oauth2;
// mcp-go's handler is not used because it checks neither the issuer of a response
// nor that PKCE is understood, reads without bound, and quotes what a server sent
// in its errors.
package credential

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
)

// Options are what [New] needs beside the configuration. Lookup, Now and Log are
// required.
type Options struct {
	// Lookup gives the variables of the agent file's environment.
	Lookup func(name string) (string, bool)
	// RoundTripper carries what is asked of authorization servers; nil is a guarded
	// one of our own.
	RoundTripper http.RoundTripper
	// Interactive says that somebody is there who can log in, with Browser.
	Interactive bool
	// Browser opens an address for the person, or shows it; it doesn't wait.
	Browser func(ctx context.Context, url string) error
	// Keyring keeps tokens of logins; nil is the system's.
	Keyring Keyring
	TempDir string // where private folders are made; empty is the system's own place
	Now     func() time.Time
	Log     *slog.Logger
}

// source is one place that credentials come from.
type source interface {
	// headers gives those that are good now; nil for none yet.
	headers(ctx context.Context) (http.Header, error)
	// refused hears of a 401 or 403, and reports whether there are better ones now.
	refused(ctx context.Context, res *http.Response) (better bool, err error)
}

// Authority implements [wire.Authority] for one server.
type Authority struct {
	server  *config.MCPServer
	fixed   http.Header
	sources []source
	person  *person // one of sources, or nil
	client  *client // of OAuth, or nil
}

var _ wire.Authority = (*Authority)(nil)

// New makes the authority for a server with a URL. Nothing is asked of anybody yet.
// Its owner closes it.
func New(s *config.MCPServer, o Options) (*Authority, error) {
	a := &Authority{server: s, fixed: http.Header{}}
	for name, value := range s.Headers {
		if !validHeader(name, value.Reveal()) {
			return nil, fmt.Errorf("%s: the header %q cannot be sent: its name or value holds a character that no header may have", subject(s), name)
		}
		a.fixed.Set(name, value.Reveal())
	}
	if h := s.HeadersFrom; h != nil && len(h.Command) > 0 {
		a.sources = append(a.sources, newCommand(s, o))
	} else if h != nil {
		a.sources = append(a.sources, &file{path: h.File, subject: subject(s)})
	}
	if s.OAuth == nil {
		return a, nil
	}
	c, err := newClient(s, o)
	if err != nil {
		return nil, err
	}
	a.client = c
	if s.OAuth.Grant == "client_credentials" {
		a.sources = append(a.sources, &machine{client: c, lock: newLock()})
		return a, nil
	}
	a.person = newPerson(c)
	a.sources = append(a.sources, a.person)
	return a, nil
}

// subject names a server in errors: its name and origin.
func subject(s *config.MCPServer) string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return fmt.Sprintf("MCP server %q", s.Name)
	}
	return fmt.Sprintf("MCP server %q (%s)", s.Name, origin(u))
}

// Headers implements [wire.Authority].
func (a *Authority) Headers(ctx context.Context) (http.Header, error) {
	h := a.fixed.Clone()
	for _, s := range a.sources {
		more, err := s.headers(ctx)
		if err != nil {
			return nil, err
		}
		maps.Copy(h, more)
	}
	return h, nil
}

// Challenged implements [wire.Authority]. Where somebody can log in it waits for
// that until ctx ends; the login itself goes on for as long as it may take, and
// serves later requests.
func (a *Authority) Challenged(ctx context.Context, res *http.Response) (bool, error) {
	better := false
	for _, s := range a.sources {
		again, err := s.refused(ctx, res)
		if err != nil {
			return false, err
		}
		better = better || again
	}
	if len(a.sources) == 0 && len(a.fixed) == 0 && res.StatusCode == http.StatusUnauthorized {
		return false, errors.New(subject(a.server) + " wants to know who is asking (401): give it headers, headers_from or oauth in the agent file")
	}
	return better, nil
}

// Close ends a login that is under way, and gives up idle connections.
func (a *Authority) Close() error {
	if a.person != nil {
		a.person.close()
	}
	if a.client != nil {
		a.client.http.CloseIdleConnections()
	}
	return nil
}

// carried reports whether the request that was refused carried these headers,
// rather than older ones.
func carried(res *http.Response, h http.Header) bool {
	if res.Request == nil {
		return true
	}
	for name, values := range h {
		if !slices.Equal(res.Request.Header.Values(name), values) {
			return false
		}
	}
	return true
}

// lock is a mutex that is waited for no longer than a context lasts.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

// enter waits for the lock; whoever gets it leaves.
func (l lock) enter(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l lock) leave() { <-l }

// origin gives scheme, host and port, which is all of a URL that messages say.
func origin(u *url.URL) string { return strings.ToLower(u.Scheme + "://" + u.Host) }
