package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat/chattest"
	"github.com/adkmcp/adkmcp/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-secret-key-of-the-test"

// fixture is a model that asks a fake server.
type fixture struct {
	*chat.Model
	server *chattest.Server
	logged *lockedBuffer
}

// start starts a fake in the manner of a server, and a model that asks it. change
// may be nil.
func start(t testing.TB, manner chattest.Manner, change func(*config.Model)) *fixture {
	t.Helper()
	return startAt(t, manner, "", change)
}

// startAt is start with a model that believes to be at another address.
func startAt(t testing.TB, manner chattest.Manner, url string, change func(*config.Model)) *fixture {
	t.Helper()
	server := chattest.Start(manner)
	server.Key = key
	cfg := &config.Model{Name: "qwen3", BaseURL: server.URL, APIKey: config.NewSecret(key), Timeout: config.Duration(5 * time.Second)}
	env := map[string]string{}
	if url != "" {
		cfg.BaseURL, env["HTTP_PROXY"] = url, strings.TrimSuffix(server.URL, "/v1")
	}
	if change != nil {
		change(cfg)
	}
	logged := &lockedBuffer{}
	m, err := chat.New(cfg, chat.Deps{
		Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Log:    slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		server.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return &fixture{m, server, logged}
}

// manner is the one of a name.
func manner(t testing.TB, name string) chattest.Manner {
	t.Helper()
	for _, m := range chattest.Manners() {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("there is no manner of %s", name)
	return chattest.Manner{}
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

// problem is the error or the reply's problem, nil for none.
func (o outcome) problem() *model.Error {
	var e *model.Error
	if !errors.As(o.err, &e) && o.reply != nil {
		return o.reply.Problem
	}
	return e
}

// code is that of the problem.
func (o outcome) code() model.Code {
	if e := o.problem(); e != nil {
		return e.Code
	}
	return ""
}

// told is the reply in short: text, (thoughts), and calls as id:name{args}.
func (o outcome) told() string {
	if o.reply == nil {
		return fmt.Sprint(o.err)
	}
	var b strings.Builder
	for _, p := range o.reply.Content.Parts {
		switch {
		case p.FunctionCall != nil:
			args, _ := json.Marshal(p.FunctionCall.Args)
			fmt.Fprintf(&b, " %s:%s%s", p.FunctionCall.ID, p.FunctionCall.Name, args)
		case p.Thought:
			fmt.Fprintf(&b, "(%s)", p.Text)
		default:
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func user(text string) *genai.Content {
	return &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: text}}}
}

func said(parts ...*genai.Part) *genai.Content {
	return &genai.Content{Role: genai.RoleModel, Parts: parts}
}

func called(id, name string) *genai.Part {
	return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: name}}
}

func result(id, name, output string) *genai.Part {
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: name, Response: map[string]any{"output": output}}}
}

func results(parts ...*genai.Part) *genai.Content {
	return &genai.Content{Role: genai.RoleUser, Parts: parts}
}

func request(contents ...*genai.Content) *model.Request {
	return &model.Request{System: "be brief", Contents: contents}
}

func tool(name, schema string) *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: name, Description: name + " it", ParametersJsonSchema: json.RawMessage(schema)}
}

func noRefusals(t *testing.T, f *fixture) {
	t.Helper()
	for _, r := range f.server.Refusals() {
		t.Errorf("the server refused: %s", r)
	}
}

// newest is the newest request, with its messages in short.
func newest(t *testing.T, f *fixture) (*chattest.Request, []string) {
	t.Helper()
	all := f.server.Requests()
	if len(all) == 0 {
		t.Fatal("nothing was asked")
	}
	r := all[len(all)-1]
	var short []string
	for _, m := range r.Messages {
		line := m.Role + " "
		for i, p := range m.Parts {
			if i > 0 {
				line += " + "
			}
			if line += p.Text; p.Type != "" && p.Type != "text" {
				line += "<" + p.Type + ">"
			}
		}
		for _, c := range m.ToolCalls {
			line += " " + c.ID + ":" + c.Function.Name + c.Function.Arguments
		}
		if m.ToolCallID != "" {
			line += " for " + m.ToolCallID
		}
		if m.Reasoning != nil {
			line += " (" + *m.Reasoning + ")"
		}
		short = append(short, line)
	}
	return r, short
}
