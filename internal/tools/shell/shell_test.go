//go:build unix

package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/config/template"

	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/process/processtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is one tool in a folder of its own. At the end of the test no process
// and no private folder of its calls may be left.
type bench struct {
	dir  string // where programs run
	temp string // where private folders are made
	log  bytes.Buffer
	env  map[string]string // our own environment
	tool *config.Tool
}

func newBench(t testing.TB, command ...string) *bench {
	t.Helper()
	b := &bench{dir: t.TempDir(), temp: t.TempDir(), env: map[string]string{"PATH": os.Getenv("PATH")}}
	b.tool = &config.Tool{
		Name: "prog", Description: "Runs.", Schema: json.RawMessage(`{"type":"object"}`), MaxResultBytes: 65536,
		Shell: &config.Shell{Command: templates(command...), Dir: b.dir, SuccessExitCodes: []int{0}, Output: "text", Concurrency: 4},
	}
	t.Cleanup(func() {
		processtest.NoneWith(t, b.temp) // HOME of every process of the calls
		if left, err := os.ReadDir(b.temp); err != nil || len(left) > 0 {
			t.Errorf("private folders are left: %v, %v", left, err)
		}
	})
	return b
}

// newScript is a bench for a script.
func newScript(t testing.TB, script string) *bench {
	t.Helper()
	b := newBench(t)
	b.tool.Shell.Script, b.tool.Shell.Interpreter = script, templates("sh")
	return b
}

// param declares a parameter; it is optional when it has a default.
func (b *bench) param(name, schema, defaultJSON string) *bench {
	p := config.Parameter{Name: name, Schema: json.RawMessage(schema)}
	if defaultJSON != "" {
		p.Optional, p.Default = true, json.RawMessage(defaultJSON)
	}
	b.tool.Parameters = append(b.tool.Parameters, p)
	return b
}

func (b *bench) optional(name, schema string) *bench {
	b.tool.Parameters = append(b.tool.Parameters, config.Parameter{Name: name, Schema: json.RawMessage(schema), Optional: true})
	return b
}

