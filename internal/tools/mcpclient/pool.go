// Package mcpclient makes tools of MCP servers.
//
// Start with [Pool], which holds the servers of a program, and [Toolset], which is
// what one entry of an agent file sees of one. tool.go is a call, question.go what
// a server asks in the middle of it, extra.go the tools for resources and prompts.
// Below: upstream keeps connections, listing makes tools fit for a model, content
// makes results so, parking lets calls wait for people, pin remembers what was
// approved, protocol and wire speak MCP.
package mcpclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/credential"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/parking"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/pin"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/upstream"
	"github.com/adkmcp/adkmcp/internal/tools/process"
)

// loginTime is how much longer connecting may take where a person may have to log
// in meanwhile, which grantOwn of OAuth needs nobody for.
const (
	loginTime = 5 * time.Minute
	grantOwn  = "client_credentials"
)

// PoolOptions are what a [Pool] needs. Log and Now are required.
type PoolOptions struct {
	Log *slog.Logger
	Now func() time.Time
	// Interactive says that a person is at the terminal who can log in, and
	// Browser opens a page for that; without it the page's address is logged.
	Interactive bool
	Browser     func(ctx context.Context, url string) error
	// Version is this program's.
	Version string
	// TempDir is where private folders of servers are made; empty is the system's
	// own place.
	TempDir string
}

// Pool is the servers of one program. Agents that declare the same server share
// it. It is safe for concurrent use.
type Pool struct {
	o   PoolOptions
	lot *parking.Lot
	// dial is how servers are reached.
	dial func(*config.MCPServer, upstream.DialOptions) upstream.Dial

	mu      sync.Mutex
	servers map[key]*shared
	closed  bool
}

// key is what a server's configuration comes to.
type key [sha256.Size]byte

// NewPool makes a pool without servers; its owner closes it.
func NewPool(o PoolOptions) *Pool {
	return &Pool{o: o, lot: parking.New(o.Log), dial: upstream.NewDial, servers: map[key]*shared{}}
}

// Close ends all calls and connections, and returns when nothing of them is left.
// Toolsets may be closed afterwards.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	servers := slices.Collect(maps.Values(p.servers))
	p.mu.Unlock()
	errs := make([]error, len(servers))
	var group sync.WaitGroup
	for i, s := range servers {
		group.Go(func() { errs[i] = s.close() })
	}
	p.lot.Close()
	group.Wait()
	return errors.Join(errs...)
}

// Deps are what a [Toolset] needs of its agent. Agent and Lookup are required.
type Deps struct {
	Agent string // its name
	// Lookup gives the variables of the agent file's environment.
	Lookup func(name string) (string, bool)
	// Sample answers sampling/createMessage of servers that are allowed it; nil
	// where there is no model.
	Sample Sample
}

// Toolset gives what the entry t, which has an mcp section, sees of its server.
// Nothing is started, and nobody is contacted. Whoever gets it closes it.
func (p *Pool) Toolset(t *config.Tool, d Deps) (*Toolset, error) {
	c := t.MCP.Server
	if c.Sampling != "allow" {
		d.Sample = nil
	}
	k, err := keyOf(c, d)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("the MCP servers are closed")
	}
	s := p.servers[k]
	if s == nil {
		if s, err = p.newShared(c, d); err != nil {
			return nil, fmt.Errorf("the MCP server %s: %w", c.Name, err)
		}
		s.key = k
		p.servers[k] = s
	}
	s.users++
	made := &Toolset{
		pool: p, server: s, cfg: t, deps: d, name: c.Name, redact: config.NewRedactor(c.Secrets).Text,
		log: p.o.Log.With("server", c.Name, "agent", d.Agent),
	}
	if t.MCP.Pin != "" {
		made.pins = pin.NewReader(t.MCP.Pin, c.Name)
	}
	return made, nil
}

// newShared makes a server that nobody uses yet.
func (p *Pool) newShared(c *config.MCPServer, d Deps) (*shared, error) {
	s := &shared{lanes: map[string]*lane{}}
	start := cmp.Or(c.StartTimeout.Std(), 30*time.Second)
	if p.o.Interactive && c.OAuth != nil && c.OAuth.Grant != grantOwn {
		start += loginTime
	}
	dialing := upstream.DialOptions{
		Lookup: d.Lookup, Log: p.o.Log, Version: p.o.Version, TempDir: p.o.TempDir,
		Elicitation: c.Elicitation == elicitationAsk, Sampling: d.Sample != nil,
	}
	if c.URL != "" {
		var err error
		s.authority, err = credential.New(c, credential.Options{
			Lookup: d.Lookup, Log: p.o.Log, Now: p.o.Now, Interactive: p.o.Interactive, Browser: p.o.Browser, TempDir: p.o.TempDir,
		})
		if err != nil {
			return nil, err
		}
		dialing.Authority = s.authority
	}
	s.options = upstream.Options{
		Dial:         p.dial(c, dialing),
		StartTimeout: start,
		IdleTimeout:  cmp.Or(c.IdleTimeout.Std(), 10*time.Minute),
		Now:          p.o.Now, Log: p.o.Log.With("server", c.Name), Redact: config.NewRedactor(c.Secrets).Text,
	}
	return s, nil
}

// release gives a server back; the last one closes it.
func (p *Pool) release(s *shared) error {
	p.mu.Lock()
	s.users--
	last := s.users == 0
	if last {
		delete(p.servers, s.key)
	}
	p.mu.Unlock()
	if !last {
		return nil
	}
	return s.close()
}

// keyOf is the same for declarations that come to the same server: what its name
// is and when it is connected do not matter, but secrets and the values of
// variables do.
func keyOf(c *config.MCPServer, d Deps) (key, error) {
	plain := *c
	plain.Pos, plain.Name, plain.Secrets, plain.Connect = config.Position{}, "", nil, ""
	environment := process.Environ(d.Lookup, "", c.PassEnv, nil)
	var headerEnvironment []string
	if c.HeadersFrom != nil {
		headerEnvironment = process.Environ(d.Lookup, "", c.HeadersFrom.PassEnv, nil)
	}
	secret := ""
	if c.OAuth != nil {
		secret = c.OAuth.ClientSecret.Reveal()
	}
	text, err := json.Marshal([]any{plain, revealed(c.Env), revealed(c.Headers), secret, environment, headerEnvironment, d.Sample != nil})
	if err != nil {
		return key{}, fmt.Errorf("the MCP server %s: %w", c.Name, err)
	}
	return sha256.Sum256(text), nil
}

func revealed(m map[string]config.Secret) map[string]string {
	plain := make(map[string]string, len(m))
	for name, s := range m {
		plain[name] = s.Reveal()
	}
	return plain
}
