package tools

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/model/scripted"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config/load"
)

const desk = `
name: desk
instruction: Deploy what is asked for.
model:
  provider: scripted
  script:
    - steps:
      - call:
        - deploy: {what: api}
        - window: {service: api}
        - get_user_choice: {options: [blue, green]}
        - save_artifact: {name: plan.md, content: "# Plan"}
      - {reply: "{deploy} / {window} / {get_user_choice} / {save_artifact}"}
tools:
  - name: deploy
    parameters: {what: {type: string}}
    ask: {message: "May {what} be deployed?", form: {type: object, properties: {}}}
    requires_approval: true
  - name: window
    parameters: {service: {type: string}}
    ask:
      message: "When? {service}"
      form: {type: object, properties: {hours: {type: integer, maximum: 8}}, required: [hours]}
  - name: get_user_choice
  - name: save_artifact
`

// office runs the agent that text says; every turn is taken by a program that
// knows nothing but what is stored.
type office struct {
	text  string
	store *session.Memory
	deps  Deps
	ids   int
	all   []*session.Event
}

func newOffice(t *testing.T, text string) *office {
	o := &office{text: text, deps: deps()}
	o.store = session.NewMemory(session.MemoryOptions{IdleTTL: time.Hour, MaxConversations: 9, MaxBytes: 1 << 20, Now: o.deps.Now, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { _ = o.store.Close() })
	return o
}

func (o *office) turn(t *testing.T, turn agent.Turn) *answer.Answer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "desk.yaml")
	if err := os.WriteFile(path, []byte(o.text), 0o600); err != nil {
		t.Fatal(err)
	}
	agents, problems, err := load.Agents([]string{path}, load.Options{LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil || len(problems) > 0 || len(agents) != 1 {
		t.Fatal(agents, problems, err)
	}
	m, err := scripted.New(agents[0].Model.Script)
	if err != nil {
		t.Fatal(err)
	}
	set, faults := Build(agents[0], o.deps)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	defer set.Close()
	r := agent.NewRunner(agents[0], agent.Parts{Model: m, Tools: set, Store: o.store, Now: o.deps.Now, Log: o.deps.Log,
		NewID: func() string { o.ids++; return fmt.Sprint("id", o.ids) }})
	turn.Key, turn.Mode = session.Key{Principal: "ann", Agent: "desk", Handle: "h"}, session.Create
	turn.Caller = agent.Caller{Principal: "ann"}
	a, err := answer.Collect(r.Run(t.Context(), turn), func(e *session.Event) { o.all = append(o.all, e) })
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// answer answers the questions that wait, each with what stands for the
// beginning of its message.
func (o *office) answer(t *testing.T, questions []*session.Suspension, by map[string]session.Answer) *answer.Answer {
	t.Helper()
	var turn agent.Turn
	for _, q := range questions {
		for message, a := range by {
			if strings.HasPrefix(q.Message, message) {
				a.CallID = q.CallID
				turn.Answers = append(turn.Answers, a)
			}
		}
	}
	if len(turn.Answers) != len(by) {
		t.Fatalf("%d answers for %d questions", len(turn.Answers), len(questions))
	}
	return o.turn(t, turn)
}

func messages(questions []*session.Suspension) string {
	var all []string
	for _, q := range questions {
		all = append(all, q.Kind+": "+strings.ReplaceAll(q.Message, "\n", " | "))
	}
	return strings.Join(all, "\n")
}

func accept(payload string) session.Answer {
	return session.Answer{Action: "accept", Payload: json.RawMessage(payload)}
}

// A turn waits for people as often as it must, across programs, and each answer
// finds its question.
func TestPeopleInTheLoop(t *testing.T) {
	o := newOffice(t, desk)
	a := o.turn(t, agent.Turn{Input: genai.NewContentFromText("deploy", genai.RoleUser)})
	for _, want := range []string{"approval: Agent desk wants to run deploy", "question: When?", "question: Please choose"} {
		if !strings.Contains(messages(a.Questions), want) {
			t.Fatalf("it asks\n%s\nwant %s", messages(a.Questions), want)
		}
	}
	if len(a.Questions) != 3 || a.Content != nil {
		t.Fatalf("%+v", a)
	}
	// The approved tool asks its own question then, and the answer that does not
	// fit is asked for again; the third question goes on waiting.
	a = o.answer(t, a.Questions, map[string]session.Answer{"Agent desk": accept(``), "When?": accept(`{"hours":9}`)})
	for _, want := range []string{"question: May api be deployed?", "question: The answer does not fit: hours: must be <= 8, got 9 | When? api", "question: Please choose"} {
		if !strings.Contains(messages(a.Questions), want) {
			t.Fatalf("it asks\n%s\nwant %s", messages(a.Questions), want)
		}
	}
	for _, hours := range []string{"10", "11"} {
		a = o.answer(t, a.Questions, map[string]session.Answer{"The answer does not fit": accept(`{"hours":` + hours + `}`)})
	}
	a = o.answer(t, a.Questions, map[string]session.Answer{"May api": accept(`{}`), "Please choose": accept(`{"choice":"green"}`)})
	want := "the person accepted / no answer fits the form, after 3 tries: hours: must be <= 8, got 11 / green / saved plan.md, version 1, text/markdown, 6 bytes"
	if a.Content == nil || a.Content.Parts[0].Text != want || len(a.Questions) > 0 {
		t.Fatalf("answer %+v, questions\n%s", a.Content, messages(a.Questions))
	}
	o.checkArtifact(t)
}

// checkArtifact sees that the event of the call names what was saved.
func (o *office) checkArtifact(t *testing.T) {
	t.Helper()
	for _, e := range o.all {
		if len(e.Artifacts) > 0 {
			info := e.Artifacts[0]
			got, err := o.deps.Artifacts.Get(t.Context(), "ann", "desk", info.ID)
			if err != nil || string(got.Data) != "# Plan" || got.Info() != info || e.Kind != session.ToolFinished {
				t.Errorf("%s names %+v: %v", e.Kind, info, err)
			}
			return
		}
	}
	t.Error("no event names the artifact")
}

// What a person does not approve does not run, and the model reads why.
func TestPeopleSayNo(t *testing.T) {
	for action, want := range map[string]string{"decline": "not run: the person declined: not today", "cancel": "not run: nobody approved it: not today"} {
		o := newOffice(t, strings.Replace(desk, `ask: {message: "May {what} be deployed?", form: {type: object, properties: {}}}`, `shell: [git, "{what}"]`, 1))
		a := o.turn(t, agent.Turn{Input: genai.NewContentFromText("deploy", genai.RoleUser)})
		no := session.Answer{Action: action, Reason: "not today"}
		a = o.answer(t, a.Questions, map[string]session.Answer{"Agent desk": no, "When?": no, "Please choose": no})
		if a.Content == nil || !strings.HasPrefix(a.Content.Parts[0].Text, want) {
			t.Errorf("%s: answer %+v", action, a.Content)
		}
	}
}
