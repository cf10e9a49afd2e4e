package credential

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/zalando/go-keyring"
)

// service is our name in the system's keyring.
const service = "adkmcp"

// ErrNotFound is what a [Keyring] gives for what it doesn't hold.
var ErrNotFound = keyring.ErrNotFound

// Keyring keeps secrets, by service and user.
type Keyring interface {
	// Get gives a secret, or [ErrNotFound].
	Get(service, user string) (string, error)
	Set(service, user, secret string) error
	Delete(service, user string) error
}

// system is the keyring of the operating system.
type system struct{}

// Get implements [Keyring].
func (system) Get(service, user string) (string, error) { return keyring.Get(service, user) }

// Set implements [Keyring].
func (system) Set(service, user, secret string) error { return keyring.Set(service, user, secret) }

// Delete implements [Keyring].
func (system) Delete(service, user string) error { return keyring.Delete(service, user) }

// load reads what an earlier login for the server gave, nil if there is nothing of
// use. A keyring that cannot be read is as good as an empty one.
func (p *person) load(ctx context.Context) *grant {
	if p.ring == nil {
		return nil
	}
	text, err := p.ring.Get(service, p.resource)
	if err != nil {
		if !errors.Is(err, ErrNotFound) {
			p.o.Log.WarnContext(ctx, "the system's keyring cannot be read; logins are kept in memory", "server", p.subject, "error", err)
			p.ring = nil
		}
		return nil
	}
	var g grant
	if json.Unmarshal([]byte(text), &g) != nil {
		return nil
	}
	if id := p.oauth.ClientID; id != "" {
		if g.ID != id {
			return nil // of another client
		}
		g.Secret = p.oauth.ClientSecret.Reveal()
	}
	if _, err := p.guard.parse(g.TokenURL); err != nil || !covers(g.Resource, p.url) {
		return nil
	}
	return &g
}

// save keeps a grant for later; nil forgets it.
func (p *person) save(ctx context.Context, g *grant) {
	p.grant = g
	if p.ring == nil {
		return
	}
	var err error
	if g == nil {
		err = p.ring.Delete(service, p.resource)
	} else {
		kept := *g
		if p.oauth.ClientID != "" {
			kept.Secret = "" // it stands in the agent file
		}
		var text []byte
		if text, err = json.Marshal(kept); err == nil { //nolint:gosec // it goes to where secrets are kept
			err = p.ring.Set(service, p.resource, string(text))
		}
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		p.o.Log.WarnContext(ctx, "a login cannot be kept in the system's keyring; it lasts as long as this process", "server", p.subject, "error", err)
	}
}
