package guard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config"
)

func TestNewRefuses(t *testing.T) {
	for want, c := range map[string]Config{
		"same token":          {Tokens: []Token{{"ann", config.NewSecret("x")}, {"bob", config.NewSecret("x")}}},
		"NAME=ENV_VAR":        {Tokens: []Token{{"ann", config.NewSecret("")}}},
		"needs NAME":          {Tokens: []Token{{"", config.NewSecret("x")}}},
		"--allow-origin evil": {AllowOrigins: []string{"evil"}},
		"https://app.example": {AllowOrigins: []string{"https://a.example/path"}},
	} {
		if _, err := New(&c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestAdmit(t *testing.T) {
	g, err := New(&Config{
		Tokens:     []Token{{"ann", config.NewSecret("ann-secret")}, {"bob", config.NewSecret("bob-secret")}},
		AllowHosts: []string{"Agents.example.com:443"}, AllowOrigins: []string{"https://App.example/"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const secret = "Bearer bob-secret"
	for name, tt := range map[string]struct {
		host, origin, token string
		probe               bool
		status              int // of the refusal
	}{
		"address":              {host: "10.0.0.1:80", token: secret},
		"IPv6":                 {host: "[::1]:80", token: secret},
		"localhost":            {host: "LOCALHOST.", token: secret},
		"allowed host":         {host: "agents.example.com", token: secret},
		"foreign host":         {host: "evil.example", token: secret, status: 403},
		"no host":              {host: "", token: secret, status: 403},
		"foreign, but a probe": {host: "evil.example", probe: true},
		"own origin":           {host: "10.0.0.1:80", origin: "http://10.0.0.1:80", token: secret},
		"allowed origin":       {host: "10.0.0.1:80", origin: "https://app.EXAMPLE", token: secret},
		"foreign origin":       {host: "10.0.0.1:80", origin: "https://evil.example", token: secret, status: 403},
		"foreign probe":        {host: "10.0.0.1:80", origin: "https://evil.example", probe: true, status: 403},
		"no token":             {host: "10.0.0.1:80", status: 401},
		"another scheme":       {host: "10.0.0.1:80", token: "Basic bob-secret", status: 401},
		"half a token":         {host: "10.0.0.1:80", token: "Bearer bob", status: 401},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/mcp", nil)
		r.Host = tt.host
		r.Header.Set("Origin", tt.origin)
		r.Header.Set("Authorization", tt.token)
		admitted, refused := g.Admit(httptest.NewRecorder(), r, tt.probe)
		if tt.status != 0 {
			if admitted != nil || refused == nil || refused.Status != tt.status {
				t.Errorf("%s: %v, %v", name, admitted, refused)
			}
			continue
		}
		if refused != nil || admitted == nil || !tt.probe && PrincipalOf(admitted.Context()) != "bob" {
			t.Errorf("%s: %v", name, refused)
		}
	}
}

// FuzzKnownHost: no name but our own gets in, however it is written.
func FuzzKnownHost(f *testing.F) {
	g, err := New(&Config{AllowHosts: []string{"agents.example.com"}})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"evil.example", "localhost:80", "[::1]:80", "127.0.0.1.evil.example", "a]b:1", ":::"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if !g.knownHost(host) {
			return
		}
		if lower := strings.ToLower(host); strings.Contains(lower, "evil") && !strings.Contains(lower, "%") { // which begins the zone of an address
			t.Errorf("%q got in", host)
		}
	})
}
