package tools

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/middleware"
	"github.com/adkmcp/adkmcp/internal/tools/selection"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// dynamic is a source whose list may change.
type dynamic struct {
	tools []agent.Tool
	err   error
	// asked comes before the answer.
	asked func(ctx context.Context, q *agent.Query)

	started, closed int
	closing         error
}

func (d *dynamic) Tools(ctx context.Context, q *agent.Query) ([]agent.Tool, error) {
	if d.asked != nil {
		d.asked(ctx, q)
	}
	return d.tools, d.err
}

func (d *dynamic) Start(context.Context) { d.started++ }

func (d *dynamic) Close() error {
	d.closed++
	return d.closing
}

// nothing is a tool that says that it was called.
type nothing struct{ spec agent.Spec }

func (n *nothing) Spec() *agent.Spec { return &n.spec }

func (n *nothing) Call(context.Context, *agent.Call) (*agent.Result, error) {
	return agent.Text("called"), nil
}

func some(names ...string) []agent.Tool {
	var all []agent.Tool
	for _, name := range names {
		all = append(all, &nothing{agent.Spec{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)}})
	}
	return all
}

// setOf puts sources together as [Build] does; the entry of each stands in line 10,
// 20 and so on of the file.
func setOf(t *testing.T, change func(i int, e *config.Tool), sources ...agent.Toolset) *Set {
	t.Helper()
	set := &Set{web: webclient.New(webclient.Options{})}
	entries := make([]config.Tool, len(sources))
	for i, made := range sources {
		e := &entries[i]
		*e = config.Tool{Pos: config.Position{Line: 10 * (i + 1)}, MCP: &config.MCP{Server: &config.MCPServer{Name: string(rune('a' + i))}}}
		if change != nil {
			change(i, e)
		}
		src := &source{Toolset: made, entry: e, wrap: middleware.Options{Log: slog.New(slog.DiscardHandler), Now: time.Now, Timeout: time.Minute, MaxResultBytes: 1000}}
		if static, ok := made.(agent.Static); ok {
			src.fixed = true
			for _, tool := range static {
				src.last = append(src.last, src.around(tool))
			}
		}
		set.sources = append(set.sources, src)
	}
	if selection.Needed(entries) {
		var err error
		if set.selector, err = selection.New(entries, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	set.fix()
	return set
}

// Sources that can change are asked at the same time: these two wait for each
// other. Their tools come in the file's order all the same, and what a source may
// not use beside others is not given to it.
func TestSetAsksAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		meet := make(chan struct{})
		bare := func(q *agent.Query) {
			if q.State != nil || q.Failures != nil || q.Input != nil || q.Report == nil || q.Agent != "a" {
				t.Errorf("a source is asked %+v", q)
			}
		}
		first := &dynamic{tools: some("one"), asked: func(_ context.Context, q *agent.Query) { bare(q); meet <- struct{}{} }}
		last := &dynamic{tools: some("three", "four"), asked: func(_ context.Context, q *agent.Query) { bare(q); <-meet }}
		set := setOf(t, nil, first, agent.Static(some("two")), last)
		q := &agent.Query{Agent: "a", State: func(string) (any, bool) { return nil, false }, Failures: func(string) int { return 0 }, Input: func() string { return "" }}
		tools, err := set.Tools(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"one", "two", "three", "four"}, namesOf(tools)); diff != "" {
			t.Error(diff)
		}
	})
}

func namesOf(tools []agent.Tool) (names []string) {
	for _, tool := range tools {
		names = append(names, tool.Spec().Name)
	}
	return names
}

