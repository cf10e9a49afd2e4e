// Package serve offers agents as MCP tools.
//
// Start with [New]: it makes the MCP servers, one tool per agent, that a
// transport (stdio, httpserver) then serves. call.go follows one tools/call,
// input.go reads its arguments, conversation.go decides which conversation it
// belongs to, asking.go puts questions to people, result.go and blocks.go turn
// the agent's answer into a result. handler.go is what a transport talks to.
//
// Arguments that a tool does not know are ignored, as ADK does: hosts and
// models add some of their own. None of them changes what a call means.
package serve

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
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
	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
	"github.com/adkmcp/adkmcp/internal/serve/catalog"
	"github.com/adkmcp/adkmcp/internal/serve/elicit"
	"github.com/adkmcp/adkmcp/internal/serve/httpserver"
	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/serve/tasks"
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
	// Patience is how long a turn waits for earlier ones of its conversation; by
	// default for as long as they take.
	Patience time.Duration
	// Wait is how long a caller waits for the answer, and TaskAfter when a call
	// becomes a task.
	Wait      config.Wait
	TaskAfter time.Duration
	// Input checks the arguments of an agent with an InputSchema, which then
	// stand in place of request; both are nil without one.
	Input       *jsonschema.Schema
	InputSchema json.RawMessage
	// OutputSchema is what the answer, then JSON, matches; nil for text.
	OutputSchema json.RawMessage
	ResultAll    bool // the caller gets all text of the turn
	MaxAnswer    int  // bytes of a text answer
	Attachments  *config.Attachments
	Prompts      []config.Prompt
	Resources    []config.Resource
	Tools        []*agent.Spec // for the description card; may be empty
	Runner       turns.Runner
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
	// Approve says what becomes of tools that need an approval; empty means Ask.
	Approve Approve
	// AskTimeout is how long a person may take to answer, or a client's model.
	AskTimeout time.Duration
	// Sealer signs what clients carry from a question to its answer.
	Sealer    *elicit.Sealer
	Artifacts artifact.Store
	Random    io.Reader // safe for concurrent use, as crypto/rand.Reader is
	Now       func() time.Time
	Log       *slog.Logger
}

// Server offers agents as MCP tools.
type Server struct {
	opts  Options
	tasks *tasks.Table
	// own is what each agent offers beside its tool, and all what they offer
	// together.
	own []*catalog.Catalog
	all *catalog.Catalog

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
	s := &Server{opts: o, tasks: tasks.NewTable(o.Now, o.AskTimeout), connections: make(map[string]*connection)}
	offers := make([]catalog.Agent, len(o.Agents))
	for i := range o.Agents {
		offers[i] = o.Agents[i].offers(o.Version)
		own, err := catalog.New(offers[i:i+1], s.catalogOptions())
		if err != nil {
			return nil, err
		}
		s.own = append(s.own, own)
	}
	var err error
	s.all, err = catalog.New(offers, s.catalogOptions())
	return s, err
}

// catalogOptions are what every catalogue needs.
func (s *Server) catalogOptions() catalog.Options {
	return catalog.Options{
		Artifacts: s.opts.Artifacts,
		Principal: func(ctx context.Context) string { return turns.PeerOf(ctx).Caller.Principal },
		Failed:    func(ctx context.Context, e *rpc.Error) { requestOf(ctx).failed = e },
	}
}

// offers is what the agent offers beside its tool.
func (a *Agent) offers(version string) catalog.Agent {
	card := catalog.Card{
		Name: a.Name, Title: a.Title, Description: a.Description, Version: version,
		InputSchema: a.inputSchema(), OutputSchema: a.OutputSchema, Conversation: string(a.policy()),
	}
	for i := range a.Tools {
		card.Tools = append(card.Tools, catalog.Tool{Name: a.Tools[i].Name, Description: a.Tools[i].Description})
	}
	return catalog.Agent{Name: a.Name, Title: a.Title, Description: a.Description, Prompts: a.Prompts, Resources: a.Resources, Card: card}
}

// readResource gives what a resource of the agent holds for the caller of ctx.
func (s *Server) readResource(ctx context.Context, a *Agent, uri string) (data []byte, mimeType string, err error) {
	return s.all.Read(ctx, a.Name, uri)
}

// All gives the handler of every agent.
func (s *Server) All() rpc.Handler {
	if len(s.opts.Agents) == 1 {
		return s.only(0, s.opts.Name)
	}
	var instructions []string
	for i := range s.opts.Agents {
		if a := &s.opts.Agents[i]; a.Instructions != "" {
			instructions = append(instructions, "## "+a.Name+"\n\n"+strings.TrimSpace(a.Instructions))
		}
	}
	e := s.endpoint(cmp.Or(s.opts.Name, defaultName), s.all, server.WithInstructions(strings.Join(instructions, "\n\n")))
	for i := range s.opts.Agents {
		s.add(e.library, &s.opts.Agents[i])
	}
	return e
}

// Endpoints gives the paths of an HTTP server: /mcp with every agent and
// /mcp/NAME with one.
func (s *Server) Endpoints() []httpserver.Endpoint {
	es := []httpserver.Endpoint{{Path: "/mcp", Handler: s.All()}}
	for i := range s.opts.Agents {
		es = append(es, httpserver.Endpoint{Path: "/mcp/" + s.opts.Agents[i].Name, Handler: s.only(i, "")})
	}
	return es
}

// only gives the handler of one agent, whose name it bears by default.
func (s *Server) only(i int, name string) rpc.Handler {
	a := &s.opts.Agents[i]
	e := s.endpoint(cmp.Or(name, a.Name), s.own[i], server.WithInstructions(a.Instructions), server.WithTitle(a.Title))
	s.add(e.library, a)
	return e
}

// endpoint makes an MCP server that has no tools yet.
func (s *Server) endpoint(name string, offers *catalog.Catalog, more ...server.ServerOption) *endpoint {
	options := append(offers.ServerOptions(),
		server.WithToolCapabilities(false),
		server.WithLogging(),
		server.WithExtensions(map[string]any{tasks.Extension: struct{}{}}),
		server.WithCacheHints(listTTL, mcp.CacheScopePrivate))
	m := server.NewMCPServer(name, s.opts.Version, append(options, more...)...)
	offers.Register(m)
	return &endpoint{serve: s, library: m, name: name}
}

func (s *Server) add(m *server.MCPServer, a *Agent) {
	m.AddTool(a.tool(s.opts.IdleExpiry), func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result := s.call(ctx, a, &req)
		if result == nil { // the request has an answer of its own
			result = &mcp.CallToolResult{}
		}
		return result, nil
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
