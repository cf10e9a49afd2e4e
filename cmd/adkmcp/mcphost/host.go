// Package mcphost acts as an MCP host: it starts a server or connects to one,
// lists its tools, calls one, answers its questions and gives what came back.
// It hides the MCP library from the rest of the program.
//
// Start with [Start] and [Remote], which name a server, then [Server.Connect]
// and [Host.Call]. Texts that the server wrote, errors included, come as they
// are: whoever shows them to a person takes out what a terminal would act on.
package mcphost

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

const (
	discoverTimeout = 5 * time.Second
	// maxRounds bounds how often one call may come back with questions.
	maxRounds = 200
	// progressToken names the call; a connection has one at a time.
	progressToken = "call"
)

// connection is the other side of a call: a transport, and what shows of the
// server beside the protocol.
type connection interface {
	transport.Interface
	// reason says what is behind a failure of the connection, or nothing if it
	// says it itself.
	reason(when string, err error) error
	// seen gives what was noted about the results that came.
	seen() *sifter
}

// Server is an MCP server that is not connected yet. It is made by [Start] or
// [Remote] and serves one [Server.Connect].
type Server struct{ conn connection }

// Options say how to be a host.
type Options struct {
	Name, Version string        // what the server is told about us
	Patience      time.Duration // for the server to show its tools
	// Progress gets the messages that come while a call runs, on the
	// connection's goroutine; nil drops them.
	Progress func(message string)
	// Ask answers the server's questions, one at a time; that it is set is what
	// lets the server ask. Its ctx ends with the call and the connection; its
	// error fails the call.
	Ask func(ctx context.Context, q Question) (Reply, error)
}

// Host is a connection to a server that has shown its tools.
type Host struct {
	c     *client.Client
	conn  connection
	tools []string
	takes map[string]map[string]any // tool -> its arguments
	end   context.CancelFunc
}

// Connect starts and greets the server and asks for its tools. Ending ctx ends
// that, and later every question of the server, but not the connection: the
// caller closes the Host.
func (s *Server) Connect(ctx context.Context, o Options) (*Host, error) {
	questions, end := context.WithCancel(ctx)
	options := []client.ClientOption{client.WithDiscoverTimeout(discoverTimeout), client.WithMaxInputRoundTrips(maxRounds)}
	if o.Ask != nil && s.Asks() {
		options = append(options, client.WithElicitationHandler(newElicitor(questions, o.Ask, s.conn.seen())))
	}
	h := &Host{c: client.NewClient(s.conn, options...), conn: s.conn, end: end}
	h.c.OnNotification(func(n mcp.JSONRPCNotification) {
		if message, ok := n.Params.AdditionalFields["message"].(string); ok && n.Method == "notifications/progress" && o.Progress != nil {
			o.Progress(message)
		}
	})
	if err := h.greet(ctx, o); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// Asks reports whether the server's questions can reach us. The deprecated SSE
// transport of our library takes none.
func (s *Server) Asks() bool {
	_, deprecated := s.conn.(*sse)
	return !deprecated
}

func (h *Host) greet(ctx context.Context, o Options) error {
	const when = "before it answered"
	if _, waits := h.conn.(*sse); waits { // for the endpoint
		defer context.AfterFunc(ctx, func() { _ = h.c.Close() })()
	}
	if err := h.c.Start(context.WithoutCancel(ctx)); err != nil {
		return h.explain(when, fmt.Errorf("start the server: %w", err))
	}
	within, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	init := mcp.InitializeRequest{}
	init.Params.ClientInfo = mcp.Implementation{Name: o.Name, Version: o.Version}
	what := "connect"
	_, err := h.c.Initialize(within, init)
	if err == nil {
		what = "list the server's tools"
		err = h.listTools(within)
	}
	switch {
	case err == nil:
		return nil
	case within.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("the server did not answer within %s", o.Patience)
	}
	return h.explain(when, fmt.Errorf("%s: %w", what, err))
}

func (h *Host) listTools(ctx context.Context) error {
	if h.c.GetServerCapabilities().Tools == nil {
		return nil
	}
	list, err := h.c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return err
	}
	h.takes = make(map[string]map[string]any, len(list.Tools))
	for i := range list.Tools {
		t := &list.Tools[i]
		h.tools = append(h.tools, t.Name)
		h.takes[t.Name] = t.InputSchema.Properties
	}
	return nil
}

// explain turns a failure into what the person is told.
func (h *Host) explain(when string, err error) error {
	if why := h.conn.reason(when, err); why != nil {
		return why
	}
	return err
}

// undated is ctx without a deadline to be seen, which ends with ctx all the same.
// mcp-go's SSE client crashes when it finds a deadline that has passed and whose
// timer has not fired yet.
func undated(ctx context.Context) (context.Context, func()) {
	within, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return within, func() { stop(); cancel(nil) }
}

// Tools are the names of the server's tools, as it listed them.
func (h *Host) Tools() []string { return h.tools }

// Takes gives the names of the arguments that a tool declares, sorted.
func (h *Host) Takes(tool string) []string { return slices.Sorted(maps.Keys(h.takes[tool])) }

// Call calls a tool and waits for the result or the end of ctx; calls of one
// Host come one after another. An error result is no error but Result.IsError.
func (h *Host) Call(ctx context.Context, tool string, arguments map[string]any) (*Result, error) {
	req := mcp.CallToolRequest{Params: mcp.CallToolParams{
		Name: tool, Arguments: arguments, Meta: &mcp.Meta{ProgressToken: progressToken},
	}}
	within, done := undated(ctx)
	defer done()
	r, err := h.c.CallTool(within, req)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, h.explain("during the call", fmt.Errorf("call %s: %w", tool, err))
	}
	return newResult(r, h.conn.seen()), nil
}

// Read reads a resource, such as one that a result links to. It may have
// several parts; what cannot be read of them is in the error.
func (h *Host) Read(ctx context.Context, uri string) ([]Block, error) {
	within, done := undated(ctx)
	defer done()
	r, err := h.c.ReadResource(within, mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: uri}})
	if err != nil {
		return nil, h.explain("during the call", fmt.Errorf("read %s: %w", uri, err))
	}
	var blocks []Block
	var errs []error
	for _, c := range r.Contents {
		b, err := resourceBlock(c)
		if err != nil {
			errs = append(errs, fmt.Errorf("read %s: %w", uri, err))
			continue
		}
		blocks = append(blocks, b)
	}
	return blocks, errors.Join(errs...)
}

// Close ends the connection, the questions that are open and a server that was
// started. How the server ends says nothing about the result.
func (h *Host) Close() {
	h.end()
	_ = h.c.Close()
}
