package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
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

func readAndSend() (read, send *tool) {
	read, send = newTool("read", echo), newTool("send", echo)
	read.spec.Hints.ReadOnly = true
	return read, send
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

// resumption is what a process that continues a turn reports.
type resumption struct {
	Text    string
	Problem *session.Problem
	Last    session.Kind
	Reads   map[string]int // how often each call ran, by id
	Sends   map[string]int
}

// resumeVar names a file with the log of a conversation, for the process that
// TestResumeInThisProcess is then all there is of.
const resumeVar = "ADKMCP_TEST_RESUME"

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
	b := newBench()
	transplant(t, b, bytes.Split(bytes.TrimSpace(data), []byte("\n")))
	read, send := readAndSend()
	rest, a := take(t, t.Context(), b.runner(twoSteps(), read, send), agent.Turn{Key: key})
	report, err := json.Marshal(resumption{text(a), a.Problem, rest[len(rest)-1].Kind, read.runs, send.runs})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".out", report, 0o600); err != nil {
		t.Fatal(err)
	}
}

// resumeElsewhere continues a conversation in a new process.
func resumeElsewhere(t *testing.T, log [][]byte) resumption {
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
	cmd.Env = append(os.Environ(), resumeVar+"="+path, "GORACE=atexit_sleep_ms=0") // else a second each
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
	return r
}

// TestResumeAtEveryEvent continues a turn with parallel tools in a new process,
// from every prefix of its events.
func TestResumeAtEveryEvent(t *testing.T) {
	b := newBench()
	read, send := readAndSend()
	events, whole := take(t, t.Context(), b.runner(twoSteps(), read, send), request("go"))
	log := encode(t, events)
	if len(log) != 13 {
		t.Fatalf("the turn has %d events: %v", len(log), kinds(events))
	}
	for n := 1; n < len(log); n++ {
		t.Run(fmt.Sprintf("after %d %s", n, events[n-1].Kind), func(t *testing.T) {
			r := resumeElsewhere(t, log[:n])
			for _, e := range events[:n] {
				if e.Kind == session.ToolFinished && r.Reads[e.Call.ID]+r.Sends[e.Call.ID] > 0 {
					t.Errorf("%s %s is recorded and ran again", e.Call.Name, e.Call.ID)
				}
			}
			lost := started(events[:n], "send") && !finished(events[:n], "send")
			if !lost && r.Text != text(whole) {
				t.Errorf("another end: %q, want %q", r.Text, text(whole))
			}
			if lost && (len(r.Sends) > 0 || !strings.Contains(r.Text, "whether it took effect is unknown")) {
				t.Errorf("a call that may have taken effect: ran %v, the model was told %q", r.Sends, r.Text)
			}
			if r.Problem != nil || r.Last != session.TurnEnded {
				t.Errorf("ended with %+v", r.Problem)
			}
		})
	}
}

func started(events []*session.Event, name string) bool {
	return slices.ContainsFunc(events, func(e *session.Event) bool { return e.Kind == session.ToolStarted && e.Call.Name == name })
}

func finished(events []*session.Event, name string) bool {
	return slices.ContainsFunc(events, func(e *session.Event) bool { return e.Kind == session.ToolFinished && e.Call.Name == name })
}

// TestNewRequestAfterACrash starts a new turn from every prefix: the old one
// is closed so that every call has its response.
func TestNewRequestAfterACrash(t *testing.T) {
	b := newBench()
	read, send := readAndSend()
	events, _ := take(t, t.Context(), b.runner(twoSteps(), read, send), request("go"))
	log := encode(t, events)
	for n := 1; n < len(log); n++ {
		b := newBench()
		transplant(t, b, log[:n])
		var seen []*genai.Content
		_, a := take(t, t.Context(), b.runner(answers{func(req *model.Request) (*model.Reply, error) {
			seen = req.Contents
			return says("fine")(req)
		}}, read, send), request("next"))
		if text(a) != "fine" {
			t.Errorf("after %d events: %+v", n, a)
		}
		if err := paired(seen); err != "" {
			t.Errorf("after %d events: %s", n, err)
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
	if _, err := agent.Collect(b.runner(m, ask, echoed).Run(t.Context(), agent.Turn{Key: key, Answers: []session.Answer{{CallID: "other"}}}), nil); !errors.Is(err, agent.ErrNothingOpen) {
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
