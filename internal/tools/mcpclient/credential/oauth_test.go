package credential

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/config"
)

func asMachine(i *issuing, change func(*config.OAuth)) *config.MCPServer {
	o := &config.OAuth{Grant: "client_credentials", ClientID: "machine", ClientSecret: config.NewSecret(clientSecret), Store: "keyring"}
	if change != nil {
		change(o)
	}
	return &config.MCPServer{URL: i.url, OAuth: o}
}

func TestMachine(t *testing.T) {
	i := newIssuing(t)
	i.lifetime = 3600
	v := visit(t, asMachine(i, nil), nil)
	v.want("access-1")
	if want := (url.Values{"grant_type": {"client_credentials"}, "resource": {i.url}, "scope": {"read"}}); !cmp.Equal(want, i.last) || i.style != "basic" {
		t.Errorf("asked by %s with %v", i.style, i.last)
	}
	v.want("access-1")
	v.pass(58 * time.Minute)
	v.want("access-1")
	v.pass(61 * time.Second) // shortly before it expires
	v.want("access-2")
	i.revoke("access-2")
	v.want("access-3")
	var wg sync.WaitGroup
	i.revoke("access-3")
	for range 10 {
		wg.Go(func() { v.want("access-4") })
	}
	wg.Wait()
	if got := i.seen(); strings.Count(got, "client_credentials") != 4 {
		t.Errorf("asked for %s", got)
	}
}

func TestMachineTokenURL(t *testing.T) {
	i := newIssuing(t)
	v := visit(t, asMachine(i, func(o *config.OAuth) { o.TokenURL, o.Scopes = i.issuer()+"/token", []string{"a", "b"} }), nil)
	h, err := v.Headers(t.Context()) // before anything was refused
	if err != nil || h.Get("Authorization") != "Bearer access-1" || i.last.Get("scope") != "a b" || i.last.Get("resource") != i.url {
		t.Errorf("%v, %v, %v", h, err, i.last)
	}
	i.revoke("access-1")
	v.want("access-2")
}

func TestMachineFails(t *testing.T) {
	for name, tt := range map[string]struct {
		server func(*issuing)
		oauth  func(*config.OAuth)
		want   string
	}{
		"wrong secret": {nil, func(o *config.OAuth) { o.ClientID = "x" }, "refused (400, invalid_client): no good: [redacted]"},
		"server error": {func(i *issuing) { i.tokenBad = 500 }, nil, "refused (500)"},
		"of another":   {func(i *issuing) { i.resource = func(m map[string]any) { m["resource"] = "https://victim.example/mcp" } }, nil, "another server"},
		"beside it":    {func(i *issuing) { i.resource = func(m map[string]any) { m["resource"] = i.url + "-x" } }, nil, "another server"},
		"wrong issuer": {func(i *issuing) { i.metadata = func(m map[string]any) { m["issuer"] = "https://other.example" } }, nil, "another one"},
		"issuer by http": {func(i *issuing) {
			i.resource = func(m map[string]any) { m["authorization_servers"] = []string{"http://192.0.2.1/hidden"} }
		}, nil, "need https"},
		"issuer a file": {func(i *issuing) {
			i.resource = func(m map[string]any) { m["authorization_servers"] = []string{"file:///hidden"} }
		}, nil, "need https"},
		"token by http": {func(i *issuing) {
			i.metadata = func(m map[string]any) { m["token_endpoint"] = "http://192.0.2.1/hidden" }
		}, nil, "need https"},
		"no token": {func(i *issuing) { i.metadata = func(m map[string]any) { delete(m, "token_endpoint") } }, nil, "where tokens come from"},
		"metadata": {func(i *issuing) {
			i.resource = func(m map[string]any) { m["authorization_servers"] = []string{"https://169.254.169.254/"} }
		}, nil, "169.254.169.254"},
		"no issuer": {func(i *issuing) {
			i.resource = func(m map[string]any) { m["authorization_servers"] = []string{i.issuer() + "/hidden"} }
		}, nil, "no metadata"},
		"described by":     {func(i *issuing) { i.challenge = `, resource_metadata="https://evil.example/hidden"` }, nil, "another server describes it"},
		"described by 404": {func(i *issuing) { i.challenge = `, resource_metadata="/hidden"` }, nil, "no metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuing(t)
			if tt.server != nil {
				tt.server(i)
			}
			_, err := visit(t, asMachine(i, tt.oauth), nil).send()
			fails(t, err, tt.want)
		})
	}
}

