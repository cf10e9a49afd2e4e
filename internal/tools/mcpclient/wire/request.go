package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
)

const (
	defaultMaxMessage = 16 << 20
	maxRefusal        = 1 << 20 // bytes kept of the body of a status that is no success
	maxExcerpt        = 300     // bytes of it that a message quotes

	jsonType  = "application/json"
	eventType = "text/event-stream"

	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	lastEventID   = "Last-Event-Id"
)

// HTTPOptions are what [NewHTTP] and [NewSSE] are made with. URL, RoundTripper and
// Log are required.
type HTTPOptions struct {
	// URL is the server's address, http or https. Its user information and
	// fragment are not sent.
	URL string
	// RoundTripper makes the connections, and decides which addresses may be
	// reached. Close gives up its idle connections, if it has any.
	RoundTripper http.RoundTripper
	// Header goes along with every request, as far as a message may bring it.
	Header http.Header
	// Authority gives credentials; nil where none are needed.
	Authority Authority
	Log       *slog.Logger
	// MaxMessage is how large a message of the server may be, in bytes after
	// decompression; 0 is 16 MiB.
	MaxMessage int64
	// Listen opens a stream for what the server says outside of requests, in
	// protocol versions up to 2025-11-25 over streamable HTTP.
	Listen bool
}

// client sends HTTP requests to one server.
type client struct {
	HTTPOptions
	url *url.URL
	bad error // why URL is none
}

func newClient(o HTTPOptions) client {
	if o.MaxMessage == 0 {
		o.MaxMessage = defaultMaxMessage
	}
	c := client{HTTPOptions: o}
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Hostname() == "":
		c.bad = errors.New("the server's url is not valid") // the parser's error would print it
	case u.Scheme != "http" && u.Scheme != "https":
		c.bad = errors.New("the server's url must begin with http:// or https://")
	default:
		u.User, u.Fragment, u.RawFragment = nil, "", ""
		c.url = u
	}
	return c
}

// origin gives scheme, host and port, the port only where it is not the scheme's
// default. Nothing else of a URL is fit for messages, or says whose it is.
func origin(u *url.URL) string {
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return u.Scheme + "://" + host
}

// errorf makes an error that names the server.
func (c *client) errorf(format string, args ...any) error {
	return fmt.Errorf(origin(c.url)+": "+format, args...)
}

// call is one HTTP request.
type call struct {
	method string
	url    *url.URL // nil is the client's
	body   []byte
	header http.Header // ours
	caller http.Header // what the message brings along
}

// answer is what came for it. A status that is no success has been read: the
// connection is free, and refusal is its body, cut.
type answer struct {
	*http.Response
	refusal []byte
}

func (a *answer) refused() bool { return a.StatusCode < 200 || a.StatusCode > 299 }

// drain gives up an answer. A short one leaves the connection usable.
func (a *answer) drain() {
	if mediaType(a) != eventType { // which may not end
		_, _ = io.CopyN(io.Discard, a.Body, 4<<10)
	}
	_ = a.Body.Close()
}

// do sends a call, once more if the authority has better credentials after the
// first try. A status is no error here.
func (c *client) do(ctx context.Context, r *call) (*answer, error) {
	for again := true; ; again = false {
		a, err := c.once(ctx, r)
		denied := err == nil && (a.StatusCode == http.StatusUnauthorized || a.StatusCode == http.StatusForbidden)
		if !denied || !again || c.Authority == nil {
			return a, err
		}
		a.Body = io.NopCloser(bytes.NewReader(a.refusal))
		better, err := c.Authority.Challenged(ctx, a.Response)
		if err != nil {
			return nil, &NotSentError{&DeniedError{err}} // what was refused has not been run
		}
		if !better {
			return a, nil
		}
	}
}

// once sends a call, to where the server has moved it within its own origin too.
func (c *client) once(ctx context.Context, r *call) (*answer, error) {
	header, err := c.headers(ctx, r)
	if err != nil {
		return nil, &NotSentError{err}
	}
	target := r.url
	if target == nil {
		target = c.url
	}
	a, err := c.roundTrip(ctx, r, target, header)
	if err != nil {
		return nil, err
	}
	if moved := c.moved(a, target); moved != nil {
		return c.roundTrip(ctx, r, moved, header)
	}
	return a, nil
}

// moved gives the address that a redirect leads to, if it may be followed.
func (c *client) moved(a *answer, from *url.URL) *url.URL {
	if a.StatusCode != http.StatusTemporaryRedirect && a.StatusCode != http.StatusPermanentRedirect {
		return nil
	}
	to, err := from.Parse(a.Header.Get("Location"))
	if err != nil || origin(to) != origin(c.url) {
		return nil
	}
	to.User, to.Fragment, to.RawFragment = nil, "", ""
	return to
}

