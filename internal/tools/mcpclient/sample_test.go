package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
)

// fakeModel gives what a test wants it to.
type fakeModel struct {
	asked *model.Request
	reply *model.Reply
	err   error
}

func (m *fakeModel) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	m.asked = req
	return func(yield func(*model.Reply, error) bool) {
		if m.reply != nil && !yield(&model.Reply{Partial: true, Content: m.reply.Content}, nil) {
			return
		}
		yield(m.reply, m.err)
	}
}

func said(parts ...*genai.Part) *model.Reply {
	return &model.Reply{Content: &genai.Content{Role: genai.RoleModel, Parts: parts}}
}

func TestSampleWith(t *testing.T) {
	const hello = `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":1}`
	for name, tt := range map[string]struct {
		params string
		model  fakeModel
		want   string // the result, or the error
	}{
		"text":     {hello, fakeModel{reply: said(&genai.Part{Text: "hm", Thought: true}, &genai.Part{Text: "hel"}, &genai.Part{Text: "lo"})}, `{"role":"assistant","content":{"type":"text","text":"hello"},"model":"the agent's model","stopReason":"endTurn"}`},
		"cut":      {hello, fakeModel{reply: &model.Reply{Content: said(&genai.Part{Text: "he"}).Content, Problem: &model.Error{}}}, `{"role":"assistant","content":{"type":"text","text":"he"},"model":"the agent's model","stopReason":"maxTokens"}`},
		"blocked":  {hello, fakeModel{reply: &model.Reply{Problem: &model.Error{}}}, "the model gave no answer"},
		"error":    {hello, fakeModel{err: errors.New("key sk-123")}, "the model gave no answer"},
		"asks":     {hello, fakeModel{reply: &model.Reply{Suspend: &model.Suspension{}}}, "the model gave no answer"},
		"nothing":  {`{"messages":[]}`, fakeModel{}, "the params hold no messages that can be read"},
		"no JSON":  {`[`, fakeModel{}, "the params hold no messages that can be read"},
		"unknown":  {`{"messages":[{"role":"user","content":{"type":"tool_use"}}]}`, fakeModel{}, `message 1: content of type "tool_use" is not taken`},
		"bad data": {`{"messages":[{"role":"user","content":{"type":"image","data":"%"}}]}`, fakeModel{}, `message 1: its image is no base64`},
		"no block": {`{"messages":[{"role":"user","content":7}]}`, fakeModel{}, `message 1: its content cannot be read`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := SampleWith(&tt.model)(t.Context(), json.RawMessage(tt.params))
			text := string(got)
			if err != nil {
				text = err.Error()
				var refused *protocol.Error
				if !errors.As(err, &refused) {
					t.Errorf("no error for the server: %v", err)
				}
			}
			if text != tt.want {
				t.Errorf("got %s", text)
			}
		})
	}
	if SampleWith(nil) != nil {
		t.Error("a sample without a model")
	}
}

func TestSamplingRequest(t *testing.T) {
	m := &fakeModel{reply: said(&genai.Part{Text: "x"})}
	_, err := SampleWith(m)(t.Context(), json.RawMessage(`{"systemPrompt":"be brief","messages":[
		{"role":"user","content":{"type":"text","text":"look"}},
		{"role":"assistant","content":{"type":"text","text":"at what?"}},
		{"role":"user","content":[{"type":"image","data":"YWJj","mimeType":"image/png"},{"type":"text","text":"this"}]},
		{"role":"assistant","content":{"type":"text","text":"I see"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &model.Request{System: "be brief", Turn: 2, Contents: []*genai.Content{
		{Role: "user", Parts: []*genai.Part{{Text: "look"}}},
		{Role: "model", Parts: []*genai.Part{{Text: "at what?"}}},
		{Role: "user", Parts: []*genai.Part{{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("abc")}}, {Text: "this"}}},
		{Role: "model", Parts: []*genai.Part{{Text: "I see"}}},
	}}
	if diff := cmp.Diff(want, m.asked); diff != "" {
		t.Error(diff)
	}
}

// TestSampling: a server that is allowed it may ask the model, but not for ever.
func TestSampling(t *testing.T) {
	f := &fake{}
	f.do = func(ctx context.Context, c *protocol.Call) (string, error) {
		for range maxSamples + 1 {
			raw, err := c.Ask(ctx, "sampling/createMessage", json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`))
			if err != nil {
				return "", err
			}
			if !strings.Contains(string(raw), "hello") {
				t.Errorf("got %s", raw)
			}
		}
		return `{}`, nil
	}
	f.set(named("a")...)
	p, _ := newPool(t, f)
	defer p.Close()
	d := deps()
	d.Sample = SampleWith(&fakeModel{reply: said(&genai.Part{Text: "hello"})})
	s, err := p.Toolset(entry(func(c *config.Tool) { c.MCP.Server.Sampling = "allow" }), d)
	if err != nil {
		t.Fatal(err)
	}
	tools, _ := asked(t, s, agent.Query{})
	if r := called(t, tools["a"], call(`{}`)); r.Output != "the server refused the call: at most 10 requests for the model are answered in one call (code -32603)" {
		t.Errorf("got %+v", r)
	}
	denied, err := p.Toolset(entry(nil), d)
	if err != nil {
		t.Fatal(err)
	}
	tools, _ = asked(t, denied, agent.Query{})
	if r := called(t, tools["a"], call(`{}`)); !r.IsError || !strings.Contains(r.Output.(string), "does not answer") {
		t.Errorf("got %+v", r)
	}
}

// TestSeveralQuestions: a call may ask again when it has its answer.
func TestSeveralQuestions(t *testing.T) {
	f := &fake{do: func(ctx context.Context, c *protocol.Call) (string, error) {
		for range 2 {
			if _, err := c.Ask(ctx, "elicitation/create", json.RawMessage(question)); err != nil {
				return "", err
			}
			c.Progress("on")
		}
		return `{"content":[{"type":"text","text":"done"}]}`, nil
	}}
	f.set(named("a")...)
	within(t, f, entry(nil), func(t *testing.T, s *Toolset) {
		tools, _ := asked(t, s, agent.Query{})
		first := call(`{}`)
		r := called(t, tools["a"], first)
		heard := 0
		second := again(first, r, session.Answer{Action: model.Accept})
		second.Progress = func(string) { heard++ }
		r = called(t, tools["a"], second)
		if r.Suspend == nil || heard != 1 {
			t.Fatalf("got %+v, heard %d", r, heard)
		}
		third := again(first, r, session.Answer{Action: model.Accept})
		if r = called(t, tools["a"], third); r.Output != "done" || heard != 1 {
			t.Errorf("got %+v, heard %d", r, heard)
		}
	})
}
