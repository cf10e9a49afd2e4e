package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// refreshAfter is how old a token must be for a new one to make a difference when
// it is refused.
const refreshAfter = time.Minute

// askAgain is how long after a failed login nobody is bothered with the next one.
const askAgain = time.Minute

// person gets tokens for somebody who logs in with a browser, with the
// authorization-code grant. A refresh token gives the next ones without anybody.
type person struct {
	*client
	login singleflight.Group
	wg    sync.WaitGroup // logins

	mu     sync.Mutex
	closed bool
	cancel func() // ends a login

	lock     lock    // for what follows
	ring     Keyring // nil for logins that are kept in memory
	loaded   bool
	grant    *grant // nil without a login
	failed   error  // of the last login
	failedAt time.Time
}

func newPerson(c *client) *person {
	p := &person{client: c, lock: newLock()}
	if c.oauth.Store == "keyring" {
		p.ring = c.o.Keyring
		if p.ring == nil {
			p.ring = system{}
		}
	}
	return p
}

func (p *person) close() {
	p.mu.Lock()
	p.closed = true
	if p.cancel != nil {
		p.cancel()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *person) headers(ctx context.Context) (http.Header, error) {
	if err := p.lock.enter(ctx); err != nil {
		return nil, err
	}
	defer p.lock.leave()
	if !p.loaded {
		p.grant, p.loaded = p.load(ctx), true
	}
	if p.grant != nil && !p.grant.fresh(p.o.Now()) {
		if err := p.renew(ctx); err != nil {
			return nil, err
		}
	}
	return p.grant.header(), nil
}

// renew uses the refresh token. If that is not good any more, there is no login
// from now on. A refresh token may be good for one use, and another process may
// have used it, and kept what it got.
func (p *person) renew(ctx context.Context) error {
	if kept := p.load(ctx); kept != nil && kept.Issued.After(p.grant.Issued) {
		if p.grant = kept; kept.fresh(p.o.Now()) {
			return nil
		}
	}
	if p.grant.Refresh == "" {
		p.save(ctx, nil)
		return nil
	}
	g, err := p.request(ctx, *p.grant, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {p.grant.Refresh}})
	var denied *deniedError
	switch {
	case errors.As(err, &denied):
		p.o.Log.InfoContext(ctx, "a login has ended", "server", p.subject, "error", err)
		p.save(ctx, nil)
		return nil
	case err != nil:
		return err
	}
	p.save(ctx, g)
	return nil
}

func (p *person) refused(ctx context.Context, res *http.Response) (bool, error) {
	ch := challengeOf(res)
	if res.StatusCode == http.StatusForbidden && ch.failure != insufficientScope {
		return false, nil
	}
	better, before, err := p.improve(ctx, res)
	if better || err != nil {
		return better, err
	}
	if !p.o.Interactive || p.o.Browser == nil {
		return false, p.loginNeeded(ch)
	}
	done := p.login.DoChan("", func() (any, error) { return nil, p.attend(ctx, ch, before) })
	select {
	case r := <-done:
		return r.Err == nil, r.Err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// improve looks for a better token without anybody, and otherwise gives the scopes
// that the refused one had.
func (p *person) improve(ctx context.Context, res *http.Response) (better bool, scopes []string, err error) {
	if err := p.lock.enter(ctx); err != nil {
		return false, nil, err
	}
	defer p.lock.leave()
	if p.failed != nil && p.o.Now().Sub(p.failedAt) < askAgain {
		return false, nil, p.failed
	}
	if p.grant == nil {
		p.grant = p.load(ctx) // somebody may have logged in meanwhile
		return p.grant != nil, nil, nil
	}
	if !carried(res, p.grant.header()) {
		return true, nil, nil // somebody else has got a new one meanwhile
	}
	scopes = p.grant.Scopes
	if res.StatusCode == http.StatusForbidden {
		return false, scopes, nil
	}
	if p.grant.Refresh == "" || p.o.Now().Sub(p.grant.Issued) < refreshAfter {
		p.save(ctx, nil)
		return false, scopes, nil
	}
	err = p.renew(ctx)
	return err == nil && p.grant != nil, scopes, err
}

// loginNeeded says what somebody has to do.
func (p *person) loginNeeded(ch challenge) error {
	file := p.file
	if file == "" {
		file = "FILE"
	}
	what := "needs a login"
	if ch.failure == insufficientScope {
		what = fmt.Sprintf("needs a login with more rights (%s)", excerpt(fmt.Sprint(ch.scopes)))
	}
	if p.oauth.Store != "keyring" {
		return fmt.Errorf("%s %s, and nobody can log in here: set oauth: {store: keyring} and run \"adkmcp tools list %s\" "+
			"in a terminal on this machine, or use headers or headers_from instead of oauth", p.subject, what, file)
	}
	return fmt.Errorf("%s %s, and nobody can log in here: run \"adkmcp tools list %s\" in a terminal on this machine, "+
		"as the same user (the login is kept in the system's keyring), or use headers or headers_from instead of oauth", p.subject, what, file)
}

// wanted are the scopes to ask for at a login.
func (p *person) wanted(ch challenge, found *place, before []string) []string {
	scopes := p.scopes(ch, &found.resource)
	if ch.failure == insufficientScope {
		scopes = union(union(before, scopes), ch.scopes)
	}
	if slices.Contains(found.issuer.Scopes, offline) && len(scopes) > 0 {
		scopes = union(scopes, []string{offline})
	}
	return scopes
}

// offline is the scope that some servers want for a refresh token.
const offline = "offline_access"
