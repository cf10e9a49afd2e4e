// Package httpserver serves MCP over HTTP: streamable HTTP of all protocol
// versions at one path, and the deprecated HTTP+SSE transport beside it.
//
// Start with [New] and [Server.Serve]. A request passes package guard (Host,
// Origin, token), then post.go, which bounds and checks what came in before the handler
// sees it; the response goes out through a [sink], which also carries progress.
// session.go holds the sessions of protocol versions that have them, ask.go what
// is under way in them, and sse.go is the other transport.
package httpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/adkmcp/adkmcp/internal/serve/guard"
	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// Bounds of a connection and a request.
const (
	headerTimeout  = 5 * time.Second  // for the header of a request
	bodyTimeout    = 15 * time.Second // for its body
	writeTimeout   = 30 * time.Second // for one write to a client that does not read
	idleTimeout    = 60 * time.Second // between requests
	maxHeaderBytes = 64 << 10
	maxBodyBytes   = 4 << 20
	maxConnections = 10_000 // further ones are turned away
	maxCalls       = 256    // of tools at once, unless Config says otherwise
	maxListens     = 100    // open subscriptions/listen of one caller

	// closeTimeout is how long answers may take to reach their callers after
	// the last turn has ended or has been cancelled.
	closeTimeout = 5 * time.Second
	// retryAfter is what a client that is turned away is told to wait, in
	// seconds.
	retryAfter = "5"
)

// Token lets a principal in.
type Token = guard.Token

// Endpoint is one MCP server and its path.
type Endpoint struct {
	Path    string
	Handler rpc.Handler
}

// Config makes a [Server].
type Config struct {
	// Addr is HOST:PORT; without a host it is the loopback address.
	Addr string
	// Endpoints serve streamable HTTP. With SSE, those whose path is /mcp or
	// begins with /mcp/ serve the transport of MCP 2024-11-05 too: the stream at
	// /sse in place of /mcp, what clients send at /message.
	Endpoints []Endpoint
	SSE       bool
	// JSONOnly never streams over streamable HTTP: each response is one JSON
	// document, without progress and without questions to the client before it.
	JSONOnly bool
	// Tokens are the bearer tokens that open the server. Without any, everybody
	// who reaches it may use it, so it must be on a loopback address, or
	// InsecureNoAuth set.
	Tokens         []Token
	InsecureNoAuth bool
	// AllowHosts and AllowOrigins are names under which the server is reached,
	// and web origins that may use it, beside its own.
	AllowHosts   []string
	AllowOrigins []string
	// TLSCert and TLSKey are PEM files, for HTTPS; none for plain HTTP. They are
	// read again when they have changed.
	TLSCert string
	TLSKey  string
	// MaxCalls is how many tools/call may be served at once; 0 for 256. Further
	// ones are turned away.
	MaxCalls int
	// DrainTimeout is how long the server takes to stop, while running turns may
	// go on. Its last closeTimeout is for the answers of those that are then
	// cancelled; one of less than twice that is for the turns alone, and
	// closeTimeout comes after it.
	DrainTimeout time.Duration
	// IdleTTL is how long a conversation is kept that is not used. A session
	// lives without a request for as long, and for half an hour at least.
	IdleTTL time.Duration
	// Hurry, once closed, cuts DrainTimeout short; nil for never.
	Hurry <-chan struct{}
	Turns *turns.Registry
	// Ended is called when a connection has gone and has no call left.
	Ended  func(ctx context.Context, connection string)
	Random io.Reader // safe for concurrent use
	Log    *slog.Logger
	Now    func() time.Time
}

// Server is an HTTP server for MCP.
type Server struct {
	cfg      Config
	guard    *guard.Guard
	seal     *seal
	sessions *sessions
	listens  *streams // subscriptions/listen
	sse      *streams // connections of the transport of 2024-11-05
	calls    gate
	cert     *guard.Certificate // nil for plain HTTP
	mux      *http.ServeMux
	draining atomic.Bool
	silent   guard.Silent

	body        time.Duration // bodyTimeout
	write       time.Duration // writeTimeout
	connections int           // maxConnections
}

