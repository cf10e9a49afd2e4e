package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

// twoSteps is a turn with three parallel calls, then one more, then the answer,
// which repeats what the model was told.
func twoSteps() answers {
	return answers{
		reply(&genai.Part{Text: "Looking.", ThoughtSignature: []byte{1, 2}}, call("read", map[string]any{"n": 1}), call("send", map[string]any{"n": 2}), call("read", map[string]any{"n": 3})),
		reply(call("read", map[string]any{"n": 4})),
		func(req *model.Request) (*model.Reply, error) {
			s := ""
			for _, c := range req.Contents {
				for _, p := range c.Parts {
					if p.FunctionResponse != nil {
						s += fmt.Sprintln(p.FunctionResponse.Name, p.FunctionResponse.Response)
					}
				}
			}
			return says(s)(req)
		},
	}
}

// transplant gives the conversation of a log to a fresh store.
func transplant(t *testing.T, b *bench, events [][]byte) {
	t.Helper()
	b.store = newStore()
	b.ids.Store(1000) // ids are unique among processes
	lease, err := b.store.Open(t.Context(), key, session.Create)
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	for i, data := range events {
		e, err := session.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Append(t.Context(), int64(i), e); err != nil {
			t.Fatal(err)
		}
	}
}

func encode(t *testing.T, events []*session.Event) [][]byte {
	t.Helper()
	var all [][]byte
	for _, e := range events {
		data, err := session.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data)
	}
	return all
}

// story is a turn that is continued from anywhere.
type story struct {
	model      model.Model
	schema     string
	compaction *config.Compaction
	events     int // of the whole turn
	// elsewhere continues it in a new process; one such turn is enough, for they
	// share nothing here either.
	elsewhere bool
}

// stories are turns of an agent with the tools of storyTools.
var stories = map[string]func() story{
	"tools": func() story { return story{model: twoSteps(), events: 13, elsewhere: true} },
	"questions": func() story {
		two := twoSteps()
		two[0] = reply(&genai.Part{Text: "May I?"}, call("ask", map[string]any{"n": 1}), call("read", map[string]any{"n": 2}), call("ask", map[string]any{"n": 3}))
		return story{model: two, events: 19}
	},
	"correction": func() story {
		return story{
			model:  answers{reply(&genai.Part{Text: "Looking."}, call("send", nil)), says("five"), reply(call("read", nil)), says("```\n{\"n\":5.0}\n```")},
			schema: `{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`,
			events: 11,
		}
	},
	"compaction": func() story {
		newest := 2
		return story{
			model: counting{answers{
				reply(&genai.Part{Text: "step"}, call("read", map[string]any{"n": 1}), call("send", map[string]any{"n": 2}), call("read", map[string]any{"n": 3})),
				reply(&genai.Part{Text: "step"}, call("read", map[string]any{"n": 4})),
				reply(&genai.Part{Text: "step"}, call("read", map[string]any{"n": 5})),
				func(req *model.Request) (*model.Reply, error) { return says(req.Contents[0].Parts[0].Text)(req) },
			}},
			compaction: &config.Compaction{TokenThreshold: 1, EventRetentionSize: &newest},
			events:     18,
		}
	},
	"wrong twice": func() story {
		return story{model: answers{says("five"), says("six"), says("{}")}, schema: `{"type":"object"}`, events: 5}
	},
}

// storyTools are a tool that may be called again, one that may not and one that
// asks. They count in effects, by call id, how often one ran to its end.
func storyTools(effects map[string]int) []agent.Tool {
	var mu sync.Mutex
	done := func(_ context.Context, c *agent.Call) (*agent.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		effects[c.ID]++
		return &agent.Result{Output: c.Name + " got " + string(c.Args), Artifacts: []session.Artifact{{ID: c.ID, Name: c.Name, Version: int(c.Args[len(c.Args)-2] - '0')}}}, nil
	}
	read, send := newTool("read", done), newTool("send", done)
	read.spec.Hints.ReadOnly = true
	ask := newTool("ask", func(ctx context.Context, c *agent.Call) (*agent.Result, error) {
		if c.Answer == nil {
			return &agent.Result{Suspend: &session.Suspension{Kind: model.Approval, Message: "May I " + string(c.Args) + "?"}}, nil
		}
		r, err := done(ctx, c)
		r.Output = fmt.Sprint(r.Output, ", ", c.Answer.Kind, " ", c.Answer.Action)
		return r, err
	})
	return []agent.Tool{read, send, ask}
}

func (s *story) runner(b *bench, effects map[string]int) (*agent.Runner, *watched) {
	if s.schema != "" {
		b.cfg.OutputSchema = json.RawMessage(s.schema)
	}
	b.cfg.Compaction = s.compaction
	w := &watched{Model: s.model}
	return b.runner(w, storyTools(effects)...), w
}

