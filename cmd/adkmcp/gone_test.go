package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/tools/process/processtest"
)

const busyCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"busy","arguments":{"request":"go"},"_meta":{"progressToken":1}}}`

// goneFile writes the agent whose tool never ends by itself.
func goneFile(t *testing.T) (file, marker string) {
	t.Helper()
	marker = fmt.Sprintf("gone-%d-%d", os.Getpid(), time.Now().UnixNano())
	file = filepath.Join(t.TempDir(), "busy.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, busyAgent, marker), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, marker
}

// TestHostGone: a host that is killed closes all pipes at once, and a terminal
// that is closed says SIGHUP. Nothing that was started stays.
func TestHostGone(t *testing.T) {
	bin := program(t)
	for name, leave := range map[string]func(cmd *exec.Cmd, in io.Closer, out, errs io.Closer){
		"all pipes closed": func(_ *exec.Cmd, in io.Closer, out, errs io.Closer) { out.Close(); errs.Close(); in.Close() },
		"output closed": func(cmd *exec.Cmd, _ io.Closer, out, errs io.Closer) {
			out.Close()
			errs.Close()
			cmd.Process.Signal(syscall.SIGHUP)
		},
	} {
		t.Run(name, func(t *testing.T) {
			file, marker := goneFile(t)
			temp := t.TempDir()
			cmd := exec.Command(bin, "serve", "--stdio", "--log-level", "debug", file)
			cmd.Env = append(os.Environ(), "TMPDIR="+temp)
			in, err1 := cmd.StdinPipe()
			out, err2 := cmd.StdoutPipe()
			errs, err3 := cmd.StderrPipe()
			if err1 != nil || err2 != nil || err3 != nil {
				t.Fatal(err1, err2, err3)
			}
			go io.Copy(io.Discard, errs)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(in, busyCall)
			awaitProcesses(t, marker, 4)
			leave(cmd, in, out, errs)
			if state, err := cmd.Process.Wait(); err != nil || state.ExitCode() != exitOK {
				t.Errorf("ended with %v, %v", state, err)
			}
			processtest.NoneWith(t, marker)
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

// TestHostKilled is a host that is killed while its call runs: `adkmcp call` is
// one. Nobody tells the server; what it has started is gone all the same.
func TestHostKilled(t *testing.T) {
	bin := program(t)
	file, marker := goneFile(t)
	temp := t.TempDir()
	host := exec.Command(bin, "call", file, "go")
	host.Env = append(os.Environ(), "TMPDIR="+temp)
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	awaitProcesses(t, marker, 4)
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait() // it was killed
	processtest.NoneWith(t, marker)
	processtest.NoneWith(t, file) // the server itself
}

// TestSecondSignal: the first lets running turns go on, the second stops them
// and what they run.
func TestSecondSignal(t *testing.T) {
	file, marker := goneFile(t)
	cmd := exec.Command(program(t), "serve", "--http", "127.0.0.1:0", "--drain-timeout", "5m", file)
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(errs)
	next := func(pattern string) []string {
		for lines.Scan() {
			if m := regexp.MustCompile(pattern).FindStringSubmatch(lines.Text()); m != nil {
				return m
			}
		}
		t.Fatalf("the log has no %s", pattern)
		return nil
	}
	url := next(`url=(\S+)`)[1]
	answered := make(chan string, 1)
	go func() {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(strings.Replace(busyCall, `"_meta":{"progressToken":1}`, meta, 1)))
		if err != nil {
			answered <- err.Error()
			return
		}
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "busy"} {
			req.Header.Set(name, value)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		answered <- string(text)
	}()
	awaitProcesses(t, marker, 4)
	cmd.Process.Signal(syscall.SIGTERM)
	next(`msg=stopping`)
	cmd.Process.Signal(syscall.SIGTERM)
	if text := <-answered; !strings.Contains(text, "the server is stopping") || !strings.Contains(text, `"isError":true`) {
		t.Errorf("the caller got %s", text)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	processtest.NoneWith(t, marker)
}
