//go:build unix

package process

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/tools/process/processtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a Spec that runs text with sh, in a folder whose name marks every
// process of the tree; the test fails when one is left at its end.
func script(t testing.TB, text string, args ...string) Spec {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() { processtest.NoneWith(t, dir) })
	return Spec{
		Args:      append([]string{"sh", "-c", text, "sh"}, args...),
		Dir:       dir,
		Env:       []string{"PATH=" + os.Getenv("PATH"), "MARK=" + dir},
		MaxOutput: 1 << 16,
	}
}

func run(t testing.TB, ctx context.Context, spec Spec) *Output {
	t.Helper()
	out, err := Run(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func pidOf(t testing.TB, spec Spec, file string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(spec.Dir, file))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestOutputAndExitCode(t *testing.T) {
	spec := script(t, `echo out; echo err >&2; exit 3`)
	out := run(t, t.Context(), spec)
	if string(out.Stdout.Head) != "out\n" || string(out.Stderr.Head) != "err\n" || out.ExitCode != 3 {
		t.Errorf("got %q, %q, %d", out.Stdout.Head, out.Stderr.Head, out.ExitCode)
	}
	if out.Signal != "" || out.Stopped != nil || out.Escaped || out.Duration <= 0 {
		t.Errorf("got %+v", out)
	}
}

func TestSignal(t *testing.T) {
	out := run(t, t.Context(), script(t, `kill -SEGV $$`))
	if out.ExitCode != -1 || out.Signal != "segmentation fault" || out.Stopped != nil {
		t.Errorf("got %+v", out)
	}
}

func TestStdin(t *testing.T) {
	if out := run(t, t.Context(), script(t, `wc -c`)); strings.TrimSpace(string(out.Stdout.Head)) != "0" {
		t.Errorf("without stdin the child read %q bytes", out.Stdout.Head)
	}
	spec := script(t, `cat`)
	spec.Stdin = []byte("text\x00\xff")
	if out := run(t, t.Context(), spec); !bytes.Equal(out.Stdout.Head, spec.Stdin) {
		t.Errorf("got %q", out.Stdout.Head)
	}
	spec = script(t, `exec 0<&-; echo done`)
	spec.Stdin = make([]byte, 1<<22)
	if out := run(t, t.Context(), spec); string(out.Stdout.Head) != "done\n" || out.ExitCode != 0 {
		t.Errorf("a child that does not read: %+v", out)
	}
}

func TestEnvironmentIsOnlyTheGiven(t *testing.T) {
	t.Setenv("ADKMCP_TEST_OURS", "visible")
	spec := script(t, `exec env`)
	spec.Args = []string{"env"}
	out := run(t, t.Context(), spec)
	if got := strings.Fields(string(out.Stdout.Head)); !slices.Equal(got, spec.Env) {
		t.Errorf("the child saw %q, was given %q", got, spec.Env)
	}
	path, err := exec.LookPath("env")
	if err != nil {
		t.Fatal(err)
	}
	spec.Env, spec.Args = nil, []string{path}
	if out := run(t, t.Context(), spec); len(out.Stdout.Head) != 0 {
		t.Errorf("the child of no environment saw %q", out.Stdout.Head)
	}
}

func TestChildHasNeitherTerminalNorOurStreams(t *testing.T) {
	out := run(t, t.Context(), script(t, `(: </dev/tty) 2>/dev/null && echo tty; readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2`))
	streams := strings.Fields(string(out.Stdout.Head))
	if len(streams) != 3 || streams[0] != os.DevNull || !strings.HasPrefix(streams[1], "pipe:") || !strings.HasPrefix(streams[2], "pipe:") || streams[1] == streams[2] {
		t.Errorf("got %q", streams)
	}
}

// patience tells a call that waits for a program's minute from one that a busy
// machine holds up.
const patience = 20 * time.Second

func TestStopKillsTheTree(t *testing.T) {
	cases := []struct {
		name, text string
		signal     string
		least      time.Duration // TERM-ignoring trees get the whole grace
	}{
		{"10 grandchildren", `echo hi; (sleep 60 & echo $! >pid); sleep 60`, "terminated", 0},
		{"11 ignores SIGTERM", `trap "" TERM; echo $$ >pid; echo hi; while :; do sleep 60; done`, "killed", 300 * time.Millisecond},
		{"11 grandchild ignores SIGTERM", `(trap "" TERM; while :; do sleep 60; done) & echo $! >pid; echo hi; sleep 60`, "terminated", 300 * time.Millisecond},
		{"stopped", `echo $$ >pid; echo hi; kill -STOP $$; sleep 60`, "killed", 300 * time.Millisecond},
		{"prints for ever", `echo $$ >pid; echo hi; exec yes`, "terminated", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			spec := script(t, c.text)
			spec.Grace = 300 * time.Millisecond
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			out := run(t, ctx, spec)
			took := time.Since(began)
			processtest.Gone(t, pidOf(t, spec, "pid"))
			if !bytes.HasPrefix(out.Stdout.Head, []byte("hi\n")) {
				t.Errorf("output before the end is lost: %q", out.Stdout.Head)
			}
			if !errors.Is(out.Stopped, context.DeadlineExceeded) || out.Signal != c.signal || out.Escaped {
				t.Errorf("stopped %v, signal %q, escaped %v", out.Stopped, out.Signal, out.Escaped)
			}
			if took < 500*time.Millisecond+c.least || took > patience {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestCleansUpWhenAskedToEnd(t *testing.T) {
	spec := script(t, `trap "echo bye; exit 0" TERM; echo ready; sleep 60 & wait`)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	out := run(t, ctx, spec)
	if string(out.Stdout.Head) != "ready\nbye\n" || out.ExitCode != 0 || out.Stopped == nil {
		t.Errorf("got %q, %+v", out.Stdout.Head, out)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if out := run(t, ctx, script(t, `sleep 60`)); !errors.Is(out.Stopped, context.Canceled) {
		t.Errorf("stopped: %v", out.Stopped)
	}
	spec := script(t, `touch started`)
	if out := run(t, ctx, spec); !errors.Is(out.Stopped, context.Canceled) || out.ExitCode != -1 {
		t.Errorf("got %+v", out)
	}
	if _, err := os.Stat(filepath.Join(spec.Dir, "started")); err == nil {
		t.Error("a program was started although its context had ended")
	}
}

func TestBackgroundProcessesEndWithTheProgram(t *testing.T) {
	for name, redirect := range map[string]string{"holds the pipes": "", "holds nothing": ">/dev/null 2>&1"} {
		t.Run(name, func(t *testing.T) {
			spec := script(t, `trap "" TERM HUP; sleep 60 `+redirect+` & echo $! >pid; echo hi`)
			began := time.Now()
			out := run(t, t.Context(), spec)
			if took := time.Since(began); took > patience {
				t.Errorf("took %v", took)
			}
			processtest.Gone(t, pidOf(t, spec, "pid"))
			if string(out.Stdout.Head) != "hi\n" || out.ExitCode != 0 || out.Stopped != nil {
				t.Errorf("got %q, %+v", out.Stdout.Head, out)
			}
		})
	}
}

func TestLateOutputOfThePipeline(t *testing.T) {
	out := run(t, t.Context(), script(t, `(sleep 0.05; echo late) & echo early`))
	if string(out.Stdout.Head) != "early\nlate\n" {
		t.Errorf("got %q", out.Stdout.Head)
	}
}

// A process that leaves the group is not ended, as the package says, but it
// cannot hold up the call.
func TestEscapedProcessDoesNotHoldUpTheCall(t *testing.T) {
	spec := script(t, `setsid sh -c 'echo $$ >pid; exec sleep 60' & while [ ! -s pid ]; do sleep 0.01; done; echo hi`)
	began := time.Now()
	out := run(t, t.Context(), spec)
	took := time.Since(began)
	if escaped, err := os.FindProcess(pidOf(t, spec, "pid")); err == nil {
		_ = escaped.Kill()
	}
	if took > patience || !out.Escaped || string(out.Stdout.Head) != "hi\n" {
		t.Errorf("took %v, %+v", took, out)
	}
}

func TestForkBomb(t *testing.T) {
	spec := script(t, `i=0; while [ $i -lt 300 ]; do sleep 60 & i=$((i+1)); done; echo all; wait`)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	began := time.Now()
	out := run(t, ctx, spec)
	if took := time.Since(began); took > 4*time.Second || out.Stopped == nil {
		t.Errorf("took %v, %+v", took, out)
	}
}

func TestHugeOutputInBoundedMemory(t *testing.T) {
	const size = 300_000_000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	spec := script(t, `echo first; head -c 300000000 /dev/zero; head -c 300000000 /dev/zero >&2; echo last`)
	out := run(t, t.Context(), spec)
	runtime.ReadMemStats(&after)
	if got := out.Stdout.Size(); got != size+len64("first\nlast\n") {
		t.Errorf("counted %d bytes", got)
	}
	if out.Stderr.Size() != size {
		t.Errorf("counted %d bytes on stderr", out.Stderr.Size())
	}
	if !bytes.HasPrefix(out.Stdout.Head, []byte("first\n")) || !bytes.HasSuffix(out.Stdout.Tail, []byte("\x00last\n")) {
		t.Error("head or tail is missing")
	}
	if grew := after.TotalAlloc - before.TotalAlloc; grew > 2<<20 {
		t.Errorf("%d bytes were allocated", grew)
	}
}

func len64(s string) int64 { return int64(len(s)) }

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("plain", "#!/bin/sh\n", 0o600)
	write("text", "no program\n", 0o700)
	write("orphan", "#!/no/such/interpreter\n", 0o700)
	busy, err := os.OpenFile(filepath.Join(dir, "busy"), os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	cases := []struct {
		name string
		args []string
		dir  string
		want string
	}{
		{"not in PATH", []string{"no-such-program"}, dir, `program "no-such-program" was not found in PATH (.:` + os.Getenv("PATH") + ")"},
		{"the working directory is no part of PATH", []string{"text"}, dir, `program "text" was not found in PATH`},
		{"relative", []string{"./none"}, dir, `program "./none" is not there (looked for ` + filepath.Join(dir, "none") + ")"},
		{"absolute", []string{"/no/such"}, dir, `program "/no/such" is not there (looked for /no/such)`},
		{"not executable", []string{"./plain"}, dir, `is not an executable file`},
		{"a folder", []string{"./."}, dir, `is not an executable file`},
		{"empty", []string{""}, dir, `is not an executable file`},
		{"no program", []string{"./text"}, dir, "nothing that this system can run"},
		{"interpreter", []string{"./orphan"}, dir, "needs an interpreter or loader that is not there"},
		{"busy", []string{"./busy"}, dir, "somebody is writing to its file"},
		{"too large", []string{"echo", strings.Repeat("x", 3<<20)}, dir, "its arguments and environment are larger than the system allows (31459"},
		{"NUL", []string{"echo", "a\x00b"}, dir, "cannot be started"},
		{"no folder", []string{"echo"}, filepath.Join(dir, "none"), "has no folder to run in"},
		{"relative folder", []string{"echo"}, ".", "has no folder to run in"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Run(t.Context(), Spec{Args: c.args, Dir: c.dir, Env: []string{"PATH=.:" + os.Getenv("PATH")}, MaxOutput: 100})
			var start *StartError
			if !errors.As(err, &start) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
	if _, err := Run(t.Context(), Spec{Dir: dir, MaxOutput: 1}); err == nil {
		t.Error("a spec without a program ran")
	}
}

func TestRelativeProgram(t *testing.T) {
	spec := script(t, "")
	if err := os.WriteFile(filepath.Join(spec.Dir, "prog"), []byte("#!/bin/sh\necho here\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	spec.Args = []string{"./prog"}
	if out := run(t, t.Context(), spec); string(out.Stdout.Head) != "here\n" {
		t.Errorf("got %+v", out)
	}
}

func TestCheckersFindProcesses(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{"MARK=" + dir}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if pids := processtest.With(t, dir); !slices.Equal(pids, []int{cmd.Process.Pid}) {
		t.Errorf("found %v, want %d", pids, cmd.Process.Pid)
	}
	_ = cmd.Process.Kill()
	processtest.Gone(t, cmd.Process.Pid) // a zombie counts as gone
	_ = cmd.Wait()
	processtest.NoneWith(t, dir)
}

func BenchmarkRunTrue(b *testing.B) {
	spec := Spec{Args: []string{"/bin/true"}, Dir: b.TempDir(), Env: []string{"PATH=/bin"}, MaxOutput: 1 << 16}
	for b.Loop() {
		if out, err := Run(b.Context(), spec); err != nil || out.ExitCode != 0 {
			b.Fatal(out, err)
		}
	}
}

func BenchmarkExecTrue(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(b.Context(), "/bin/true")
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, []string{"PATH=/bin"}, &stdout, &stderr
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}
