package agent_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

// outcomes is a model with one outcome per call, the last one again and again.
type outcomes struct {
	asked []*model.Request
	all   []func() (*model.Reply, error)
}

func (o *outcomes) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	return func(yield func(*model.Reply, error) bool) {
		i := min(len(o.asked), len(o.all)-1)
		o.asked = append(o.asked, req)
		yield(o.all[i]())
	}
}

func replies(tokens int64, parts ...*genai.Part) func() (*model.Reply, error) {
	return func() (*model.Reply, error) {
		return &model.Reply{Content: &genai.Content{Role: genai.RoleModel, Parts: parts}, Usage: &model.Usage{Input: tokens, Total: tokens}}, nil
	}
}

func failsWith(code model.Code, tokens int64) func() (*model.Reply, error) {
	return func() (*model.Reply, error) {
		return nil, &model.Error{Code: code, Message: string(code), Usage: &model.Usage{Input: tokens, Total: tokens}}
	}
}

// TestRetriesDoNotLengthenRequests: what failed attempts used counts, and is not
// taken for the length of the request.
func TestRetriesDoNotLengthenRequests(t *testing.T) {
	b := newBench()
	b.cfg.Model = config.Model{Provider: "gemini", Name: "x", ContextWindow: 1000}
	inner := &outcomes{all: []func() (*model.Reply, error){failsWith(model.Malformed, 400), failsWith(model.Malformed, 400), replies(400, &genai.Part{Text: "hi"})}}
	m := model.Windowed(model.Retrying(inner, model.Policy{Retries: 1, Rand: func() float64 { return 0 }}), 1000, 0)
	r := b.runner(m)
	for n, want := range []int64{1200, 400, 400} {
		if _, a := take(t, t.Context(), r, request("hello")); a.Problem != nil || a.Usage.Total != want {
			t.Errorf("turn %d: %+v, %+v", n, a.Problem, a.Usage)
		}
	}
}

// TestUsageOfFailedTurns: a turn that fails, or is stopped while it waits to try
// again, says what was used.
func TestUsageOfFailedTurns(t *testing.T) {
	r := newBench().runner(&outcomes{all: []func() (*model.Reply, error){failsWith(model.Blocked, 70)}})
	if _, a := take(t, t.Context(), r, request("hello")); a.Problem == nil || a.Usage.Total != 70 || len(a.Steps) != 1 {
		t.Errorf("blocked: %+v %+v", a.Problem, a.Usage)
	}
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	m := model.Retrying(&outcomes{all: []func() (*model.Reply, error){failsWith(model.Malformed, 70)}}, model.Policy{Rand: func() float64 { return 0.99 }})
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(ctx, cancel)
	if _, a := take(t, ctx, newBench().runner(m), request("hello")); a.Problem == nil || a.Usage.Total != 70 {
		t.Errorf("stopped: %+v %+v", a.Problem, a.Usage)
	}
	b, keep := newBench(), 0
	b.cfg.Compaction = &config.Compaction{TokenThreshold: 1 << 40, EventRetentionSize: &keep}
	text := replies(10, &genai.Part{Text: "hi"})
	r = b.runner(&outcomes{all: []func() (*model.Reply, error){text, failsWith(model.ContextOverflow, 700), text, text}})
	take(t, t.Context(), r, request("hello"))
	if _, a := take(t, t.Context(), r, request("hello")); a.Problem != nil || a.Usage.Total != 720 {
		t.Errorf("summarised: %+v %+v", a.Problem, a.Usage)
	}
}

// TestWhatTheServiceDidIsNotForgotten: a reply of nothing but hidden parts that a
// provider has signed goes back with the next request, or it would be done again.
func TestWhatTheServiceDidIsNotForgotten(t *testing.T) {
	ran := &genai.Part{Text: "[ran wiki.pay]", Thought: true, ThoughtSignature: model.Sign("openai", []byte(`{"type":"mcp_call"}`))}
	m := &outcomes{all: []func() (*model.Reply, error){replies(1, ran), replies(1, &genai.Part{Text: "paid"})}}
	if _, a := take(t, t.Context(), newBench().runner(m), request("pay")); a.Problem != nil || text(a) != "paid" {
		t.Fatalf("%+v", a)
	}
	if second := m.asked[1].Contents; len(second) != 2 || second[1].Parts[0] != ran {
		t.Errorf("the second request has %d contents", len(second))
	}
}

// TestSamplingIsNotStored: neither the model's own question to a host nor that of an
// inner agent, each of which holds a whole conversation, fills the store.
func TestSamplingIsNotStored(t *testing.T) {
	b, n := newBench(), 0
	inner := newTool("inner", func(context.Context, *agent.Call) (*agent.Result, error) {
		if n++; n == 6 {
			return agent.Text("done"), nil
		}
		payload := json.RawMessage(`"` + strings.Repeat("x", 300<<10) + `"`)
		return &agent.Result{Suspend: &session.Suspension{Kind: model.Sampling, Message: "m", Payload: payload}}, nil
	})
	r := b.runner(answers{reply(call("inner", nil)), says("ok")}, inner)
	in := request("go")
	for range 6 {
		_, a := take(t, t.Context(), r, in)
		if a.Problem != nil {
			t.Fatalf("%+v", a.Problem)
		}
		if len(a.Questions) == 0 {
			break
		}
		if len(a.Questions[0].Payload) < 300<<10 {
			t.Error("whoever asks the host does not get the request")
		}
		in = agent.Turn{Key: key, Mode: session.MustExist, Answers: []session.Answer{{CallID: a.Questions[0].CallID, ID: a.Questions[0].ID, Action: model.Accept, Payload: json.RawMessage(`{}`)}}}
	}
	if n != 6 {
		t.Errorf("%d calls", n)
	}
}
