package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCallTerminal calls a server whose text would clear the screen of a person.
func TestCallTerminal(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	result := `{"content":[{"type":"text","text":"a\u001b[2Jb"},{"type":"resource","resource":{"uri":"x:y","text":"c\u009b2Jd"}},{"type":"resource_link","name":"n","uri":"e:\u001b]0;t\u0007f"}]}`
	cmd := command(t, []string{"NO_COLOR=1"}, "adkmcp", append([]string{"call", "a request", "--"}, odd(result, "")...)...)
	cmd.Stdout, cmd.Stderr = terminal, terminal
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	terminal.Close()
	text, _ := io.ReadAll(master) // ends with EIO when the other side is closed
	if got := strings.ReplaceAll(string(text), "\r\n", "\n"); got != "· step one\nab\ncd\ne:f\n" {
		t.Errorf("got %q", got)
	}
}
