// Package wire carries a request to a model's service over HTTP and its answer
// back: one client for the providers whose requests we write ourselves.
//
// Start with [Client.Stream], which gives the events of an answer, and [Generate],
// which makes a model's Generate of one call. A provider says what its service
// means by an error in a [Reading]; [Client.Explain] turns everything that can go
// wrong on the way into errors of package model. declarations.go keeps tools in the
// form in which they are sent, content.go reads what a conversation holds, finish.go
// the word for which an answer ended, address.go where an API is.
package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Bounds of the exchange with a service.
const (
	dialTimeout = 10 * time.Second // for the connection, and again for TLS
	// IdleTimeout bounds the silence between two pieces of an answer. It is long,
	// since services send nothing while a model writes a large tool call: more than
	// four minutes have been seen. A connection that is dead is found out sooner, by
	// pings. Before the first piece only the call's timeout counts.
	IdleTimeout = 5 * time.Minute
	// drainTime is how long the rest of an answer is waited for that nobody wants, so
	// that its connection can be used again.
	drainTime  = 50 * time.Millisecond
	maxDrain   = 64 << 10 // bytes of such a rest
	maxRefusal = 64 << 10 // bytes of an error that are read
	maxAnswer  = 64 << 20 // bytes of an answer
)

// Service says where a model's service is and as whom it is asked.
type Service struct {
	Name    string      // for messages, such as OpenAI
	URL     string      // of the API, without a slash at its end
	Header  http.Header // of every request, what proves our identity included
	Who     string      // what proves our identity, for messages, such as OPENAI_API_KEY
	Model   string      // the model's name, for messages
	Secrets []string    // that no message may hold
	// Lookup is the environment, for HTTP_PROXY and its kind.
	Lookup func(name string) (value string, ok bool)
}

// Client asks one service. It is safe for concurrent use.
type Client struct {
	service   Service
	transport *http.Transport
	idle      time.Duration
}

// New makes a client. It contacts nothing; whoever makes it closes it.
func New(s Service) *Client {
	return &Client{service: s, transport: NewTransport(s.Lookup), idle: IdleTimeout}
}

// Close frees the connections that are kept open. No call may run any more.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// NewTransport makes the connections to a model's service: through the proxy that
// the environment names, with no bound on how long an answer may take to begin.
func NewTransport(lookup func(string) (string, bool)) *http.Transport {
	env := func(names ...string) string {
		for _, n := range names {
			if v, ok := lookup(n); ok && strings.TrimSpace(v) != "" {
				return strings.TrimSpace(v)
			}
		}
		return ""
	}
	proxy := (&httpproxy.Config{
		HTTPProxy:  env("HTTP_PROXY", "http_proxy"),
		HTTPSProxy: env("HTTPS_PROXY", "https_proxy"),
		NoProxy:    env("NO_PROXY", "no_proxy"),
	}).ProxyFunc()
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

// Refusal is an answer with a status other than 200.
type Refusal struct {
	Status     int
	Body       []byte        // its beginning
	RetryAfter time.Duration // that the headers ask for; 0 for none
}

// Error implements error.
func (r *Refusal) Error() string { return "the service answered with status " + strconv.Itoa(r.Status) }

// Failures of an answer that began with status 200.
var (
	// ErrStalled: nothing came for the idle timeout.
	ErrStalled = errors.New("no data for " + IdleTimeout.String())
	// ErrTooLong: the answer is longer than any that we read.
	ErrTooLong = errors.New("the answer is longer than 64 MiB")
	// ErrCut: the connection ended within the answer.
	ErrCut = errors.New("the connection ended within the answer")
	// ErrForeign: the answer is no event stream, such as the page of a proxy.
	ErrForeign = errors.New("the answer is no event stream")
)

// Stream posts a JSON body to a path of the API and yields the events of the
// answer until its stream ends; whether it ended where it should is for the
// caller to see. An error is the last thing that is yielded: a *[Refusal], one of
// the failures above, or net/http's. Breaking off the iteration or ending ctx
// stops the request.
func (c *Client) Stream(ctx context.Context, path string, body []byte) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		resp, err := c.post(ctx, path, body) //nolint:bodyclose // watched closes it
		if err != nil {
			yield(Event{}, err)
			return
		}
		watched := Watch(resp.Body, c.idle, cancel)
		defer watched.Close()
		events := read
		if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json")) {
			events = whole
		}
		for event, err := range events(watched, maxAnswer) {
			if err != nil {
				yield(event, err)
				return
			}
			if !yield(event, nil) {
				drain(watched, cancel)
				return
			}
		}
	}
}

// drain reads the little that is left behind the last event that was wanted.
func drain(body io.Reader, cancel context.CancelCauseFunc) {
	timer := time.AfterFunc(drainTime, func() { cancel(nil) })
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(body, maxDrain)) // whatever comes of it
}

// post sends a request. Redirects are refusals, since a key must not follow them.
func (c *Client) post(ctx context.Context, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.service.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = c.service.Header.Clone()
	if req.Header == nil {
		req.Header = make(http.Header, 3)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "adkmcp")
	}
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, Refused(resp)
	}
	return resp, nil
}

// Refused reads an answer that is none, and closes it.
func Refused(resp *http.Response) *Refusal {
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // what can be read is enough
	return &Refusal{resp.StatusCode, text, retryAfter(resp.Header)}
}

// retryAfter reads the header of that name (RFC 9110, section 10.2.3), and the one
// in milliseconds that some services send beside it.
func retryAfter(h http.Header) time.Duration {
	const longest = 365 * 24 * 3600 * 1000 // a year, in milliseconds; nobody waits that long
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < longest {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(v, 64); err == nil && seconds > 0 && seconds < longest {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(0, time.Until(at)), longest*time.Millisecond)
	}
	return 0
}
