package gemini

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Bounds of the exchange with the service.
const (
	dialTimeout = 10 * time.Second // for the connection, and again for TLS
	// idleTimeout bounds the silence between two pieces of an answer. Before
	// the first one the model thinks, and only the call's timeout counts.
	idleTimeout = 60 * time.Second
	maxRefusal  = 64 << 10 // bytes of an error that are read
)

// errStalled: nothing came for the idle timeout.
var errStalled = errors.New("no data for " + idleTimeout.String())

// newTransport makes the connections of one client.
func newTransport(s *settings) *http.Transport {
	proxy := (&httpproxy.Config{HTTPProxy: s.proxy.http, HTTPSProxy: s.proxy.https, NoProxy: s.proxy.exempt}).ProxyFunc()
	return &http.Transport{
		Proxy:               func(r *http.Request) (*url.URL, error) { return proxy(r.URL) },
		DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        32,
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     90 * time.Second,
		// A connection that died while the computer slept is noticed.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// transport stands between genai and the network. It makes an error of every
// answer that is not 200, redirects included, because genai keeps neither
// their headers nor a bound on their length; and it hands genai a stream that
// genai can read.
type transport struct {
	base http.RoundTripper
	idle time.Duration
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	resp, err := t.base.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer cancel(nil)
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // what can be read is enough
		return nil, &refusal{resp.StatusCode, text, retryAfter(resp.Header)}
	}
	body := &watched{body: resp.Body, cancel: cancel, idle: t.idle}
	body.timer = time.AfterFunc(t.idle, body.giveUp)
	body.timer.Stop()
	resp.Body = newEventStream(body, maxAnswer)
	resp.ContentLength = -1
	return resp, nil
}

// refusal is an answer with a status other than 200.
type refusal struct {
	status     int
	body       []byte
	retryAfter time.Duration
}

// Error implements error.
func (r *refusal) Error() string { return "the service answered with status " + strconv.Itoa(r.status) }

// retryAfter reads the header of that name (RFC 9110, section 10.2.3).
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(v); err == nil && seconds > 0 && seconds < 1<<31 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// watched is a body that ends with errStalled when nothing comes for a while
// after its first piece.
type watched struct {
	body    io.ReadCloser
	cancel  context.CancelCauseFunc // of the request
	idle    time.Duration
	timer   *time.Timer
	begun   bool
	stalled atomic.Bool
}

func (w *watched) giveUp() {
	w.stalled.Store(true)
	w.cancel(errStalled)
}

// Read implements [io.Reader].
func (w *watched) Read(p []byte) (int, error) {
	if w.begun {
		w.timer.Reset(w.idle)
		defer w.timer.Stop()
	}
	n, err := w.body.Read(p)
	w.begun = true
	if err != nil && w.stalled.Load() {
		err = errStalled
	}
	return n, err
}

// Close implements [io.Closer].
func (w *watched) Close() error {
	err := w.body.Close()
	w.cancel(nil)
	return err
}
