package mcphost

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

const exampleURL = "http://127.0.0.1:8080/mcp"

// answerTimeout is how long sending an answer may take that comes late.
const answerTimeout = 30 * time.Second

// Address is a server that is reached by URL: over streamable HTTP or, if its
// path ends in /sse, over the deprecated HTTP+SSE transport.
type Address struct {
	URL      string
	Token    string        // the bearer token; none if empty
	TokenEnv string        // where the token is from, for messages
	Patience time.Duration // for an SSE server to give its endpoint
	Timeout  time.Duration // for an answer over SSE
}

// Remote names a server by its address. The error is one of the URL.
func Remote(a Address) (*Server, error) {
	u, err := url.Parse(a.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q: want a whole URL such as %s", a.URL, exampleURL)
	}
	s := &web{url: u, token: a.Token, tokenEnv: a.TokenEnv}
	if deprecated(u.Path) {
		c, err := transport.NewSSE(a.URL, transport.WithHTTPClient(&http.Client{Transport: s}),
			transport.WithEndpointTimeout(a.Patience), transport.WithResponseTimeout(a.Timeout))
		return &Server{&sse{SSE: c, web: s}}, err
	}
	c, err := transport.NewStreamableHTTP(a.URL, transport.WithHTTPBasicClient(&http.Client{Transport: s}))
	return &Server{&streamable{StreamableHTTP: c, web: s}}, err
}

// web is what both HTTP transports share.
type web struct {
	sifter
	url      *url.URL
	token    string
	tokenEnv string
	status   atomic.Int32 // of the newest response
	late     atomic.Int32 // answers on their way after the library's limit
}

// RoundTrip adds the token, which the MCP library forgets when it ends a session,
// and notes the status, which it does not tell. Another server that redirects
// lead to gets no token.
func (s *web) RoundTrip(req *http.Request) (*http.Response, error) {
	if s.token != "" && req.URL.Host == s.url.Host && req.URL.Scheme == s.url.Scheme {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	if errors.Is(req.Context().Err(), context.DeadlineExceeded) && s.late.Load() > 0 {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), answerTimeout)
		defer cancel() // the answer to an answer has no body
		req = req.WithContext(ctx)
		s.late.Add(-1)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		s.status.Store(int32(res.StatusCode))
	}
	return res, err
}

// wsaRefused is Windows' code for a refused connection, which its
// syscall.ECONNREFUSED is not.
const wsaRefused = syscall.Errno(10061)

// explain says what is behind a failure of the transport.
func (s *web) explain(err error, failed bool) error {
	status := s.status.Load()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, wsaRefused):
		return fmt.Errorf("nothing listens at %s; start a server with: adkmcp serve --http HOST:PORT PATH", s.url.Redacted())
	case !failed || status < http.StatusBadRequest:
		return nil
	case status == http.StatusUnauthorized && s.tokenEnv == "":
		return errors.New("the server wants a token (status 401): name the environment variable that holds it with --token-env")
	case status == http.StatusUnauthorized:
		return fmt.Errorf("the server does not take the token (status 401) that --token-env %s names", s.tokenEnv)
	case strings.HasSuffix(s.url.Path, "/mcp"), deprecated(s.url.Path):
		return fmt.Errorf("the server answered with status %d at %s", status, s.url.Redacted())
	}
	return fmt.Errorf("the server answered with status %d at %s; adkmcp serves MCP at /mcp, as in %s", status, s.url.Redacted(), exampleURL)
}

// deprecated reports whether a path is one of the HTTP+SSE transport: /sse, or
// /sse/NAME for one agent.
func deprecated(path string) bool {
	return strings.HasSuffix(path, "/sse") || strings.Contains(path, "/sse/")
}

// streamable is a server that we reach over streamable HTTP.
type streamable struct {
	*transport.StreamableHTTP
	*web
}

// SendRequest sends a request as the MCP library does.
func (s *streamable) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	response, err := s.StreamableHTTP.SendRequest(ctx, req)
	s.sift(req.Method, response)
	return response, err
}

// SetRequestHandler has requests of the server handled without the library's
// limit of 30 seconds, which is too short for a person.
func (s *streamable) SetRequestHandler(handle transport.RequestHandler) {
	s.StreamableHTTP.SetRequestHandler(func(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		response, err := handle(context.WithoutCancel(ctx), req)
		if ctx.Err() != nil {
			s.late.Add(1)
		}
		return response, err
	})
}

func (s *streamable) reason(_ string, err error) error {
	var broken *transport.Error // any other error is an answer of the server
	return s.explain(err, errors.As(err, &broken))
}

// sse is a server that we reach over the deprecated HTTP+SSE transport.
type sse struct {
	*transport.SSE
	*web
}

// SendRequest sends a request under an id that is no number: the library takes
// a ping of the server for the answer to our request of the same id.
func (s *sse) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	req.ID = mcp.NewRequestId("call-" + req.ID.String())
	response, err := s.SSE.SendRequest(ctx, req)
	s.sift(req.Method, response)
	return response, err
}

func (s *sse) reason(_ string, err error) error {
	return s.explain(err, s.status.Load() >= http.StatusBadRequest)
}
