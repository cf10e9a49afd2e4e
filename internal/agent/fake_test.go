package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

func TestMain(m *testing.M) {
	os.Unsetenv("GEMINI_API_KEY")
	os.Unsetenv("GOOGLE_API_KEY")
	goleak.VerifyTestMain(m)
}

// answers is a model that gives prepared replies, chosen by how many model
// contents the turn has so far, so that it is the same in any process.
type answers []func(*model.Request) (*model.Reply, error)

func (a answers) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	return func(yield func(*model.Reply, error) bool) {
		n := 0
		for _, c := range req.Contents[req.Turn:] {
			if c.Role == "model" {
				n++
			}
		}
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		yield(a[min(n, len(a)-1)](req))
	}
}

func says(text string) func(*model.Request) (*model.Reply, error) {
	return reply(&genai.Part{Text: text})
}

func reply(parts ...*genai.Part) func(*model.Request) (*model.Reply, error) {
	return func(*model.Request) (*model.Reply, error) {
		copied := make([]*genai.Part, len(parts))
		for i, p := range parts {
			q := *p
			if q.FunctionCall != nil {
				c := *q.FunctionCall
				q.FunctionCall = &c
			}
			copied[i] = &q
		}
		return &model.Reply{Content: &genai.Content{Role: "model", Parts: copied}, Usage: &model.Usage{Total: 10}}, nil
	}
}

func call(name string, args map[string]any) *genai.Part {
	return &genai.Part{FunctionCall: &genai.FunctionCall{Name: name, Args: args}}
}

// tool is a tool made of a function; it counts how often each call id ran.
type tool struct {
	spec agent.Spec
	do   func(context.Context, *agent.Call) (*agent.Result, error)

	mu   sync.Mutex
	runs map[string]int
}

func newTool(name string, do func(context.Context, *agent.Call) (*agent.Result, error)) *tool {
	return &tool{spec: agent.Spec{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)}, do: do, runs: map[string]int{}}
}

func (t *tool) Spec() *agent.Spec { return &t.spec }

func (t *tool) Call(ctx context.Context, c *agent.Call) (*agent.Result, error) {
	t.mu.Lock()
	t.runs[c.ID]++
	t.mu.Unlock()
	return t.do(ctx, c)
}

func echo(_ context.Context, c *agent.Call) (*agent.Result, error) {
	return agent.Text(c.Name + " got " + string(c.Args)), nil
}

// bench is everything that a test of the runner needs.
type bench struct {
	cfg   config.Agent
	store *session.Memory
	ids   atomic.Int64
}

func newBench() *bench {
	b := &bench{cfg: config.Agent{
		Name: "tester", File: "tester.yaml", Definition: "d1",
		Limits: config.Limits{MaxModelCalls: 10, MaxTotalTokens: 1000, Timeout: config.Duration(time.Minute)},
	}}
	b.store = newStore()
	return b
}

func newStore() *session.Memory {
	return session.NewMemory(session.MemoryOptions{IdleTTL: time.Hour, MaxConversations: 100, MaxBytes: 1 << 20, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
}

func (b *bench) runner(m model.Model, tools ...agent.Tool) *agent.Runner {
	return agent.NewRunner(&b.cfg, agent.Parts{
		Model: m, Tools: agent.Static(tools), Store: b.store, Now: time.Now,
		NewID: func() string { return fmt.Sprint(b.ids.Add(1)) }, Log: slog.New(slog.DiscardHandler),
	})
}

var key = session.Key{Principal: "local", Agent: "tester", Handle: "h"}

func request(text string) agent.Turn {
	return agent.Turn{Key: key, Mode: session.Create, Caller: agent.Caller{Principal: "local"},
		Input: &genai.Content{Role: "user", Parts: []*genai.Part{{Text: text}}}}
}

// take runs a turn to its end and gives its stored events and its answer.
func take(t *testing.T, ctx context.Context, r *agent.Runner, in agent.Turn) ([]*session.Event, *answer.Answer) {
	t.Helper()
	var events []*session.Event
	a, err := answer.Collect(r.Run(ctx, in), func(e *session.Event) {
		if e.Seq > 0 {
			events = append(events, e)
		}
	})
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return events, a
}

func kinds(events []*session.Event) []session.Kind {
	ks := make([]session.Kind, len(events))
	for i, e := range events {
		ks[i] = e.Kind
	}
	return ks
}

func text(a *answer.Answer) string {
	if a.Content == nil {
		return ""
	}
	s := ""
	for _, p := range a.Content.Parts {
		s += p.Text
	}
	return s
}
