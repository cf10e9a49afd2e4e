package agent_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/model/scripted"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config/load"
	"github.com/adkmcp/adkmcp/internal/tools"
)

var update = flag.Bool("update", false, "write the event logs anew")

// TestRuns plays agent files with scripted models: each archive holds the
// agent, its requests, one a line, the log of events that they must give, and
// perhaps files that the agent reads. A line "< accept decline" answers the first
// two questions of the turn that waits.
func TestRuns(t *testing.T) {
	archives, err := filepath.Glob("testdata/run/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal(archives, err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file := func(name string) *txtar.File {
				for i := range archive.Files {
					if archive.Files[i].Name == name {
						return &archive.Files[i]
					}
				}
				t.Fatalf("%s has no %s", path, name)
				return nil
			}
			dir := t.TempDir()
			for _, f := range archive.Files {
				if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := play(t, filepath.Join(dir, "agent.yaml"), strings.TrimSpace(string(file("requests").Data)))
			if *update {
				file("events").Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(string(file("events").Data), got); d != "" {
				t.Error(d)
			}
		})
	}
}

func play(t *testing.T, path, requests string) string {
	agents, problems, err := load.Agents([]string{path}, load.Options{LookupEnv: os.LookupEnv})
	if err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	cfg := agents[0]
	cfg.File = "agent.yaml"
	m, err := scripted.New(cfg.Model.Script)
	if err != nil {
		t.Fatal(err)
	}
	noon := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	log := slog.New(slog.DiscardHandler)
	set, faults := tools.Build(cfg, tools.Deps{Now: noon, Log: log})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	defer set.Close()
	n := 0
	r := agent.NewRunner(cfg, agent.Parts{Model: m, Tools: set, Store: newStore(), Now: noon, Log: log,
		NewID: func() string { n++; return fmt.Sprint(n) }})
	var out strings.Builder
	a := &answer.Answer{}
	var ended []*session.Event // calls of a step, which end in any order
	show := func(e *session.Event) {
		if e.Kind == session.ToolFinished || e.Kind == session.Suspended {
			ended = append(ended, e)
			return
		}
		out.WriteString(lines(t, ended))
		ended = nil
		out.WriteString(lines(t, []*session.Event{e}))
	}
	for text := range strings.Lines(requests) {
		turn := request(strings.TrimSpace(text))
		turn.Key.Agent = cfg.Name
		if actions, ok := strings.CutPrefix(text, "< "); ok {
			turn.Input = nil
			for i, action := range strings.Fields(actions) {
				turn.Answers = append(turn.Answers, session.Answer{CallID: a.Questions[i].CallID, Action: action})
			}
		}
		if a, err = answer.Collect(r.Run(t.Context(), turn), show); err != nil {
			t.Fatal(err)
		}
		out.WriteString(lines(t, ended))
		ended = nil
	}
	return out.String()
}

// lines shows events that may come in any order.
func lines(t *testing.T, events []*session.Event) string {
	var numbers []int64
	var texts []string
	for _, e := range events {
		numbers, texts = append(numbers, e.Seq), append(texts, line(t, e))
	}
	slices.Sort(texts)
	s := ""
	for i, text := range texts {
		s += fmt.Sprintf("%d %s\n", numbers[i], text)
	}
	return s
}

// line shows an event without its number.
func line(t *testing.T, e *session.Event) string {
	s := fmt.Sprintf("%s %d.%s", e.Author, e.Step, e.Kind)
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			if p.Text != "" {
				s += fmt.Sprintf(" %q", p.Text)
			}
			if c := p.FunctionCall; c != nil {
				s += fmt.Sprintf(" %s(%s)", c.Name, marshal(t, c.Args))
			}
			if b := p.InlineData; b != nil {
				s += fmt.Sprintf(" %s %s %d bytes", b.DisplayName, b.MIMEType, len(b.Data))
			}
		}
	}
	if e.Call != nil {
		s += " " + e.Call.Name + " " + string(e.Call.Args)
	}
	if e.Response != nil {
		s += marshal(t, e.Response.Response)
	}
	if e.Suspension != nil {
		s += " " + e.Suspension.Kind + ": " + e.Suspension.Message + " " + string(e.Suspension.Payload)
	}
	if e.Answer != nil {
		s += " " + e.Answer.Kind + ": " + e.Answer.Action
	}
	if e.Structured != nil {
		s += " structured " + string(e.Structured)
	}
	if e.StateDelta != nil {
		s += " state " + marshal(t, e.StateDelta)
	}
	if c := e.Compaction; c != nil {
		s += fmt.Sprintf(" %s, contents %d to %d", c.Reason, c.From, c.UpTo)
	}
	if e.Problem != nil {
		s += " " + e.Problem.Code + ": " + e.Problem.Message
	}
	return strings.TrimSpace(s)
}

func marshal(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
