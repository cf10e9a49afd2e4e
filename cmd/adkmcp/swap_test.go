package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/house"
	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/anthropic/anthropictest"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat/chattest"
	"github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
	"github.com/adkmcp/adkmcp/internal/agent/model/openai/openaitest"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/load"
)

// spoken is what a model says on one call: text and calls.
type spoken struct {
	text  string
	calls []called
}

type called struct{ name, args string }

// swapped is a provider whose service is a strict fake that says what it is given.
type swapped struct {
	name  string
	start func(t *testing.T, all []spoken) (m config.Model, refusals func() []string)
}

// queue gives what is next to be spoken; nothing after the end.
func queue(all []spoken) func() spoken {
	var mu sync.Mutex
	return func() spoken {
		mu.Lock()
		defer mu.Unlock()
		if len(all) == 0 {
			return spoken{text: "there is nothing left to say"}
		}
		next := all[0]
		all = all[1:]
		return next
	}
}

func closing(t *testing.T, err error, end func() error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

var swaps = []swapped{
	{"gemini", func(t *testing.T, all []spoken) (config.Model, func() []string) {
		next := queue(all)
		s, err := geminitest.Start(t.Context(), func(*geminitest.Request) geminitest.Reply {
			say := next()
			var parts []string
			if say.text != "" {
				parts = append(parts, geminitest.Text(say.text))
			}
			for i, c := range say.calls {
				parts = append(parts, geminitest.Call(c.name, c.args, strings.Repeat("s", 1-min(i, 1))))
			}
			return geminitest.Stream(geminitest.Final("STOP", parts...))
		})
		closing(t, err, s.Close)
		return config.Model{Provider: config.Gemini, Name: "gemini-flash-latest", BaseURL: s.URL}, s.Refusals
	}},
	{"openai", func(t *testing.T, all []spoken) (config.Model, func() []string) {
		next, n := queue(all), 0
		s, err := openaitest.Start(t.Context(), func(*openaitest.Request) openaitest.Reply {
			say := next()
			var items []openaitest.Output
			if say.text != "" {
				items = append(items, openaitest.Text(say.text))
			}
			for _, c := range say.calls {
				n++
				items = append(items, openaitest.Call(fmt.Sprint("call_", n), c.name, c.args))
			}
			return openaitest.Answer(items...)
		})
		closing(t, err, s.Close)
		return config.Model{Provider: config.OpenAI, Name: "gpt-5-mini", BaseURL: s.URL}, s.Refusals
	}},
	{"openai-compatible", func(t *testing.T, all []spoken) (config.Model, func() []string) {
		s := chattest.Start(chattest.Manners()[0])
		t.Cleanup(s.Close)
		for _, say := range all {
			a := chattest.Answer{Text: []string{say.text}}
			for _, c := range say.calls {
				a.Calls = append(a.Calls, chattest.Call{Name: c.name, Args: c.args})
			}
			s.Play(a)
		}
		return config.Model{Provider: config.Compatible, Name: "qwen3", BaseURL: s.URL}, s.Refusals
	}},
	{"anthropic", func(t *testing.T, all []spoken) (config.Model, func() []string) {
		next, n := queue(all), 0
		s, err := anthropictest.Start(t.Context(), key, func(*anthropictest.Request) anthropictest.Reply {
			say := next()
			var blocks []anthropictest.Block
			if say.text != "" {
				blocks = append(blocks, anthropictest.Text(say.text))
			}
			stop := "end_turn"
			for _, c := range say.calls {
				n++
				stop, blocks = "tool_use", append(blocks, anthropictest.Call(fmt.Sprint("toolu_", n), c.name, c.args))
			}
			return anthropictest.Stream(stop, blocks...)
		})
		closing(t, err, s.Close)
		return config.Model{Provider: config.Anthropic, Name: "claude-opus-4-5", BaseURL: s.URL}, s.Refusals
	}},
}

// TestSwappedModels runs every example with the model that it has, and again on the
// strict fake of every provider, which says what that model said: nothing else of the
// file changes, and the same tools are called with the same arguments.
func TestSwappedModels(t *testing.T) {
	weather := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"current":{"temperature_2m":7.5},"items":[{"number":1,"title":"t","state":"open","labels":[]}],"title":"t","state":"open","body":"b","comments":1,"user":{"login":"u"}}`)
	}))
	defer weather.Close()
	env := map[string]string{
		"WEATHER_API_URL": weather.URL, "GITHUB_API_URL": weather.URL, "REVIEW_REPO": repository,
		"GEMINI_API_KEY": key, "OPENAI_API_KEY": key, "ANTHROPIC_API_KEY": key,
	}
	requests := map[string]string{
		"dice": "a d1000, please", "dice_table": "a d20, please", "front_desk": "What time is it in Asia/Tokyo?",
		"weather": "52.4, -4.9", "reviewer": "only README.md", "github_issues": "find x",
	}
	files, err := filepath.Glob(repository + "/agents/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if strings.HasSuffix(name, ".test") {
			continue
		}
		tried++
		request := requests[name]
		if request == "" {
			t.Errorf("say here what %s is asked", file)
			continue
		}
		if name == "reviewer" || name == "github_issues" {
			file = twin(t, name)
		}
		t.Run(name, func(t *testing.T) {
			script, first := turnOf(t, env, file, nil, request)
			for _, swap := range swaps {
				t.Run(swap.name, func(t *testing.T) {
					m, refusals := swap.start(t, script)
					m.Timeout, m.Cooldown = config.Duration(60e9), config.Duration(60e9)
					_, again := turnOf(t, env, file, &m, request)
					for _, r := range refusals() {
						t.Errorf("the service refused: %s", r)
					}
					if d := cmp.Diff(first, again); d != "" {
						t.Error(d)
					}
				})
			}
		})
	}
	if tried < 6 {
		t.Errorf("only %d examples were found", tried)
	}
}

// turnOf runs one turn of the agent in a file, and of the agents inside of it, with
// another model if there is one. It gives what the models said, and what happened.
func turnOf(t *testing.T, env map[string]string, file string, other *config.Model, request string) (script []spoken, happened []string) {
	t.Helper()
	a := testApp(t, env)
	agents, problems, err := load.Agents([]string{file}, load.Options{LookupEnv: a.lookup})
	if err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
	notebook := &notebook{}
	if other != nil {
		swapModels(agents[0], other)
	}
	h, problems := house.Build(house.Options{Agents: agents, Bounds: house.DefaultBounds(), Now: a.now, NewID: a.newID, Log: slog.New(slog.DiscardHandler), Version: "1", Listen: notebook.around})
	defer h.Close()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	said, err := answer.Collect(h.Residents[0].Runner.Run(t.Context(), agent.Turn{
		Key: session.Key{Principal: localPrincipal, Agent: agents[0].Name, Handle: "h"}, Mode: session.Create,
		Input: &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: request}}},
	}), func(e *session.Event) {
		if e.Kind == session.ToolStarted {
			happened = append(happened, e.Call.Name+" "+string(e.Call.Args))
		}
	})
	if err != nil || said.Problem != nil || said.Content == nil {
		t.Fatalf("%v, %+v", err, said.Problem)
	}
	return notebook.all, append(happened, said.Content.Parts[0].Text)
}

// swapModels gives an agent, and those that are its tools, another model.
func swapModels(a *config.Agent, m *config.Model) {
	a.Model = *m
	for i := range a.Tools {
		if inner := a.Tools[i].Agent; inner != nil {
			swapModels(inner.Agent, m)
		}
	}
}

// notebook notes what models say, each when it was asked: that of an agent that is a tool
// after that of the one that calls it.
type notebook struct {
	mu  sync.Mutex
	all []spoken
}

func (s *notebook) around(_ string, m model.Model) model.Model { return &listener{s, m} }

type listener struct {
	notebook *notebook
	inner    model.Model
}

func (l *listener) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	return func(yield func(*model.Reply, error) bool) {
		for reply, err := range l.inner.Generate(ctx, req) {
			if reply != nil && !reply.Partial {
				l.notebook.note(reply)
			}
			if !yield(reply, err) {
				return
			}
		}
	}
}

func (s *notebook) note(reply *model.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var say spoken
	for _, p := range reply.Content.Parts {
		if p.FunctionCall != nil {
			args, _ := json.Marshal(p.FunctionCall.Args) // it came from JSON
			say.calls = append(say.calls, called{p.FunctionCall.Name, string(args)})
		} else if !p.Thought {
			say.text += p.Text
		}
	}
	s.all = append(s.all, say)
}