// goOn continues a turn to its end; whatever is asked is accepted, one question
// at a time.
func goOn(t *testing.T, r *agent.Runner, next agent.Turn) (events []*session.Event, a *answer.Answer) {
	t.Helper()
	for {
		var more []*session.Event
		more, a = take(t, t.Context(), r, next)
		if events = append(events, more...); len(a.Questions) == 0 {
			return events, a
		}
		next = agent.Turn{Key: key, Answers: []session.Answer{{CallID: a.Questions[0].CallID, Action: model.Accept}}}
	}
}

// resumption is what a process that continues a turn reports.
type resumption struct {
	Answer  *answer.Answer
	Last    session.Kind
	Effects map[string]int
	// Requests are what the model was asked, without the ids of calls.
	Requests []string
}

// resumeVar names a file with the log of a conversation, for the process that
// TestResumeInThisProcess is then all there is of; storyVar says whose it is.
const (
	resumeVar = "ADKMCP_TEST_RESUME"
	storyVar  = "ADKMCP_TEST_STORY"
)

// TestResumeInThisProcess is run by TestResumeAtEveryEvent in a process of its
// own; alone it has nothing to do.
func TestResumeInThisProcess(t *testing.T) {
	path := os.Getenv(resumeVar)
	if path == "" {
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	report, err := json.Marshal(resume(t, os.Getenv(storyVar), bytes.Split(bytes.TrimSpace(data), []byte("\n"))))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".out", report, 0o600); err != nil {
		t.Fatal(err)
	}
}

// resume continues a conversation from its log.
func resume(t *testing.T, story string, log [][]byte) resumption {
	t.Helper()
	b := newBench()
	transplant(t, b, log)
	next := agent.Turn{Key: key}
	if asked := open(t, log); len(asked) > 0 {
		next.Answers = []session.Answer{{CallID: asked[0].CallID, Action: model.Accept}}
	}
	s, effects := stories[story](), map[string]int{}
	r, w := s.runner(b, effects)
	rest, a := goOn(t, r, next)
	return resumption{a, rest[len(rest)-1].Kind, effects, w.asked()}
}

// open gives the questions of a log that have no answer in it.
func open(t *testing.T, log [][]byte) (questions []*session.Suspension) {
	t.Helper()
	for _, data := range log {
		e, err := session.Decode(data)
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Kind == session.Suspended:
			questions = append(questions, e.Suspension)
		case e.Kind == session.Answered:
			questions = slices.DeleteFunc(questions, func(q *session.Suspension) bool { return q.CallID == e.Answer.CallID })
		}
	}
	return questions
}

// resumeElsewhere continues a conversation in a new process.
func resumeElsewhere(t *testing.T, story string, log [][]byte) resumption {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, bytes.Join(log, []byte("\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^TestResumeInThisProcess$")
	cmd.Env = append(os.Environ(), resumeVar+"="+path, storyVar+"="+story, "GORACE=atexit_sleep_ms=0") // else a second each
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the other process: %v\n%s", err, out)
	}
	data, err := os.ReadFile(path + ".out")
	if err != nil {
		t.Fatal(err)
	}
	var r resumption
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if string(r.Answer.Structured) == "null" {
		r.Answer.Structured = nil
	}
	return r
}

// TestResumeAtEveryEvent continues turns from every prefix of their events.
func TestResumeAtEveryEvent(t *testing.T) {
	for name, tell := range stories {
		s, b := tell(), newBench()
		r, w := s.runner(b, map[string]int{})
		events, whole := goOn(t, r, request("go"))
		asked := w.asked()
		log := encode(t, events)
		if len(log) != s.events {
			t.Fatalf("%s: the turn has %d events: %v", name, len(log), kinds(events))
		}
		for n := 1; n < len(log); n++ {
			t.Run(fmt.Sprintf("%s after %d %s", name, n, events[n-1].Kind), func(t *testing.T) {
				continued := resume
				if s.elsewhere {
					continued = resumeElsewhere
				}
				checkResumption(t, continued(t, name, log[:n]), events[:n], resumption{Answer: whole, Requests: asked})
			})
		}
	}
}

