//go:build unix

package shell

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/adkmcp/adkmcp/internal/config/template"
)

// The attacks are those of the security cases, by number. D02 stands beside
// case 02.

func TestAttackD01ArgumentsAreLiteral(t *testing.T) {
	for _, attack := range []string{"; touch X", "$(touch X)", "`touch X`", "\ntouch X\n", "| touch X", "&& touch X", "X*", "~", "> X", "${IFS}touch${IFS}X"} {
		b := newBench(t, append(show, "{v}", "--opt={v}")...).param("v", `{}`, "")
		b.want(t, map[string]any{"v": attack}, "<"+attack+">\n<--opt="+attack+">")
		s := newScript(t, `printf '<%s>' "$v"`).param("v", `{}`, "")
		s.want(t, map[string]any{"v": attack}, "<"+attack+">")
		if b.has("X") || s.has("X") {
			t.Errorf("%q was run", attack)
		}
	}
}

func TestAttackD03NoPlacesInCode(t *testing.T) {
	for line, refused := range map[string]bool{
		`sh|-c|echo {v}`: true, `/bin/bash|-ec|echo {v}`: true, `bash|-c{v}`: true, `env|A=b|sh|-c|echo {v}`: true, `timeout|5|sh|-c|{v}`: true,
		`python3.12|-c|print({v})`: true, `node|--eval={v}`: true, `perl|-ne|print {v}`: true, `cmd.exe|/C|dir|{v}`: true, `{v}|x`: true,
		`sh|-c|echo "$1"|sh|{v}`: false, `python3|tool.py|-c|{v}`: false, `grep|-c|{v}`: false, `tar|-c|{v}`: false,
	} {
		b := newBench(t, strings.Split(line, "|")...).param("v", `{"type":"string"}`, "")
		_, err := New(b.tool, b.deps())
		if refused != (err != nil) || err != nil && !strings.Contains(err.Error(), "{v} ") {
			t.Errorf("%s: %v", line, err)
		}
	}
	b := newBench(t, "true")
	b.tool.Shell.Script, b.tool.Shell.Interpreter = "true", templates("sh")
	if _, err := New(b.tool, b.deps()); err == nil {
		t.Error("a command and a script together were taken")
	}
}

func TestAttackD04Environment(t *testing.T) {
	const canary = "canary-secret"
	t.Setenv("AWS_SECRET_ACCESS_KEY", canary)
	t.Setenv("ANTHROPIC_API_KEY", canary)
	b := newBench(t, "env")
	b.env = map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": "/root", "LANG": "de_DE.UTF-8", "TZ": "Europe/Vienna",
		"AWS_SECRET_ACCESS_KEY": canary, "ANTHROPIC_API_KEY": canary, "PASSED": "p",
	}
	names := func() (list []string) {
		got := text(t, b.call(t, `{}`))
		if strings.Contains(got, canary) || strings.Contains(got, "/root\n") {
			t.Errorf("the environment holds what is ours: %s", got)
		}
		for _, line := range strings.Split(got, "\n") {
			name, value, _ := strings.Cut(line, "=")
			list = append(list, name)
			if name == "HOME" && filepath.Dir(value) != b.temp {
				t.Errorf("HOME is %s", value)
			}
		}
		return list
	}
	if got := names(); !slices.Equal(got, []string{"HOME", "LANG", "PATH", "TZ"}) {
		t.Errorf("got %q", got)
	}
	b.tool.Shell.PassEnv = []string{"PASSED", "ABSENT"}
	b.tool.Shell.Env = map[string]template.Text{"DECLARED": template.Parse("d")}
	if got := names(); !slices.Equal(got, []string{"DECLARED", "HOME", "LANG", "PASSED", "PATH", "TZ"}) {
		t.Errorf("got %q", got)
	}
}

func TestAttackD05VariablesThatChangePrograms(t *testing.T) {
	for _, name := range []string{"PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV", "ENV", "IFS", "HOME", "DYLD_INSERT_LIBRARIES", "PYTHONPATH",
		"PYTHONSTARTUP", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "GIT_SSH_COMMAND", "http_proxy", "PS4", "SHELLOPTS", "DECLARED", "PASSED", "a-b", "a b", "1a", "BASH_FUNC_x%%"} {
		b := newScript(t, "true").param(name, `{}`, "")
		b.tool.Shell.Env = map[string]template.Text{"DECLARED": {}}
		b.tool.Shell.PassEnv = []string{"PASSED"}
		if _, err := New(b.tool, b.deps()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
			t.Errorf("%s: %v", name, err)
		}
		// The argv form puts nothing into the environment.
		if b := newBench(t, "true").param(name, `{}`, ""); name != "a b" {
			b.make(t)
		}
	}
	for _, name := range []string{"word", "path", "Path2", "NAME", "n", "_x"} {
		newScript(t, "true").param(name, `{}`, "").make(t)
	}
	b := newScript(t, `echo "$word:$PATH"`).param("word", `{}`, "")
	b.want(t, `{"word":"PATH=/evil\nLD_PRELOAD=x"}`, "PATH=/evil\nLD_PRELOAD=x:"+os.Getenv("PATH"))
}

func TestAttackD08Output(t *testing.T) {
	b := newScript(t, `yes "$(printf '\377\033[31m\033]0;title\007')" | tr -d '\n' | head -c 200000000 >&2; printf '\033]8;;http://x\033\\link\033]8;;\033\\ \033[1mb\033[0m\r\n\302\2331mc\rd'; exit 1`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := text(t, b.call(t, `{}`))
	runtime.ReadMemStats(&after)
	if grew := after.TotalAlloc - before.TotalAlloc; grew > 4<<20 {
		t.Errorf("%d bytes were allocated", grew)
	}
	if !strings.HasPrefix(got, "exit code 1\nstdout:\nlink b\nc\nd\nstderr:\n\uFFFD\uFFFD") {
		t.Errorf("got %.100q", got)
	}
	if !strings.Contains(got, " bytes left out …]") || len(got) > b.tool.MaxResultBytes {
		t.Errorf("%d bytes", len(got))
	}
	if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\x07\r\u009b") {
		t.Error("control sequences or invalid UTF-8 are left")
	}
}

// The sanitiser's own speed must not be an attack.
func TestAttackD08Introducers(t *testing.T) {
	b := newBench(t, "cat", "f")
	b.tool.MaxResultBytes = 1 << 20
	for _, introducer := range []string{"\x1b]", "\u009d", "\x1bP", "\u009b"} {
		if err := os.WriteFile(filepath.Join(b.dir, "f"), []byte(strings.Repeat(introducer, 400_000)), 0o600); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		b.want(t, `{}`, "")
		if took := time.Since(began); took > patience {
			t.Errorf("%q took %v", introducer, took)
		}
	}
}

// What a child is given to start with must not hold what the model said
// elsewhere than in its place: this looks at a real command line.
func TestCommandLineHasAsManyArgumentsAsTheTemplate(t *testing.T) {
	if _, err := exec.LookPath("tr"); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, "sh", "-c", `tr '\0' '|' </proc/$$$$/cmdline`, "sh", "x{a}y", "{l}").param("a", `{}`, "").param("l", `{}`, "")
	b.want(t, `{"a":"p q\" '","l":["1 2","3"]}`, `sh|-c|tr '\0' '|' </proc/$$/cmdline|sh|xp q" 'y|1 2|3|`)
}
