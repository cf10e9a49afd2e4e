package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/adkmcp/adkmcp/internal/config"
)

const (
	// A token is given up a little before it expires.
	expiryMargin = time.Minute
	maxExcerpt   = 200 // bytes that an error quotes of what a server sent
)

// client talks to the authorization server of one MCP server.
type client struct {
	subject string
	oauth   *config.OAuth
	o       Options
	url     *url.URL
	file    string // the agent file
	// resource names the server to the authorization server (RFC 8707), unless its
	// metadata has another name.
	resource string
	guard    *guard
	http     *http.Client
}

func newClient(s *config.MCPServer, o Options) (*client, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("%s: the url is not valid", subject(s))
	}
	u = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath} // a query may hold secrets
	c := &client{subject: subject(s), oauth: s.OAuth, o: o, url: u, file: s.Pos.File, guard: newGuard(u, s.OAuth.TokenURL, o.RoundTripper)}
	c.resource = u.String()
	if u.Path == "/" {
		c.resource = strings.TrimSuffix(c.resource, "/")
	}
	c.http = c.guard.client()
	return c, nil
}

// grant is a token and what is needed to get the next one. It is what a [Keyring]
// keeps.
type grant struct {
	Issuer   string `json:"issuer"`
	TokenURL string `json:"token_url"`
	Resource string `json:"resource"`
	// ID and Secret are the client's, with how it shows them.
	ID     string           `json:"client_id"`
	Secret string           `json:"client_secret,omitempty"`
	Style  oauth2.AuthStyle `json:"auth_style,omitempty"`

	Access  string    `json:"access_token,omitempty"`
	Refresh string    `json:"refresh_token,omitempty"`
	Scopes  []string  `json:"scopes,omitempty"` // that were asked for
	Issued  time.Time `json:"issued"`
	Expiry  time.Time `json:"expiry"` // zero for a token that lasts
}

// header is the credential; nil without one.
func (g *grant) header() http.Header {
	if g == nil || g.Access == "" {
		return nil
	}
	return http.Header{"Authorization": {"Bearer " + g.Access}}
}

// fresh reports whether the token is good for a while.
func (g *grant) fresh(now time.Time) bool {
	if g == nil || g.Access == "" {
		return false
	}
	margin := min(expiryMargin, g.Expiry.Sub(g.Issued)/10)
	return g.Expiry.IsZero() || now.Before(g.Expiry.Add(-margin))
}

// deniedError is the refusal of an authorization server.
type deniedError struct{ text string }

func (e *deniedError) Error() string { return e.text }

// request asks for a token, by the grant that params name, and gives the grant with
// it.
func (c *client) request(ctx context.Context, g grant, params url.Values) (*grant, error) {
	params.Set("resource", g.Resource)
	asked := clientcredentials.Config{
		ClientID: g.ID, ClientSecret: g.Secret, TokenURL: g.TokenURL, AuthStyle: g.Style, EndpointParams: params,
	}
	began := time.Now()
	t, err := asked.Token(context.WithValue(ctx, oauth2.HTTPClient, c.http))
	if err != nil {
		err = c.plain(err, g.Secret, g.Refresh, params.Get("code"), params.Get("code_verifier"))
		return nil, fmt.Errorf("%s: getting a token: %w", c.subject, err)
	}
	switch {
	case t.TokenType != "" && !strings.EqualFold(t.TokenType, "bearer"):
		return nil, fmt.Errorf("%s: getting a token: it is of the type %q, not a bearer token", c.subject, excerpt(t.TokenType))
	case !httpguts.ValidHeaderFieldValue(t.AccessToken):
		return nil, fmt.Errorf("%s: getting a token: it cannot stand in a header", c.subject)
	}
	g.Access, g.Issued, g.Expiry = t.AccessToken, c.o.Now(), time.Time{}
	if !t.Expiry.IsZero() {
		g.Expiry = g.Issued.Add(t.Expiry.Sub(began))
	}
	if t.RefreshToken != "" {
		g.Refresh = t.RefreshToken
	}
	return &g, nil
}

// style is how a client shows who it is: by the methods that the authorization
// server takes, of which the first here is meant where it names none.
func style(secret string, methods []string) oauth2.AuthStyle {
	switch {
	case secret == "":
		return oauth2.AuthStyleInParams
	case len(methods) == 0 || slices.Contains(methods, "client_secret_basic"):
		return oauth2.AuthStyleInHeader
	case slices.Contains(methods, "client_secret_post"):
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleAutoDetect
}

// scopes are those to ask for: the configured ones, else what the server wants.
func (c *client) scopes(ch challenge, r *resource) []string {
	switch {
	case len(c.oauth.Scopes) > 0:
		return c.oauth.Scopes
	case len(ch.scopes) > 0:
		return ch.scopes
	case r != nil:
		return r.Scopes
	}
	return nil
}

// union adds to a list what it lacks.
func union(list, more []string) []string {
	list = slices.Clone(list)
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// plain makes an error fit to be read: without URLs, bodies and secrets.
func (c *client) plain(err error, secrets ...string) error {
	var denied *oauth2.RetrieveError
	if errors.As(err, &denied) {
		text := fmt.Sprintf("the authorization server refused (%d", denied.Response.StatusCode)
		if denied.ErrorCode != "" {
			text += ", " + denied.ErrorCode
		}
		text += ")"
		if denied.ErrorDescription != "" {
			text += ": " + denied.ErrorDescription
		}
		for _, s := range secrets {
			if s != "" {
				text = strings.ReplaceAll(text, s, "[redacted]")
			}
		}
		return &deniedError{excerpt(text)}
	}
	var sent *url.Error
	if errors.As(err, &sent) {
		u, bad := url.Parse(sent.URL)
		if bad != nil {
			return sent.Err
		}
		return fmt.Errorf("%s: %w", origin(u), sent.Err)
	}
	return err
}

// excerpt keeps what a server sent from filling a message or leaving its line.
func excerpt(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, ""), func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if len(s) > maxExcerpt {
		s = strings.ToValidUTF8(s[:maxExcerpt], "") + "…"
	}
	return s
}
