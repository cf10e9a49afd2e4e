//go:build unix

package process

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/tools/process/processtest"
)

// keep collects lines of standard error.
type keep struct {
	mu    sync.Mutex
	lines []string
}

func (k *keep) line(line []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lines = append(k.lines, string(line))
}

// startChild starts a script that the test stops.
func startChild(t *testing.T, text string, k *keep) *Child {
	t.Helper()
	spec := script(t, text)
	spec.MaxOutput = 0 // of no use here
	c, err := Start(spec, k.line)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

func waitFor(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("nothing happens")
	}
}

func TestChildTalks(t *testing.T) {
	var k keep
	c := startChild(t, `while read line; do echo "<$line>"; done; echo bye; echo ended >&2; exit 3`, &k)
	out := bufio.NewReader(c.Stdout)
	for _, word := range []string{"one", "two"} {
		if _, err := io.WriteString(c.Stdin, word+"\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := out.ReadString('\n'); got != "<"+word+">\n" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if got := c.Exit(); got != "" {
		t.Errorf("a program that runs has ended with %q", got)
	}
	if err := c.Stdin.Close(); err != nil {
		t.Error(err)
	}
	waitFor(t, c.Done())
	if rest, err := io.ReadAll(out); string(rest) != "bye\n" || err != nil {
		t.Errorf("after its end it has said %q, %v", rest, err)
	}
	c.Stop()
	if c.Exit() != "exit code 3" || strings.Join(k.lines, "|") != "ended" {
		t.Errorf("got %q, %q", c.Exit(), k.lines)
	}
}

// TestChildStop: a child ends by itself when its standard input does, else it is
// asked to and then killed, with everything it has started.
func TestChildStop(t *testing.T) {
	for name, c := range map[string]struct{ text, exit string }{
		"by itself":       {`echo ready; cat >/dev/null; exit 7`, "exit code 7"},
		"when asked":      {`trap 'exit 8' TERM; echo ready; while :; do sleep 0.01; done`, "exit code 8"},
		"when killed":     {`trap '' TERM; echo ready; while :; do sleep 0.01; done`, `killed by signal "killed"`},
		"with its own":    {`sh -c 'trap "" TERM; while :; do sleep 1; done' & sleep 1000 & echo ready; cat >/dev/null; exit 9`, "exit code 9"},
		"holding streams": {`sleep 1000 & echo ready; exec sleep 1000`, `killed by signal "terminated"`},
	} {
		t.Run(name, func(t *testing.T) {
			var k keep
			child := startChild(t, c.text, &k)
			if got, err := bufio.NewReader(child.Stdout).ReadString('\n'); got != "ready\n" || err != nil {
				t.Fatal(got, err)
			}
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(child.Stop)
			}
			wg.Wait()
			waitFor(t, child.Done())
			if got := child.Exit(); got != c.exit {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestChildEndsAlone: what a program leaves behind ends with it, and its streams.
func TestChildEndsAlone(t *testing.T) {
	var k keep
	c := startChild(t, `sleep 1000 & echo $! >left; kill -SEGV $$`, &k)
	waitFor(t, c.Done())
	if c.Exit() != `killed by signal "segmentation fault"` {
		t.Errorf("got %q", c.Exit())
	}
	processtest.Gone(t, pidOf(t, c.spec, "left"))
	if rest, err := io.ReadAll(c.Stdout); len(rest) > 0 || err != nil {
		t.Errorf("got %q, %v", rest, err)
	}
}

func TestChildStderr(t *testing.T) {
	var k keep
	c := startChild(t, `printf 'a\r\n\nb\377c\n' >&2; head -c 100000 /dev/zero | tr '\0' x >&2; printf '\nlast' >&2`, &k)
	waitFor(t, c.Done())
	c.Stop()
	want := []string{"a", "", "b\uFFFDc", strings.Repeat("x", maxLine), "last"}
	if strings.Join(k.lines, "|") != strings.Join(want, "|") {
		t.Errorf("got %.100q", k.lines)
	}
}

func TestChildDoesNotStart(t *testing.T) {
	spec := script(t, "")
	spec.Args = []string{"adkmcp-no-such-program"}
	var start *StartError
	if _, err := Start(spec, nil); !errors.As(err, &start) {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Join(spec.Dir, "orphan"), []byte("#!/no/such\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	spec.Args = []string{"./orphan"}
	if _, err := Start(spec, nil); !errors.As(err, &start) {
		t.Errorf("got %v", err)
	}
	if _, err := Start(Spec{Dir: spec.Dir}, nil); err == nil {
		t.Error("a spec without a program has started")
	}
}
