//go:build unix

package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/adkmcp/adkmcp/internal/config/load"
	"github.com/adkmcp/adkmcp/internal/config/template"
	"github.com/adkmcp/adkmcp/internal/tools/process/processtest"
)

// The cases are those of the shell tools' case list, by number.

func TestCase01ValuesStayOneArgument(t *testing.T) {
	for _, value := range []string{"x'; touch pwn #", "$(touch pwn)", "`touch pwn`", "a\nb", "a\tb", "\U0001F600", "", "; touch pwn",
		"| touch pwn", "&& touch pwn", "*", "~", "$HOME", "\\", `"`, "{b}", "${b}", "%s", " ", "\u2028", "a\\nb"} {
		b := newBench(t, append(show, "{a}", "pre{a}", "{{a}}")...).param("a", `{"type":"string"}`, "")
		b.want(t, map[string]any{"a": value}, "<"+value+">\n<pre"+value+">\n<{a}>")
		if b.has("pwn") {
			t.Errorf("%q was run", value)
		}
	}
}

func TestCase02LeadingDash(t *testing.T) {
	cases := []struct {
		name    string
		command []string
		value   string
		want    string // empty: refused
	}{
		{"option", []string{"{a}"}, "--config=/etc/passwd", ""},
		{"short option", []string{"{a}"}, "-oProxyCommand=x", ""},
		{"dash", []string{"{a}"}, "-", ""},
		{"file", []string{"{a}"}, "@file", ""},
		{"two dashes", []string{"{a}"}, "--", ""},
		{"at the beginning of a longer argument", []string{"{a}/x"}, "-x", ""},
		{"after an empty place", []string{"{e}{a}"}, "-x", ""},
		{"text after an empty place", []string{"{e}-{a}"}, "x", ""},
		{"in a list", []string{"{l}"}, "-x", ""},
		{"number", []string{"{n}"}, "", ""},
		{"a value is no end of options", []string{"{ok}", "{a}"}, "-x", ""},
		{"after --", []string{"--", "{a}"}, "--config=/etc/passwd", "<-->\n<--config=/etc/passwd>"},
		{"later after --", []string{"--", "x", "{l}"}, "-x", "<-->\n<x>\n<-x>"},
		{"inside", []string{"--name={a}"}, "-x", "<--name=-x>"},
		{"inside, at", []string{"x{a}"}, "@f", "<x@f>"},
		{"allowed", []string{"{ok}"}, "-x", "<-->"},
		{"harmless", []string{"{a}"}, "a-b@c", "<a-b@c>"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, append(slices.Clone(show), c.command...)...).
				param("a", `{}`, "").param("e", `{}`, "").param("l", `{"type":"array"}`, "").param("n", `{"type":"integer"}`, "").param("ok", `{}`, "")
			b.tool.Parameters[4].AllowLeadingDash = true
			args := map[string]any{"a": c.value, "e": "", "l": []string{"y", c.value}, "n": -1, "ok": "--"}
			if strings.Contains(strings.Join(c.command, " "), "{l}") && c.want != "" {
				args["l"] = []string{c.value}
			}
			if c.want == "" {
				b.wantFailure(t, args, "must not begin with")
			} else {
				b.want(t, args, c.want)
			}
		})
	}
}

func TestCase03HugeValue(t *testing.T) {
	huge := strings.Repeat("x", 3<<20)
	const message = "its arguments and environment are larger than the system allows (3"
	newBench(t, "echo", "{a}").param("a", `{}`, "").wantFailure(t, map[string]any{"a": huge}, message)
	newScript(t, `echo "$a"`).param("a", `{}`, "").wantFailure(t, map[string]any{"a": huge}, message)
	b := newBench(t, "wc", "-c").param("a", `{}`, "")
	stdin := template.Parse("{a}")
	b.tool.Shell.Stdin = &stdin
	b.want(t, map[string]any{"a": huge}, "3145728")
}

