package serve_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve"
	"github.com/adkmcp/adkmcp/internal/serve/elicit"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeAgent is a runner with a store of its own: it answers by the first word
// of the request and keeps what it was told.
type fakeAgent struct {
	mu      sync.Mutex
	said    map[session.Key][]string
	lines   map[session.Key]chan struct{} // one token: the lease
	deleted []session.Key
	started chan string // if not nil, gets the request of every turn that began
	release chan struct{}
	active  int // turns inside
	ended   int // turns that were cancelled
	callers []agent.Caller
}

func newFakeAgent() *fakeAgent {
	return &fakeAgent{said: make(map[session.Key][]string), lines: make(map[session.Key]chan struct{}), release: make(chan struct{})}
}

func (f *fakeAgent) Delete(_ context.Context, key session.Key) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.said, key)
	f.deleted = append(f.deleted, key)
	return nil
}

// open leases the conversation.
func (f *fakeAgent) open(ctx context.Context, t agent.Turn) (release func(), err error) {
	f.mu.Lock()
	if _, ok := f.said[t.Key]; !ok {
		if t.Mode == session.MustExist {
			f.mu.Unlock()
			return nil, session.ErrNotFound
		}
		f.said[t.Key] = nil
		f.lines[t.Key] = make(chan struct{}, 1)
	}
	line := f.lines[t.Key]
	f.callers = append(f.callers, t.Caller)
	f.mu.Unlock()
	select {
	case line <- struct{}{}:
		return func() { <-line }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *fakeAgent) count(active, ended int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active += active
	f.ended += ended
}

func (f *fakeAgent) counts() (active, ended int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.active, f.ended
}

// Run implements turns.Runner.
func (f *fakeAgent) Run(ctx context.Context, t agent.Turn) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		release, err := f.open(ctx, t)
		if err != nil {
			yield(nil, err)
			return
		}
		defer release()
		f.count(1, 0)
		defer f.count(-1, 0)
		request := "answered"
		if t.Input != nil {
			request = t.Input.Parts[0].Text
		}
		for _, a := range t.Answers {
			request += " " + strings.TrimSpace(a.CallID+" "+a.Action+" "+a.Reason)
		}
		f.mu.Lock()
		f.said[t.Key] = append(f.said[t.Key], request)
		n := len(f.said[t.Key])
		f.mu.Unlock()
		if f.started != nil {
			f.started <- request
		}
		if !yield(&session.Event{Kind: session.UserMessage}, nil) {
			return
		}
		word, rest, _ := strings.Cut(request, " ")
		for e, err := range f.play(ctx, word, rest, n) {
			if !yield(e, err) {
				return
			}
		}
	}
}

func (f *fakeAgent) play(ctx context.Context, word, rest string, n int) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		emit := func(e *session.Event) { yield(e, nil) }
		end := func(p *session.Problem) { emit(&session.Event{Kind: session.TurnEnded, Problem: p}) }
		switch word {
		case "echo":
			emit(say(genai.NewPartFromText(fmt.Sprintf("%s, turn %d", rest, n))))
		case "tool":
			emit(&session.Event{Kind: session.Notice, Text: "noting " + rest})
			emit(say(genai.NewPartFromText("Looking at "+rest), genai.NewPartFromFunctionCall("look", nil)))
			emit(&session.Event{Kind: session.ToolStarted, Call: &session.Call{ID: "1", Name: "look"}})
			emit(&session.Event{Kind: session.ToolFinished, Call: &session.Call{ID: "1", Name: "look"}})
			emit(say(genai.NewPartFromText("Saw " + rest)))
		case "wait":
			select {
			case <-ctx.Done():
				f.count(0, 1)
				end(&session.Problem{Code: session.Cancelled, Message: context.Cause(ctx).Error()})
				return
			case <-f.release:
			}
			emit(say(genai.NewPartFromText("Waited for " + rest)))
		case "media":
			emit(say(genai.NewPartFromText("Here"), genai.NewPartFromText(" it is:"), genai.NewPartFromBytes([]byte("png"), "image/png"),
				genai.NewPartFromBytes([]byte("wav"), "audio/wav"), &genai.Part{Text: "secret thought", Thought: true},
				genai.NewPartFromBytes([]byte("pdf1"), "application/pdf"), genai.NewPartFromBytes([]byte("pdf2"), ""), genai.NewPartFromText("Done.")))
		case "cut":
			emit(say(genai.NewPartFromText("Once upon a")))
			end(&session.Problem{Code: string(model.MaxTokens), Message: "the reply reached the output token limit"})
			return
		case "blocked":
			end(&session.Problem{Code: string(model.Blocked), Message: "the model refused: SAFETY"})
			return
		case "thought":
			emit(say(&genai.Part{Text: "only a thought", Thought: true}))
		case "blank":
			emit(say(genai.NewPartFromText(" \n ")))
		case "suspend":
			emit(say(genai.NewPartFromFunctionCall("rm", nil)))
			emit(&session.Event{Kind: session.Suspended, Suspension: &session.Suspension{CallID: "1", Kind: "approval", Message: "May I remove it?"}})
			return
		case "answered":
			emit(say(genai.NewPartFromText(rest)))
		case "panic":
			panic("a secret of the program")
		case "full":
			yield(nil, session.ErrTooLarge)
			return
		case "broken":
			yield(nil, errors.New("disk /secret/path is broken"))
			return
		}
		end(nil)
	}
}

func say(parts ...*genai.Part) *session.Event {
	return &session.Event{Kind: session.ModelReply, Content: genai.NewContentFromParts(parts, genai.RoleModel),
		Usage: &model.Usage{Input: 10, Output: 2, Total: 12}}
}

// fixture is a server with one fake agent.
type fixture struct {
	agent     *fakeAgent
	turns     *turns.Registry
	artifacts *artifact.Memory
	options   serve.Options
	server    *serve.Server
}

func newFixture(t testing.TB, policy config.Conversation, more ...serve.Agent) *fixture {
	t.Helper()
	f := &fixture{agent: newFakeAgent(), turns: turns.New(quiet(), time.Now), artifacts: artifact.NewMemory(artifact.MemoryOptions{Now: time.Now, Random: rand.Reader})}
	agents := append([]serve.Agent{{Name: "parrot", Description: "Repeats.", Instructions: "Say echo.", File: "parrot.yaml", Conversation: policy, Runner: f.agent}}, more...)
	for i := range agents {
		if agents[i].Runner == nil {
			agents[i].Runner = f.agent
		}
	}
	f.options = serve.Options{Agents: agents, Version: "test", IdleExpiry: time.Hour, Turns: f.turns,
		Delete: f.agent.Delete, AskTimeout: limit, Sealer: elicit.NewSealer([]byte("key"), time.Now), Artifacts: f.artifacts,
		Random: rand.Reader, Now: time.Now, Log: quiet()}
	s, err := serve.New(f.options)
	if err != nil {
		t.Fatal(err)
	}
	f.server = s
	return f
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
