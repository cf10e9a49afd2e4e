package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/upstream"
)

// TestMain makes this program an MCP server where its arguments say so.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == serveArg {
		(&testServer{mode: os.Args[2]}).serve(os.Stdin, os.Stdout)
		return
	}
	goleak.VerifyTestMain(m)
}

// fake is a server without a connection, for what does not depend on one.
type fake struct {
	mu      sync.Mutex
	dials   int
	open    int
	list    *protocol.ToolList
	info    protocol.Server
	dialErr error
	slow    func(ctx context.Context) error // before connecting
	do      func(ctx context.Context, c *protocol.Call) (string, error)
	changed func(what string)
	tools   int // how often it was asked for them
}

type fakeClient struct{ f *fake }

func (c fakeClient) Tools(context.Context, http.Header) (*protocol.ToolList, error) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.tools++
	if c.f.list == nil {
		return &protocol.ToolList{}, nil
	}
	list := *c.f.list
	return &list, nil
}

func (c fakeClient) Do(ctx context.Context, call *protocol.Call) (*protocol.Result, error) {
	if c.f.do == nil {
		return &protocol.Result{Raw: json.RawMessage(`{"content":[{"type":"text","text":"done"}]}`)}, nil
	}
	raw, err := c.f.do(ctx, call)
	if err != nil {
		return nil, err
	}
	return &protocol.Result{Raw: json.RawMessage(raw)}, nil
}

func (c fakeClient) Done() <-chan struct{} { return nil }
func (c fakeClient) Err() error            { return errors.New("gone") }
func (c fakeClient) Close() error {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.open--
	return nil
}

func (f *fake) dial(ctx context.Context, _ http.Header, changed func(string)) (upstream.Client, *protocol.Server, error) {
	f.mu.Lock()
	slow := f.slow
	f.dials++
	f.mu.Unlock()
	if slow != nil {
		if err := slow(ctx); err != nil {
			return nil, nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dialErr != nil {
		return nil, nil, f.dialErr
	}
	f.open++
	f.changed = changed
	info := f.info
	return fakeClient{f}, &info, nil
}

// set changes what the server lists, and says so.
func (f *fake) set(tools ...protocol.Tool) {
	f.mu.Lock()
	f.list = &protocol.ToolList{Tools: tools}
	changed := f.changed
	f.mu.Unlock()
	if changed != nil {
		changed("tools")
	}
}

func named(names ...string) []protocol.Tool {
	var tools []protocol.Tool
	for _, name := range names {
		tools = append(tools, protocol.Tool{Name: name, Description: "does " + name})
	}
	return tools
}

// logs is what was logged.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newPool gives a pool whose servers are all f; with nil they are real.
func newPool(t *testing.T, f *fake) (*Pool, *logs) {
	t.Helper()
	l := &logs{}
	p := NewPool(PoolOptions{Log: slog.New(slog.NewTextHandler(l, nil)), Now: time.Now, TempDir: t.TempDir()})
	if f != nil {
		p.dial = func(*config.MCPServer, upstream.DialOptions) upstream.Dial { return f.dial }
	}
	return p, l
}

// entry is an mcp entry of an agent file.
func entry(change func(t *config.Tool)) *config.Tool {
	t := &config.Tool{
		Pos: config.Position{File: "a.yaml", Line: 3},
		MCP: &config.MCP{Server: &config.MCPServer{
			Name: "files", Command: "server", Dir: "/", Transport: "auto", Protocol: "auto", Connect: "lazy", Elicitation: "ask", Sampling: "deny",
			StartTimeout: config.Duration(30 * time.Second), IdleTimeout: config.Duration(10 * time.Minute),
		}},
	}
	if change != nil {
		change(t)
	}
	return t
}

func deps() Deps {
	return Deps{Agent: "helper", Lookup: func(name string) (string, bool) {
		return map[string]string{"PATH": os.Getenv("PATH")}[name], name == "PATH"
	}}
}

// open gives a toolset of a pool that closes with the test.
func open(t *testing.T, p *Pool, e *config.Tool) *Toolset {
	t.Helper()
	s, err := p.Toolset(e, deps())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asked are the tools of a toolset by their names, and what it reported.
func asked(t *testing.T, s *Toolset, q agent.Query) (map[string]agent.Tool, *session.Listing) {
	t.Helper()
	var listing *session.Listing
	q.Report = func(l *session.Listing) { listing = l }
	tools, err := s.Tools(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]agent.Tool{}
	for _, tool := range tools {
		byName[tool.Spec().Name] = tool
	}
	return byName, listing
}

// call is a call of a tool by its person.
func call(args string) *agent.Call {
	return &agent.Call{
		ID: "c1", Name: "tool", Args: json.RawMessage(args), Agent: "helper", Invocation: "e-1", Key: session.Key{Principal: "ann", Agent: "helper", Handle: "cv"},
		Caller: agent.Caller{Principal: "ann"}, Progress: func(string) {},
	}
}

// called is what a call of a tool gives.
func called(t *testing.T, tool agent.Tool, c *agent.Call) *agent.Result {
	t.Helper()
	if tool == nil {
		t.Fatal("there is no such tool")
	}
	r, err := tool.Call(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// again is the same call with the answer to what it asked.
func again(c *agent.Call, r *agent.Result, answer session.Answer) *agent.Call {
	next := *c
	answer.Kind = r.Suspend.Kind
	next.Asked, next.Answer = r.Suspend, &answer
	return &next
}
