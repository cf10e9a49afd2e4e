package tape

import (
	"context"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/house"
	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// saying is a model that says one thing.
type saying model.Reply

func (s *saying) Generate(context.Context, *model.Request) iter.Seq2[*model.Reply, error] {
	return func(yield func(*model.Reply, error) bool) { yield((*model.Reply)(s), nil) }
}

// TestToldOfWhatIsNotRecorded: at once, and at the end, which may be an interruption
// that prints no errors.
func TestToldOfWhatIsNotRecorded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	var log strings.Builder
	o := &house.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}
	end, err := (&Tape{Record: file}).Insert(o, func(s string) string { return s })
	if err != nil {
		t.Fatal(err)
	}
	good := &saying{Content: &genai.Content{Role: "model", Parts: []*genai.Part{{Text: "hello"}}}}
	broken := &saying{Opaque: []byte("{")}
	ask := func(m model.Model) {
		t.Helper()
		for _, err := range o.Listen("a", m).Generate(t.Context(), &model.Request{}) {
			if err != nil {
				t.Error(err)
			}
		}
	}
	ask(good)
	if log.Len() > 0 {
		t.Error(log.String())
	}
	ask(broken)
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") || !strings.Contains(got, "stopped at exchange 2, a reply to agent a") {
		t.Error(got)
	}
	log.Reset()
	ask(good)
	if log.Len() > 0 {
		t.Error(log.String())
	}
	if err := end(); err == nil || !strings.Contains(err.Error(), "the 1 before it are recorded") {
		t.Error(err)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=ERROR") || !strings.Contains(got, "stopped at exchange 2") {
		t.Error(got)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "hello") {
		t.Error(err)
	}
}
