package webclient

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"
)

// TestMain names a proxy where nobody listens, for all tests: the client doesn't
// use it, and the standard library reads such variables only once.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy"} {
		_ = os.Setenv(name, "http://127.0.0.1:1")
	}
	goleak.VerifyTestMain(m)
}

// newClient makes a client that is closed at the end of the test.
func newClient(t testing.TB, o Options) *Client {
	t.Helper()
	c := New(o)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func mustURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// get fetches a URL that the operator configured.
func get(t testing.TB, c *Client, s string) (*Response, error) {
	t.Helper()
	return c.Do(limited(t), &Request{Method: "GET", URL: mustURL(t, s), Policy: Configured})
}

// limited ends the test's requests before the test itself would be ended.
func limited(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// canary is a listener on all addresses of this machine that nobody may reach.
func canary(t testing.TB) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	var hits atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			hits.Add(1)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
		if n := hits.Load(); n != 0 {
			t.Errorf("the canary was reached %d times", n)
		}
	})
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// fakeDNS is a resolver that asks answer for the addresses of every name.
func fakeDNS(answer func(name string) []netip.Addr) *net.Resolver {
	return &net.Resolver{
		PreferGo: true,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go answerDNS(server, answer)
			return client, nil
		},
	}
}

// answerDNS serves one connection in the way of DNS over TCP, which the
// resolver uses for connections that are no packet connections.
func answerDNS(conn net.Conn, answer func(name string) []netip.Addr) {
	defer func() { _ = conn.Close() }()
	for {
		var size [2]byte
		if _, err := readFull(conn, size[:]); err != nil {
			return
		}
		packet := make([]byte, int(size[0])<<8|int(size[1]))
		if _, err := readFull(conn, packet); err != nil {
			return
		}
		var query dnsmessage.Message
		if query.Unpack(packet) != nil {
			return
		}
		q := query.Questions[0]
		reply := dnsmessage.Message{
			Header:    dnsmessage.Header{ID: query.ID, Response: true, RecursionAvailable: true},
			Questions: query.Questions,
		}
		if q.Type == dnsmessage.TypeA {
			for _, a := range answer(strings.TrimSuffix(q.Name.String(), ".")) {
				reply.Answers = append(reply.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, Type: q.Type},
					Body:   &dnsmessage.AResource{A: a.As4()},
				})
			}
		}
		out, err := reply.Pack()
		if err != nil {
			return
		}
		if _, err := conn.Write(append([]byte{byte(len(out) >> 8), byte(len(out))}, out...)); err != nil {
			return
		}
	}
}

func readFull(conn net.Conn, b []byte) (int, error) {
	n := 0
	for n < len(b) {
		m, err := conn.Read(b[n:])
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
