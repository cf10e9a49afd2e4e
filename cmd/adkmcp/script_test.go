package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// repository is the top of the module as seen from this folder.
const repository = "../.."

func TestMain(m *testing.M) {
	testscript.Main(tidy{m}, map[string]func(){"adkmcp": main, "adkmcp-faulty": faulty, "adkmcp-rogue": rogue})
}

// tidy removes what tests have built for each other.
type tidy struct{ m *testing.M }

func (t tidy) Run() int {
	code := t.m.Run()
	if buildDir != "" {
		_ = os.RemoveAll(buildDir)
	}
	return code
}

// TestScripts runs what users type and checks what they see. In a script
//
//	rpc FILE ARGS...
//
// starts adkmcp with ARGS, sends it the lines of FILE one by one, waits for the
// answer to each line that has an id, ends its standard input and puts what it
// said into the file rpc.out, one message per line. HANDLE in a line stands for
// the newest conversation handle that the server has given.
func TestScripts(t *testing.T) {
	agents, err := filepath.Abs(repository + "/agents")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("AGENTS", agents)
			env.Setenv("GEMINI_API_KEY", "")
			env.Setenv("GOOGLE_API_KEY", "")
			env.Setenv("NO_COLOR", "1")
			env.Setenv("GORACE", noRaceSleep)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"rpc": rpc},
	})
}

var handle = regexp.MustCompile(`\bcv_[A-Za-z0-9_-]+`)

func rpc(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: rpc FILE ARGS...")
	}
	self, err := exec.LookPath("adkmcp")
	if err != nil {
		self, err = exec.LookPath(filepath.Join(os.Getenv("PATH"), "adkmcp"))
	}
	ts.Check(err)
	cmd := exec.Command(self, args[1:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), scriptEnv(ts)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	var out strings.Builder
	answers := bufio.NewScanner(stdout)
	answers.Buffer(nil, 16<<20)
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if handles := handle.FindAllString(out.String(), -1); len(handles) > 0 {
			line = strings.ReplaceAll(line, "HANDLE", handles[len(handles)-1])
		}
		_, err := stdin.Write([]byte(line))
		ts.Check(err)
		if id := idOf(line); id != "" && !await(ts, answers, &out, id) {
			ts.Fatalf("no answer to %s\nstderr: %s", line, &stderr)
		}
	}
	start := time.Now()
	ts.Check(stdin.Close())
	for answers.Scan() {
		pure(ts, answers.Text())
		out.WriteString(answers.Text() + "\n")
	}
	if err := cmd.Wait(); err != nil {
		ts.Fatalf("the server ended with %v\nstderr: %s", err, &stderr)
	}
	if took := time.Since(start); took > 1500*time.Millisecond {
		ts.Fatalf("the server took %v to end", took)
	}
	ts.Check(os.WriteFile(ts.MkAbs("rpc.out"), []byte(out.String()), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("rpc.err"), stderr.Bytes(), 0o600))
	ts.Logf("%s", out.String())
}

func scriptEnv(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "WORK", "AGENTS", "TMPDIR", "GOCOVERDIR", "ADKMCP_HTTP", "GORACE"} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// await reads until the answer to id comes.
func await(ts *testscript.TestScript, answers *bufio.Scanner, out *strings.Builder, id string) bool {
	for answers.Scan() {
		pure(ts, answers.Text())
		out.WriteString(answers.Text() + "\n")
		if idOf(answers.Text()) == id && !strings.Contains(answers.Text(), `"method"`) {
			return true
		}
	}
	return false
}

// pure fails the script for anything that is not a JSON-RPC message.
func pure(ts *testscript.TestScript, line string) {
	var m struct {
		JSONRPC string `json:"jsonrpc"`
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" {
		ts.Fatalf("standard output holds what is no JSON-RPC: %q", line)
	}
}

func idOf(line string) string {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal([]byte(line), &m) != nil {
		return ""
	}
	return string(m.ID)
}
