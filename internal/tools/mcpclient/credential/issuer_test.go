package credential

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const clientSecret = "client-secret"

// issuing is an MCP server that wants tokens, and its authorization server, on this
// machine. What a test changes, it changes before the first request.
type issuing struct {
	t   *testing.T
	url string // of the MCP server

	metadata  func(m map[string]any) // changes what the authorization server says of itself
	resource  func(m map[string]any) // and the MCP server
	challenge string                 // more parameters of the challenge
	wellKnown string                 // the only path of the MCP server's metadata
	lifetime  int                    // seconds; 0 for tokens that last
	rotate    bool                   // refresh tokens are good for one use
	answer    func(v url.Values)     // changes what the browser brings back

	mu       sync.Mutex
	log      []string // what was asked of the authorization server
	last     url.Values
	issued   int
	good     map[string]bool // access tokens
	refresh  map[string]bool
	codes    map[string]url.Values
	clients  int
	style    string // how the client showed who it is
	tokenBad int    // a status instead of a token
}

func newIssuing(t *testing.T) *issuing {
	i := &issuing{t: t, good: map[string]bool{}, refresh: map[string]bool{}, codes: map[string]url.Values{}, wellKnown: "/.well-known/oauth-protected-resource/mcp"}
	s := httptest.NewServer(i)
	t.Cleanup(s.Close)
	i.url = s.URL + "/mcp"
	return i
}

func (i *issuing) issuer() string { return strings.TrimSuffix(i.url, "/mcp") + "/as" }

func (i *issuing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	reply := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	switch r.URL.Path {
	case "/mcp":
		i.serve(w, r)
	case i.wellKnown:
		m := map[string]any{"resource": i.url, "authorization_servers": []string{i.issuer()}, "scopes_supported": []string{"read"}}
		if i.resource != nil {
			i.resource(m)
		}
		reply(200, m)
	case "/.well-known/oauth-authorization-server/as":
		m := map[string]any{
			"issuer": i.issuer(), "authorization_endpoint": i.issuer() + "/authorize", "token_endpoint": i.issuer() + "/token",
			"registration_endpoint": i.issuer() + "/register", "code_challenge_methods_supported": []string{"S256"},
		}
		if i.metadata != nil {
			i.metadata(m)
		}
		reply(200, m)
	case "/as/register":
		i.log = append(i.log, "register")
		var m struct {
			URIs []string `json:"redirect_uris"`
			Type string   `json:"application_type"`
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		if len(m.URIs) != 1 || !strings.HasPrefix(m.URIs[0], "http://127.0.0.1:") || m.Type != "native" {
			i.t.Errorf("registered with %+v", m)
		}
		i.clients++
		reply(201, map[string]any{"client_id": fmt.Sprint("registered-", i.clients), "token_endpoint_auth_method": "none"})
	case "/as/token":
		i.token(r, reply)
	default:
		http.NotFound(w, r)
	}
}

// serve is the MCP server.
func (i *issuing) serve(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if i.good[token] {
		return
	}
	w.Header().Set("WWW-Authenticate", "Bearer realm=\"x\""+i.challenge)
	w.WriteHeader(http.StatusUnauthorized)
}

func (i *issuing) token(r *http.Request, reply func(int, any)) {
	_ = r.ParseForm()
	i.last = r.PostForm
	grantType := r.PostForm.Get("grant_type")
	i.log = append(i.log, grantType)
	id, secret, basic := r.BasicAuth()
	i.style = "none"
	switch {
	case basic:
		i.style = "basic"
	case r.PostForm.Has("client_secret"):
		i.style, id, secret = "post", r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	default:
		id = r.PostForm.Get("client_id")
	}
	deny := func(code string) {
		reply(400, map[string]any{"error": code, "error_description": "no good: " + secret + r.PostForm.Get("refresh_token") + r.PostForm.Get("code")})
	}
	if i.tokenBad != 0 {
		reply(i.tokenBad, map[string]any{})
		return
	}
	switch grantType {
	case "client_credentials":
		if id != "machine" || secret != clientSecret {
			deny("invalid_client")
			return
		}
	case "authorization_code":
		asked := i.codes[r.PostForm.Get("code")]
		delete(i.codes, r.PostForm.Get("code"))
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if asked == nil || asked.Get("client_id") != id || asked.Get("redirect_uri") != r.PostForm.Get("redirect_uri") ||
			asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || asked.Get("code_challenge_method") != "S256" {
			deny("invalid_grant")
			return
		}
	case "refresh_token":
		if !i.refresh[r.PostForm.Get("refresh_token")] {
			deny("invalid_grant")
			return
		}
		if i.rotate {
			delete(i.refresh, r.PostForm.Get("refresh_token"))
		}
	}
	i.issued++
	access := fmt.Sprint("access-", i.issued)
	i.good[access] = true
	m := map[string]any{"access_token": access, "token_type": "bearer"}
	if i.lifetime > 0 {
		m["expires_in"] = i.lifetime
	}
	if grantType == "authorization_code" || grantType == "refresh_token" && i.rotate {
		refresh := fmt.Sprint("refresh-", i.issued)
		i.refresh[refresh] = true
		m["refresh_token"] = refresh
	}
	reply(200, m)
}

// browse is a browser and somebody who agrees to everything.
func (i *issuing) browse(ctx context.Context, at string) error {
	u, err := url.Parse(at)
	if err != nil {
		return err
	}
	q := u.Query()
	i.mu.Lock()
	i.log = append(i.log, "authorize "+q.Get("scope"))
	if got := strings.TrimSuffix(at, "?"+u.RawQuery); got != i.issuer()+"/authorize" || q.Get("resource") != i.url {
		i.t.Errorf("sent to %s for %s", got, q.Get("resource"))
	}
	code := fmt.Sprint("code-", len(i.log))
	i.codes[code] = q
	i.mu.Unlock()
	v := url.Values{"code": {code}, "state": {q.Get("state")}}
	if i.answer != nil {
		i.answer(v)
	}
	for _, state := range v["state"] { // the right one last
		v.Set("state", state)
		if status, text := get(ctx, q.Get("redirect_uri")+"?"+v.Encode()); (status == 200) != (state == q.Get("state")) || strings.Contains(text, code) {
			i.t.Errorf("the browser shows %d %q", status, text)
		}
	}
	return nil
}

func get(ctx context.Context, at string) (int, string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return 0, err.Error()
	}
	t := &http.Transport{DisableKeepAlives: true}
	res, err := t.RoundTrip(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(b)
}

// revoke makes an access token worthless.
func (i *issuing) revoke(token string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.good, token)
}