func TestCase04UndeclaredArguments(t *testing.T) {
	for _, name := range []string{"PATH", "LD_PRELOAD", "BASH_ENV", "other", "Word"} {
		b := newScript(t, `touch ran`).param("word", `{}`, "")
		b.wantFailure(t, map[string]any{"word": "x", name: "/tmp"}, fmt.Sprintf("argument %q is none that prog takes; it takes word", name))
		if b.has("ran") {
			t.Errorf("the program ran although %s was not declared", name)
		}
	}
	newBench(t, "true").wantFailure(t, `{"x":1}`, "it takes none")
	newBench(t, "true").wantFailure(t, `[1]`, "no JSON object")
	newBench(t, "true").want(t, ``, "exit code 0, no output")
}

func TestCase05ValuesAsWritten(t *testing.T) {
	for raw, want := range map[string]string{
		`1000000`: "1000000", `3`: "3", `2.5`: "2.5", `true`: "true", `false`: "false", `9007199254740993`: "9007199254740993",
		`12345678901234567890123`: "12345678901234567890123", `0.10`: "0.10", `1e2`: "1e2", `"1e2"`: "1e2", `"\u00e9"`: "é",
		`{"b": 1, "a": [1.0, "x y"]}`: `{"b":1,"a":[1.0,"x y"]}`,
	} {
		newBench(t, append(show, "{a}", "={a}")...).param("a", `{}`, "").want(t, `{"a": `+raw+` }`, "<"+want+">\n<="+want+">")
	}
	b := newBench(t, append(show, "{a}")...).param("a", `{}`, "")
	b.want(t, `{"a":["x y",1000000,2.50,true,{"k": 1},[1, 2],""]}`, "<x y>\n<1000000>\n<2.50>\n<true>\n<{\"k\":1}>\n<[1,2]>\n<>")
	b = newBench(t, append(show, "--a={a}")...).param("a", `{}`, "")
	b.wantFailure(t, `{"a":["x"]}`, `argument "a" must not be a list`)
	b.wantFailure(t, `{"a":"x\u0000y"}`, `argument "a" holds a NUL character`)
	newScript(t, `true`).param("a", `{}`, "").wantFailure(t, `{"a":"x\u0000y"}`, `argument "a" holds a NUL character`)
}

func TestCase06ExitCodeAndBothStreams(t *testing.T) {
	b := newScript(t, `echo out; echo err >&2; exit 3`)
	b.wantFailure(t, `{}`, "exit code 3\nstdout:\nout\nstderr:\nerr")
	newScript(t, `echo err >&2; exit 1`).wantFailure(t, `{}`, "exit code 1\nstderr:\nerr")
	newScript(t, `exit 9`).wantFailure(t, `{}`, "exit code 9, no output")
	newScript(t, `kill -KILL $$`).wantFailure(t, `{}`, "ended by a signal: killed, no output")
	newScript(t, `echo out; echo err >&2`).want(t, `{}`, "exit code 0\nstdout:\nout\nstderr:\nerr")
	newScript(t, `echo out`).want(t, `{}`, "out")
	newScript(t, ``+`true`).want(t, `{}`, "exit code 0, no output")
}