func TestSetCollision(t *testing.T) {
	for name, sources := range map[string][]agent.Toolset{
		"two servers":           {&dynamic{tools: some("x", "same")}, &dynamic{tools: some("same")}},
		"a server and an entry": {&dynamic{tools: some("same")}, agent.Static(some("same"))},
		"with a selector":       {agent.Static(some("same", "y")), &dynamic{tools: some("same")}},
	} {
		t.Run(name, func(t *testing.T) {
			set := setOf(t, func(_ int, e *config.Tool) { e.Defer = name == "with a selector" }, sources...)
			_, err := set.Tools(t.Context(), &agent.Query{})
			_, described := set.Describe(t.Context(), &agent.Query{})
			for _, err := range []error{err, described} {
				var setup *agent.SetupError
				if !errors.As(err, &setup) || !strings.Contains(setup.Message, "the tool name same comes from line 10 and from line 20") || !strings.Contains(setup.Message, "prefix") {
					t.Errorf("got %v", err)
				}
			}
		})
	}
	set := setOf(t, nil, &dynamic{tools: some("same")}, &dynamic{tools: some("other_same")})
	if _, err := set.Tools(t.Context(), &agent.Query{}); err != nil {
		t.Error(err)
	}
}

// What is not listed yet counts as the worst there is, in one of several sources
// too, and nobody is contacted for it.
func TestSetPeek(t *testing.T) {
	harmless := func(name string) agent.Tool {
		return &nothing{agent.Spec{Name: name, Hints: agent.Hints{ReadOnly: true, ClosedWorld: true}}}
	}
	unlisted := &dynamic{err: agent.ErrNotListed, asked: func(_ context.Context, q *agent.Query) {
		if !q.Peek {
			t.Error("the source is asked for more than what it knows")
		}
	}}
	set := setOf(t, nil, agent.Static{harmless("one")}, unlisted)
	if _, err := set.Tools(t.Context(), &agent.Query{Peek: true}); !errors.Is(err, agent.ErrNotListed) {
		t.Errorf("got %v", err)
	}
	if got := agent.HintsOf(t.Context(), set, &agent.Query{}); got != (agent.Hints{}) {
		t.Errorf("got %+v, want the worst", got)
	}
	if got := set.Hints(); got != (agent.Hints{}) {
		t.Errorf("without asking: %+v, want the worst", got)
	}
	unlisted.err, unlisted.tools = nil, []agent.Tool{harmless("two"), &nothing{agent.Spec{Name: "three", Hints: agent.Hints{ReadOnly: true}}}}
	want := agent.Hints{ReadOnly: true, NonDestructive: true, Idempotent: true}
	if got := agent.HintsOf(t.Context(), set, &agent.Query{}); got != want {
		t.Errorf("once it is listed: %+v, want %+v", got, want)
	}
}

// A peek shows what conditions hide, for that is the worst that can come.
func TestSetPeekSeesWhatIsHidden(t *testing.T) {
	set := setOf(t, func(_ int, e *config.Tool) { e.When = &config.Condition{Expr: "state.plan == 'pro'"} }, &dynamic{tools: some("one")})
	for peek, want := range map[bool]int{true: 1, false: 0} {
		q := &agent.Query{Peek: peek, State: func(string) (any, bool) { return nil, false }}
		if tools, err := set.Tools(t.Context(), q); err != nil || len(tools) != want {
			t.Errorf("peek %v: %v, %v", peek, namesOf(tools), err)
		}
	}
}

// Reports come in the file's order, whoever answers first, on the goroutine that
// asks, and those of the others come where one source fails.
func TestSetReports(t *testing.T) {
	for _, failure := range []error{nil, &agent.SetupError{Message: "b is down"}} {
		done := make(chan struct{})
		report := func(name string) *session.Listing { return &session.Listing{Source: name} }
		listings := []*session.Listing{report("a"), report("a, too"), report("b"), report("c")}
		set := setOf(t, nil,
			&dynamic{asked: func(_ context.Context, q *agent.Query) { <-done; q.Report(listings[0]); q.Report(listings[1]) }},
			&dynamic{err: failure, asked: func(_ context.Context, q *agent.Query) { <-done; q.Report(listings[2]) }},
			&dynamic{asked: func(_ context.Context, q *agent.Query) { q.Report(listings[3]); close(done) }},
		)
		var got []*session.Listing // no lock: the race detector tells whether one is needed
		_, err := set.Tools(t.Context(), &agent.Query{Report: func(l *session.Listing) { got = append(got, l) }})
		if !errors.Is(err, failure) || !slices.Equal(got, listings) {
			t.Errorf("%v: reported %+v", err, got)
		}
	}
	set := setOf(t, nil, &dynamic{asked: func(_ context.Context, q *agent.Query) { q.Report(&session.Listing{}) }})
	if _, err := set.Tools(t.Context(), &agent.Query{}); err != nil { // nobody wants them
		t.Error(err)
	}
}