func TestDiscovery(t *testing.T) {
	for name, change := range map[string]func(*issuing){
		"at the root": func(i *issuing) { i.wellKnown = "/.well-known/oauth-protected-resource" },
		"where it says": func(i *issuing) {
			i.wellKnown = "/meta"
			i.challenge = `, Resource_Metadata="` + strings.TrimSuffix(i.url, "/mcp") + `/meta"`
		},
		"a folder above it": func(i *issuing) {
			i.resource = func(m map[string]any) { m["resource"] = strings.TrimSuffix(i.url, "/mcp") + "/" }
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuing(t)
			change(i)
			visit(t, asMachine(i, nil), nil).want("access-1")
		})
	}
	t.Run("secret in the body", func(t *testing.T) {
		i := newIssuing(t)
		i.metadata = func(m map[string]any) { m["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"} }
		visit(t, asMachine(i, nil), nil).want("access-1")
		if i.style != "post" {
			t.Errorf("showed it by %s", i.style)
		}
	})
}

func asPerson(i *issuing, change func(*config.OAuth)) *config.MCPServer {
	o := &config.OAuth{Grant: "authorization_code", Store: "keyring"}
	if change != nil {
		change(o)
	}
	return &config.MCPServer{URL: i.url, OAuth: o, Pos: config.Position{File: "agent.yaml"}}
}

func interactive(i *issuing, r *ring) func(*Options) {
	return func(o *Options) {
		o.Interactive, o.Browser = true, i.browse
		if r != nil {
			o.Keyring = r
		}
	}
}

func TestPerson(t *testing.T) {
	i := newIssuing(t)
	i.lifetime, i.rotate, i.challenge = 3600, true, `, scope="read write"`
	r := &ring{kept: map[string]string{}}
	v := visit(t, asPerson(i, nil), interactive(i, r))
	v.want("access-1")
	v.want("access-1")
	v.pass(time.Hour)
	v.want("access-2")
	if i.last.Get("resource") != i.url || i.last.Get("client_id") != "registered-1" || i.last.Get("refresh_token") != "refresh-1" {
		t.Errorf("refreshed with %v", i.last)
	}

	// Another process, where nobody is, uses what was kept, and finds what the
	// first has got since.
	other := visit(t, asPerson(i, nil), func(o *Options) { o.Keyring = r })
	other.clock = v.clock
	other.person.o.Now = v.Now
	other.want("access-2")
	v.pass(time.Hour)
	v.want("access-3")
	other.want("access-3")
	v.pass(2 * time.Minute)
	i.revoke("access-3")
	other.want("access-4")
	v.want("access-4")
	if got, want := i.seen(), "register, authorize read write, authorization_code, refresh_token, refresh_token, refresh_token"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	i.mu.Lock()
	clear(i.good)
	clear(i.refresh)
	i.mu.Unlock()
	v.pass(2 * time.Hour)
	_, err := other.send()
	fails(t, err, `"files"`, "needs a login", `run "adkmcp tools list agent.yaml"`, "headers_from instead of oauth")
	if len(r.kept) != 0 {
		t.Error("the keyring still holds a login that is over")
	}
	v.want("access-5") // by another login
}

func TestPersonInMemory(t *testing.T) {
	i := newIssuing(t)
	r := &ring{kept: map[string]string{}}
	v := visit(t, asPerson(i, func(o *config.OAuth) { o.Store, o.ClientID, o.Scopes = "memory", "mine", []string{"a"} }), interactive(i, r))
	v.want("access-1")
	if got := i.seen(); got != "authorize a, authorization_code" || len(r.kept) != 0 || i.style != "none" {
		t.Errorf("got %s, by %s, kept %v", got, i.style, r.kept)
	}
	i.revoke("access-1") // right after it was given: a refresh would not help
	v.want("access-2")
	if got := i.seen(); got != "authorize a, authorization_code, authorize a, authorization_code" {
		t.Errorf("got %s", got)
	}
	headless := visit(t, asPerson(i, func(o *config.OAuth) { o.Store = "memory" }), nil)
	_, err := headless.send()
	fails(t, err, "store: keyring", "headers_from")
}

