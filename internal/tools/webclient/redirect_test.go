package webclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// arrived is what a server saw of the last request.
type arrived struct {
	method, body string
	header       http.Header
}

func recorder(t testing.TB) (url string, last func() *arrived) {
	var seen atomic.Pointer[arrived]
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen.Store(&arrived{r.Method, string(body), r.Header})
	})
	return s.URL, seen.Load
}

func redirector(t testing.TB, status int, location string) string {
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(status)
	}).URL
}

func TestRedirectRefused(t *testing.T) {
	port := canary(t)
	targets := []string{
		"http://127.0.0.1:" + port + "/", "http://localhost:" + port + "/", "//[::1]:" + port + "/", "http://10.0.0.1/",
		"http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://sub.127.0.0.1/", "http://2130706433:" + port,
		"http://user:pw@127.0.0.1:" + port + "/", "http://127.0.0.1:" + port + "#@allowed.example/", `http:\\127.0.0.1:` + port,
		"file:///etc/passwd", "gopher://127.0.0.1:" + port + "/x", "javascript:alert(1)", "http:///nohost", "ht!tp://%zz",
	}
	c := newClient(t, Options{})
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, location := range targets {
			t.Run(fmt.Sprintf("09 F02 %d %s", status, location), func(t *testing.T) {
				_, err := get(t, c, redirector(t, status, location))
				var refused *RefusedError
				if !errors.As(err, &refused) {
					t.Fatalf("got %v, want a refusal", err)
				}
			})
		}
	}
	t.Run("09 F02 metadata is refused even when allowed", func(t *testing.T) {
		u := mustURL(t, redirector(t, 302, "http://169.254.169.254/"))
		_, err := c.Do(limited(t), &Request{Method: "GET", URL: u, Policy: Configured, AllowHosts: []string{"169.254.169.254"}})
		var refused *RefusedError
		if !errors.As(err, &refused) {
			t.Fatalf("got %v, want a refusal", err)
		}
	})
}

// TestRedirectPublicToPrivate begins at a host that counts as public.
func TestRedirectPublicToPrivate(t *testing.T) {
	for _, status := range []int{302, 307, 308} {
		t.Run(fmt.Sprintf("F02 %d", status), func(t *testing.T) {
			first := mustURL(t, redirector(t, status, "http://127.0.0.1:"+canary(t)+"/"))
			c := newClient(t, Options{})
			guarded := c.transports[PublicOnly].DialContext
			c.transports[PublicOnly].DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				if strings.HasPrefix(addr, "public.example:") {
					return new(net.Dialer).DialContext(ctx, network, first.Host)
				}
				return guarded(ctx, network, addr)
			}
			_, err := c.Do(limited(t), &Request{Method: "GET", URL: mustURL(t, "http://public.example/"), Policy: PublicOnly})
			var refused *RefusedError
			if !errors.As(err, &refused) {
				t.Fatalf("got %v, want a refusal", err)
			}
		})
	}
}

func TestRedirectLoop(t *testing.T) {
	var hits atomic.Int64
	hops := func(n int64) *Client {
		hits.Store(n)
		return newClient(t, Options{})
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if hits.Add(-1) >= 0 {
			http.Redirect(w, r, "/again", http.StatusFound)
		}
	})
	t.Run("F02 10 hops", func(t *testing.T) {
		if _, err := get(t, hops(10), s.URL); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("09 F02 11 hops", func(t *testing.T) {
		_, err := get(t, hops(11), s.URL)
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "10 redirects") {
			t.Fatalf("got %v, want a refusal after 10 redirects", err)
		}
	})
}

func secretHeaders() http.Header {
	return http.Header{
		"Authorization": {"Bearer s3cret"}, "X-Api-Key": {"s3cret"}, "Cookie": {"sid=s3cret"}, "X-Custom": {"s3cret"},
		"Proxy-Authorization": {"s3cret"}, "Accept": {"application/json"}, "Accept-Language": {"de"}, "User-Agent": {"mine/1"},
	}
}

