package builtin

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/middleware"
)

// set calls the tools of one entry as the runner does, behind the middleware.
type set map[string]agent.Tool

func newSet(t *testing.T, entry *config.Tool, now func() time.Time) set {
	t.Helper()
	s := set{}
	s.add(t, entry, Deps{Now: now})
	return s
}

func (s set) add(t *testing.T, entry *config.Tool, d Deps) {
	t.Helper()
	if entry.MaxResultBytes == 0 {
		entry.MaxResultBytes = 65536
	}
	made, err := New(entry, d)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range made {
		s[tool.Spec().Name] = middleware.Wrap(tool, middleware.Options{
			Log: slog.New(slog.DiscardHandler), Now: time.Now, Timeout: time.Minute, MaxResultBytes: entry.MaxResultBytes,
		})
	}
}

// do gives what the model reads, with "error: " in front of a failure.
func (s set) do(t *testing.T, name string, args any) string {
	t.Helper()
	return shown(s.result(t, t.Context(), name, args))
}

func (s set) result(t *testing.T, ctx context.Context, name string, args any) *agent.Result {
	t.Helper()
	raw, ok := args.(string)
	if !ok {
		data, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(data)
	}
	res, err := s[name].Call(ctx, &agent.Call{Name: name, Args: json.RawMessage(raw), Progress: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func shown(res *agent.Result) string {
	if res.IsError {
		return "error: " + res.Output.(string)
	}
	return res.Output.(string)
}

func TestCurrentTime(t *testing.T) {
	vienna, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		t.Fatal(err)
	}
	s := newSet(t, &config.Tool{Name: "current_time"}, func() time.Time {
		return time.Date(2026, 7, 5, 1, 2, 3, 0, vienna)
	})
	for args, want := range map[string]string{
		``:                                "2026-07-05T01:02:03+02:00, Sunday",
		`{"timezone":""}`:                 "2026-07-05T01:02:03+02:00, Sunday",
		`{"timezone":"UTC"}`:              "2026-07-04T23:02:03Z, Saturday",
		`{"timezone":"America/New_York"}`: "2026-07-04T19:02:03-04:00, Saturday",
		`{"timezone":"Mars/Olympus"}`:     `error: there is no time zone "Mars/Olympus": use an IANA name such as Europe/Vienna, or UTC`,
		`{"timezone":"../../etc/passwd"}`: `error: there is no time zone "../../etc/passwd": use an IANA name such as Europe/Vienna, or UTC`,
		`{"zone":"UTC"}`:                  `error: argument zone: not an argument of current_time, its arguments are timezone`,
	} {
		if got := s.do(t, "current_time", args); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", args, got, want)
		}
	}
	if h := s["current_time"].Spec().Hints; h != (agent.Hints{ReadOnly: true, NonDestructive: true, Idempotent: true, ClosedWorld: true}) {
		t.Errorf("hints %+v", h)
	}
}

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "file", "")
	for name, tc := range map[string]struct {
		tool config.Tool
		want string
	}{
		"unknown name":   {config.Tool{Name: "file"}, `there is no built-in tool "file": the names are current_time, files, get_user_choice, load_artifacts, save_artifact`},
		"args for none":  {config.Tool{Name: "current_time", Builtin: &config.Builtin{Root: dir}}, "current_time takes no args"},
		"choice, args":   {config.Tool{Name: "get_user_choice", Builtin: &config.Builtin{Write: true}}, "get_user_choice takes no args"},
		"save, args":     {config.Tool{Name: "save_artifact", Builtin: &config.Builtin{Write: true}}, "save_artifact takes no args"},
		"load, args":     {config.Tool{Name: "load_artifacts", Builtin: &config.Builtin{Write: true}}, "load_artifacts takes no args"},
		"no args":        {config.Tool{Name: "files"}, "files needs args.root"},
		"no root":        {config.Tool{Name: "files", Builtin: &config.Builtin{Write: true}}, "files needs args.root"},
		"missing folder": {config.Tool{Name: "files", Builtin: &config.Builtin{Root: filepath.Join(dir, "no")}}, "the folder of args.root cannot be used: "},
		"not a folder":   {config.Tool{Name: "files", Builtin: &config.Builtin{Root: filepath.Join(dir, "file")}}, "is not a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := New(&tc.tool, Deps{Now: time.Now})
			if err == nil || !strings.Contains(err.Error(), tc.want) || got != nil {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestFilesHints(t *testing.T) {
	reading := agent.Hints{ReadOnly: true, NonDestructive: true, Idempotent: true, ClosedWorld: true}
	for _, tc := range []struct {
		write bool
		want  map[string]agent.Hints
	}{
		{false, map[string]agent.Hints{"files_list": reading, "files_read": reading, "files_search": reading}},
		{true, map[string]agent.Hints{"files_list": reading, "files_read": reading, "files_search": reading, "files_write": {ClosedWorld: true}}},
	} {
		got := map[string]agent.Hints{}
		for name, tool := range newSet(t, &config.Tool{Name: "files", Builtin: &config.Builtin{Root: t.TempDir(), Write: tc.write}}, nil) {
			got[name] = tool.Spec().Hints
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Error(diff)
		}
	}
}
