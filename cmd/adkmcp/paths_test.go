package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Agent files, case 15: started from the root folder with an empty PATH, paths
// are those of the file, and a missing program is named with the PATH that was
// searched.
func TestCase15Paths(t *testing.T) {
	file := agentFile(t, `
name: paths
instruction: x
model: {provider: scripted, script: [{steps: [{call: [{run: {}}, {script: {}}, {files_read: {path: note}}]}, {reply: "{run}|{script}|{files_read}"}]}]}
tools:
  - {name: run, description: Runs., shell: {command: [bin/run], dir: bin}}
  - {name: script, description: Runs., shell: {script: "echo from a script in $PWD", interpreter: [./bin/run, -s]}}
  - {name: files, args: {root: bin}}
`)
	dir := filepath.Dir(file)
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"run": "#!/bin/sh\nif [ \"$1\" = -s ]; then . \"$2\"; else echo \"run in $PWD\"; fi\n", "note": "a note"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	relative, err := filepath.Rel("/", file)
	if err != nil {
		t.Fatal(err)
	}
	start := func(args ...string) outcome {
		cmd := command(t, nil, "adkmcp", args...)
		cmd.Dir, cmd.Env = "/", []string{"PATH=", "HOME=/nowhere", "GORACE=" + noRaceSleep}
		return runCommand(t, cmd)
	}
	if got := start("validate", "--strict", relative); got != (outcome{}) {
		t.Errorf("validate: %+v", got)
	}
	got := start("run", relative, "go")
	if want := "run in " + bin + "\n|from a script in " + dir + "\n|a note\n"; got.code != exitOK || strings.ReplaceAll(got.stdout, "\n|", "|") != strings.ReplaceAll(want, "\n|", "|") {
		t.Errorf("run: %+v, want %q", got, want)
	}
	missing := agentFile(t, "name: a\ninstruction: x\ntools:\n  - {name: t, description: T., shell: [no-such-program]}\n")
	got = start("validate", strings.TrimPrefix(missing, "/"))
	if want := strings.TrimPrefix(missing, "/") + ":4:40: warning: tools[0].shell[0]: the program no-such-program is not in the PATH () (install it, or write its path)\n"; got != (outcome{stdout: want}) {
		t.Errorf("validate: %+v, want %q", got, want)
	}
}