func TestRedirectCredentials(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprintf("09 F04 %d", status), func(t *testing.T) {
			other, last := recorder(t)
			c := newClient(t, Options{})
			header := secretHeaders()
			res, err := c.Do(limited(t), &Request{
				Method: "GET", URL: mustURL(t, redirector(t, status, other)), Header: header,
				Policy: Configured, AllowHosts: []string{strings.TrimPrefix(other, "http://")},
			})
			if err != nil {
				t.Fatal(err)
			}
			if !res.CredentialsDropped || res.URL.Host != mustURL(t, other).Host {
				t.Errorf("answer of %s, credentials dropped: %v", res.URL, res.CredentialsDropped)
			}
			got := last().header
			for _, values := range got {
				if strings.Contains(strings.Join(values, ""), "s3cret") {
					t.Errorf("sent to the other host: %v", got)
				}
			}
			if got.Get("Accept") != "application/json" || got.Get("Accept-Language") != "de" || got.Get("User-Agent") != "mine/1" {
				t.Errorf("harmless headers are missing: %v", got)
			}
			if header.Get("Authorization") == "" {
				t.Error("the caller's headers were changed")
			}
		})
	}
	t.Run("F04 there and back again", func(t *testing.T) {
		var home string
		var back atomic.Pointer[http.Header]
		other := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, home+"/back", http.StatusFound) })
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/back" {
				back.Store(&r.Header)
				return
			}
			http.Redirect(w, r, other.URL, http.StatusFound)
		})
		home = s.URL
		_, err := newClient(t, Options{}).Do(limited(t), &Request{
			Method: "GET", URL: mustURL(t, home), Header: secretHeaders(), Policy: Configured, AllowHosts: []string{"127.0.0.1"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if h := *back.Load(); h.Get("Authorization") != "" || h.Get("X-Api-Key") != "" {
			t.Errorf("credentials came back: %v", h)
		}
	})
	t.Run("09 within the origin they stay", func(t *testing.T) {
		var got atomic.Pointer[http.Header]
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/b" {
				got.Store(&r.Header)
				return
			}
			http.Redirect(w, r, "/b", http.StatusFound)
		})
		_, err := newClient(t, Options{}).Do(limited(t), &Request{Method: "GET", URL: mustURL(t, s.URL), Header: secretHeaders(), Policy: Configured})
		if err != nil {
			t.Fatal(err)
		}
		if h := *got.Load(); h.Get("Authorization") != "Bearer s3cret" || h.Get("X-Api-Key") != "s3cret" {
			t.Errorf("credentials are missing: %v", h)
		}
	})
}

func TestRedirectHosts(t *testing.T) {
	tests := []struct {
		from, to string
		allow    []string
		follow   bool
	}{
		{"http://api.example/a", "/b", nil, true},
		{"http://api.example/a", "http://API.example/b", nil, true},
		{"http://api.example/a", "https://api.example/b", nil, true},
		{"https://api.example/a", "http://api.example/b", nil, true},
		{"http://api.example:8080/a", "http://api.example:8080/b", nil, true},
		{"http://api.example:8080/a", "https://api.example/b", nil, false},
		{"http://api.example/a", "http://api.example:2375/b", nil, false},
		{"http://api.example/a", "http://sub.api.example/b", nil, false},
		{"http://sub.api.example/a", "http://api.example/b", nil, false},
		{"http://api.example/a", "http://api.example.evil.example/b", []string{"api.example"}, false},
		{"http://api.example/a", "http://sub.cdn.example/b", []string{"cdn.example"}, false},
		{"http://api.example/a", "http://cdn.example/b", []string{"cdn.example"}, true},
		{"http://api.example/a", "https://CDN.example:8443/b", []string{"cdn.example"}, true},
		{"http://api.example/a", "https://cdn.example:8443/b", []string{"cdn.example:8443"}, true},
		{"http://api.example/a", "https://cdn.example:9000/b", []string{"cdn.example:8443"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.from+" to "+tt.to, func(t *testing.T) {
			h, err := firstHop(&Request{Method: "GET", URL: mustURL(t, tt.from), Policy: Configured, AllowHosts: tt.allow})
			if err != nil {
				t.Fatal(err)
			}
			next, err := h.next(&http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {tt.to}}})
			if (err == nil && next != nil) != tt.follow {
				t.Errorf("followed: %v, want %v (%v)", next != nil, tt.follow, err)
			}
			if next != nil && next.dropped != (Origin(next.url) != Origin(h.url)) {
				t.Errorf("credentials dropped: %v", next.dropped)
			}
		})
	}
}