func checkResumption(t *testing.T, r resumption, before []*session.Event, whole resumption) {
	t.Helper()
	finished, lost := map[string]bool{}, map[string]bool{}
	for _, e := range before {
		switch e.Kind {
		case session.ToolStarted:
			lost[e.Call.ID] = e.Call.Name != "read"
		case session.Suspended:
			lost[e.Suspension.CallID] = false
		case session.ToolFinished:
			finished[e.Call.ID], lost[e.Call.ID] = true, false
		}
	}
	for id, n := range r.Effects {
		if finished[id] || lost[id] || n != 1 {
			t.Errorf("%s took effect %d times; recorded before: %v, begun before: %v", id, n, finished[id], lost[id])
		}
	}
	if r.Last != session.TurnEnded {
		t.Errorf("the last event is %s", r.Last)
	}
	if slices.Contains(slices.Collect(maps.Values(lost)), true) {
		if said := text(r.Answer); whole.Answer.Structured == nil && !strings.Contains(said, "whether it took effect is unknown") {
			t.Errorf("a call may have taken effect and the model was told %q", said)
		}
		return
	}
	// Calls end in any order, and another process names them otherwise.
	sorted := cmpopts.SortSlices(func(a, b session.Artifact) bool { return a.Name < b.Name })
	if d := cmp.Diff(whole.Answer, r.Answer, sorted, cmpopts.IgnoreFields(session.Artifact{}, "ID")); d != "" {
		t.Errorf("another end (-whole +resumed): %s", d)
	}
	if d := cmp.Diff(whole.Requests[len(whole.Requests)-min(len(r.Requests), len(whole.Requests)):], r.Requests, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("other requests (-whole +resumed): %s", d)
	}
}

// TestNewRequestAfterACrash starts a new turn from every prefix: the old one
// is closed so that every call has its response.
func TestNewRequestAfterACrash(t *testing.T) {
	for name, tell := range stories {
		s, b := tell(), newBench()
		r, _ := s.runner(b, map[string]int{})
		events, _ := goOn(t, r, request("go"))
		log := encode(t, events)
		for n := 1; n < len(log); n++ {
			b := newBench()
			transplant(t, b, log[:n])
			var seen []*genai.Content
			_, a := take(t, t.Context(), b.runner(answers{func(req *model.Request) (*model.Reply, error) {
				seen = req.Contents
				return says("fine")(req)
			}}, storyTools(map[string]int{})...), request("next"))
			if text(a) != "fine" || text(&answer.Answer{Content: a.All}) != "fine" || a.Artifacts != nil {
				t.Errorf("%s after %d events: %+v", name, n, a)
			}
			if err := paired(seen); err != "" {
				t.Errorf("%s after %d events: %s", name, n, err)
			}
		}
	}
}

// paired checks that a content with calls is followed by one with a response
// for each, in order.
func paired(contents []*genai.Content) string {
	for i, c := range contents {
		var calls, responses []string
		for _, p := range c.Parts {
			if p.FunctionCall != nil {
				calls = append(calls, p.FunctionCall.ID)
			}
		}
		if calls == nil {
			continue
		}
		if i+1 < len(contents) {
			for _, p := range contents[i+1].Parts {
				if p.FunctionResponse != nil {
					responses = append(responses, p.FunctionResponse.ID)
				}
			}
		}
		if d := cmp.Diff(calls, responses); d != "" {
			return d
		}
	}
	return ""
}

func TestSuspension(t *testing.T) {
	b := newBench()
	ask := newTool("ask", nil)
	ask.do = func(_ context.Context, c *agent.Call) (*agent.Result, error) {
		if c.Answer == nil {
			return &agent.Result{Suspend: &session.Suspension{Kind: "approval", Message: "May I?"}}, nil
		}
		return agent.Text("person said " + c.Answer.Action), nil
	}
	echoed := newTool("echo", echo)
	m := answers{reply(call("ask", nil), call("echo", nil)), func(req *model.Request) (*model.Reply, error) {
		last := req.Contents[len(req.Contents)-1]
		return says(fmt.Sprint(last.Parts[0].FunctionResponse.Response["output"]))(req)
	}}
	events, a := take(t, t.Context(), b.runner(m, ask, echoed), request("go"))
	if len(a.Questions) != 1 || a.Questions[0].Message != "May I?" || a.Questions[0].CallID == "" {
		t.Fatalf("questions %+v", a.Questions)
	}
	if _, err := answer.Collect(b.runner(m, ask, echoed).Run(t.Context(), agent.Turn{Key: key, Answers: []session.Answer{{CallID: "other"}}}), nil); !errors.Is(err, agent.ErrNothingOpen) {
		t.Errorf("an answer to no question gives %v", err)
	}
	// The answer arrives in a new process.
	transplant(t, b, encode(t, events))
	echoed.runs = map[string]int{}
	rest, a := take(t, t.Context(), b.runner(m, ask, echoed), agent.Turn{Key: key, Answers: []session.Answer{{CallID: a.Questions[0].CallID, Action: "accept"}}})
	if text(a) != "person said accept" || len(echoed.runs) != 0 {
		t.Errorf("answer %q, echo ran %v", text(a), echoed.runs)
	}
	if want := []session.Kind{session.Answered, session.ToolStarted, session.ToolFinished, session.ModelReply, session.TurnEnded}; !slices.Equal(kinds(rest), want) {
		t.Errorf("events %v, want %v", kinds(rest), want)
	}
}

