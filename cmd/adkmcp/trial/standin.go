package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
	"github.com/adkmcp/adkmcp/internal/config/testfile"
)

// stage is where the agents of a file find the stand-ins of the case that runs.
// It is safe for concurrent use.
type stage struct {
	main *config.Agent // that the file is about; the others are tools of it

	mu     sync.Mutex
	agents []string // names of all agents
	scene  *scene   // of the case that runs
}

// scene is the stand-ins of one case.
type scene struct {
	mu       sync.Mutex
	roles    map[string]*role // by the name that the file gives
	listed   map[string]bool  // names of tools that the agent under test has had
	failures []string
	notes    []string // what sources of tools could not list
}

// role is one stand-in: what it has to say, and how often it was called.
type role struct {
	*testfile.StandIn
	calls  int
	places map[string]int // of the calls that the model has made: id to number
}

// around is an [Around].
func (s *stage) around(cfg *config.Agent, inner agent.Toolset) agent.Toolset {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agents = append(s.agents, cfg.Name)
	return &cast{stage: s, cfg: cfg, inner: inner}
}

// begin sets the scene for a case. It is an error of the case to name an agent
// that there is not.
func (s *stage) begin(c *testfile.Case) *scene {
	sc := &scene{roles: map[string]*role{}, listed: map[string]bool{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range c.Tools {
		in := &c.Tools[i]
		sc.roles[in.Tool] = &role{StandIn: in, places: map[string]int{}}
		of, tool, other := strings.Cut(in.Tool, "/")
		if other && of == s.main.Name {
			sc.failures = append(sc.failures, fmt.Sprintf("tools: write %s, without the name of the agent that the file is about", tool))
		}
		if other && !slices.Contains(s.agents, of) {
			sc.failures = append(sc.failures, fmt.Sprintf("tools: %s is a tool of no agent here; the agents are %s", in.Tool, strings.Join(s.agents, ", ")))
		}
	}
	s.scene = sc
	return sc
}

// current is the scene of the case that runs.
func (s *stage) current() *scene {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scene
}

// cast is a toolset some tools of which are played by stand-ins.
type cast struct {
	stage *stage
	cfg   *config.Agent
	inner agent.Toolset

	mu      sync.Mutex
	scene   *scene // that played is for
	doubles map[agent.Tool]agent.Tool
}

// Tools implements [agent.Toolset].
func (c *cast) Tools(ctx context.Context, q *agent.Query) ([]agent.Tool, error) {
	if q.Peek {
		return c.inner.Tools(ctx, q)
	}
	sc, asked := c.stage.current(), *q
	asked.Report = func(l *session.Listing) {
		if l.Error != "" {
			sc.note(l.Source + ": " + l.Error)
		}
		if q.Report != nil {
			q.Report(l)
		}
	}
	tools, err := c.inner.Tools(ctx, &asked)
	if err != nil || len(sc.roles) == 0 {
		return tools, err
	}
	if unknown := sc.check(c.prefix(), tools, c.cfg); unknown != "" {
		return nil, &agent.SetupError{Message: unknown}
	}
	return c.play(sc, tools), nil
}

// prefix stands before the names of tools of agents that are tools.
func (c *cast) prefix() string {
	if c.cfg == c.stage.main {
		return ""
	}
	return c.cfg.Name + "/"
}

// play puts stand-ins in the place of tools, the same ones as long as the case
// runs.
func (c *cast) play(sc *scene, tools []agent.Tool) []agent.Tool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.scene != sc {
		c.scene, c.doubles = sc, map[agent.Tool]agent.Tool{}
	}
	played := slices.Clone(tools)
	for i, t := range tools {
		r := sc.roles[c.prefix()+t.Spec().Name]
		if r == nil || !callable(t) {
			continue
		}
		if c.doubles[t] == nil {
			c.doubles[t] = newDouble(t, sc, r)
		}
		played[i] = c.doubles[t]
	}
	return played
}

func callable(t agent.Tool) bool { return t.Spec().Hosted == "" && !t.Spec().Hidden }

// check says which stand-in plays no tool of an agent, of which these are those of
// a step. Where others may come later, nothing can be said before the end.
func (s *scene) check(prefix string, tools []agent.Tool, cfg *config.Agent) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range tools {
		if callable(t) {
			s.listed[prefix+t.Spec().Name] = true
		}
	}
	if slices.ContainsFunc(cfg.Tools, func(t config.Tool) bool { return t.Defer || t.When != nil }) {
		return ""
	}
	return s.unknown(prefix, nil)
}

