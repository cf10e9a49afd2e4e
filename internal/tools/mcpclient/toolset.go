package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"sync"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/listing"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/pin"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/upstream"
)

// Bounds of what a toolset remembers.
const (
	maxViews  = 100
	maxKnown  = 10_000
	maxLogged = 1000
)

// connectEager has a server connected at start.
const connectEager = "eager"

// Toolset is what one entry of an agent file sees of a server. It implements
// [agent.Toolset] and is safe for concurrent use.
type Toolset struct {
	pool   *Pool
	server *shared
	cfg    *config.Tool
	deps   Deps
	name   string // the server's in the configuration
	redact func(string) string
	log    *slog.Logger
	pins   *pin.Reader // nil where nothing is pinned

	mu     sync.Mutex
	closed bool
	views  map[viewKey]*view
	known  map[identity]*tool
	last   *session.Listing // of the last view
	down   *session.Listing // why there are no tools; nil while there are
	logged map[string]bool  // warnings
}

// viewKey is what a view is made of.
type viewKey struct {
	list     *upstream.List
	approved *pin.Approved // nil where nothing is pinned
}

// view is what a model sees of a list.
type view struct {
	tools   []agent.Tool
	listing *session.Listing
}

// identity is what makes a tool the same as before.
type identity struct {
	shown, sum string
	task       bool
}

// Start has the server connected in the background if the configuration says so.
// What goes wrong is logged, and said again when somebody asks for tools.
func (s *Toolset) Start(ctx context.Context) {
	if s.cfg.MCP.Server.Connect == connectEager {
		if server, err := s.server.of(nil); err == nil { // the first to come
			server.Start(ctx)
		}
	}
}

// Close gives the server back, which ends with the last one that uses it. A second
// Close does nothing.
func (s *Toolset) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	return s.pool.release(s.server)
}

// Tools implements [agent.Toolset]. A server that cannot be used has no tools,
// which is logged and reported; if it is required, that is an [*agent.SetupError].
func (s *Toolset) Tools(ctx context.Context, q *agent.Query) ([]agent.Tool, error) {
	header := s.header(q.Caller)
	if q.Peek {
		list := s.server.peek(header)
		if list == nil {
			return nil, agent.ErrNotListed
		}
		v, err := s.view(ctx, list)
		if err != nil {
			return nil, agent.ErrNotListed
		}
		return v.tools, nil
	}
	list, err := s.server.list(ctx, header)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var v *view
	if err == nil {
		v, err = s.view(ctx, list)
	}
	if err != nil {
		return nil, s.unusable(ctx, q, err)
	}
	report(q, v.listing)
	return slices.Clip(v.tools), nil
}

func report(q *agent.Query, l *session.Listing) {
	if q.Report != nil {
		q.Report(l)
	}
}

// source names the toolset in reports. An agent may see the same server twice, with
// different prefixes.
func (s *Toolset) source() string {
	if s.cfg.Prefix == "" {
		return s.name
	}
	return s.name + " as " + s.cfg.Prefix
}

// unusable reports that there are no tools, and logs it once until they are back.
// It is an error if the agent needs them.
func (s *Toolset) unusable(ctx context.Context, q *agent.Query, err error) error {
	text := s.redact(err.Error())
	s.mu.Lock()
	news := s.down == nil || s.down.Error != text
	if news {
		s.down = &session.Listing{Source: s.source(), Error: text}
	}
	down := s.down
	s.mu.Unlock()
	if news {
		s.log.WarnContext(ctx, "an MCP server cannot be used; its tools are missing", "error", text, "required", s.cfg.MCP.Required)
	}
	report(q, down)
	if s.cfg.MCP.Required {
		return &agent.SetupError{Message: fmt.Sprintf("the MCP server %s, which the agent %s needs, cannot be used: %s", s.name, s.deps.Agent, text)}
	}
	return nil
}

