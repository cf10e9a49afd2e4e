package openai_test

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
	"github.com/adkmcp/adkmcp/internal/agent/model/openai"
	"github.com/adkmcp/adkmcp/internal/agent/model/openai/openaitest"
	"github.com/adkmcp/adkmcp/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	key      = "sk-SecretKeyOfTheTest"
	anything = `{"type":"object"}`
)

// fixture is a model that talks to a fake service.
type fixture struct {
	*openai.Model
	service *openaitest.Server
	logged  *lockedBuffer
}

type options struct {
	change  func(*config.Model)
	servers []*config.HostedMCP
	vars    map[string]string
}

func start(t testing.TB, script openaitest.Script, o ...options) *fixture {
	t.Helper()
	service, err := openaitest.Start(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	service.Key = key
	cfg := &config.Model{Provider: config.OpenAI, Name: "gpt-5", BaseURL: service.URL, Timeout: config.Duration(5 * time.Second)}
	vars := map[string]string{"OPENAI_API_KEY": key + "\n"}
	var servers []*config.HostedMCP
	for _, o := range o {
		if o.change != nil {
			o.change(cfg)
		}
		if o.vars != nil {
			vars = o.vars
		}
		servers = append(servers, o.servers...)
	}
	logged := &lockedBuffer{}
	m, err := openai.New(cfg, servers, openai.Deps{
		Lookup: environment(vars),
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

func (o outcome) code() model.Code {
	var e *model.Error
	if errors.As(o.err, &e) {
		return e.Code
	}
	return ""
}

func (o outcome) text() string {
	var b strings.Builder
	if o.reply != nil && o.reply.Content != nil {
		for _, p := range o.reply.Content.Parts {
			if !p.Thought {
				b.WriteString(p.Text)
			}
		}
	}
	return b.String()
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

// results answers the calls of a reply in order.
func results(reply *model.Reply, outputs ...map[string]any) *genai.Content {
	c := &genai.Content{Role: genai.RoleUser}
	for _, p := range reply.Content.Parts {
		if call := p.FunctionCall; call != nil {
			c.Parts = append(c.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: call.ID, Name: call.Name, Response: outputs[0]}})
			outputs = outputs[1:]
		}
	}
	return c
}

// stored is contents as a store gives them back.
func stored(t *testing.T, contents []*genai.Content) []*genai.Content {
	t.Helper()
	raw, err := json.Marshal(contents)
	if err != nil {
		t.Fatal(err)
	}
	var back []*genai.Content
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

func noRefusals(t *testing.T, f *fixture) {
	t.Helper()
	for _, r := range f.service.Refusals() {
		t.Errorf("the service refused: %s", r)
	}
}

// kinds lists the types of the items of the newest request.
func (f *fixture) kinds() string {
	all := f.service.Requests()
	var kinds []string
	for _, i := range all[len(all)-1].Items {
		switch i.Type {
		case "message":
			kinds = append(kinds, i.Role)
		default:
			kinds = append(kinds, i.Type)
		}
	}
	return strings.Join(kinds, " ")
}