// New checks the configuration. Nothing listens yet.
func New(c Config) (*Server, error) {
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return nil, fmt.Errorf("the address %q must be HOST:PORT or :PORT: %w", c.Addr, err)
	}
	host = cmp.Or(host, "127.0.0.1")
	c.Addr = net.JoinHostPort(host, port)
	if !isLoopback(host) && len(c.Tokens) == 0 && !c.InsecureNoAuth {
		return nil, fmt.Errorf("%s can be reached from other machines: give every caller a token with --auth-token NAME=ENV_VAR, "+
			"or let everybody in with --insecure-no-auth", c.Addr)
	}
	g, err := guard.New(&guard.Config{Tokens: c.Tokens, AllowHosts: c.AllowHosts, AllowOrigins: c.AllowOrigins})
	if err != nil {
		return nil, err
	}
	var cert *guard.Certificate
	if c.TLSCert != "" || c.TLSKey != "" {
		if cert, err = guard.ReadCertificate(c.TLSCert, c.TLSKey, c.Now, c.Log); err != nil {
			return nil, err
		}
	}
	ids, err := newSeal(c.Random)
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: c, guard: g, seal: ids, cert: cert, mux: http.NewServeMux(),
		sessions: newSessions(ids, &c), listens: newStreams(maxListens), sse: newStreams(maxSessions),
		calls: make(gate, cmp.Or(c.MaxCalls, maxCalls)),
		body:  bodyTimeout, write: writeTimeout, connections: maxConnections,
	}
	s.mux.HandleFunc("GET /livez", s.live)
	s.mux.HandleFunc("GET /readyz", s.ready)
	for _, e := range c.Endpoints {
		s.mux.Handle(e.Path, &endpoint{server: s, path: e.Path, handler: e.Handler})
		if c.SSE {
			s.serveSSE(e)
		}
	}
	return s, nil
}

// isLoopback reports whether only this machine reaches host.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// Listen opens the configured address.
func (s *Server) Listen(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", s.cfg.Addr)
}

// Serve serves on l until ctx ends, then stops: /readyz says so, new sessions
// and turns are refused, running turns go on (see DrainTimeout) and are then
// cancelled, and their callers get their results. It returns nil if it was ctx
// that ended it. l is closed.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.warn()
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	h := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ConnContext:       guard.Mark,
		ConnState:         s.silent.Watch,
		ErrorLog:          slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug),
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := s.serve(h, guard.Count(l, s.connections)); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving HTTP: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		s.sweep(ctx)
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		s.stop(requests, cancel, h)
		return nil
	})
	return group.Wait()
}

func (s *Server) serve(h *http.Server, l net.Listener) error {
	if s.cert == nil {
		return h.Serve(l)
	}
	h.TLSConfig = s.cert.Config()
	return h.ServeTLS(l, "", "")
}

// warn tells the operator of a token that everybody on the way can read.
func (s *Server) warn() {
	if host, _, err := net.SplitHostPort(s.cfg.Addr); err == nil && !isLoopback(host) && len(s.cfg.Tokens) > 0 && s.cert == nil {
		s.cfg.Log.Warn("tokens cross the network unencrypted: serve TLS, or put a proxy that does in front", "addr", s.cfg.Addr)
	}
}

// stop ends everything, in DrainTimeout and closeTimeout at most. While turns
// run, who asks for them gets an answer, so the listener stays open; answers
// have closeTimeout from when the last turn has ended.
func (s *Server) stop(ctx context.Context, cancel context.CancelFunc, h *http.Server) {
	s.draining.Store(true)
	s.cfg.Log.Info("stopping", "drain_timeout", s.cfg.DrainTimeout)
	grace := s.cfg.DrainTimeout
	if grace >= 2*closeTimeout {
		grace -= closeTimeout
	}
	stopping, stopped := context.WithTimeout(ctx, grace+closeTimeout)
	defer stopped()
	if err := s.cfg.Turns.Stop(stopping, grace, s.cfg.Hurry); err != nil {
		s.cfg.Log.Error("stopping", "error", err)
	}
	// What is left waits for something that does not come any more.
	s.sessions.hangUp()
	s.listens.endAll()
	s.sse.endAll()
	s.silent.Close()
	closing, cut := context.WithTimeout(stopping, closeTimeout)
	defer cut()
	if err := h.Shutdown(closing); err != nil {
		s.cfg.Log.Warn("connections were cut at the end", "error", err)
		cancel()
		_ = h.Close()
	}
	s.sessions.endAll(context.WithoutCancel(ctx))
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	defer extend(rc, s.write) // for what is sent when we return
	defer s.recover(w, r)
	extend(rc, s.write)
	_ = rc.SetReadDeadline(time.Now().Add(s.body))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if guard.IsSurplus(r.Context()) && r.URL.Path != "/livez" {
		w.Header().Set("Connection", "close")
		turnAway(w, nil, "too many connections are open")
		return
	}
	probe := r.URL.Path == "/livez" || r.URL.Path == "/readyz"
	switch admitted, refused := s.guard.Admit(w, r, probe); {
	case refused != nil:
		refuse(w, refused.Status, rpc.CodeInvalidRequest, refused.Message)
	case admitted != nil:
		s.mux.ServeHTTP(w, admitted)
	}
}

// live answers as long as the process does.
func (s *Server) live(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok") }

// ready says whether new requests are welcome.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.draining.Load() {
		writeText(w, http.StatusServiceUnavailable, "stopping")
		return
	}
	writeText(w, http.StatusOK, "ok")
}
