package credential

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"
)

// machine gets tokens as a client of its own, with the client-credentials grant.
// Without a token_url the server says where they come from when it refuses the
// first request.
type machine struct {
	*client
	lock  lock
	grant *grant // nil before there is one
}

func (m *machine) headers(ctx context.Context) (http.Header, error) {
	if err := m.lock.enter(ctx); err != nil {
		return nil, err
	}
	defer m.lock.leave()
	switch {
	case m.grant.fresh(m.o.Now()):
	case m.grant != nil:
		h, err := m.renew(ctx, *m.grant)
		if err != nil && m.oauth.TokenURL == "" {
			m.grant = nil // tokens may come from elsewhere now
		}
		return h, err
	case m.oauth.TokenURL != "":
		return m.renew(ctx, m.start(m.oauth.TokenURL, oauth2.AuthStyleAutoDetect, m.resource))
	}
	return m.grant.header(), nil
}

func (m *machine) start(tokenURL string, style oauth2.AuthStyle, resource string) grant {
	return grant{
		TokenURL: tokenURL, Resource: resource, Style: style,
		ID: m.oauth.ClientID, Secret: m.oauth.ClientSecret.Reveal(), Scopes: m.oauth.Scopes,
	}
}

// renew gets a new token in the place of g's.
func (m *machine) renew(ctx context.Context, g grant) (http.Header, error) {
	params := url.Values{}
	if len(g.Scopes) > 0 {
		params.Set("scope", strings.Join(g.Scopes, " "))
	}
	got, err := m.request(ctx, g, params)
	if err != nil {
		return nil, err
	}
	m.grant = got
	return got.header(), nil
}

func (m *machine) refused(ctx context.Context, res *http.Response) (bool, error) {
	if err := m.lock.enter(ctx); err != nil {
		return false, err
	}
	defer m.lock.leave()
	if m.grant != nil && !carried(res, m.grant.header()) {
		return true, nil // somebody else has got a new one meanwhile
	}
	ch := challengeOf(res)
	next := m.grant
	switch {
	case res.StatusCode == http.StatusForbidden:
		wider := union(scopesOf(m.grant), ch.scopes)
		if m.grant == nil || ch.failure != insufficientScope || len(m.oauth.Scopes) > 0 || len(wider) == len(m.grant.Scopes) {
			return false, nil
		}
		g := *m.grant
		g.Scopes = wider
		next = &g
	case m.oauth.TokenURL == "":
		p, err := m.discover(ctx, ch)
		if err != nil {
			return false, err
		}
		g := m.start(p.issuer.Token, style(m.oauth.ClientSecret.Reveal(), p.issuer.Methods), p.resource.Resource)
		g.Scopes = m.scopes(ch, &p.resource)
		next = &g
	case next == nil:
		return false, nil
	}
	_, err := m.renew(ctx, *next)
	return err == nil, err
}

// insufficientScope is the error of a challenge that wants more scopes (RFC 6750
// section 3.1).
const insufficientScope = "insufficient_scope"

func scopesOf(g *grant) []string {
	if g == nil {
		return nil
	}
	return g.Scopes
}