func (b *bench) make(t testing.TB) agent.Tool {
	t.Helper()
	tool, err := New(b.tool, b.deps())
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func (b *bench) deps() Deps {
	return Deps{
		Lookup: func(name string) (string, bool) { v, ok := b.env[name]; return v, ok },
		Logger: slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Grace:  300 * time.Millisecond, TempDir: b.temp,
	}
}

// call calls the tool with args, given as JSON or as a map.
func (b *bench) call(t testing.TB, args any) *agent.Result {
	t.Helper()
	return callTool(t, t.Context(), b.make(t), args)
}

func callTool(t testing.TB, ctx context.Context, tool agent.Tool, args any) *agent.Result {
	t.Helper()
	var raw json.RawMessage
	if text, ok := args.(string); ok {
		raw = json.RawMessage(text)
	} else {
		var err error
		if raw, err = json.Marshal(args); err != nil {
			t.Fatal(err)
		}
	}
	res, err := tool.Call(ctx, &agent.Call{ID: "1", Name: "prog", Args: raw, Progress: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(res.Output); err != nil {
		t.Fatal(err)
	}
	return res
}

func text(t testing.TB, res *agent.Result) string {
	t.Helper()
	s, ok := res.Output.(string)
	if !ok {
		t.Fatalf("the output is a %T: %v", res.Output, res.Output)
	}
	return s
}

func (b *bench) want(t testing.TB, args any, want string) {
	t.Helper()
	if res := b.call(t, args); res.IsError || text(t, res) != want {
		t.Errorf("%v: got %q (error %v), want %q", args, res.Output, res.IsError, want)
	}
}

// wantFailure checks that the model gets an error that holds every part.
func (b *bench) wantFailure(t testing.TB, args any, parts ...string) {
	t.Helper()
	res := b.call(t, args)
	for _, part := range parts {
		if !res.IsError || !strings.Contains(text(t, res), part) {
			t.Errorf("%.200v: got %q (error %v), want %q in it", args, res.Output, res.IsError, part)
		}
	}
}

func (b *bench) has(name string) bool {
	_, err := os.Stat(filepath.Join(b.dir, name))
	return err == nil
}

// show prints each argument in angle brackets, one a line.
var show = []string{"sh", "-c", `for a; do printf '<%s>\n' "$a"; done`, "sh"}

func TestSpec(t *testing.T) {
	b := newBench(t, "true")
	tool := b.make(t)
	spec := tool.Spec()
	if spec.Name != "prog" || spec.Description != "Runs." || string(spec.Parameters) != `{"type":"object"}` || spec.Hints != (agent.Hints{}) {
		t.Errorf("got %+v", spec)
	}
	if tool.Spec() != spec {
		t.Error("Spec gives different pointers")
	}
}

func TestOptionalParameters(t *testing.T) {
	b := newBench(t, append(show, "{a}", "--since={a}", "{a}:{b}", "[{b}]", "{c}")...)
	b.optional("a", `{"type":"string"}`).param("b", `{"type":"string"}`, `"x"`).optional("c", `{"type":"array"}`)
	b.want(t, `{}`, "<[x]>")
	b.want(t, `{"a":null,"b":"y","c":[]}`, "<[y]>")
	b.want(t, `{"a":"1","b":"","c":["p","q"]}`, "<1>\n<--since=1>\n<1:>\n<[]>\n<p>\n<q>")
}

func TestLeadingDashOfDefaultsIsTheOperators(t *testing.T) {
	b := newBench(t, append(show, "{flag}")...).param("flag", `{"type":"string"}`, `"-l"`)
	b.want(t, `{}`, "<-l>")
	b.wantFailure(t, `{"flag":"-l"}`, `argument "flag" must not begin with "-"`)
}

func TestInputSchema(t *testing.T) {
	b := newBench(t, append(show, "{a}", "{b}", "{c}")...)
	b.tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"},"b":{"default":7},"c":true},"required":["a","b"]}`)
	b.want(t, `{"a":"x"}`, "<x>\n<7>")
	b.want(t, `{"a":"x","b":8,"c":true}`, "<x>\n<8>\n<true>")
	b.wantFailure(t, `{"b":1}`, `argument "a" is missing`)
	b.wantFailure(t, `{"a":"x","d":1}`, `argument "d" is none that prog takes; it takes a, b, c`)
}

func TestScriptVariables(t *testing.T) {
	b := newScript(t, `printf '<%s>' "$word" "$n" "$list" "$object" "$flag" "${gone-unset}"`).
		param("word", `{}`, "").param("n", `{}`, "").param("list", `{}`, "").param("object", `{}`, "").param("flag", `{}`, "").optional("gone", `{}`)
	b.want(t, `{"word":"a\n$(touch pwn)'\"","n":12345678901234567890,"list":["a", "-b",1],"object":{"b": 1.50, "a":[ ]},"flag":false}`,
		"<a\n$(touch pwn)'\"><12345678901234567890><[\"a\",\"-b\",1]><{\"b\":1.50,\"a\":[]}><false><unset>")
	if b.has("pwn") {
		t.Error("a value was run")
	}
}

func TestScriptFileIsPrivate(t *testing.T) {
	b := newScript(t, `ls -l "$0" | cut -c1-10; ls -ld "$(dirname "$0")" | cut -c1-10; pwd`)
	b.want(t, `{}`, "-rw-------\ndrwx------\n"+b.dir)
}

func TestInterpreter(t *testing.T) {
	b := newScript(t, "import os\nprint(os.environ['word'] * 2)\n").param("word", `{}`, "")
	b.tool.Shell.Interpreter = templates("/usr/bin/env", "python3", "-B")
	b.tool.Shell.PassEnv = []string{"HOME"} // what finds the interpreter may need it
	b.env["HOME"] = os.Getenv("HOME")
	b.want(t, `{"word":"ab"}`, "abab")
}

func TestReadOnlyFoldersAreRemoved(t *testing.T) {
	newScript(t, `mkdir -p ~/a/b && touch ~/a/b/c && chmod 500 ~/a/b ~/a && echo ok`).want(t, `{}`, "ok")
}

func TestTemporaryFolderThatCannotBeMade(t *testing.T) {
	b := newBench(t, "true")
	d := b.deps()
	d.TempDir = filepath.Join(b.dir, "none")
	tool, err := New(b.tool, d)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := tool.Call(t.Context(), &agent.Call{Args: json.RawMessage(`{}`)}); err == nil {
		t.Errorf("the operator's problem became a result: %v", res.Output)
	}
}

func TestLogHoldsNoArgumentsAndNoOutput(t *testing.T) {
	b := newScript(t, `echo "$KEY"; echo "$word" >&2; exit 1`).param("word", `{}`, "")
	b.tool.Shell.Env = map[string]template.Text{"KEY": {Segments: []template.Segment{{Text: "canary-1", FromEnv: true}}}}
	b.wantFailure(t, `{"word":"canary-2"}`, "canary-1", "canary-2")
	if log := b.log.String(); strings.Contains(log, "canary") || !strings.Contains(log, "exit_code=1") {
		t.Errorf("logged %s", log)
	}
}

func BenchmarkCall(b *testing.B) {
	tool := newBench(b, "/bin/true").make(b)
	call := &agent.Call{Args: json.RawMessage(`{}`)}
	for b.Loop() {
		if res, err := tool.Call(b.Context(), call); err != nil || res.IsError {
			b.Fatal(res, err)
		}
	}
}