// TestAnsweredCallRunsOnce: a call that had been answered and was running when
// the program ended is not run again.
func TestAnsweredCallRunsOnce(t *testing.T) {
	b := newBench()
	sent := 0
	ask := newTool("send", nil)
	ask.do = func(_ context.Context, c *agent.Call) (*agent.Result, error) {
		if c.Answer == nil {
			return &agent.Result{Suspend: &session.Suspension{Message: "May I?"}}, nil
		}
		sent++
		return agent.Text("sent"), nil
	}
	m := answers{reply(call("send", nil)), func(req *model.Request) (*model.Reply, error) {
		return says(fmt.Sprint(req.Contents[len(req.Contents)-1].Parts[0].FunctionResponse.Response))(req)
	}}
	asked, a := take(t, t.Context(), b.runner(m, ask), request("go"))
	answered, _ := take(t, t.Context(), b.runner(m, ask), agent.Turn{Key: key, Answers: []session.Answer{{CallID: a.Questions[0].CallID, Action: "accept"}}})
	log := encode(t, append(asked, answered...))
	for n := len(asked) + 1; n < len(log); n++ {
		b, before := newBench(), sent
		transplant(t, b, log[:n])
		_, a := take(t, t.Context(), b.runner(m, ask), agent.Turn{Key: key})
		begun := answered[n-len(asked)-1].Kind != session.Answered
		if ran := sent - before; begun && ran != 0 || !begun && ran != 1 {
			t.Errorf("after %s it ran %d times", answered[n-len(asked)-1].Kind, ran)
		}
		if a.Problem != nil {
			t.Errorf("after %d events: %+v", n, a.Problem)
		}
	}
}

func TestParkedTurnMakesRoomForANewRequest(t *testing.T) {
	b := newBench()
	ask := newTool("ask", func(context.Context, *agent.Call) (*agent.Result, error) {
		return &agent.Result{Suspend: &session.Suspension{Message: "May I?"}}, nil
	})
	var seen []*genai.Content
	m := answers{func(req *model.Request) (*model.Reply, error) {
		if seen = req.Contents; len(seen) == 1 {
			return reply(call("ask", nil))(req)
		}
		return says("ok")(req)
	}}
	take(t, t.Context(), b.runner(m, ask), request("one"))
	if _, a := take(t, t.Context(), b.runner(m, ask), request("two")); text(a) != "ok" || paired(seen) != "" {
		t.Errorf("answer %+v; %s", a, paired(seen))
	}
}

func TestModelSuspends(t *testing.T) {
	b := newBench()
	m := answers{func(req *model.Request) (*model.Reply, error) {
		if req.Answer == nil {
			return &model.Reply{Suspend: &model.Suspension{Kind: "sampling", Message: "Sample, please."}}, nil
		}
		return says("the host said " + string(req.Answer.Payload))(req)
	}}
	_, a := take(t, t.Context(), b.runner(m), request("go"))
	if len(a.Questions) != 1 || a.Questions[0].Kind != "sampling" {
		t.Fatalf("questions %+v", a.Questions)
	}
	_, a = take(t, t.Context(), b.runner(m), agent.Turn{Key: key, Answers: []session.Answer{{Action: "accept", Payload: []byte(`"hi"`)}}})
	if text(a) != `the host said "hi"` {
		t.Errorf("answer %+v", a)
	}
}

func TestConversationsDoNotMix(t *testing.T) {
	b := newBench()
	var mu sync.Mutex
	bad := 0
	r := b.runner(answers{func(req *model.Request) (*model.Reply, error) {
		secret := req.Contents[0].Parts[0].Text
		for _, c := range req.Contents {
			if c.Role == "user" && c.Parts[0].Text != secret {
				mu.Lock()
				bad++
				mu.Unlock()
			}
		}
		return says(secret)(req)
	}})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			turn := request(fmt.Sprint("secret", i))
			turn.Key.Handle = fmt.Sprint(i)
			for range 5 {
				if _, a := take(t, t.Context(), r, turn); text(a) != fmt.Sprint("secret", i) {
					t.Errorf("answer %q", text(a))
				}
			}
		})
	}
	wg.Wait()
	if bad > 0 {
		t.Errorf("%d requests held another's secret", bad)
	}
}
