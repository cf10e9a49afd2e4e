package stdio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReader(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	for name, tt := range map[string]struct {
		in   string
		want []string
	}{
		"lines":             {"{}\n[]\n", []string{"{}", "[]"}},
		"no end":            {"{}\n[]", []string{"{}", "[]"}},
		"blank":             {"\n \r\n\t\n{}\r\n\n", []string{"{}"}},
		"nothing":           {"", nil},
		"byte order mark":   {"\xef\xbb\xbf{}\n\xef\xbb\xbf{}\n", []string{"{}", "\xef\xbb\xbf{}"}},
		"just short enough": {long + "\nx\n", []string{long, "x"}},
		"too long":          {long + "x\n{}\n", []string{"too long", "{}"}},
		"too long, no end":  {long + "x", []string{"too long"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reader{src: bufio.NewReaderSize(strings.NewReader(tt.in), 64<<10)}
			var got []string
			for {
				line, err := r.next()
				if errors.Is(err, io.EOF) {
					break
				}
				if errors.Is(err, errTooLong) {
					line = []byte("too long")
				}
				got = append(got, string(line))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("read %.80q", got)
			}
		})
	}
}

// repeat gives the same chunk until n bytes are out.
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
	_, err := run(t.Context(), echo{}, &repeat{64 << 20, strings.Repeat("a", 64<<10)}, &out)
	runtime.ReadMemStats(&after)
	if err != nil || !strings.Contains(out.String(), "longer than 4194304 bytes") {
		t.Errorf("wrote %q, %v", out.String(), err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 6*MaxLine {
		t.Errorf("%d bytes allocated", used)
	}
}

// TestJunk: whatever comes in gets an error or nothing, and the next request
// its answer.
func TestJunk(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":"last","method":"ping"}`
	long := strings.Repeat("x", MaxLine)
	for name, tt := range map[string]struct{ in, want string }{
		"no JSON":               {"hello", `"id":null,"error":{"code":-32700`},
		"a list":                {"[1]", `"id":null,"error":{"code":-32600`},
		"a batch":               {`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `"id":null,"error":{"code":-32600`},
		"a number":              {"5", `"id":null,"error":{"code":-32600`},
		"blank":                 {" \t", ""},
		"framing":               {"Content-Length: 45\r\n\r\n" + ping, `"id":null,"error":{"code":-32700,"message":"a Content-Length header`},
		"a key twice":           {`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`, `"code":-32700`},
		"a key in another case": {`{"jsonrpc":"2.0","id":1,"METHOD":"ping"}`, `has \"METHOD\" where the protocol has \"method\"`},
		"no version":            {`{"id":1,"method":"ping"}`, `"id":1,"error":{"code":-32600`},
		"an id that is none":    {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `"id":null,"error":{"code":-32600`},
		"id null":               {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, `"id":null,"error":{"code":-32600`},
		"no method":             {`{"jsonrpc":"2.0","id":1}`, `"id":1,"error":{"code":-32600`},
		"a response":            {`{"jsonrpc":"2.0","id":1,"result":{}}`, ""},
		"an odd response":       {`{"jsonrpc":"2.0","id":1,"error":5}`, ""},
		"deep":                  {`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}", "nested deeper"},
		"too long":              {long + "x", "longer than"},
		"too long, with id":     {`{"jsonrpc":"2.0","id":"q","method":"` + long + `"}`, `"id":"q","error":{"code":-32600`},
		"too long, id later":    {`{"params":{"id":5,"x":"` + long + `"},"id":7}`, `"id":null,"error":{"code":-32600`},
		"a notification":        {`{"jsonrpc":"2.0","method":"notifications/anything"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if _, err := run(t.Context(), echo{}, strings.NewReader(tt.in+"\n"+ping+"\n"), &out); err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(strings.TrimSuffix(out.String(), "\n"), "\n")
			answered := strings.Contains(out.String(), `{"jsonrpc":"2.0","id":"last","result":"ping"}`)
			if want := len(lines) == 1 && tt.want == "" || tt.want != "" && strings.Contains(out.String(), tt.want); !want || !answered {
				t.Errorf("wrote %.300s", out.String())
			}
		})
	}
}

// echo answers with the method's name.
type echo struct{}

func (echo) Handle(_ context.Context, m *rpc.Message) *rpc.Response {
	return rpc.Succeed(m.ID, m.Method)
}

// patient answers after a time, or when it is stopped.
type patient struct{ after time.Duration }

func (p patient) Handle(ctx context.Context, m *rpc.Message) *rpc.Response {
	turns.PeerOf(ctx).Entered()
	select {
	case <-time.After(p.after):
	case <-ctx.Done():
	}
	return rpc.Succeed(m.ID, "done")
}

// TestEndIsHeldBack until the answers are out, but not for ever, and not for
// what never ends by itself.
func TestEndIsHeldBack(t *testing.T) {
	for name, tt := range map[string]struct {
		method      string
		takes, want time.Duration
	}{
		"answered":     {"tools/call", 200 * time.Millisecond, 200 * time.Millisecond},
		"not answered": {"tools/call", time.Hour, eofGrace},
		"listening":    {"subscriptions/listen", time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var out bytes.Buffer
				_, err := run(t.Context(), patient{tt.takes}, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+tt.method+`"}`+"\n"), &out)
				if took := time.Since(start); err != nil || took != tt.want || !strings.Contains(out.String(), `"done"`) {
					t.Errorf("took %v, wrote %q: %v", took, out.String(), err)
				}
			})
		})
	}
}

type brokenStream struct{ err error }

func (b brokenStream) Read([]byte) (int, error)  { return 0, b.err }
func (b brokenStream) Write([]byte) (int, error) { return 0, b.err }

func run(ctx context.Context, h rpc.Handler, in io.Reader, out io.Writer) (ended string, err error) {
	log := slog.New(slog.DiscardHandler)
	err = Run(ctx, Config{
		Handler: h, In: in, Out: out, Log: log, Turns: turns.New(log, time.Now),
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
			ended, err := run(tt.ctx, echo{}, tt.in, tt.out)
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
	_, err := run(ctx, echo{}, inR, outW)
	if took := time.Since(start); err != nil || took > 10*time.Second {
		t.Errorf("took %v: %v", took, err)
	}
	outR.Close()
	inW.Close()
}