// The same tool of a source is the same tool with everything around it, so that its
// cache and its limits last.
func TestSetKeepsWhatIsAround(t *testing.T) {
	inner := some("one", "two")
	src := &dynamic{tools: inner}
	set := setOf(t, nil, src)
	list := func() []agent.Tool {
		tools, err := set.Tools(t.Context(), &agent.Query{})
		if err != nil {
			t.Fatal(err)
		}
		return tools
	}
	first := list()
	if first[0] == inner[0] {
		t.Error("nothing is put around a tool")
	}
	src.tools = []agent.Tool{inner[1], inner[0]}
	if again := list(); again[0] != first[1] || again[1] != first[0] {
		t.Error("the same tools have other surroundings")
	}
	src.tools = some("one")
	if other := list(); other[0] == first[0] {
		t.Error("another tool of the same name has the same surroundings")
	}
	src.tools = inner
	if again := list(); again[0] != first[0] {
		t.Error("a tool that comes back has other surroundings")
	}
	src.tools = []agent.Tool{&nothing{agent.Spec{Name: "google_search", Hosted: "google_search"}}, &nothing{agent.Spec{Name: "preload_memory", Hidden: true}}}
	if bare := list(); bare[0] != src.tools[0] || bare[1] != src.tools[1] {
		t.Error("something is put around what is never called")
	}
}

func TestSetDescribe(t *testing.T) {
	plan := "free"
	set := setOf(t, func(i int, e *config.Tool) {
		switch i {
		case 1:
			e.Shell, e.MCP = &config.Shell{}, nil
			e.When = &config.Condition{Expr: "state.plan == 'pro'"}
		case 2:
			e.Defer = true
		}
	}, &dynamic{tools: some("open")}, agent.Static(some("paid")), &dynamic{tools: some("rare")})
	q := &agent.Query{State: func(key string) (any, bool) { return plan, key == "plan" }, Failures: func(string) int { return 0 }, Input: func() string { return "" }}
	type line struct{ Name, From, Hidden string }
	describe := func() (lines []line) {
		all, err := set.Describe(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range all {
			lines = append(lines, line{d.Spec().Name, d.From, d.Hidden})
		}
		return lines
	}
	want := []line{{"open", "mcp a, line 10", ""}, {"paid", "shell, line 20", "hidden by when"}, {"rare", "mcp c, line 30", "found by tool_search"}}
	if diff := cmp.Diff(want, describe()); diff != "" {
		t.Error(diff)
	}
	plan, want[1].Hidden = "pro", ""
	if diff := cmp.Diff(want, describe()); diff != "" {
		t.Error(diff)
	}
}

// Start and Close reach every source that can be started or closed, also when one
// does not close well, and then the client that they share.
func TestSetStartsAndCloses(t *testing.T) {
	broken, other := errors.New("the first cannot be closed"), errors.New("nor can the last")
	first, middle, last := &dynamic{closing: broken}, &dynamic{}, &dynamic{closing: other}
	set := setOf(t, nil, first, agent.Static(some("one")), middle, last)
	set.Start(t.Context())
	err := set.Close()
	for i, d := range []*dynamic{first, middle, last} {
		if d.started != 1 || d.closed != 1 {
			t.Errorf("source %d was started %d times and closed %d times", i, d.started, d.closed)
		}
	}
	if !errors.Is(err, broken) || !errors.Is(err, other) {
		t.Errorf("got %v", err)
	}
	if _, err := set.web.Do(t.Context(), &webclient.Request{}); !errors.Is(err, webclient.ErrClosed) {
		t.Errorf("the shared client gives %v", err)
	}
}