func (i *issuing) seen() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return strings.Join(i.log, ", ")
}

// clock is a clock that is set by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// ring is a keyring in memory.
type ring struct {
	mu   sync.Mutex
	kept map[string]string
	err  error
}

func (r *ring) Get(service, user string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.kept[service+" "+user]
	if r.err == nil && !ok {
		return "", ErrNotFound
	}
	return s, r.err
}

func (r *ring) Set(service, user, secret string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.kept[service+" "+user] = secret
	}
	return r.err
}

func (r *ring) Delete(service, user string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.kept, service+" "+user)
	return r.err
}

// visitor is an authority and the requests that it serves.
type visitor struct {
	*Authority
	t *testing.T
	*clock
	url string
}

// visit makes the authority of a server.
func visit(t *testing.T, s *config.MCPServer, change func(*Options)) *visitor {
	t.Helper()
	v := &visitor{t: t, clock: newClock(), url: s.URL}
	s.Name = "files"
	o := Options{Lookup: func(string) (string, bool) { return "", false }, TempDir: t.TempDir(), Now: v.Now, Log: slog.New(slog.DiscardHandler), Keyring: &ring{kept: map[string]string{}}}
	if change != nil {
		change(&o)
	}
	a, err := New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	v.Authority = a
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

var errRefused = errors.New("refused")

// send sends a request as a transport does: once more if the authority says so. It
// gives what the server got with the last try.
func (v *visitor) send() (http.Header, error) {
	for again := true; ; again = false {
		h, err := v.Headers(v.t.Context())
		if err != nil {
			return nil, err
		}
		req, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.url, strings.NewReader("{}"))
		if err != nil {
			return nil, err
		}
		req.Header = h
		res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			return nil, err
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden {
			return h, nil
		}
		if !again {
			return h, errRefused
		}
		better, err := v.Challenged(v.t.Context(), res)
		if err != nil {
			return h, err
		}
		if !better {
			return h, errRefused
		}
	}
}

// want sends a request, which must carry a token and be served.
func (v *visitor) want(token string) {
	v.t.Helper()
	h, err := v.send()
	if got := h.Get("Authorization"); err != nil || got != "Bearer "+token {
		v.t.Errorf("sent %q, %v; want %s", got, err, token)
	}
}

// fails checks an error, which holds nothing secret.
func fails(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got %q, want %q in it", err, part)
		}
	}
	for _, secret := range []string{clientSecret, "access-", "refresh-", "code-", "/mcp", "hidden"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%q holds %q", err, secret)
		}
	}
}