// headers puts together what a request carries: what the message brings, over that
// the authority's, over that ours.
func (c *client) headers(ctx context.Context, r *call) (http.Header, error) {
	h := http.Header{"User-Agent": {"adkmcp"}}
	for _, brought := range []http.Header{c.Header, r.caller} {
		for name, values := range brought {
			if name = http.CanonicalHeaderKey(name); passes(name) {
				h[name] = values
			}
		}
	}
	if c.Authority != nil {
		given, err := c.Authority.Headers(ctx)
		if err != nil {
			return nil, &DeniedError{err}
		}
		for name, values := range given {
			h[http.CanonicalHeaderKey(name)] = values
		}
	}
	for _, name := range []string{sessionHeader, lastEventID, "Accept-Encoding"} {
		delete(h, name) // the last one is the transport's, which undoes what it asks for
	}
	for name, values := range r.header {
		h[name] = values
	}
	return h, nil
}

// passes reports whether a message may bring a header: not credentials, nor what
// says how messages are carried.
func passes(name string) bool {
	switch name {
	case "Authorization", "Cookie", "Host", sessionHeader, versionHeader, lastEventID,
		"Accept", "Accept-Encoding", "Connection", "Expect", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return false
	}
	return !strings.HasPrefix(name, "Content-") && !strings.HasPrefix(name, "Proxy-")
}

func (c *client) roundTrip(ctx context.Context, r *call, to *url.URL, header http.Header) (*answer, error) {
	var written atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { written.Store(true) }})
	// The URL stays out of the constructor, whose errors would print it.
	req, err := http.NewRequestWithContext(traced, r.method, "", bytes.NewReader(r.body))
	if err != nil {
		return nil, &NotSentError{err}
	}
	req.URL, req.Header = to, header
	res, err := c.RoundTripper.RoundTrip(req)
	if err != nil {
		err = c.broken(ctx, err)
		if !written.Load() {
			err = &NotSentError{err}
		}
		return nil, err
	}
	a := &answer{Response: res}
	if !a.refused() {
		return a, nil
	}
	if res.StatusCode != http.StatusSwitchingProtocols { // whose body is the bare connection
		a.refusal, _ = io.ReadAll(io.LimitReader(res.Body, maxRefusal))
	}
	_ = res.Body.Close()
	return a, nil
}

// broken says why there is no complete answer.
func (c *client) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return c.errorf("no complete answer: %w", context.Cause(ctx))
	}
	return &brokenError{origin(c.url), err}
}

// brokenError is what went wrong on the way. Its text is cut, since the standard
// library quotes what a server sent.
type brokenError struct {
	origin string
	err    error
}

func (e *brokenError) Error() string { return e.origin + ": " + excerpt(e.err.Error()) }

func (e *brokenError) Unwrap() error { return e.err }

// status makes the error for an answer that is no success.
func (c *client) status(a *answer) error {
	err := &StatusError{Code: a.StatusCode}
	kind := mediaType(a)
	switch {
	case a.StatusCode/100 == 3:
		err.Text = c.pointed(a)
	case messageOf(a.refusal) != "":
		err.Text = excerpt(messageOf(a.refusal))
	case kind == jsonType || kind == "text/plain":
		err.Text = excerpt(string(a.refusal))
	}
	return c.errorf("%w", err)
}

// pointed says where a redirect leads that is not followed.
func (c *client) pointed(a *answer) string {
	to, err := c.url.Parse(a.Header.Get("Location"))
	switch {
	case err != nil || a.Header.Get("Location") == "":
		return "it points to no address"
	case origin(to) == origin(c.url):
		return "it points to another path of the same server, and is not followed: write the right address as the server's url"
	}
	return "it points to " + excerpt(origin(to)) + ", and is not followed: if that is right, write it as the server's url"
}

func mediaType(a *answer) string {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	return kind
}

// encoded makes an error for an answer in an encoding that was not asked for; the
// one that was, the RoundTripper has undone.
func (c *client) encoded(a *answer) error {
	if enc := a.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return c.errorf("the answer is encoded as %q, which was not asked for", excerpt(enc))
	}
	return nil
}

// excerpt keeps what a server sent from filling a message or leaving its line.
func excerpt(s string) string {
	cut := len(s) > maxExcerpt
	if cut {
		s = s[:maxExcerpt]
	}
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, ""), func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if cut {
		s += "…"
	}
	return s
}

// closeIdle gives up the idle connections.
func (c *client) closeIdle() {
	if t, ok := c.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}
