package stdio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newTestReader reads in; the answers it gives itself go to out.
func newTestReader(in io.Reader, out io.Writer) *reader {
	requests := &table{pending: make(map[string]*request), empty: make(chan struct{})}
	return &reader{
		src: bufio.NewReaderSize(in, 64<<10), requests: requests, stop: func(error) {},
		out: &writer{out: out, requests: requests, failed: func(error) {}},
	}
}

func TestReader(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	tooLong := `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the message is longer than 4194304 bytes"}}` + "\n"
	for name, tt := range map[string]struct{ in, want, out string }{
		"lines":              {"{}\n[]\n", "{}\n[]\n", ""},
		"no end":             {"{}\n[]", "{}\n[]\n", ""},
		"blank":              {"\n \r\n\t\n{}\r\n\n", "{}\n", ""},
		"nothing":            {"", "", ""},
		"just short enough":  {long + "\nx\n", long + "\nx\n", ""},
		"too long":           {long + "x\n{}\n", "{}\n", tooLong},
		"too long, no end":   {long + "x", "", tooLong},
		"too long, with id":  {`{"jsonrpc":"2.0","id":"q","method":"` + long + "\"}\n{}\n", "{}\n", strings.Replace(tooLong, "null", `"q"`, 1)},
		"too long, id later": {`{"params":{"id":5,"x":"` + long + "\"},\"id\":7}\n{}\n", "{}\n", tooLong},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			got, err := io.ReadAll(newTestReader(strings.NewReader(tt.in), &out))
			if err != nil || string(got) != tt.want || out.String() != tt.out {
				t.Errorf("read %.80q, wrote %q, %v", got, out.String(), err)
			}
		})
	}
}

// repeat gives the same byte n times.
type repeat struct {
	n     int
	chunk string
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.n)], r.chunk)
	r.n -= n
	return n, nil
}

// TestA16 is a line of 64 MiB without an end: an error reply, and memory for a
// few times the longest line.
func TestA16(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var out bytes.Buffer
	n, err := io.Copy(io.Discard, newTestReader(&repeat{64 << 20, strings.Repeat("a", 64<<10)}, &out))
	runtime.ReadMemStats(&after)
	if n != 0 || err != nil || !strings.Contains(out.String(), "longer than") {
		t.Errorf("read %d, wrote %q, %v", n, out.String(), err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 6*MaxLine {
		t.Errorf("%d bytes allocated", used)
	}
}

// TestOddIds: an id that is none has no place in the table, out of which no
// answer would take it.
func TestOddIds(t *testing.T) {
	for id, want := range map[string]int{`{}`: 0, `[1]`: 0, `true`: 0, `null`: 0, `1.5`: 1, `"x"`: 1} {
		r := newTestReader(strings.NewReader(`{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`+"\n"), io.Discard)
		if r.next(); len(r.line) == 0 || len(r.requests.pending) != want {
			t.Errorf("%s: read %q, %d pending", id, r.line, len(r.requests.pending))
		}
	}
}

func TestTooManyRequests(t *testing.T) {
	var out bytes.Buffer
	const line = `{"jsonrpc":"2.0","id":"one more","method":"x"}` + "\n"
	r := newTestReader(strings.NewReader(line+line), &out)
	r.stopped = closedChannel()
	for i := range maxPending {
		r.requests.add(i)
	}
	r.next()
	if len(r.line) > 0 || !strings.Contains(out.String(), `"id":"one more","error":{"code":-32603,"message":"too many requests`) {
		t.Errorf("read %q, wrote %q", r.line, out.String())
	}
	r.requests.answered(7)
	if r.next(); string(r.line) != line {
		t.Errorf("read %q after one was answered", r.line)
	}
}

// TestEndIsHeldBack until the answers are out, but not for ever.
func TestEndIsHeldBack(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call"}` + "\n"
	for name, tt := range map[string]struct {
		answer bool
		want   time.Duration
	}{"answered": {true, 200 * time.Millisecond}, "not answered": {false, eofGrace}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newTestReader(strings.NewReader(call), io.Discard)
				stopped := false
				r.stop = func(err error) { stopped = errors.Is(err, io.EOF) }
				start := time.Now()
				if tt.answer {
					time.AfterFunc(tt.want, func() { _, _ = r.out.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n")) })
				}
				if got, err := io.ReadAll(r); err != nil || string(got) != call {
					t.Errorf("%q, %v", got, err)
				}
				if took := time.Since(start); took != tt.want || !stopped {
					t.Errorf("took %v, stopped %v", took, stopped)
				}
			})
		})
	}
}

func TestCancelledIsNotAnswered(t *testing.T) {
	var out bytes.Buffer
	r := newTestReader(strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`+"\n"+
			`{"jsonrpc":"2.0","id":"1","method":"tools/call"}`+"\n"+
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n"+
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"unknown"}}`+"\n"), &out)
	r.stopped = closedChannel()
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Fatal(err)
	}
	if !r.requests.isCancelled(float64(1)) || r.requests.isCancelled("1") {
		t.Error("the wrong one is cancelled")
	}
	const second = `{"jsonrpc":"2.0","id":"1","result":{"id":1}}` + "\n"
	for _, m := range []string{`{"jsonrpc":"2.0","id":1,"error":{}}` + "\n", second} {
		if n, err := r.out.Write([]byte(m)); n != len(m) || err != nil {
			t.Error(n, err)
		}
	}
	if out.String() != second || len(r.requests.pending) != 0 {
		t.Errorf("wrote %q, %d pending", out.String(), len(r.requests.pending))
	}
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

type brokenStream struct{ err error }

func (b brokenStream) Read([]byte) (int, error)  { return 0, b.err }
func (b brokenStream) Write([]byte) (int, error) { return 0, b.err }

func run(ctx context.Context, in io.Reader, out io.Writer) (ended string, err error) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	err = Run(ctx, Config{
		Server: server.NewMCPServer("s", "1"), In: in, Out: out, Log: log, Turns: turns.New(log, time.Now),
		Ended: func(_ context.Context, c string) { ended += c },
	})
	return ended, err
}

func TestRunEnds(t *testing.T) {
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	broken := brokenStream{errors.New("broken stream")}
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("terminated"))
	for name, tt := range map[string]struct {
		ctx  context.Context
		in   io.Reader
		out  io.Writer
		want string
	}{
		"dev/null":     {t.Context(), strings.NewReader(""), io.Discard, ""},
		"end of input": {t.Context(), strings.NewReader(ping), io.Discard, ""},
		"signal":       {cancelled, strings.NewReader(""), io.Discard, ""},
		"input broken": {t.Context(), broken, io.Discard, "broken stream"},
		"host gone":    {t.Context(), io.MultiReader(strings.NewReader(ping+"\n"), silent{}), broken, "broken stream"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			ended, err := run(tt.ctx, tt.in, tt.out)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if took := time.Since(start); took > 10*time.Second || ended != Connection {
				t.Errorf("took %v, ended %q", took, ended)
			}
		})
	}
}

// silent is a host that says nothing for a while.
type silent struct{}

func (silent) Read([]byte) (int, error) {
	time.Sleep(300 * time.Millisecond)
	return 0, io.EOF
}

// TestBlockedOutput: a host that does not read cannot keep us.
func TestBlockedOutput(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	go func() { _, _ = io.WriteString(inW, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n") }()
	start := time.Now()
	_, err := run(ctx, inR, outW)
	if took := time.Since(start); err != nil || took > 10*time.Second {
		t.Errorf("took %v: %v", took, err)
	}
	outR.Close()
	inW.Close()
}
