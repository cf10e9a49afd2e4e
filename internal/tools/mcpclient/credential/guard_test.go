package credential

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

func parsed(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestGuardURLs: which addresses are used at all.
func TestGuardURLs(t *testing.T) {
	for _, tt := range []struct {
		server, trusted, at string
		ok                  bool
	}{
		{"https://mcp.example/x", "", "https://as.example/token", true},
		{"https://mcp.example/x", "", "http://as.example/token", false},
		{"https://mcp.example/x", "", "http://127.0.0.1:8080/token", false},
		{"https://mcp.example/x", "http://127.0.0.1:8080/token", "http://127.0.0.1:8080/token", true},
		{"https://mcp.example/x", "http://127.0.0.1:8080/token", "http://127.0.0.1:8081/token", false},
		{"https://mcp.example/x", "http://as.example/token", "http://as.example/token", false},
		{"http://localhost:1/x", "", "http://[::1]:2/token", true},
		{"http://127.0.0.1:1/x", "", "http://as.example/token", false},
		{"https://mcp.example/x", "", "https://user@as.example/token", false},
		{"https://mcp.example/x", "", "javascript:alert(1)", false},
		{"https://mcp.example/x", "", "data:text/html,x", false},
		{"https://mcp.example/x", "", "file:///etc/passwd", false},
		{"https://mcp.example/x", "", "/token", false},
		{"https://mcp.example/x", "", "://", false},
	} {
		g := newGuard(parsed(t, tt.server), tt.trusted, http.DefaultTransport)
		if _, err := g.parse(tt.at); err == nil != tt.ok {
			t.Errorf("%s for %s: %v", tt.at, tt.server, err)
		}
	}
}

// TestGuardAddresses: a server outside does not lead us inside (F01), and a body
// goes nowhere but where it was sent (F02, F04).
func TestGuardAddresses(t *testing.T) {
	var hits atomic.Int32
	canary := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer canary.Close()
	bodies := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies <- string(b)
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, canary.URL, http.StatusTemporaryRedirect)
		}
	}))
	defer s.Close()
	inside := newGuard(parsed(t, "http://localhost:1/mcp"), "", nil) // first asked of another port, with a body
	defer inside.CloseIdleConnections()
	post := func(g *guard, at string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader("secret"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := g.client().Do(req)
		if err == nil {
			_ = res.Body.Close()
		}
		return res, err
	}
	if _, err := post(inside, s.URL); err != nil || <-bodies != "secret" {
		t.Errorf("got %v", err)
	}
	res, err := post(inside, s.URL+"/moved")
	if err != nil || res.StatusCode != http.StatusTemporaryRedirect || hits.Load() != 0 {
		t.Errorf("got %v, %v; %d requests went on", res, err, hits.Load())
	}
	<-bodies
	// The public internet, as far as this test goes, is mcp.example.
	outside := newGuard(parsed(t, "https://mcp.example/mcp"), "", nil)
	outside.public.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == "mcp.example:https" {
			return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
		}
		return nil, &webclient.RefusedError{Reason: "not public"}
	}
	_, err = post(outside, strings.Replace(canary.URL, "http:", "https:", 1))
	var refused *webclient.RefusedError
	if !errors.As(err, &refused) || hits.Load() != 0 || outside.inside.Load() {
		t.Errorf("got %v, and %d requests", err, hits.Load())
	}
}