func TestCase07SuccessExitCodes(t *testing.T) {
	b := newBench(t, "grep", "-c", "--", "{word}", "notes.txt").param("word", `{}`, "")
	if err := os.WriteFile(filepath.Join(b.dir, "notes.txt"), []byte("a\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.wantFailure(t, `{"word":"none"}`, "exit code 1")
	b.tool.Shell.SuccessExitCodes = []int{0, 1}
	b.want(t, `{"word":"none"}`, "0")
	b.want(t, `{"word":"a"}`, "1")
	b = newBench(t, "grep", "-q", "x", "/dev/null")
	b.tool.Shell.SuccessExitCodes = []int{0, 1}
	b.want(t, `{}`, "exit code 1, no output")
	b.tool.Shell.SuccessExitCodes = []int{1}
	b.tool.Shell.Command = templates("true")
	b.wantFailure(t, `{}`, "exit code 0, no output")
}

func TestCase08HugeOutput(t *testing.T) {
	b := newScript(t, `echo first; yes abcdefghi | head -c 300000000; echo last`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := text(t, b.call(t, `{}`))
	runtime.ReadMemStats(&after)
	if grew := after.TotalAlloc - before.TotalAlloc; grew > 4<<20 {
		t.Errorf("%d bytes were allocated", grew)
	}
	if len(got) > b.tool.MaxResultBytes || len(got) < b.tool.MaxResultBytes-200 {
		t.Errorf("%d of %d bytes", len(got), b.tool.MaxResultBytes)
	}
	head, rest, _ := strings.Cut(got, "\n[… ")
	count, tail, ok := strings.Cut(rest, " bytes left out …]\n")
	missing, err := strconv.Atoi(count)
	if !ok || err != nil || !strings.HasPrefix(head, "first\nabcdefghi\n") || !strings.HasSuffix(tail, "abcdefghi\nlast") {
		t.Fatalf("got %.100q … %q", got, got[len(got)-100:])
	}
	if total := len(head) + missing + len(tail) + len("\n"); total != 300_000_011 {
		t.Errorf("head, missing and tail are %d bytes", total)
	}
}

func TestCase09Binary(t *testing.T) {
	newScript(t, `printf '\377\376\000\200'`).want(t, `{}`, "binary, 4 bytes")
	newScript(t, `printf '\377\376\200\201'; exit 2`).wantFailure(t, `{}`, "exit code 2\nstdout:\nbinary, 4 bytes")
	newScript(t, `printf 'caf\351 ol\351'`).want(t, `{}`, "caf\uFFFD ol\uFFFD")

	b := newBench(t, "cat", "image.png")
	png := append([]byte("\x89PNG\r\n\x1a\n\x00"), bytes.Repeat([]byte{0xff, 0}, 100_000)...)
	if err := os.WriteFile(filepath.Join(b.dir, "image.png"), png, 0o600); err != nil {
		t.Fatal(err)
	}
	b.want(t, `{}`, "binary, 200009 bytes")
	b.tool.Shell.Output = "image/png"
	res := b.call(t, `{}`)
	if res.IsError || text(t, res) != "image/png, 200009 bytes" || len(res.Media) != 1 || res.Media[0].MIMEType != "image/png" || !bytes.Equal(res.Media[0].Data, png) {
		t.Errorf("got %q, %d media", res.Output, len(res.Media))
	}
}

func TestCase09OtherOutputs(t *testing.T) {
	script := func(output, text string) *bench {
		b := newScript(t, text)
		b.tool.Shell.Output = output
		return b
	}
	res := script("json", `echo noise >&2; echo '{"n": 12345678901234567890.10, "a": [1]}'`).call(t, `{}`)
	if got, err := json.Marshal(res.Output); err != nil || res.IsError || string(got) != `{"n":12345678901234567890.10,"a":[1]}` {
		t.Errorf("got %s, %v", got, err)
	}
	script("json", `echo '{"a":1} x'; echo why >&2`).wantFailure(t, `{}`, "the output is not JSON (", "exit code 0\nstdout:\n{\"a\":1} x\nstderr:\nwhy")
	script("json", `:`).wantFailure(t, `{}`, "the output is not JSON (")
	script("json", `echo '{}'; exit 1`).wantFailure(t, `{}`, "exit code 1\nstdout:\n{}")
	script("json", `printf '"a\377"'`).wantValid(t)
	script("json", `head -c 100000 /dev/zero | tr '\0' 1`).wantFailure(t, `{}`, "the output has 100000 bytes, more JSON than the tool may give (65536 bytes)")
	script("image/png", `:`).wantFailure(t, `{}`, "was to print image/png but printed nothing; exit code 0")
	script("image/png", `echo x; exit 1`).wantFailure(t, `{}`, "exit code 1\nstdout:\nx")
	script("image/png", `head -c 9000000 /dev/zero`).wantFailure(t, `{}`, "the output has 9000000 bytes, more than the 8388608 bytes that image/png may have")
	script("image/png", `printf x; echo warning >&2`).want(t, `{}`, "image/png, 1 bytes\nstderr:\nwarning")
}

// wantValid checks that the output is valid JSON in valid UTF-8.
func (b *bench) wantValid(t *testing.T) {
	t.Helper()
	res := b.call(t, `{}`)
	if raw, ok := res.Output.(json.RawMessage); !ok || res.IsError || !json.Valid(raw) || !utf8.Valid(raw) {
		t.Errorf("got %q", res.Output)
	}
}

// patience tells a call that waits for a program's minute from one that a busy
// machine holds up.
const patience = 20 * time.Second

func TestCase10Timeout(t *testing.T) {
	b := newScript(t, `echo hi; (sleep 60 & echo $! >pid) ; sleep 60`)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	res := callTool(t, ctx, b.make(t), `{}`)
	if took := time.Since(began); took < time.Second || took > patience {
		t.Errorf("took %v", took)
	}
	if got := text(t, res); !res.IsError || !res.Transient || got != "timed out after 1s; output so far:\nstdout:\nhi" {
		t.Errorf("got %q, transient: %v", got, res.Transient)
	}
	processtest.Gone(t, b.pid(t))
}

func (b *bench) pid(t testing.TB) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestCase11IgnoresSIGTERM(t *testing.T) {
	b := newScript(t, `trap "" TERM; echo $$ >pid; while :; do sleep 60; done`)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	res := callTool(t, ctx, b.make(t), `{}`)
	if took := time.Since(began); took > patience {
		t.Errorf("took %v", took)
	}
	if got := text(t, res); got != "timed out after 0.3s, no output" {
		t.Errorf("got %q", got)
	}
	processtest.Gone(t, b.pid(t))
}

// Whatever the reason (the caller, a signal, the end of stdin), a tool sees
// the end of its context.
func TestCase12Cancel(t *testing.T) {
	b := newScript(t, `echo hi; (trap "" TERM; sleep 60 & echo $! >pid; wait) & while [ ! -s pid ]; do sleep 0.01; done; sleep 60`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for !b.has("pid") && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(50 * time.Millisecond)
		cancel()
	}()
	res := callTool(t, ctx, b.make(t), `{}`)
	if got := text(t, res); !res.IsError || res.Transient || got != "cancelled; output so far:\nstdout:\nhi" {
		t.Errorf("got %q", got)
	}
	processtest.Gone(t, b.pid(t))
}

func TestCase13Stdin(t *testing.T) {
	newBench(t, "wc", "-c").want(t, `{}`, "0")
	b := newBench(t, "cat").param("a", `{}`, "").param("l", `{}`, "").optional("o", `{}`)
	stdin := template.Parse("a={a} l={l} o={o} {{a}}\n$(touch pwn)")
	b.tool.Shell.Stdin = &stdin
	b.want(t, `{"a":"-x\ny","l":["p", 1]}`, "a=-x\ny l=[\"p\",1] o= {a}\n$(touch pwn)")
}

func TestCase14MissingProgram(t *testing.T) {
	b := newBench(t, "no-such-program", "x")
	b.env["PATH"] = "/bin:/usr/bin"
	b.wantFailure(t, `{}`, `program "no-such-program" was not found in PATH (/bin:/usr/bin)`)
	b = newBench(t, "./later")
	path := filepath.Join(b.dir, "later")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	tool := b.make(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if res := callTool(t, t.Context(), tool, `{}`); !res.IsError || !strings.Contains(text(t, res), `program "./later" is not there (looked for `+path+")") {
		t.Errorf("got %v", res.Output)
	}
}

func TestCase14MissingProgramIsFoundAtValidate(t *testing.T) {
	for _, program := range []string{"/no/such/program", "./no-such-program"} {
		for _, form := range []string{"[" + program + "]", "{script: exit, interpreter: [" + program + "]}"} {
			file := filepath.Join(t.TempDir(), "agent.yaml")
			agent := "name: a\ninstruction: x\nmodel: gemini-flash-latest\ntools:\n  - {name: prog, description: Runs., shell: " + form + "}\n"
			if err := os.WriteFile(file, []byte(agent), 0o600); err != nil {
				t.Fatal(err)
			}
			_, found, err := load.Agents([]string{file}, load.Options{LookupEnv: os.LookupEnv, Validate: true})
			if err != nil || !strings.Contains(fmt.Sprint(found), "there is no program "+filepath.Dir(program)) && !strings.Contains(fmt.Sprint(found), "there is no program "+filepath.Dir(file)) {
				t.Errorf("%s: found %v, %v", form, found, err)
			}
		}
	}
}
