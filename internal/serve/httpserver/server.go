// Package httpserver serves MCP over streamable HTTP.
//
// Start with [New] and [Server.Serve]. A request passes guard.go (Host, Origin,
// token), then post.go, which bounds and checks what came in before the MCP
// library sees it; the library answers through a [sink], which also carries
// progress. session.go holds the sessions of protocol versions that have them.
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

	mcpserver "github.com/mark3labs/mcp-go/server"
	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"

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
	maxConnections = 10_000 // further ones wait

	// closeTimeout is how long answers may take to reach their callers after
	// the last turn has ended or has been cancelled.
	closeTimeout = 5 * time.Second
	// retryAfter is what a client that is turned away is told to wait, in
	// seconds.
	retryAfter = "5"
)

// Endpoint is one MCP server and its path.
type Endpoint struct {
	Path   string
	Server *mcpserver.MCPServer
}

// Config makes a [Server].
type Config struct {
	// Addr is HOST:PORT; without a host it is the loopback address.
	Addr      string
	Endpoints []Endpoint
	// Tokens are the bearer tokens that open the server. Without any, everybody
	// who reaches it may use it, so it must be on a loopback address, or
	// InsecureNoAuth set.
	Tokens         []Token
	InsecureNoAuth bool
	// AllowHosts and AllowOrigins are names under which the server is reached,
	// and web origins that may use it, beside its own.
	AllowHosts   []string
	AllowOrigins []string
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
	guard    *guard
	sessions *sessions
	mux      *http.ServeMux
	draining atomic.Bool
	body     time.Duration // bodyTimeout
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
	g, err := newGuard(&c)
	if err != nil {
		return nil, err
	}
	table, err := newSessions(c.Random, c.Now, c.Ended)
	if err != nil {
		return nil, err
	}
	table.idleTTL = max(sessionIdle, c.IdleTTL)
	s := &Server{cfg: c, guard: g, sessions: table, mux: http.NewServeMux(), body: bodyTimeout}
	s.mux.HandleFunc("GET /livez", s.live)
	s.mux.HandleFunc("GET /readyz", s.ready)
	for _, e := range c.Endpoints {
		s.mux.Handle(e.Path, s.endpoint(e))
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

// Serve serves on l until ctx ends, then stops: no new requests are taken and
// /readyz says so, running turns go on (see DrainTimeout) and are then cancelled,
// and their callers get their results. It returns nil if it was ctx that ended
// it. l is closed.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	h := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug),
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := h.Serve(netutil.LimitListener(l, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
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

// stop ends everything, in DrainTimeout and closeTimeout at most. Answers have
// closeTimeout from when the last turn has ended.
func (s *Server) stop(ctx context.Context, cancel context.CancelFunc, h *http.Server) {
	s.draining.Store(true)
	s.cfg.Log.Info("stopping", "drain_timeout", s.cfg.DrainTimeout)
	grace := s.cfg.DrainTimeout
	if grace >= 2*closeTimeout {
		grace -= closeTimeout
	}
	stopping, stopped := context.WithTimeout(ctx, grace+closeTimeout)
	defer stopped()
	closing, cut := context.WithCancel(stopping)
	defer cut()
	var group errgroup.Group
	group.Go(func() error { return h.Shutdown(closing) })
	if err := s.cfg.Turns.Stop(stopping, grace, s.cfg.Hurry); err != nil {
		s.cfg.Log.Error("stopping", "error", err)
	}
	defer time.AfterFunc(closeTimeout, cut).Stop()
	if err := group.Wait(); err != nil {
		s.cfg.Log.Warn("connections were cut at the end", "error", err)
		cancel()
		_ = h.Close()
	}
	s.sessions.endAll(context.WithoutCancel(ctx))
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer s.recover(w, r)
	rc := http.NewResponseController(w)
	extend(rc)
	_ = rc.SetReadDeadline(time.Now().Add(s.body))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r = s.guard.admit(w, r); r != nil {
		s.mux.ServeHTTP(w, r)
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
