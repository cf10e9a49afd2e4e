package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// What input can cost the program at most, as it is released: the race detector
// and the coverage counters would be part of what is measured.

// peak gives the most memory that a running program has held, in bytes; 0 once
// it has ended. What the kernel says of a program that has ended counts the
// memory of the one that started it.
func peak(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// soonOver is the processor time of a program that may end before anybody has
// looked at its memory: it had no time to fill any.
const soonOver = 100 * time.Millisecond

// measured runs a command to its end and gives its processor time and its peak
// of memory beside the outcome; 0 for a program that was soon over.
func measured(t *testing.T, cmd *exec.Cmd) (got outcome, cpu time.Duration, bytes int64) {
	t.Helper()
	var stdout, stderr lockedBuffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for deadline, tick := time.After(patience), time.NewTicker(time.Millisecond); ; {
		select {
		case <-done: // the code says how it went
			tick.Stop()
			cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			if bytes == 0 && cpu > soonOver {
				t.Errorf("nothing is known of the memory of %q, which took %v", cmd.Args, cpu)
			}
			return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}, cpu, bytes
		case <-deadline:
			_ = cmd.Process.Kill()
			t.Errorf("%q does not end", cmd.Args)
		case <-tick.C:
			bytes = max(bytes, peak(cmd.Process.Pid))
		}
	}
}

// What reading an agent file may take: a second, on a machine that does nothing
// else, and little memory beside the 20 MiB that the program takes anyway.
const (
	mostCPU    = 2 * time.Second
	mostMemory = 200 << 20
)