func TestKeyring(t *testing.T) {
	t.Run("broken", func(t *testing.T) {
		i := newIssuing(t)
		r := &ring{kept: map[string]string{}, err: errors.New("no keyring")}
		v := visit(t, asPerson(i, nil), interactive(i, r))
		v.want("access-1")
		v.want("access-1")
	})
	t.Run("secret of the file", func(t *testing.T) {
		i := newIssuing(t)
		r := &ring{kept: map[string]string{}}
		mine := func(o *config.OAuth) { o.ClientID, o.ClientSecret = "mine", config.NewSecret(clientSecret) }
		visit(t, asPerson(i, mine), interactive(i, r)).want("access-1")
		for user, text := range r.kept {
			if user != "adkmcp "+i.url || strings.Contains(text, clientSecret) || !strings.Contains(text, "refresh-1") {
				t.Errorf("kept %s: %s", user, text)
			}
		}
		visit(t, asPerson(i, mine), func(o *Options) { o.Keyring = r }).want("access-1")
		_, err := visit(t, asPerson(i, func(o *config.OAuth) { o.ClientID = "other" }), func(o *Options) { o.Keyring = r }).send()
		fails(t, err, "needs a login") // as another client
	})
	t.Run("of another server", func(t *testing.T) {
		i := newIssuing(t)
		text, _ := json.Marshal(grant{TokenURL: i.issuer() + "/token", Resource: "https://victim.example/", Access: "access-9"})
		r := &ring{kept: map[string]string{"adkmcp " + i.url: string(text)}}
		i.good["access-9"] = true
		_, err := visit(t, asPerson(i, nil), func(o *Options) { o.Keyring = r }).send()
		fails(t, err, "needs a login")
	})
}

func TestLoginFails(t *testing.T) {
	for name, tt := range map[string]struct {
		server func(*issuing)
		oauth  func(*config.OAuth)
		want   string // of the error; empty where it succeeds
		log    string
	}{
		"wrong state":    {func(i *issuing) { i.answer = func(v url.Values) { v["state"] = []string{"wrong", "", v.Get("state")} } }, nil, "", "register, authorize read, authorization_code"},
		"wrong iss":      {func(i *issuing) { i.answer = func(v url.Values) { v.Set("iss", "https://evil.example") } }, nil, "(iss)", "register, authorize read"},
		"iss with slash": {func(i *issuing) { i.answer = func(v url.Values) { v.Set("iss", i.issuer()+"/") } }, nil, "(iss)", "register, authorize read"},
		"right iss":      {func(i *issuing) { i.answer = func(v url.Values) { v.Set("iss", i.issuer()) } }, nil, "", "register, authorize read, authorization_code"},
		"iss is missing": {func(i *issuing) {
			i.metadata = func(m map[string]any) { m["authorization_response_iss_parameter_supported"] = true }
		}, nil, "(iss)", "register, authorize read"},
		"denied": {func(i *issuing) {
			i.answer = func(v url.Values) {
				v.Del("code")
				v.Set("error", "access_denied")
				v.Set("error_description", "by\nme")
			}
		}, nil, "access_denied by me", "register, authorize read"},
		"no code":    {func(i *issuing) { i.answer = func(v url.Values) { v.Del("code") } }, nil, "gave no code", "register, authorize read"},
		"wrong code": {func(i *issuing) { i.answer = func(v url.Values) { v.Set("code", "code-x") } }, nil, "invalid_grant): no good: [redacted]", "register, authorize read, authorization_code"},
		"no PKCE": {func(i *issuing) {
			i.metadata = func(m map[string]any) { delete(m, "code_challenge_methods_supported") }
		}, nil, "PKCE", ""},
		"plain PKCE": {func(i *issuing) {
			i.metadata = func(m map[string]any) { m["code_challenge_methods_supported"] = []string{"plain"} }
		}, nil, "PKCE", ""},
		"no registration": {func(i *issuing) { i.metadata = func(m map[string]any) { delete(m, "registration_endpoint") } }, nil, "client_id", ""},
		"registration": {func(i *issuing) {
			i.metadata = func(m map[string]any) { m["registration_endpoint"] = i.issuer() + "/x" }
		}, nil, "did not register us (404", ""},
		"javascript": {func(i *issuing) {
			i.metadata = func(m map[string]any) { m["authorization_endpoint"] = "javascript:alert(1)" }
		}, nil, "need https", ""},
		"http": {func(i *issuing) {
			i.metadata = func(m map[string]any) { m["authorization_endpoint"] = "http://192.0.2.1/hidden" }
		}, nil, "need https", ""},
		"offline access": {func(i *issuing) {
			i.metadata = func(m map[string]any) { m["scopes_supported"] = []string{"offline_access"} }
		}, nil, "", "register, authorize read offline_access, authorization_code"},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuing(t)
			tt.server(i)
			v := visit(t, asPerson(i, tt.oauth), interactive(i, nil))
			if tt.want == "" {
				v.want("access-1")
			} else {
				_, err := v.send()
				fails(t, err, tt.want)
				_, again := v.send() // nobody is bothered again so soon
				if err != nil && (again == nil || again.Error() != err.Error()) {
					t.Errorf("then %v", again)
				}
			}
			if got := i.seen(); got != tt.log {
				t.Errorf("got %q, want %q", got, tt.log)
			}
			if tt.want != "" {
				v.pass(2 * time.Minute)
				_, err := v.send()
				fails(t, err, tt.want)
			}
		})
	}
}

