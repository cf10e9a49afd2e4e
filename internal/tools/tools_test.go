package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/config/template"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/agent/memory"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/load"
	"github.com/adkmcp/adkmcp/internal/tools/builtin"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// TestMain makes this program an MCP server where its arguments say so.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asEcho {
		echoServer(os.Stdin, os.Stdout)
		return
	}
	goleak.VerifyTestMain(m)
}

func deps() Deps {
	return Deps{
		Now:       func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) },
		Log:       slog.New(slog.DiscardHandler),
		Artifacts: artifact.NewMemory(artifact.MemoryOptions{Now: time.Now, Log: slog.New(slog.DiscardHandler)}),
		Memory:    memory.NewMemory(memory.Options{}),
		Servers:   mcpclient.NewPool(mcpclient.PoolOptions{Now: time.Now, Log: slog.New(slog.DiscardHandler)}),
	}
}

// file is an agent file with some entries.
func file(entries ...config.Tool) *config.Agent {
	return &config.Agent{Tools: entries, LookupEnv: func(string) (string, bool) { return "", false }}
}

// entry is an entry as package config gives it, in a line of the file.
func entry(line int, name string) config.Tool {
	return config.Tool{
		Pos: config.Position{Line: line}, Name: name, Description: "A tool.", Timeout: config.Duration(time.Minute), MaxResultBytes: 65536,
		Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
	}
}

func currentTime(line int) config.Tool { return entry(line, "current_time") }

func files(line int, root string) config.Tool {
	t := entry(line, "files")
	t.Builtin = &config.Builtin{Root: root}
	return t
}

func program(line int, name string) config.Tool {
	t := entry(line, name)
	t.Shell = &config.Shell{Dir: os.TempDir(), Command: []template.Text{template.Parse("git"), template.Parse("status")}, SuccessExitCodes: []int{0}, Concurrency: 4}
	return t
}

func request(line int, name string) config.Tool {
	t := entry(line, name)
	t.HTTP = &config.HTTP{Method: "GET", URL: "https://api.example.com/issues"}
	return t
}

func question(line int, name string) config.Tool {
	t := entry(line, name)
	t.Ask = &config.Ask{Message: template.ParsePlaces("Which one?")}
	return t
}

func names(t *testing.T, set agent.Toolset) (names []string, tools []agent.Tool) {
	t.Helper()
	tools, err := set.Tools(t.Context(), &agent.Query{Agent: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		names = append(names, tool.Spec().Name)
	}
	return names, tools
}

// mustBuild builds what has no fault.
func mustBuild(t *testing.T, a *config.Agent) *Set {
	t.Helper()
	set, faults := Build(a, deps())
	if len(faults) > 0 {
		t.Fatalf("%s: %+v", a.File, faults)
	}
	return set
}

func TestBuild(t *testing.T) {
	a := file(request(3, "get_issue"), files(5, t.TempDir()), program(8, "git_status"), question(9, "which"), currentTime(10))
	set := mustBuild(t, a)
	got, tools := names(t, set)
	want := []string{"get_issue", "files_list", "files_read", "files_search", "git_status", "which", "current_time"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	call := func(tool agent.Tool, args string) string {
		res, err := tool.Call(t.Context(), &agent.Call{Name: tool.Spec().Name, Args: json.RawMessage(args), Progress: func(string) {}})
		if err != nil {
			t.Fatal(err)
		}
		return res.Output.(string)
	}
	// Every kind stands behind the middleware.
	for _, tool := range tools {
		if text := call(tool, `{"bogus":1}`); !strings.HasPrefix(text, "argument bogus: not an argument of "+tool.Spec().Name) {
			t.Errorf("%s: %s", tool.Spec().Name, text)
		}
	}
	if text := call(tools[len(tools)-1], `{}`); text != "2026-03-01T12:00:00Z, Sunday" {
		t.Errorf("current_time gives %q", text)
	}
	if err := set.Close(); err != nil {
		t.Error(err)
	}
	// The closer has closed the client that http tools share.
	_, err := tools[0].Call(t.Context(), &agent.Call{Args: json.RawMessage(`{}`), Progress: func(string) {}})
	if text := call(tools[0], `{}`); err != nil || !strings.Contains(text, webclient.ErrClosed.Error()) {
		t.Errorf("after the closer: %q, %v", text, err)
	}
}

func TestBuildNothing(t *testing.T) {
	set := mustBuild(t, file())
	if got, _ := names(t, set); got != nil {
		t.Errorf("tools %v", got)
	}
	if err := set.Close(); err != nil {
		t.Error(err)
	}
}

func TestBuildTellsEverything(t *testing.T) {
	bad := request(7, "bad")
	bad.HTTP.Method = "FETCH"
	dir := t.TempDir()
	a := file(program(3, "twice"), request(5, "twice"), bad, entry(9, "local_time"), files(11, dir), files(12, dir), files(13, filepath.Join(dir, "no")))
	set, faults := Build(a, deps())
	if set != nil {
		t.Fatalf("got %v", set)
	}
	var lines []string
	for _, f := range faults {
		lines = append(lines, fmt.Sprintf("line %d: tools[%d]: %v", f.Pos.Line, f.Entry, f.Err))
	}
	for i, want := range []string{
		"line 5: tools[1]: the tool name twice is taken by the entry in line 3: give one of them another name",
		"line 7: tools[2]: method: ",
		`line 9: tools[3]: there is no built-in tool "local_time": the names are current_time, files, get_user_choice, load_artifacts, save_artifact`,
		"line 12: tools[5]: the tool name files_list is taken by the entry in line 11: ",
		"line 12: tools[5]: the tool name files_read is taken by the entry in line 11: ",
		"line 12: tools[5]: the tool name files_search is taken by the entry in line 11: ",
		"line 13: tools[6]: the folder of args.root cannot be used: ",
	} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("want %q in\n%v", want, lines)
		}
	}
}

