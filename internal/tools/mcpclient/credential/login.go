package credential

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"golang.org/x/oauth2"
)

const (
	loginTime    = 5 * time.Minute
	callbackPath = "/callback"
)

var errStopped = errors.New("the login was given up")

// attend lets the person log in, whatever becomes of ctx, for five minutes at most.
func (p *person) attend(ctx context.Context, ch challenge, before []string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loginTime)
	defer cancel()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return errStopped
	}
	p.cancel = cancel
	p.wg.Add(1)
	p.mu.Unlock()
	defer p.wg.Done()
	got, err := p.logIn(ctx, ch, before)
	_ = p.lock.enter(context.WithoutCancel(ctx)) // for as long as a request lasts
	defer p.lock.leave()
	if p.failed, p.failedAt = err, p.o.Now(); err != nil {
		return err
	}
	p.save(ctx, got)
	return nil
}

// logIn goes through the steps of a login.
func (p *person) logIn(ctx context.Context, ch challenge, before []string) (*grant, error) {
	found, err := p.discover(ctx, ch)
	if err != nil {
		return nil, err
	}
	if found.issuer.Authorization == "" || !slices.Contains(found.issuer.Challenges, "S256") {
		return nil, fmt.Errorf("%s: its authorization server does not say that it understands PKCE with S256, without which logins are not safe", p.subject)
	}
	port := strconv.Itoa(p.oauth.RedirectPort)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, fmt.Errorf("%s: waiting for the browser: %w", p.subject, err)
	}
	back := receive(l)
	defer back.close(ctx)
	g := grant{
		Issuer: found.issuer.Issuer, TokenURL: found.issuer.Token, Resource: found.resource.Resource,
		ID: p.oauth.ClientID, Secret: p.oauth.ClientSecret.Reveal(), Scopes: p.wanted(ch, found, before),
	}
	g.Style = style(g.Secret, found.issuer.Methods)
	if g.ID == "" {
		if err := p.register(ctx, &g, found, back.url); err != nil {
			return nil, err
		}
	}
	verifier := oauth2.GenerateVerifier()
	code, err := p.ask(ctx, &g, found, back, verifier)
	if err != nil {
		return nil, fmt.Errorf("%s: login: %w", p.subject, err)
	}
	return p.request(ctx, g, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {back.url}, "code_verifier": {verifier}})
}

// ask sends the person to the authorization server, and gives the code that comes
// back.
func (p *person) ask(ctx context.Context, g *grant, found *place, back *callback, verifier string) (string, error) {
	state := rand.Text()
	asked := oauth2.Config{
		ClientID: g.ID, RedirectURL: back.url, Scopes: g.Scopes, Endpoint: oauth2.Endpoint{AuthURL: found.issuer.Authorization},
	}
	at := asked.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", g.Resource))
	if _, err := p.guard.parse(at); err != nil {
		return "", err
	}
	back.expect(state)
	if err := p.o.Browser(ctx, at); err != nil {
		return "", err
	}
	select {
	case answer := <-back.answers:
		return answer.code(found.issuer)
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return "", errStopped
		}
		return "", fmt.Errorf("nobody logged in within %s: %w", loginTime, ctx.Err())
	}
}

// answer is what the browser brings back.
type answer url.Values

// code gives the code, if the answer is from the server that was asked (RFC 9207).
func (a answer) code(i issuer) (string, error) {
	v := url.Values(a)
	iss, named := v.Get("iss"), v.Has("iss")
	switch {
	case named && iss != i.Issuer, !named && i.NamesItself:
		return "", errors.New("the answer came from another authorization server than the one that was asked (iss), and is not used")
	case v.Get("error") != "":
		return "", fmt.Errorf("the authorization server said %s", excerpt(v.Get("error")+" "+v.Get("error_description")))
	case v.Get("code") == "":
		return "", errors.New("the authorization server gave no code")
	}
	return v.Get("code"), nil
}

// callback waits on this machine for the browser to come back.
type callback struct {
	url     string
	answers chan answer
	states  chan string // holds the state that is expected
	server  *http.Server
	ended   chan struct{}
}

func receive(l net.Listener) *callback {
	c := &callback{
		url: "http://" + l.Addr().String() + callbackPath, answers: make(chan answer, 1), states: make(chan string, 1), ended: make(chan struct{}),
	}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() {
		defer close(c.ended)
		_ = c.server.Serve(l)
	}()
	return c
}

func (c *callback) expect(state string) { c.states <- state }

// close lets a page that is being written come to its end.
func (c *callback) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = c.server.Shutdown(ctx)
	_ = c.server.Close()
	<-c.ended
}

// ServeHTTP implements http.Handler. Whatever has not the right state is not from
// the login that we wait for, and does not end it.
func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet || r.URL.Path != callbackPath {
		http.Error(w, "There is nothing here.", http.StatusNotFound)
		return
	}
	query := r.URL.Query()
	select {
	case state := <-c.states:
		if subtle.ConstantTimeCompare([]byte(state), []byte(query.Get("state"))) != 1 {
			c.states <- state
			break
		}
		c.answers <- answer(query)
		_, _ = io.WriteString(w, "Thank you. You can close this window and go back to the terminal.\n")
		return
	default:
	}
	http.Error(w, "This is not the login that is waited for. Please go back to the terminal.", http.StatusBadRequest)
}

// register makes us a client of the authorization server (RFC 7591).
func (c *client) register(ctx context.Context, g *grant, found *place, redirect string) error {
	at := found.issuer.Registration
	if at == "" {
		return fmt.Errorf("%s: its authorization server registers nobody by itself: ask its operator for a client, and set oauth: {client_id: ...}", c.subject)
	}
	body, err := json.Marshal(map[string]any{
		"client_name": "adkmcp", "application_type": "native", "redirect_uris": []string{redirect},
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": "none",
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s: registering: %w", c.subject, c.plain(err))
	}
	defer func() { _ = res.Body.Close() }()
	var client struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		Method string `json:"token_endpoint_auth_method"`
		Error  string `json:"error"`
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxMetadata))
	if err == nil {
		err = json.Unmarshal(data, &client)
	}
	if res.StatusCode/100 != 2 || err != nil || client.ID == "" {
		return fmt.Errorf("%s: its authorization server did not register us (%d %s): ask its operator for a client, and set oauth: {client_id: ...}",
			c.subject, res.StatusCode, excerpt(client.Error))
	}
	g.ID, g.Secret, g.Style = client.ID, client.Secret, style(client.Secret, found.issuer.Methods)
	if client.Method != "" {
		g.Style = style(client.Secret, []string{client.Method})
	}
	return nil
}