// TestLoginOutlivesRequest: somebody who logs in takes longer than a request may.
func TestLoginOutlivesRequest(t *testing.T) {
	i := newIssuing(t)
	opened, agree := make(chan string, 10), make(chan struct{})
	v := visit(t, asPerson(i, nil), func(o *Options) {
		o.Interactive = true
		o.Browser = func(ctx context.Context, at string) error {
			opened <- at
			go func() {
				<-agree
				_ = i.browse(context.WithoutCancel(ctx), at)
			}()
			return nil
		}
	})
	res := &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{}}
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := v.Challenged(ctx, res)
		first <- err
	}()
	<-opened
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(agree)
	if again, err := v.Challenged(t.Context(), res); err != nil || !again {
		t.Errorf("got %v, %v", again, err)
	}
	v.want("access-1")
	if len(opened) != 0 {
		t.Error("the browser was opened twice")
	}
}

func TestCloseEndsLogin(t *testing.T) {
	i := newIssuing(t)
	opened := make(chan string, 1)
	v := visit(t, asPerson(i, nil), func(o *Options) {
		o.Interactive = true
		o.Browser = func(_ context.Context, at string) error { opened <- at; return nil }
	})
	done := make(chan error)
	go func() {
		_, err := v.send()
		done <- err
	}()
	u, _ := url.Parse(<-opened)
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, errStopped) {
		t.Errorf("got %v", err)
	}
	if status, _ := get(t.Context(), u.Query().Get("redirect_uri")); status != 0 {
		t.Error("somebody still waits for the browser")
	}
}

// TestStepUp: a server that wants more scopes gets them from a login with all.
func TestStepUp(t *testing.T) {
	i := newIssuing(t)
	v := visit(t, asPerson(i, nil), interactive(i, nil))
	v.want("access-1")
	h, err := v.Headers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	res := &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{"Www-Authenticate": {`Bearer error="insufficient_scope", scope="write"`}}, Request: &http.Request{Header: h}}
	if again, err := v.Challenged(t.Context(), res); err != nil || !again {
		t.Errorf("got %v, %v", again, err)
	}
	v.want("access-2")
	if got := i.seen(); !strings.Contains(got, "authorize read write") {
		t.Errorf("got %s", got)
	}
	res.Header.Set("WWW-Authenticate", "Bearer")
	if again, err := v.Challenged(t.Context(), res); err != nil || again {
		t.Errorf("a plain 403: %v, %v", again, err)
	}
}