// view gives what a model sees of a list. An error means that nothing of it may be
// used.
func (s *Toolset) view(ctx context.Context, list *upstream.List) (*view, error) {
	k := viewKey{list: list}
	if s.pins != nil {
		var err error
		if k.approved, err = s.pins.Approved(); err != nil {
			return nil, fmt.Errorf("%w; see what has changed with --look, and approve with: %s", err, s.pinCommand())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = nil
	if v := s.views[k]; v != nil {
		return v, nil
	}
	v := s.newView(k)
	if len(s.views) >= maxViews || s.views == nil { // begin anew: a view is soon made
		s.views = map[viewKey]*view{}
	}
	s.views[k] = v
	s.logWarnings(ctx, v.listing.Warnings)
	return v, nil
}

// newView makes a view, of tools that are known already where they are the same.
// mu is held.
func (s *Toolset) newView(k viewKey) *view {
	extras, warnings := s.extras(k.list.Server)
	rules := &listing.Rules{
		Include: s.cfg.Include, Exclude: s.cfg.Exclude, Prefix: s.cfg.Prefix, Idempotent: s.cfg.Idempotent,
	}
	for _, t := range extras {
		rules.Taken = append(rules.Taken, t.spec.Name)
	}
	if k.approved != nil {
		rules.Refuse = func(t *protocol.Tool) string { return s.notApproved(*k.approved, t) }
	}
	entries, more := listing.Apply(k.list.Tools.Tools, rules)
	l := &session.Listing{Source: s.source()}
	for _, w := range slices.Concat(k.list.Tools.Warnings, warnings, more) {
		l.Warnings = append(l.Warnings, s.redact(listing.Clean(w, 500)))
	}
	v := &view{listing: l}
	for _, e := range entries {
		v.tools = append(v.tools, s.tool(e))
	}
	for _, t := range extras {
		v.tools = append(v.tools, t)
	}
	for _, t := range v.tools {
		l.Tools = append(l.Tools, t.Spec().Name)
	}
	if s.last != nil && reflect.DeepEqual(s.last, l) {
		v.listing = s.last
	}
	s.last = v.listing
	return v
}

// tool gives the tool of an entry: the same value as long as it is the same.
func (s *Toolset) tool(e listing.Entry) *tool {
	sum, err := pin.Sum(e.Tool)
	id := identity{e.Spec.Name, sum, e.Tool.Execution.TaskSupport == taskRequired}
	if known := s.known[id]; known != nil && err == nil {
		return known
	}
	made := s.newTool(e)
	s.remember(id, made)
	return made
}

// remember keeps a tool, which is new, for as long as it stays the same.
func (s *Toolset) remember(id identity, t *tool) {
	if len(s.known) >= maxKnown || s.known == nil {
		s.known = map[identity]*tool{}
	}
	s.known[id] = t
}

func (s *Toolset) logWarnings(ctx context.Context, warnings []string) {
	if len(s.logged) > maxLogged || s.logged == nil {
		s.logged = map[string]bool{}
	}
	for _, w := range warnings {
		if !s.logged[w] {
			s.logged[w] = true
			s.log.WarnContext(ctx, "the tools of an MCP server", "warning", w)
		}
	}
}

// notApproved says why a tool is not as it was approved.
func (s *Toolset) notApproved(approved pin.Approved, t *protocol.Tool) string {
	switch same, known := approved.Has(t); {
	case same:
		return ""
	case known:
		return "it has changed since it was approved; see what has changed with --look, and approve with: " + s.pinCommand()
	}
	return "nobody has approved it; see what has changed with --look, and approve with: " + s.pinCommand()
}

// pinCommand approves; --look before the file shows what has changed.
func (s *Toolset) pinCommand() string { return "adkmcp tools pin " + s.cfg.Pos.File }

// Pin approves of the server's tools as they are now, and gives what has changed as
// lines for a person. With look the file stays as it is.
func (s *Toolset) Pin(ctx context.Context, look bool) (changes []string, err error) {
	if s.cfg.MCP.Pin == "" {
		return nil, errors.New("the entry names no pin file: add pin: FILE")
	}
	list, err := s.server.list(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("the MCP server %s cannot be used: %w", s.name, err)
	}
	return pin.Write(s.cfg.MCP.Pin, s.name, list.Tools.Tools, look)
}

// header gives those headers of a caller's request that go to the server: what the
// configuration names, and never what the caller has shown us to be let in.
func (s *Toolset) header(c agent.Caller) http.Header {
	if s.cfg.MCP.Server.URL == "" {
		return nil
	}
	var forwarded http.Header
	for _, name := range s.cfg.MCP.Server.ForwardHeaders {
		name = http.CanonicalHeaderKey(name)
		values := c.Header.Values(name)
		if len(values) == 0 || isCredential(name) {
			continue
		}
		if forwarded == nil {
			forwarded = http.Header{}
		}
		forwarded[name] = slices.Clone(values)
	}
	return forwarded
}

func isCredential(name string) bool {
	return name == "Authorization" || name == "Cookie" || name == "Proxy-Authorization"
}
