package webclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

const (
	defaultMaxBody   = 8 << 20
	maxHeaderBytes   = 256 << 10
	connectTimeout   = 10 * time.Second
	defaultDeadline  = 10 * time.Minute // for callers whose context has none
	maxIdlePerHost   = 4
	idleTimeout      = 90 * time.Second
	maxRedirects     = 10
	defaultUserAgent = "adkmcp"
)

// ErrClosed is what [Client.Do] gives after [Client.Close].
var ErrClosed = errors.New("the HTTP client is closed")

// RefusedError says that a request was not sent, or a redirect not followed,
// because of the rules of this package. Trying again does not help.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

func refuse(format string, args ...any) error {
	return &RefusedError{Reason: fmt.Sprintf(format, args...)}
}

// Options are what a [Client] is made with. The zero value is ready for use.
type Options struct {
	// Resolver looks up host names; nil is the system's.
	Resolver *net.Resolver
	// MaxBody is how much of a body is kept, in bytes after decompression;
	// 0 is 8 MiB.
	MaxBody int64
	// UserAgent is sent where a request has none; empty is "adkmcp".
	UserAgent string

	// connecting is asked after the guard has let an address pass. It lets
	// tests see the address without a connection being made.
	connecting func(address string) error
}

// Client sends requests. It is safe for concurrent use. Environment variables
// such as HTTP_PROXY don't change where it connects to.
type Client struct {
	// Each policy has its own connections, so that one that was made under
	// the laxer policy never serves the stricter one.
	transports map[Policy]*http.Transport
	maxBody    int64
	userAgent  string
	closed     atomic.Bool
}

// New makes a client; its owner closes it.
func New(o Options) *Client {
	if o.MaxBody == 0 {
		o.MaxBody = defaultMaxBody
	}
	if o.UserAgent == "" {
		o.UserAgent = defaultUserAgent
	}
	return &Client{
		transports: map[Policy]*http.Transport{
			Configured: NewTransport(Configured, o),
			PublicOnly: NewTransport(PublicOnly, o),
		},
		maxBody:   o.MaxBody,
		userAgent: o.UserAgent,
	}
}

// NewTransport makes the guarded connections under a [Client], for callers that
// read streams, which Do's bounds would end. It bounds connecting and the size of
// an answer's header; redirects, the rest of an answer and its time are up to the
// caller, who also closes the idle connections.
func NewTransport(p Policy, o Options) *http.Transport {
	dialer := &net.Dialer{
		Timeout:        connectTimeout,
		Resolver:       o.Resolver,
		ControlContext: p.control(o.connecting),
	}
	return &http.Transport{
		Proxy:                  nil, // a proxy would hide the address that is connected to
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    connectTimeout,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// Close gives up the idle connections. Requests that are on their way end with
// their contexts; new ones are refused with [ErrClosed].
func (c *Client) Close() error {
	c.closed.Store(true)
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
	return nil
}

// Request is one request. Do doesn't change it.
type Request struct {
	Method string
	// URL is an http or https URL. Its user information and fragment are not
	// sent.
	URL *url.URL
	// Header goes to the origin (scheme, host and port) of URL. After a
	// redirect to another origin only headers that say how the answer should
	// look are sent on.
	Header http.Header
	Body   []byte
	// PrivateBody marks a body that holds credentials, which therefore never
	// goes to another origin.
	PrivateBody bool
	Policy      Policy
	// AllowHosts are hosts that redirects may lead to besides URL's own, as
	// exact names or name:port. They matter for [Configured] only.
	AllowHosts []string
	// Follow, if set, is asked about every place that a redirect leads to, after
	// the policy has let it pass. It says why a place is not followed.
	Follow func(*url.URL) error
	// MaxBody is the bound for this answer, as in [Options]; 0 is the client's.
	MaxBody int64
}

// Do sends a request, follows redirects and reads the answer. All of it,
// reading the body included, ends with ctx; a context without a deadline gets
// ten minutes. A status that means failure is no error.
//
// Errors name the origin of the request and never its path, query or headers,
// where secrets may be. They are a [*RefusedError], wrap ctx's error, or say
// what went wrong on the way.
func (c *Client) Do(ctx context.Context, r *Request) (*Response, error) {
	if c.closed.Load() {
		return nil, ErrClosed
	}
	transport, known := c.transports[r.Policy]
	if !known {
		return nil, fmt.Errorf("webclient: request without a policy")
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultDeadline)
		defer cancel()
	}
	h, err := firstHop(r)
	if err != nil {
		return nil, err
	}
	for range maxRedirects + 1 {
		answer, next, err := c.visit(ctx, transport, h)
		if next == nil || err != nil {
			return answer, err
		}
		h = next
	}
	return nil, refuse("%s: stopped after %d redirects", Origin(r.URL), maxRedirects)
}

// visit sends one request and gives either the answer or where it redirects to.
func (c *Client) visit(ctx context.Context, t *http.Transport, h *hop) (*Response, *hop, error) {
	res, err := c.send(ctx, t, h)
	if err != nil {
		return nil, nil, explain(ctx, h.url, err)
	}
	// Closing before the end closes the connection, which is what stops a
	// server that would go on sending.
	defer func() { _ = res.Body.Close() }()
	next, err := h.next(res)
	if next != nil || err != nil {
		_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // a short body leaves the connection usable
		return nil, next, err
	}
	answer, err := c.read(res, h)
	if err != nil {
		return nil, nil, explain(ctx, h.url, err)
	}
	return answer, nil, nil
}

func (c *Client) send(ctx context.Context, t *http.Transport, h *hop) (*http.Response, error) {
	// A bytes.Reader lets the transport send the body again when a kept
	// connection turns out to be closed. The URL stays out of the constructor,
	// whose errors would print it.
	req, err := http.NewRequestWithContext(ctx, h.method, "", bytes.NewReader(h.body))
	if err != nil {
		return nil, errors.New("the method is not valid")
	}
	req.URL = h.url
	if h.header != nil {
		req.Header = h.header.Clone()
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", c.userAgent)
	}
	res, err := t.RoundTrip(req)
	if err == nil && res.StatusCode == http.StatusSwitchingProtocols {
		// The body would be the bare connection, which no context ends.
		_ = res.Body.Close()
		return nil, refuse("the server switched to another protocol, which was not asked for")
	}
	return res, err
}

// explain says what went wrong between here and u's host.
func explain(ctx context.Context, u *url.URL, err error) error {
	origin := Origin(u)
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("%s: no complete answer: %w", origin, cause)
	}
	var refused *RefusedError
	if errors.As(err, &refused) {
		return refuse("%s: %s", origin, refused.Reason)
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return fmt.Errorf("%s: the host name could not be resolved: %s", origin, dns.Err)
	}
	return &transportError{origin, err}
}

// transportError is what went wrong on the way. Its text is cut, since the
// standard library quotes what a server sent.
type transportError struct {
	origin string
	err    error
}

func (e *transportError) Error() string { return e.origin + ": " + shorten(e.err.Error()) }

func (e *transportError) Unwrap() error { return e.err }

// Origin gives u's scheme, host and port, the port only where it is not the
// scheme's default. Nothing else of a URL is fit for messages.
func Origin(u *url.URL) string {
	scheme := strings.ToLower(u.Scheme)
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if p := port(u); p != defaultPorts[scheme] {
		host += ":" + p
	}
	return scheme + "://" + shorten(host)
}

var defaultPorts = map[string]string{"http": "80", "https": "443"}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return defaultPorts[strings.ToLower(u.Scheme)]
}

// shorten keeps what a server sent from filling a message.
func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
