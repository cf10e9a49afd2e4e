//go:build unix

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/tools/process"
	"github.com/adkmcp/adkmcp/internal/tools/process/processtest"
)

// got collects the messages that come, and shows when there is one.
type got chan string

func (g got) Receive(m *rpc.Message, of string) { g <- string(m.Raw) + of }

func (g got) next(t *testing.T) string {
	t.Helper()
	select {
	case m := <-g:
		return m
	case <-time.After(10 * time.Second):
		t.Fatal("nothing comes")
	}
	return ""
}

// logged collects what is logged.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// child opens a connection to a shell script; the test closes it and makes sure
// that nothing of it is left.
func child(t *testing.T, script string, most int) (Transport, got, *logged) {
	t.Helper()
	dir, log, in := t.TempDir(), &logged{}, make(got, 1000)
	tr := NewStdio(process.Spec{
		Args: []string{"sh", "-c", script}, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "MARK=" + dir},
	}, StdioOptions{Name: "shell", MaxMessage: most, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err := tr.Open(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		processtest.NoneWith(t, dir)
	})
	return tr, in, log
}

func ended(t *testing.T, tr Transport) string {
	t.Helper()
	select {
	case <-tr.Done():
		return tr.Err().Error()
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
	return ""
}

func ping(id string) *Outgoing {
	return &Outgoing{ID: id, Body: json.RawMessage(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"ping"}`, id))}
}

// TestStdioEchoes: messages come as they were sent; what is none is logged.
func TestStdioEchoes(t *testing.T) {
	tr, in, log := child(t, `printf '\357\273\277Welcome\n\n{"level":"info","got":{"jsonrpc":"2.0"}}\nsent {"jsonrpc":"2.0"\n'; echo "to stderr" >&2; exec cat`, 0)
	for i := range 3 {
		m := ping(fmt.Sprint(i))
		if err := tr.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if got := in.next(t); got != string(m.Body) {
			t.Errorf("got %s", got)
		}
	}
	if err := tr.Close(); err != nil || tr.Err() != nil {
		t.Error(err, tr.Err())
	}
	for _, want := range []string{"server=shell", "line=Welcome", `level`, `jsonrpc`, `line="to stderr"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
	var not *NotSentError
	if err := tr.Send(t.Context(), ping("late")); !errors.As(err, &not) || !errors.Is(err, errClosed) {
		t.Errorf("after its end: %v", err)
	}
	select {
	case <-tr.Done():
		t.Error("it has not ended by itself")
	default:
	}
}

// TestStdioEnds: what was said before the end arrives, and the error says how the
// child has ended.
func TestStdioEnds(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   []string
	}{
		"by itself":     {`read line; i=1; while [ $i -le 30 ]; do echo "line $i" >&2; i=$((i+1)); done; printf %s "$line"; exit 3`, []string{`program "sh" ended (exit code 3); it said last:` + "\nline 11\n", "\nline 30"}},
		"by a signal":   {`read line; echo "$line"; kill -9 $$`, []string{`program "sh" ended (killed by signal "killed") and said nothing on standard error`}},
		"with children": {`read line; sleep 1000 & echo "$line"; exit 0`, []string{`ended (exit code 0)`}},
		"of its output": {`read line; echo "$line"; exec >&-; while read line; do :; done`, []string{`program "sh" ended (exit code 0)`}},
	} {
		t.Run(name, func(t *testing.T) {
			tr, in, _ := child(t, c.script, 0)
			if err := tr.Send(t.Context(), ping("1")); err != nil {
				t.Fatal(err)
			}
			text := ended(t, tr)
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("got %q\nwant %q", text, want)
				}
			}
			if len(in) != 1 {
				t.Errorf("%d messages have come", len(in))
			}
			var not *NotSentError
			if err := tr.Send(t.Context(), ping("2")); !errors.As(err, &not) || err.Error() != text {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestStdioLongLine(t *testing.T) {
	tr, in, _ := child(t, `echo '{"jsonrpc":"2.0","method":"m"}'; echo '{"jsonrpc":"2.0","method":"mm"}'; exec cat`, 30)
	if text := ended(t, tr); !strings.Contains(text, "more than 30 bytes") {
		t.Errorf("got %q", text)
	}
	if len(in) != 1 {
		t.Errorf("%d messages have come", len(in))
	}
}

// TestStdioDoesNotRead: a message that does not go out ends with its context, and
// the connection with it. One that waits for its turn has not been sent.
func TestStdioDoesNotRead(t *testing.T) {
	tr, _, _ := child(t, `exec sleep 1000`, 0)
	large := ping(strings.Repeat("x", 1<<20))
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { first <- tr.Send(ctx, large) }()
	short, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer end()
	var not *NotSentError
	for len(tr.(*stdio).writing) == 0 { // until the first one has its turn
		runtime.Gosched()
	}
	if err := tr.Send(short, ping("2")); !errors.As(err, &not) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second: %v", err)
	}
	cancel()
	if err := <-first; !errors.As(err, &not) || !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v", err)
	}
	if text := ended(t, tr); text != `program "sh" does not read what it is sent` {
		t.Errorf("got %q", text)
	}
}

func TestStdioClosesItsInput(t *testing.T) {
	tr, in, _ := child(t, `exec <&-; echo '{"jsonrpc":"2.0","method":"m"}'; exec sleep 1000`, 0)
	in.next(t)
	var not *NotSentError
	if err := tr.Send(t.Context(), ping("1")); !errors.As(err, &not) || !strings.Contains(err.Error(), "does not take messages any more") {
		t.Errorf("got %v", err)
	}
	ended(t, tr)
}

func TestStdioDoesNotStart(t *testing.T) {
	tr := NewStdio(process.Spec{Args: []string{"adkmcp-no-such-program"}, Dir: t.TempDir()}, StdioOptions{Log: slog.New(slog.DiscardHandler)})
	var start *process.StartError
	if err := tr.Open(t.Context(), nil); !errors.As(err, &start) {
		t.Errorf("got %v", err)
	}
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
	if err := tr.Open(t.Context(), nil); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestParse: what belongs to a server's data is no concern of ours.
func TestParse(t *testing.T) {
	for body, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":"1","result":{"Accept":1,"accept":2,"n":1e999}}`:                         true,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1}}`:                                                   true,
		`{"jsonrpc":"2.0","id":1,"result":null}`:                                                        true,
		`{"jsonrpc":"2.0","method":"m","params":[1]}`:                                                   true,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"a":1}}}`:                              true,
		`{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`: true,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\"}":                                            true,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1}}`:                                                true,
		`{"jsonrpc":"2.0","id":1}`:                                                                      false,
		`{"id":1,"result":{}}`:                                                                          false,
		`[{"jsonrpc":"2.0","id":1,"result":{}}]`:                                                        false,
		`Listening on port 3000`:                                                                        false,
		``:                                                                                              false,
	} {
		m, err := Parse([]byte(body))
		if (err == nil) != want || want && m == nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	m, err := Parse([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"_meta\":{\"a\":\"\xff\"}}}"))
	if err != nil || string(m.Meta["a"]) != "\"\uFFFD\"" || !m.IsRequest() {
		t.Errorf("got %v, %v", m, err)
	}
}
