// Package serve offers agents as MCP tools.
//
// Start with [New]: it makes the MCP servers, one tool per agent, that a
// transport (stdio, httpserver) then serves. call.go follows one tools/call,
// conversation.go decides which conversation it belongs to, progress.go tells
// the caller what happens, result.go turns the agent's answer into a result.
//
// Arguments that a tool does not know are ignored, as ADK does: hosts and
// models add some of their own. None of them changes what a call means.
package serve

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve/httpserver"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// defaultName is the name of a server with several agents.
const defaultName = "adkmcp"

// listTTL is how long a client of MCP 2026-07-28 may keep our lists, which
// never change while we run, in milliseconds (server/utilities/caching).
const listTTL = 300_000

// Agent is one agent to serve. It is not written to.
type Agent struct {
	Name         string // of the tool
	Title        string // may be empty
	Description  string // may be empty
	Instructions string // for the host; may be empty
	File         string // where it comes from, for messages
	// Hints are what its tools can do at worst; Annotations override them.
	Hints       agent.Hints
	Annotations config.Annotations
	// Conversation ties calls together; empty means PerConnection.
	Conversation config.Conversation
	// Timeout is how long a call waits for earlier turns of its conversation;
	// by default for as long as they take.
	Timeout time.Duration
	Runner  turns.Runner
}

// Options make a [Server].
type Options struct {
	Agents []Agent // at least one
	// Name is the server's name; by default that of the only agent, else adkmcp.
	Name    string
	Version string
	// HTTP says that the transport is HTTP, where no conversation belongs to
	// the process.
	HTTP bool
	// IdleExpiry is how long the store keeps an idle conversation.
	IdleExpiry time.Duration
	Turns      *turns.Registry
	// Delete removes a conversation that nobody can come back to.
	Delete func(context.Context, session.Key) error
	Random io.Reader // safe for concurrent use, as crypto/rand.Reader is
	Log    *slog.Logger
}

// Server offers agents as MCP tools.
type Server struct {
	opts Options

	mu          sync.Mutex
	connections map[string]*connection
}

// New checks the agents. Nothing is started or contacted.
func New(o Options) (*Server, error) {
	if len(o.Agents) == 0 {
		return nil, errors.New("there is no agent to serve")
	}
	files := make(map[string]string, len(o.Agents))
	for i := range o.Agents {
		a := &o.Agents[i]
		if file, taken := files[a.Name]; taken {
			return nil, fmt.Errorf("two agents are served as %q: %s and %s; give one of them another name or serve.name", a.Name, file, a.File)
		}
		files[a.Name] = a.File
		if o.HTTP && a.Conversation == config.PerProcess {
			return nil, fmt.Errorf("%s: serve.conversation: process works on stdio only; over HTTP use connection or explicit", a.File)
		}
	}
	return &Server{opts: o, connections: make(map[string]*connection)}, nil
}

// All gives an MCP server with every agent.
func (s *Server) All() *server.MCPServer {
	if len(s.opts.Agents) == 1 {
		return s.only(&s.opts.Agents[0], s.opts.Name)
	}
	name := s.opts.Name
	if name == "" {
		name = defaultName
	}
	var instructions []string
	for i := range s.opts.Agents {
		if a := &s.opts.Agents[i]; a.Instructions != "" {
			instructions = append(instructions, "## "+a.Name+"\n\n"+strings.TrimSpace(a.Instructions))
		}
	}
	m := s.server(name, server.WithInstructions(strings.Join(instructions, "\n\n")))
	for i := range s.opts.Agents {
		s.add(m, &s.opts.Agents[i])
	}
	return m
}

// Endpoints gives the paths of an HTTP server: /mcp with every agent and
// /mcp/NAME with one.
func (s *Server) Endpoints() []httpserver.Endpoint {
	es := []httpserver.Endpoint{{Path: "/mcp", Server: s.All()}}
	for i := range s.opts.Agents {
		a := &s.opts.Agents[i]
		es = append(es, httpserver.Endpoint{Path: "/mcp/" + a.Name, Server: s.only(a, "")})
	}
	return es
}

// only gives an MCP server with one agent, whose name it bears by default.
func (s *Server) only(a *Agent, name string) *server.MCPServer {
	if name == "" {
		name = a.Name
	}
	m := s.server(name, server.WithInstructions(a.Instructions), server.WithTitle(a.Title))
	s.add(m, a)
	return m
}

func (s *Server) server(name string, more ...server.ServerOption) *server.MCPServer {
	hooks := &server.Hooks{}
	hooks.AddOnRequestInitialization(func(ctx context.Context, id, _ any) error {
		if cancelled := turns.PeerOf(ctx).Cancelled; cancelled != nil && cancelled(id) {
			return turns.ErrCancelled
		}
		return nil
	})
	// A cancel that comes between the check above and the library's note of the
	// call would be lost.
	hooks.AddBeforeCallTool(func(ctx context.Context, id any, req *mcp.CallToolRequest) {
		if cancelled := turns.PeerOf(ctx).Cancelled; cancelled != nil && cancelled(id) {
			req.Params.Arguments = withdrawn{}
		}
	})
	return server.NewMCPServer(name, s.opts.Version, append(more,
		server.WithToolCapabilities(false),
		server.WithCacheHints(listTTL, mcp.CacheScopePrivate),
		server.WithHooks(hooks))...)
}

func (s *Server) add(m *server.MCPServer, a *Agent) {
	m.AddTool(a.tool(s.opts.IdleExpiry), func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return s.call(ctx, a, &req), nil
	})
}

// newID makes an id that nobody can guess: 128 random bits after the prefix.
func (s *Server) newID(prefix string) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(s.opts.Random, b[:]); err != nil {
		return "", fmt.Errorf("no random bytes for an id: %w", err)
	}
	return prefix + base64.RawURLEncoding.EncodeToString(b[:]), nil
}
