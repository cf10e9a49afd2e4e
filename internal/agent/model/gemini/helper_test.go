package gemini_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/gemini"
	"github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
	"github.com/adkmcp/adkmcp/internal/config"
)

func TestMain(m *testing.M) {
	for _, entry := range os.Environ() { // genai reads the process's environment too
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "GOOGLE_") || strings.HasPrefix(name, "GEMINI_") {
			_ = os.Unsetenv(name)
		}
	}
	goleak.VerifyTestMain(m)
}

const key = "AIzaSecretKeyOfTheTest"

// pixels are an image, as far as anybody looks at it.
const pixels = "\x89PNG\r\n\x1a\npixels"

// fixture is a model that talks to a fake service.
type fixture struct {
	*gemini.Model
	service *geminitest.Server
	logged  *lockedBuffer
}

func start(t testing.TB, script geminitest.Script) *fixture { return startWith(t, script, nil, nil) }

func startWith(t testing.TB, script geminitest.Script, change func(*config.Model), generate *genai.GenerateContentConfig) *fixture {
	t.Helper()
	service, err := geminitest.Start(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &config.Model{Provider: "gemini", Name: "gemini-3-flash", BaseURL: service.URL, Retries: 3, Timeout: config.Duration(time.Minute)}
	if change != nil {
		change(cfg)
	}
	logged := &lockedBuffer{}
	m, err := gemini.New(cfg, generate, gemini.Deps{
		Lookup: environment(map[string]string{"GEMINI_API_KEY": key}),
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

func environment(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func counter() func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprint(n.Add(1)) }
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
	notices []string
}

func ask(ctx context.Context, m model.Model, req *model.Request) outcome {
	var o outcome
	r := *req
	r.Notice = func(text string) { o.notices = append(o.notices, text) }
	for reply, err := range m.Generate(ctx, &r) {
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

func request(contents ...*genai.Content) *model.Request {
	return &model.Request{System: "be brief", Contents: contents}
}

func tool(name, schema string) *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: name, Description: name + " it", ParametersJsonSchema: json.RawMessage(schema)}
}

// responses answers the calls of a reply in order.
func responses(reply *model.Reply, results ...map[string]any) *genai.Content {
	c := &genai.Content{Role: genai.RoleUser}
	for _, p := range reply.Content.Parts {
		if call := p.FunctionCall; call != nil {
			c.Parts = append(c.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: call.ID, Name: call.Name, Response: results[0]}})
			results = results[1:]
		}
	}
	return c
}

// retrying wraps a model as the program does, with waits at their longest.
func retrying(m model.Model, retries int) model.Model {
	return model.Retrying(m, model.Policy{Retries: retries, Rand: func() float64 { return 0 }})
}

func noRefusals(t *testing.T, f *fixture) {
	t.Helper()
	for _, r := range f.service.Refusals() {
		t.Errorf("the service refused: %s", r)
	}
}

func text(c *genai.Content) string {
	var b strings.Builder
	for _, p := range c.Parts {
		if !p.Thought {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}