// H01 and case 14 of the agent files: a clear error with its place, soon and in
// bounded memory.
func TestH01Bounds(t *testing.T) {
	bin := program(t)
	const head = "name: a\ninstruction: x\n"
	laughs := "x-a: &a0 [x, x]\n"
	for i := range 40 {
		laughs += fmt.Sprintf("x-%d: &a%d [*a%d, *a%d, *a%d, *a%d]\n", i, i+1, i, i, i, i)
	}
	merges := "x-m0: &m0 {k: 1}\n"
	for i := range 3000 {
		merges += fmt.Sprintf("x-m%d: &m%d {<<: [*m%d, *m%d], k%d: 1}\n", i+1, i+1, i, i, i)
	}
	at := regexp.MustCompile(`^\S+:\d+:\d+: error: .+`)
	for name, tt := range map[string]struct{ text, says string }{
		"14 billion laughs":           {head + laughs, "the aliases of this file stand for more than"},
		"14 merges of merges":         {head + merges, "error: "},
		"14 flow nested 10,000 deep":  {head + "state: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), "nested deeper than 64 levels"},
		"H01 flow nested 20,000 deep": {head + "state: " + strings.Repeat("{a: ", 20_000) + strings.Repeat("}", 20_000), "nested deeper than 64 levels"},
		"14 block nested 10,000 deep": {head + "state:\n  " + strings.Repeat("- ", 10_000) + "x\n", "nested deeper than 64 levels"},
		"14 a file of 50 MB":          {head + "description: " + strings.Repeat("x", 50<<20), "larger than 1048576 bytes"},
		"H01 200,000 anchors":         {head + "state:\n  a:\n" + many(200_000, "    - &a%d x\n"), "larger than 1048576 bytes"},
		"H01 60,000 anchors":          {head + "state:\n  a:\n" + many(60_000, "    - &a%d\n") + "wrong: 1\n", "error: "},
		"H01 many values":             {head + "state: {a: [" + strings.Repeat("a,", 500_000) + "]}", "more than 20000 values"},
		"H01 many duplicate keys":     {head + strings.Repeat("name: b\n", 100_000), "stands twice"},
		"H01 self alias":              {head + "state: &s {a: *s}\n", "the alias *s stands inside the very value"},
		"H01 two documents":           {head + "---\n" + head, "a second document begins here"},
		"H01 NUL":                     {head + "title: \"\x00\"\n", "U+0000"},
		"H01 bad UTF-8":               {head + "title: \xff\n", "not UTF-8"},
		"H01 Python":                  {head + "title: !!python/object/apply:os.system [id]\n", "has no meaning here"},
	} {
		t.Run(name, func(t *testing.T) {
			got, cpu, bytes := measured(t, exec.Command(bin, "validate", agentFile(t, tt.text)))
			first, _, _ := strings.Cut(got.stdout, "\n")
			if got.code != exitFailed || got.stderr != "" || !at.MatchString(first) || !strings.Contains(got.stdout, tt.says) {
				t.Errorf("code %d, %.300q, standard error %.300q", got.code, got.stdout, got.stderr)
			}
			if cpu > mostCPU || bytes > mostMemory || len(got.stdout) > 1<<20 {
				t.Errorf("took %v, %d MiB, said %d bytes", cpu, bytes>>20, len(got.stdout))
			}
			t.Logf("%v, %d MiB", cpu, bytes>>20)
		})
	}
}

// many is a text with each number below n in it.
func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// H01 for files within the bounds on size and values, which hold as many of one
// thing as they can: what is done with them must not take the square of it.
func TestH01LongFiles(t *testing.T) {
	bin := program(t)
	const head = "name: a\ninstruction: x\nmodel: {provider: scripted, script: [{steps: [{reply: x}]}]}\n"
	for name, text := range map[string]string{
		"unknown keys": head + many(9_000, "nam%d: 1\n"),
		"state":        head + "state:\n" + many(9_000, "  key%d: 1\n"),
		"parameters":   head + "tools:\n  - name: t\n    shell: [echo]\n    parameters:\n" + many(4_500, "      n%d: {type: string}\n"),
		"tools":        head + "tools:\n" + many(3_000, "  - {name: t%d, shell: [echo]}\n"),
		"places":       strings.Replace(head, "x\n", "'"+many(60_000, "{v%d}")+"'\n", 1),
	} {
		t.Run("H01 "+name, func(t *testing.T) {
			got, cpu, bytes := measured(t, exec.Command(bin, "validate", agentFile(t, text)))
			if cpu > mostCPU || bytes > mostMemory {
				t.Errorf("took %v, %d MiB: code %d, %.300s", cpu, bytes>>20, got.code, got.stdout)
			}
			t.Logf("%v, %d MiB, said %d bytes", cpu, bytes>>20, len(got.stdout))
		})
	}
}

// A16: a line of 64 MiB without an end gets an error reply, the process lives,
// and its memory stays bounded; then the same as the last thing that comes.
func TestA16LongLine(t *testing.T) {
	h := startHost(t, exec.Command(program(t), "serve", repository+"/agents/dice.yaml"))
	h.initialize()
	chunk := strings.Repeat("a", 1<<20)
	flood := func() {
		for range 64 {
			if _, err := io.WriteString(h.in, chunk); err != nil {
				t.Fatal(err)
			}
		}
	}
	flood()
	h.send("\n")
	if m, _ := h.await("null"); !strings.Contains(m.Error.Message, "longer than 4194304 bytes") {
		t.Errorf("%+v", m)
	}
	if text, isError, _ := h.ask(3, "dice_agent", "a d20"); isError || !strings.HasPrefix(text, "You rolled") {
		t.Errorf("%v %q", isError, text)
	}
	flood()
	h.send("\n")
	h.await("null")
	if bytes := peak(h.cmd.Process.Pid); bytes == 0 || bytes > 80<<20 {
		t.Errorf("the server took %d MiB", bytes>>20)
	}
	flood()
	h.end()
}

// Case 8 of the shell tools and D08: 300 MB of output, and 1 GB on the other
// stream, cost the program next to nothing.
func TestD08HugeOutputBounds(t *testing.T) {
	file := agentFile(t, `
name: flood
instruction: x
model: {provider: scripted, script: [{steps: [{call: [{flood: {}}]}, {reply: "{flood}"}]}]}
tools:
  - name: flood
    description: Prints much.
    shell: {script: "echo first; yes | head -c 300000000; head -c 1000000000 /dev/zero >&2; echo last"}
    timeout: 50s
`)
	got, _, bytes := measured(t, exec.Command(program(t), "run", file, "go"))
	if got.code != exitOK || !strings.Contains(got.stdout, "first\n") || !strings.Contains(got.stdout, "last\n") || !strings.Contains(got.stdout, " bytes left out …]") || len(got.stdout) > 1<<17 {
		t.Errorf("code %d, %d bytes: %.300q, %.300q", got.code, len(got.stdout), got.stdout, got.stderr)
	}
	if bytes > 80<<20 {
		t.Errorf("the program took %d MiB", bytes>>20)
	}
	t.Logf("%d MiB", bytes>>20)
}
