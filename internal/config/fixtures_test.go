package config_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/load"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// fixture is a file or folder below testdata, and what its comments say:
//
//	# want LINE:COLUMN error: part of what follows
//	# want LINE:COLUMN warning: part of what follows
//	# mode: serve                 instead of validate
//	# env: NAME=value             the process's environment
//	# schema refuses              the JSON Schema sees the fault too
type fixture struct {
	path    string
	serve   bool
	refused bool
	env     map[string]string
	wants   []want
}

type want struct{ place, text string }

var directive = regexp.MustCompile(`# (want (\d+:\d+)|mode:|env:|schema) (.*?)"?,?\r?$`)

func readFixture(t *testing.T, path string) fixture {
	t.Helper()
	f := fixture{path: path, env: map[string]string{"PATH": programs(t)}}
	err := filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		for line := range bytes.Lines(data) {
			m := directive.FindStringSubmatch(strings.TrimRight(string(line), "\n"))
			switch {
			case m == nil:
			case m[2] != "":
				f.wants = append(f.wants, want{file + ":" + m[2], m[3]})
			case m[1] == "mode:":
				f.serve = m[3] == "serve"
			case m[1] == "env:":
				name, value, _ := strings.Cut(m[3], "=")
				f.env[name] = value
			case m[1] == "schema":
				f.refused = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f fixture) lookup(name string) (string, bool) {
	v, ok := f.env[name]
	return v, ok
}

func (f fixture) load(t *testing.T) ([]*config.Agent, strictyaml.Problems) {
	t.Helper()
	agents, problems, err := load.Agents([]string{f.path}, load.Options{LookupEnv: f.lookup, Validate: !f.serve})
	if err != nil {
		t.Fatal(err)
	}
	return agents, problems
}

// check compares the problems with what the fixture wants, one by one.
func (f fixture) check(t *testing.T, problems strictyaml.Problems) {
	t.Helper()
	left := slices.Clone(f.wants)
	for _, p := range problems {
		place := fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
		i := slices.IndexFunc(left, func(w want) bool {
			return w.place == place && strings.Contains(strings.TrimPrefix(p.String(), place+": "), w.text)
		})
		if p.Line == 0 {
			i = slices.IndexFunc(left, func(w want) bool { return strings.HasSuffix(w.place, ":0:0") && strings.Contains(p.String(), w.text) })
		}
		if i < 0 {
			t.Errorf("not wanted: %s", p)
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, w := range left {
		t.Errorf("missing:    %s: %s", w.place, w.text)
	}
}

// programs makes a folder of programs, for a PATH.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	suffix := ""
	if runtime.GOOS == "windows" {
		suffix = ".bat"
	}
	for _, name := range []string{
		"sh", "bash", "env", "echo", "git", "grep", "shuf", "python", "python3.12", "node", "perl", "ruby", "pwsh", "cmd.exe", "xargs", "awk", "timeout",
		"sed", "gsed", "ssh", "watch", "parallel", "script", "flock", "su", "psql", "mysql", "sqlite3",
	} {
		if err := os.WriteFile(filepath.Join(dir, name+suffix), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBad(t *testing.T) {
	for _, f := range fixtures(t, "bad") {
		t.Run(filepath.Base(f.path), func(t *testing.T) {
			agents, problems := f.load(t)
			f.check(t, problems)
			if len(f.wants) == 0 {
				t.Error("a bad fixture wants nothing")
			}
			if f.refused && validate(t, f.path) == nil {
				t.Error("the JSON Schema takes this file")
			}
			again, _, err := load.Agents([]string{f.path}, load.Options{LookupEnv: f.lookup, Validate: !f.serve})
			if err != nil || len(again) != len(agents) {
				t.Error("a second time gives something else")
			}
		})
	}
}

func TestGood(t *testing.T) {
	for _, f := range fixtures(t, "good") {
		t.Run(filepath.Base(f.path), func(t *testing.T) {
			agents, problems := f.load(t)
			f.check(t, problems)
			if len(agents) == 0 {
				t.Error("no agent")
			}
			for _, a := range agents {
				if err := validate(t, a.File); err != nil {
					t.Errorf("the JSON Schema refuses %s: %v", a.File, err)
				}
			}
			strict := f
			strict.serve = true
			_, served := strict.load(t)
			if diff := cmp.Diff(problems, served); diff != "" {
				t.Errorf("serving sees another file than validating:\n%s", diff)
			}
		})
	}
}

func fixtures(t *testing.T, folder string) []fixture {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("testdata", folder))
	if err != nil {
		t.Fatal(err)
	}
	var fs []fixture
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "_") {
			fs = append(fs, readFixture(t, filepath.Join("testdata", folder, e.Name())))
		}
	}
	return fs
}