// unknown says which stand-in of an agent plays no tool that was listed, or that
// an entry names which was hidden all the time.
func (s *scene) unknown(prefix string, entries []config.Tool) string {
	for _, name := range slices.Sorted(maps.Keys(s.roles)) {
		rest, ours := strings.CutPrefix(name, prefix)
		if !ours || prefix == "" && strings.Contains(name, "/") || s.listed[name] ||
			slices.ContainsFunc(entries, func(t config.Tool) bool { return t.Name == rest }) {
			continue
		}
		there := s.names(prefix)
		text := fmt.Sprintf("tools: %s stands in for no tool of the agent; its tools are %s", name, strings.Join(there, ", "))
		if len(there) == 0 {
			text = fmt.Sprintf("tools: %s stands in for no tool of the agent, which has none", name)
		}
		if len(s.notes) > 0 {
			text += "; " + strings.Join(s.notes, "; ")
		}
		s.fail(text)
		return text
	}
	return ""
}

// names are those of the tools that an agent has had.
func (s *scene) names(prefix string) []string {
	var names []string
	for name := range s.listed {
		if strings.HasPrefix(name, prefix) && strings.Contains(name, "/") == (prefix != "") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// fail takes why the case fails, whatever its answer is, once.
func (s *scene) fail(text string) {
	if !slices.Contains(s.failures, text) {
		s.failures = append(s.failures, text)
	}
}

func (s *scene) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// failed reports whether the case fails on account of its stand-ins.
func (s *scene) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.failures) > 0
}

// end gives why the case fails on account of its stand-ins.
func (s *scene) end(cfg *config.Agent) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.listed) > 0 {
		s.unknown("", cfg.Tools)
	}
	return s.failures
}

// double is a tool that a stand-in plays. What stands around a tool, such as an
// approval, is not there; its arguments are checked as ever.
type double struct {
	agent.Tool
	scene  *scene
	role   *role
	schema *jsonschema.Schema
}

// instructing is a double of an [agent.Instructor], whose instruction is kept.
type instructing struct {
	*double
	by agent.Instructor
}

// Instruct implements [agent.Instructor].
func (i *instructing) Instruct(ctx context.Context, q *agent.Query) (string, error) {
	return i.by.Instruct(ctx, q)
}

func newDouble(t agent.Tool, sc *scene, r *role) agent.Tool {
	d := &double{Tool: t, scene: sc, role: r, schema: jsonschema.New(t.Spec().Parameters, jsonschema.Arguments(t.Spec().Name))}
	if by, ok := t.(agent.Instructor); ok {
		return &instructing{d, by}
	}
	return d
}

// Call implements [agent.Tool].
func (d *double) Call(_ context.Context, call *agent.Call) (*agent.Result, error) {
	if problem := d.schema.Check(call.Args); problem != "" && d.schema.Check(withoutNulls(call.Args)) != "" {
		return agent.NotRun(problem), nil
	}
	result, problem := d.scene.next(d.role, call.ID)
	if problem != "" {
		return nil, &agent.SetupError{Message: problem}
	}
	return &agent.Result{Output: result.Output, IsError: result.IsError}, nil
}

// called takes a call that the model has made of the agent under test. Calls of
// one step run in any order; they get their results in the model's.
func (s *scene) called(tool, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.roles[tool]; r != nil {
		r.calls++
		r.places[id] = r.calls
	}
}

// next gives the result of a call of a role. A problem is that there is none left.
func (s *scene) next(r *role, id string) (result testfile.Result, problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, known := r.places[id]
	if !known { // of an agent that is a tool: in the order in which they come
		r.calls++
		n = r.calls
	}
	switch {
	case !r.Listed:
		return r.Results[0], ""
	case n <= len(r.Results):
		return r.Results[n-1], ""
	}
	problem = fmt.Sprintf("tools: %s has %s and is called once more", r.Tool, counted(len(r.Results), "result"))
	s.fail(problem)
	return result, problem
}

// counted is a number of things in words.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// withoutNulls leaves the null members of an object out, which models write for
// arguments that they leave out.
func withoutNulls(args json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(args, &members) != nil {
		return args
	}
	maps.DeleteFunc(members, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	rest, err := json.Marshal(members)
	if err != nil {
		return args
	}
	return rest
}
