package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal gives the two sides of a terminal: where a person types and
// reads, and where a program does.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	switch {
	case err != nil && os.Getenv("CI") != "":
		t.Fatal("no terminals here, where nothing may be skipped:", err)
	case err != nil:
		t.Skip("SKIPPED, no terminals here:", err)
	}
	t.Cleanup(func() { person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return person, program
}

// screen is what has been shown, once the program's side is closed everywhere.
func screen(t *testing.T, person *os.File) string {
	t.Helper()
	text, err := io.ReadAll(person)
	if err != nil && !errors.Is(err, syscall.EIO) { // what the end looks like
		t.Error(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// atTerminal runs a program for a person who types ahead, and gives its standard
// output and what the person saw beside it.
func atTerminal(t *testing.T, cmd *exec.Cmd, typed string) (stdout, seen string) {
	t.Helper()
	person, program := openTerminal(t)
	if _, err := io.WriteString(person, typed); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, &out, program
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	program.Close()
	return out.String(), screen(t, person)
}

// TestCallTerminal calls a server whose text would clear the screen of a person.
func TestCallTerminal(t *testing.T) {
	person, program := openTerminal(t)
	result := `{"content":[{"type":"text","text":"a\u001b[2Jb"},{"type":"resource","resource":{"uri":"x:y","text":"c\u009b2Jd"}},{"type":"resource_link","name":"n","uri":"e:\u001b]0;t\u0007f"}]}`
	cmd := command(t, []string{"NO_COLOR=1"}, "adkmcp", append([]string{"call", "a request", "--"}, odd(result, "")...)...)
	cmd.Stdout, cmd.Stderr = program, program
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	program.Close()
	if got := screen(t, person); got != "· step one\nab\ncd\nn: e:f\n" {
		t.Errorf("got %q", got)
	}
}

// TestCallAskedAtTerminal has a person answer what a server asks.
func TestCallAskedAtTerminal(t *testing.T) {
	const eof = "\x04"
	for _, c := range []struct{ form, typed, stdout, seen string }{
		{approvalForm, "y\n", `{"action":"accept","content":{"approve":true}}`, "? May I?\n  Approve? [y/N] "},
		{approvalForm, eof, `{"action":"cancel"}`, "  cancelled\n"},
		{numberForm, "x\n7\nhello\n", `{"action":"accept","content":{"n":7,"word":"hello"}}`, "  a whole number: "},
		{numberForm, "d\n", `{"action":"decline"}`, "  declined\n"},
	} {
		cmd := command(t, []string{"NO_COLOR=1"}, "adkmcp", append([]string{"call", "a request", "--"}, odd(c.form, "ask")...)...)
		if stdout, seen := atTerminal(t, cmd, c.typed); stdout != c.stdout+"\n" || !strings.Contains(seen, c.seen) {
			t.Errorf("%q: got %q, saw %q", c.typed, stdout, seen)
		}
	}
}

// remover is an agent whose tool wants approval.
const remover = `
name: remover
instruction: Remove what is asked for.
model:
  provider: scripted
  script:
    - match: remove (?P<what>\w+)
      steps: [{call: [{remove: {path: "{what}"}}]}, {reply: "Result: {remove}"}]
tools:
  - name: remove
    description: Removes a file.
    parameters: {path: {type: string, description: Which one}}
    shell: [echo, "removed {path}"]
    requires_approval: true
`

// TestChatAsked types the requests of a chat and the answers to the agent into
// one terminal. The end of the input cancels a question, and ends a chat.
func TestChatAsked(t *testing.T) {
	const eof = "\x04"
	file := agentFile(t, remover)
	cmd := command(t, []string{"NO_COLOR=1"}, "adkmcp", "run", file)
	stdout, seen := atTerminal(t, cmd, "remove one\ny\nremove two\n"+eof+"remove three\nn\nremove four\nyes\n"+eof)
	const want = "Result: removed one\nResult: not run: nobody approved it\nResult: not run: the person declined\nResult: removed four\n"
	if stdout != want || !strings.Contains(seen, "? Agent remover wants to run remove\n  {\"path\":\"four\"}\n  Approve? [y/N] ") {
		t.Errorf("got %q, saw %q", stdout, seen)
	}
	cmd = command(t, []string{"NO_COLOR=1"}, "adkmcp", "run", "--json", file, "remove one")
	if stdout, seen := atTerminal(t, cmd, "y\n"); !strings.Contains(stdout, `"action":"accept"`) || !strings.Contains(seen, "Approve?") || strings.Contains(stdout, "Approve?") {
		t.Errorf("got %q, saw %q", stdout, seen)
	}
}