// A secret of the file is hidden in the results of every entry.
func TestBuildRedacts(t *testing.T) {
	const secret = "sk-0123456789"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte("key "+secret), 0o600); err != nil {
		t.Fatal(err)
	}
	f := files(1, dir)
	a := file(f)
	a.Secrets = []string{secret} // of another tool, for instance
	set := mustBuild(t, a)
	defer set.Close()
	_, tools := names(t, set)
	res, err := tools[1].Call(t.Context(), &agent.Call{Args: json.RawMessage(`{"path":"x"}`), Progress: func(string) {}})
	if err != nil || res.Output != "key [redacted]" {
		t.Errorf("got %+v, %v", res, err)
	}
}

// What package config lets pass can be built: validate and serve agree.
func TestBuildsWhatLoads(t *testing.T) {
	paths, err := filepath.Glob("../config/testdata/good/*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no good fixtures: %v", err)
	}
	for _, path := range append(paths, "../../agents") {
		// A fixture brings its environment along.
		env := map[string]string{"PATH": os.Getenv("PATH")}
		for _, m := range regexp.MustCompile(`(?m)^# env: (\w+)=(.*)$`).FindAllStringSubmatch(everything(t, path), -1) {
			env[m[1]] = m[2]
		}
		agents, problems, err := load.Agents([]string{path}, load.Options{
			LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		})
		if err != nil || problems.HasErrors() || len(agents) == 0 {
			t.Errorf("%s: %d agents, %v %v", path, len(agents), problems, err)
		}
		for _, a := range agents {
			buildAll(t, a)
		}
	}
}

// buildAll builds the tools of a, and those of the agents that are tools of it.
func buildAll(t *testing.T, a *config.Agent) *Set {
	t.Helper()
	d := deps()
	d.Inner = func(inner *config.Agent) *Inner {
		return &Inner{Runner: agent.NewRunner(inner, agent.Parts{}), Tools: buildAll(t, inner)}
	}
	set, faults := Build(a, d)
	if len(faults) > 0 {
		t.Errorf("%s loads but cannot be built: %+v", a.File, faults)
		return &Set{}
	}
	t.Cleanup(func() {
		if err := errors.Join(set.Close(), d.Servers.Close()); err != nil {
			t.Error(err)
		}
	})
	return set
}

// builtinNames are the names of built-ins that agent files may have, as the JSON
// Schema of agent files says them.
func builtinNames(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile("../config/agent.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var find func(v any)
	find = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				if one == "current_time" && names == nil {
					for _, name := range v {
						names = append(names, name.(string))
					}
				}
				find(one)
			}
		case map[string]any:
			for _, one := range v {
				find(one)
			}
		}
	}
	var schema any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	if find(schema); len(names) < 5 {
		t.Fatalf("the schema names the built-ins %v", names)
	}
	return names
}