func TestRedirectMethods(t *testing.T) {
	tests := []struct {
		status             int
		method, want, body string
	}{
		{301, "POST", "GET", ""}, {302, "PUT", "GET", ""}, {303, "DELETE", "GET", ""}, {303, "HEAD", "HEAD", ""},
		{307, "POST", "POST", "payload"}, {308, "PATCH", "PATCH", "payload"}, {307, "DELETE", "DELETE", "payload"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%d %s", tt.status, tt.method), func(t *testing.T) {
			other, last := recorder(t)
			r := &Request{
				Method: tt.method, URL: mustURL(t, redirector(t, tt.status, other)), Policy: Configured,
				Header: http.Header{"Content-Type": {"text/plain"}}, AllowHosts: []string{"127.0.0.1"},
			}
			if tt.method != "HEAD" {
				r.Body = []byte("payload")
			}
			if _, err := newClient(t, Options{}).Do(limited(t), r); err != nil {
				t.Fatal(err)
			}
			got := last()
			if got.method != tt.want || got.body != tt.body || (got.header.Get("Content-Type") != "") != (tt.body != "") {
				t.Errorf("arrived: %+v, want %s with body %q", got, tt.want, tt.body)
			}
		})
	}
	t.Run("F04 a body with credentials stays", func(t *testing.T) {
		r := &Request{
			Method: "POST", URL: mustURL(t, redirector(t, 307, "http://127.0.0.1:"+canary(t))), Policy: Configured,
			Body: []byte("password=s3cret"), PrivateBody: true, AllowHosts: []string{"127.0.0.1"},
		}
		_, err := newClient(t, Options{}).Do(limited(t), r)
		var refused *RefusedError
		if !errors.As(err, &refused) {
			t.Fatalf("got %v, want a refusal", err)
		}
	})
	t.Run("a redirect without a location is an answer", func(t *testing.T) {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) })
		res, err := get(t, newClient(t, Options{}), s.URL)
		if err != nil || res.Status != http.StatusFound {
			t.Fatalf("got %v, %v", res, err)
		}
	})
}

func TestRedirectFollow(t *testing.T) {
	end, _ := recorder(t)
	var asked []string
	follow := func(u *url.URL) error {
		asked = append(asked, u.Path)
		if u.Path == "/no" {
			return errors.New("it is not wanted")
		}
		return nil
	}
	for path, refused := range map[string]bool{"/yes": false, "/no": true} {
		u := mustURL(t, redirector(t, 302, end+path))
		_, err := newClient(t, Options{}).Do(limited(t), &Request{Method: "GET", URL: u, Policy: Configured, AllowHosts: []string{mustURL(t, end).Host}, Follow: follow})
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), "not followed: it is not wanted") {
			t.Errorf("%s: %v", path, err)
		}
	}
	u := mustURL(t, redirector(t, 302, "http://169.254.169.254/meta"))
	if _, err := newClient(t, Options{}).Do(limited(t), &Request{Method: "GET", URL: u, Policy: PublicOnly, Follow: follow}); err == nil {
		t.Error("this machine was reached")
	}
	if len(asked) != 2 {
		t.Errorf("asked about %v", asked)
	}
}
