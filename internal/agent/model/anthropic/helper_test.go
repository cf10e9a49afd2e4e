package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/anthropic"
	"github.com/adkmcp/adkmcp/internal/agent/model/anthropic/anthropictest"
	"github.com/adkmcp/adkmcp/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-ant-secret-of-the-test"

// fixture is a model that talks to a fake service.
type fixture struct {
	*anthropic.Model
	service *anthropictest.Server
	logged  *lockedBuffer
}

func start(t testing.TB, script anthropictest.Script, change func(*config.Model)) *fixture {
	t.Helper()
	service, err := anthropictest.Start(t.Context(), key, script)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &config.Model{Provider: config.Anthropic, Name: "claude-sonnet-4-5-20250929", BaseURL: service.URL, Timeout: config.Duration(5 * time.Second)}
	if change != nil {
		change(cfg)
	}
	logged := &lockedBuffer{}
	m, err := anthropic.New(cfg, anthropic.Deps{
		Lookup: environment(map[string]string{"ANTHROPIC_API_KEY": key}),
		Log:    slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(m.Close(), service.Close()); err != nil {
			t.Error(err)
		}
	})
	return &fixture{m, service, logged}
}

// called gives a model of a name to [start].
func called(name string) func(*config.Model) { return func(c *config.Model) { c.Name = name } }

func environment(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// outcome is everything that came of one call.
type outcome struct {
	partial string // the streamed text, thoughts in brackets
	reply   *model.Reply
	err     error
}

func ask(ctx context.Context, m model.Model, req *model.Request) outcome {
	var o outcome
	for reply, err := range m.Generate(ctx, req) {
		switch {
		case err != nil:
			o.err = err
		case reply.Partial:
			for _, p := range reply.Content.Parts {
				if p.Thought {
					o.partial += "[" + p.Text + "]"
				} else {
					o.partial += p.Text
				}
			}
		default:
			o.reply = reply
		}
	}
	return o
}

// code is the code of an outcome's error.
func (o outcome) code() model.Code {
	var e *model.Error
	if errors.As(o.err, &e) {
		return e.Code
	}
	return ""
}

func user(text string) *genai.Content {
	return &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: text}}}
}

func said(parts ...*genai.Part) *genai.Content {
	return &genai.Content{Role: genai.RoleModel, Parts: parts}
}

func call(id, name string) *genai.Part {
	return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: map[string]any{}}}
}

func result(id, name, output string) *genai.Part {
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: name, Response: map[string]any{"output": output}}}
}

func results(parts ...*genai.Part) *genai.Content {
	return &genai.Content{Role: genai.RoleUser, Parts: parts}
}

func request(contents ...*genai.Content) *model.Request {
	return &model.Request{System: "be brief", Contents: contents, Tools: []*genai.FunctionDeclaration{tool("look", `{"type":"object"}`)}}
}

func tool(name, schema string) *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: name, Description: name + " it", ParametersJsonSchema: json.RawMessage(schema)}
}

func noRefusals(t *testing.T, f *fixture) {
	t.Helper()
	for _, r := range f.service.Refusals() {
		t.Errorf("the service refused: %s", r)
	}
}

// last is the newest request.
func last(t *testing.T, f *fixture) *anthropictest.Request {
	t.Helper()
	all := f.service.Requests()
	if len(all) == 0 {
		t.Fatal("the service was asked nothing")
	}
	return all[len(all)-1]
}
