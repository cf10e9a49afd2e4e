package httpserver

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/config"
)

// TestA14Connections: one connection too many is told so and closed, and those
// that are open live on.
func TestA14Connections(t *testing.T) {
	s := open(t, nil)
	s.server.connections = 20
	s.serve()
	dial := func() (net.Conn, *bufio.Reader) {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(limit))
		return conn, bufio.NewReader(conn)
	}
	ask := func(conn net.Conn, r *bufio.Reader, path string) *http.Response {
		t.Helper()
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		return res
	}
	type open struct {
		net.Conn
		r *bufio.Reader
	}
	var all []open
	for range 20 {
		conn, r := dial()
		all = append(all, open{conn, r})
		if res := ask(conn, r, "/readyz"); res.StatusCode != http.StatusOK {
			t.Fatal(res.Status)
		}
	}
	for range 300 {
		conn, r := dial()
		res := ask(conn, r, "/readyz")
		if _, err := r.ReadByte(); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || err != io.EOF {
			t.Fatalf("%s %v, then %v", res.Status, res.Header, err)
		}
	}
	conn, r := dial()
	if res := ask(conn, r, "/livez"); res.StatusCode != http.StatusOK {
		t.Errorf("/livez: %s", res.Status)
	}
	conn.Close()
	for _, c := range all {
		if res := ask(c, c.r, "/readyz"); res.StatusCode != http.StatusOK {
			t.Errorf("an open one: %s", res.Status)
		}
	}
	all[0].Close()
	waitFor(t, "room", func() bool {
		conn, r := dial()
		return ask(conn, r, "/readyz").StatusCode == http.StatusOK
	})
}

// writeCertificate writes a new certificate for 127.0.0.1 and its key.
func writeCertificate(t *testing.T, cert, key string, serial int64) *x509.Certificate {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTLS: HTTPS of HTTP/2 and HTTP/1.1, nothing older than TLS 1.2, streams that
// are silent for longer than a write may take, and a certificate that is renewed.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	cert := writeCertificate(t, certFile, keyFile, 1)
	later := make(chan time.Duration, 1) // what the clock is ahead
	later <- 0
	s := open(t, func(c *Config) {
		c.TLSCert, c.TLSKey = certFile, keyFile
		c.Now = func() time.Time {
			ahead := <-later
			later <- ahead
			return time.Now().Add(ahead)
		}
	})
	s.server.write = 300 * time.Millisecond
	s.serve()
	s.url = strings.Replace(s.url, "http:", "https:", 1)
	client := func(trusted *x509.Certificate, h2 bool) *http.Client {
		pool := x509.NewCertPool()
		pool.AddCert(trusted)
		transport := &http.Transport{ForceAttemptHTTP2: h2, TLSClientConfig: &tls.Config{RootCAs: pool}}
		if !h2 {
			transport.TLSNextProto = make(map[string]func(string, *tls.Conn) http.RoundTripper)
		}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport}
	}
	for proto, h2 := range map[string]bool{"HTTP/2.0": true, "HTTP/1.1": false} {
		http.DefaultClient.Transport = client(cert, h2).Transport
		t.Cleanup(func() { http.DefaultClient.Transport = nil })
		res, body := s.post(toolCall, modern("tools/call", "canary")...)
		if res.StatusCode != http.StatusOK || res.Proto != proto || !strings.Contains(body, "anonymous") {
			t.Errorf("%s: %d %s %s", proto, res.StatusCode, res.Proto, body)
		}
		c := s.connect("/sse")
		_, subscription := s.stream(http.MethodPost, s.url, strings.NewReader(listen), modern("subscriptions/listen", "", "Accept", both)...)
		subscription.want("acknowledged")
		quiet := s.background(modernCall("wait"), modern("tools/call", "wait")...)
		next(t, s.started)
		time.Sleep(3 * s.server.write) // the deadline of a write must not end what is silent
		c.post(202, callOf(1, "canary"))
		c.want("anonymous")
		c.post(202, callOf(2, "wait"))
		next(t, s.started)
		c.close()
		next(t, s.stopped)
		subscription.close()
		next(t, s.stopped)
		s.release <- struct{}{}
		if got := next(t, quiet); !strings.Contains(got, "released") {
			t.Errorf("%s: %s", proto, got)
		}
	}
	if conn, err := tls.Dial("tcp", s.addr, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		conn.Close()
		t.Error("TLS 1.1 is spoken")
	}

	// Renewed: seen when it is time to look again. Broken: the old one stays.
	serial := func() int64 {
		conn, err := tls.Dial("tcp", s.addr, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	writeCertificate(t, certFile, keyFile, 2)
	stamp := time.Now().Add(time.Hour)
	for _, name := range []string{certFile, keyFile} {
		if err := os.Chtimes(name, stamp, stamp); err != nil {
			t.Fatal(err)
		}
	}
	later <- <-later + time.Minute // time to look again
	if got := serial(); got != 2 {
		t.Errorf("serial %d after the renewal", got)
	}
	if err := os.WriteFile(certFile, []byte("half a certi"), 0o600); err != nil {
		t.Fatal(err)
	}
	later <- <-later + time.Minute // time to look again
	if got := serial(); got != 2 || !strings.Contains(s.log.String(), "the old TLS certificate stays in use") {
		t.Errorf("serial %d after a broken renewal", got)
	}
}

func TestTLSRefusals(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, certFile, keyFile, 1)
	for want, c := range map[string]Config{
		"both":                       {TLSCert: certFile},
		"both a certificate":         {TLSKey: keyFile},
		"no such file":               {TLSCert: certFile, TLSKey: keyFile + "x"},
		"failed to find certificate": {TLSCert: keyFile, TLSKey: certFile},
	} {
		c.Addr, c.Random = ":1", rand.Reader
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestWarning: tokens in the clear are worth one.
func TestWarning(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, certFile, keyFile, 1)
	token := []Token{{Principal: "ann", Secret: config.NewSecret("x")}}
	for name, tt := range map[string]struct {
		change func(*Config)
		want   int
	}{
		"everywhere":      {func(c *Config) { c.Addr, c.Tokens = "0.0.0.0:0", token }, 1},
		"loopback":        {func(c *Config) { c.Tokens = token }, 0},
		"without a token": {func(c *Config) { c.Addr, c.InsecureNoAuth = "0.0.0.0:0", true }, 0},
		"TLS":             {func(c *Config) { c.Addr, c.Tokens, c.TLSCert, c.TLSKey = "0.0.0.0:0", token, certFile, keyFile }, 0},
	} {
		s := open(t, tt.change)
		s.server.warn()
		if got := strings.Count(s.log.String(), "level=WARN"); got != tt.want {
			t.Errorf("%s: %d warnings: %s", name, got, s.log.String())
		}
	}
}
