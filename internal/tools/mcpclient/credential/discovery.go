package credential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const maxMetadata = 1 << 20 // bytes of a metadata document

// errNoMetadata: there is no such document.
var errNoMetadata = errors.New("there is no metadata")

// resource is the metadata of a protected resource (RFC 9728).
type resource struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// issuer is the metadata of an authorization server (RFC 8414).
type issuer struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Registration  string   `json:"registration_endpoint"`
	Scopes        []string `json:"scopes_supported"`
	Methods       []string `json:"token_endpoint_auth_methods_supported"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	NamesItself   bool     `json:"authorization_response_iss_parameter_supported"` // RFC 9207
}

// place is where tokens for the server come from.
type place struct {
	resource resource
	issuer   issuer
}

// discover asks the server who gives tokens for it, and that one how.
func (c *client) discover(ctx context.Context, ch challenge) (*place, error) {
	r, err := c.describe(ctx, ch)
	if err != nil {
		return nil, fmt.Errorf("%s: finding its authorization server: %w", c.subject, c.plain(err))
	}
	i, err := c.issuer(ctx, r.Servers[0])
	if err != nil {
		return nil, fmt.Errorf("%s: asking its authorization server: %w", c.subject, c.plain(err))
	}
	return &place{*r, *i}, nil
}

// describe reads the server's metadata: from where it said, or from the well-known
// places. Up to 2025-03-26 there is none, and the server gives tokens itself.
func (c *client) describe(ctx context.Context, ch challenge) (*resource, error) {
	root := url.URL{Scheme: c.url.Scheme, Host: c.url.Host}
	candidates := []string{wellKnown(c.url, "oauth-protected-resource"), wellKnown(&root, "oauth-protected-resource")}
	if ch.metadata != "" {
		u, err := c.url.Parse(ch.metadata)
		if err != nil || origin(u) != origin(c.url) {
			return nil, errors.New("the server says that another server describes it, which is not asked")
		}
		candidates = []string{u.String()}
	}
	for _, at := range slices.Compact(candidates) {
		var r resource
		err := c.fetch(ctx, at, &r)
		if errors.Is(err, errNoMetadata) && ch.metadata == "" {
			continue
		}
		if err != nil {
			return nil, err
		}
		if r.Resource == "" {
			r.Resource = c.resource
		}
		if !covers(r.Resource, c.url) {
			return nil, errors.New("the metadata is that of another server, so tokens would be good for that one")
		}
		if len(r.Servers) == 0 {
			r.Servers = []string{root.String()}
		}
		return &r, nil
	}
	return &resource{Resource: c.resource, Servers: []string{root.String()}}, nil
}

// covers reports whether a resource's name is the server's URL or a folder that it
// lies in, so that a server cannot ask for another's tokens (RFC 9728 section 3.3).
func covers(name string, server *url.URL) bool {
	u, err := url.Parse(name)
	if err != nil || origin(u) != origin(server) || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return false
	}
	folder, path := strings.TrimSuffix(u.EscapedPath(), "/"), strings.TrimSuffix(server.EscapedPath(), "/")
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// issuer reads the metadata of an authorization server, which has to be its own.
func (c *client) issuer(ctx context.Context, name string) (*issuer, error) {
	u, err := c.guard.parse(name)
	if err != nil {
		return nil, err
	}
	candidates := []string{wellKnown(u, "oauth-authorization-server"), wellKnown(u, "openid-configuration")}
	if strings.Trim(u.Path, "/") != "" {
		candidates = append(candidates, strings.TrimSuffix(u.String(), "/")+"/.well-known/openid-configuration")
	}
	for _, at := range candidates {
		var i issuer
		if err := c.fetch(ctx, at, &i); err != nil {
			if errors.Is(err, errNoMetadata) {
				continue
			}
			return nil, err
		}
		if strings.TrimSuffix(i.Issuer, "/") != strings.TrimSuffix(name, "/") {
			return nil, fmt.Errorf("%s says that it is %q, which is another one (RFC 8414 section 3.3)", origin(u), excerpt(i.Issuer))
		}
		for _, endpoint := range []string{i.Authorization, i.Token, i.Registration} {
			if _, err := c.guard.parse(endpoint); endpoint != "" && err != nil {
				return nil, err
			}
		}
		if i.Token == "" {
			return nil, fmt.Errorf("%s does not say where tokens come from", origin(u))
		}
		return &i, nil
	}
	return nil, fmt.Errorf("%s: %w", origin(u), errNoMetadata)
}

// wellKnown puts the well-known path between the host and the path of a URL.
func wellKnown(u *url.URL, name string) string {
	return u.Scheme + "://" + u.Host + "/.well-known/" + name + strings.TrimSuffix(u.EscapedPath(), "/")
}

// fetch reads a JSON document.
func (c *client) fetch(ctx context.Context, at string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %w (it answered %d)", origin(req.URL), errNoMetadata, res.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxMetadata+1))
	switch {
	case err != nil:
		return err
	case len(data) > maxMetadata:
		return fmt.Errorf("%s: the metadata has more than %d bytes", origin(req.URL), maxMetadata)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: the metadata cannot be read as JSON", origin(req.URL))
	}
	return nil
}