// Package config knows the names of built-ins without asking here.
func TestNamesOfBuiltins(t *testing.T) {
	for _, name := range builtinNames(t) {
		e := entry(1, name)
		e.Builtin = &config.Builtin{}
		if name == "files" {
			e.Builtin = &config.Builtin{Root: t.TempDir(), Write: true}
		}
		set := mustBuild(t, file(e))
		got, _ := names(t, set)
		if diff := cmp.Diff(e.Names(), got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}
}

// levers are the pointers of an entry that make no tool of it.
var levers = []string{"RequiresApproval", "Retry", "Cache", "RateLimit", "When", "Idempotent"}

// sections are entries that have nothing but one section, by its key in the agent
// file, without that of the built-ins.
func sections(t *testing.T) map[string]*config.Tool {
	t.Helper()
	all := map[string]*config.Tool{}
	entries, left := reflect.TypeFor[config.Tool](), slices.Clone(levers)
	for i := range entries.NumField() {
		field := entries.Field(i)
		if field.Type.Kind() != reflect.Pointer || field.Name == "Builtin" {
			continue
		}
		if at := slices.Index(left, field.Name); at >= 0 {
			left = slices.Delete(left, at, at+1)
			continue
		}
		e := &config.Tool{}
		reflect.ValueOf(e).Elem().Field(i).Set(reflect.New(field.Type.Elem()))
		all[field.Tag.Get("yaml")] = e
	}
	if len(left) > 0 {
		t.Errorf("%v are no pointers of an entry", left)
	}
	return all
}

// rowFor names the row that makes an entry, and sees that no other row but the last
// one, which takes what is left, wants it too.
func rowFor(t *testing.T, e *config.Tool) string {
	t.Helper()
	var takers []string
	for _, k := range kinds[:len(kinds)-1] {
		if k.has(e) {
			takers = append(takers, k.name)
		}
	}
	row := kinds[rowOf(e)].name
	if len(takers) > 1 || len(takers) == 1 && takers[0] != row {
		t.Errorf("%s: the rows %v want it, and %s has it", e.Name, takers, row)
	}
	return row
}

// Every section of an entry has a row of its own, every built-in has one, and for
// each of them there are fixtures and documentation that people can copy.
func TestTableIsComplete(t *testing.T) {
	rows, patterns := map[string]bool{}, map[string]string{}
	for key, e := range sections(t) {
		patterns[key] = key + ":"
		if row := rowFor(t, e); row != key || rows[row] {
			t.Errorf("the section %s has no row of its own: %s takes it", key, row)
		}
		rows[key] = true
		for _, e.Name = range builtinNames(t) { // a name is nothing beside a kind key
			if row := rowFor(t, e); row != key {
				t.Errorf("the section %s with the name %s: the row is %s", key, e.Name, row)
			}
		}
	}
	for _, name := range builtinNames(t) {
		patterns[name] = "name: " + name + `\b`
		row := rowFor(t, &config.Tool{Name: name, Builtin: &config.Builtin{}})
		if own := slices.Contains(builtin.Names(), name); own != (row == "builtin") || patterns[row] == row+":" {
			t.Errorf("the row of %s is %s; package builtin has it: %v", name, row, own)
		}
		rows[row] = true
	}
	for _, name := range builtin.Names() {
		if patterns[name] == "" {
			t.Errorf("no agent file can name %s", name)
		}
	}
	for _, k := range kinds {
		if !rows[k.name] {
			t.Errorf("nothing comes to the row %s", k.name)
		}
	}
	for _, place := range []string{"../config/testdata/good", "../config/testdata/bad", "../../docs"} {
		text := everything(t, place)
		for name, pattern := range patterns {
			if !regexp.MustCompile(`(?m)^\s*(- )?\{?` + pattern).MatchString(text) {
				t.Errorf("%s holds no tool of kind %s", place, name)
			}
		}
	}
}

// everything is the text of all files below dir, or of the file that it is.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		b.Write(append(data, '\n'))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
