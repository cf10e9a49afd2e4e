package agent_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model/scripted"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config/load"
	"github.com/adkmcp/adkmcp/internal/tools"
)

var update = flag.Bool("update", false, "write the event logs anew")

// TestRuns plays agent files with scripted models: each archive holds the
// agent, its requests, one a line, and the log of events that they must give.
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
			got := play(t, file("agent.yaml").Data, strings.TrimSpace(string(file("requests").Data)))
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

func play(t *testing.T, agentFile []byte, requests string) string {
	path := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(path, agentFile, 0o600); err != nil {
		t.Fatal(err)
	}
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
	for request := range strings.Lines(requests) {
		turn := request0(strings.TrimSpace(request), cfg.Name)
		for e, err := range r.Run(t.Context(), turn) {
			if err != nil {
				t.Fatal(err)
			}
			out.WriteString(line(t, e) + "\n")
		}
	}
	return out.String()
}

func request0(text, agentName string) agent.Turn {
	turn := request(text)
	turn.Key.Agent = agentName
	return turn
}

// line shows an event.
func line(t *testing.T, e *session.Event) string {
	s := fmt.Sprintf("%d %s %d.%s", e.Seq, e.Author, e.Step, e.Kind)
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			if p.Text != "" {
				s += fmt.Sprintf(" %q", p.Text)
			}
			if c := p.FunctionCall; c != nil {
				s += fmt.Sprintf(" %s(%s)", c.Name, marshal(t, c.Args))
			}
		}
	}
	if e.Call != nil {
		s += " " + e.Call.Name + " " + string(e.Call.Args)
	}
	if e.Response != nil {
		s += marshal(t, e.Response.Response)
	}
	if e.StateDelta != nil {
		s += " state " + marshal(t, e.StateDelta)
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
