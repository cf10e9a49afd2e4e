package gemini

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
	"github.com/adkmcp/adkmcp/internal/config"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// piece of an answer, and how long it takes to come.
type piece struct {
	after time.Duration
	text  string
}

// slowly answers with pieces and then keeps silent until the request ends.
func slowly(pieces ...piece) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		read, write := io.Pipe()
		go func() {
			for _, p := range pieces {
				select {
				case <-time.After(p.after):
				case <-r.Context().Done():
				}
				_, _ = io.WriteString(write, p.text)
				if p.text == ending {
					write.Close()
				}
			}
			<-r.Context().Done()
			write.CloseWithError(r.Context().Err())
		}()
		return &http.Response{StatusCode: http.StatusOK, Body: read, Header: http.Header{}, Request: r}, nil
	}
}

func withTransport(t *testing.T, timeout time.Duration, base http.RoundTripper) *Model {
	t.Helper()
	m, err := New(&config.Model{Name: "gemini-3-flash", Timeout: config.Duration(timeout)}, nil, Deps{
		Lookup: func(name string) (string, bool) { return "key", name == "GEMINI_API_KEY" },
		Log:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if m.client.made, err = newClient(t.Context(), &m.settings, base); err != nil {
		t.Fatal(err)
	}
	return m
}

func event(text string) string {
	return `data: {"candidates":[{"content":{"parts":[{"text":"` + text + `"}]}}]}` + "\n\n"
}

const ending = `data: {"candidates":[{"content":{"parts":[{"text":"!"}]},"finishReason":"STOP"}]}` + "\n\n"

func generate(ctx context.Context, m *Model) (partial string, reply *model.Reply, err error) {
	for r, err := range m.Generate(ctx, &model.Request{}) {
		switch {
		case err != nil:
			return partial, nil, err
		case r.Partial:
			partial += r.Content.Parts[0].Text
		default:
			reply = r
		}
	}
	return partial, reply, nil
}

func TestTime(t *testing.T) {
	stopped := errors.New("stopped by the caller")
	cases := []struct {
		name    string
		timeout time.Duration // of a call
		turn    time.Duration // of the context
		stop    time.Duration // the caller stops it
		pieces  []piece
		after   time.Duration
		code    model.Code
		says    string
		partial string
	}{
		{"a stalled stream", time.Hour, 0, 0, []piece{{time.Second, event("a")}, {59 * time.Second, event("b")}}, time.Minute + wire.IdleTimeout, model.StreamCut, "stopped in the middle: no data for " + wire.IdleTimeout.String(), "ab"},
		{"stalled behind the end", time.Hour, 0, 0, []piece{{time.Second, ending + "\n"}}, time.Second + wire.IdleTimeout, "", "", "!"},
		{"the call's timeout behind the end", 30 * time.Second, 0, 0, []piece{{time.Second, ending + "\n"}}, 30 * time.Second, "", "", "!"},
		{"cancelled behind the end", time.Hour, 0, 10 * time.Second, []piece{{time.Second, ending + "\n"}}, 10 * time.Second, "", stopped.Error(), "!"},
		{"long thoughts before the first piece", 5 * time.Minute, 0, 0, []piece{{4 * time.Minute, event("a")}, {0, ending}}, 4 * time.Minute, "", "", "a!"},
		{"the call's timeout", 30 * time.Second, 0, 0, []piece{{time.Second, event("a")}}, 30 * time.Second, model.Timeout, "within model.timeout (30s)", "a"},
		{"the call's timeout before anything came", 30 * time.Second, time.Hour, 0, nil, 30 * time.Second, model.Timeout, "within model.timeout (30s)", ""},
		{"the turn's deadline", 5 * time.Minute, 20 * time.Second, 0, []piece{{time.Second, event("a")}}, 20 * time.Second, model.Timeout, "the time for this turn ran out", "a"},
		{"cancelled", 5 * time.Minute, 0, 10 * time.Second, []piece{{time.Second, event("a")}}, 10 * time.Second, "", stopped.Error(), "a"},
	}
	var logged bytes.Buffer
	log.SetOutput(&logged) // genai prints there
	defer log.SetOutput(log.Default().Writer())
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if c.turn > 0 {
					var done context.CancelFunc
					ctx, done = context.WithTimeout(ctx, c.turn)
					defer done()
				}
				if c.stop > 0 {
					time.AfterFunc(c.stop, func() { cancel(stopped) })
				}
				begin := time.Now()
				partial, reply, err := generate(ctx, withTransport(t, c.timeout, slowly(c.pieces...)))
				if took := time.Since(begin); took != c.after || partial != c.partial {
					t.Errorf("took %v, want %v; partial %q", took, c.after, partial)
				}
				if c.says == "" {
					if err != nil || reply == nil {
						t.Errorf("error %v", err)
					}
					return
				}
				var e *model.Error
				errors.As(err, &e)
				if err == nil || !strings.Contains(err.Error(), c.says) || c.code != "" && (e == nil || e.Code != c.code) || c.code == "" && !errors.Is(err, stopped) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
	if logged.Len() > 0 {
		t.Errorf("on the standard logger: %s", &logged)
	}
}

func TestBreakingOffEndsTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ctx context.Context
		m := withTransport(t, time.Minute, roundTrip(func(r *http.Request) (*http.Response, error) {
			ctx = r.Context()
			return slowly(piece{0, event("a")})(r)
		}))
		for range m.Generate(t.Context(), &model.Request{}) {
			break
		}
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("the request goes on")
		}
	})
}

func TestEventStream(t *testing.T) {
	cases := []struct{ name, in, out string }{
		{"as it should be", "data: {\"a\":1}\n\ndata: {\"b\":2}\n\n", "data: {\"a\":1}\n\ndata: {\"b\":2}\n\n"},
		{"carriage returns", "data: {\"a\":1}\r\n\r\n", "data: {\"a\":1}\n\n"},
		{"comments", ": ping\n\n: ping\n\ndata: {}\n: pong\n\n:\n", "data: {}\n\n"},
		{"other fields", "event: message\nid: 7\nretry: 10\ndata: {}\n\n", "data: {}\n\n"},
		{"blank lines", "\n\n\ndata: {}\n\n\n\n", "data: {}\n\n"},
		{"no space", "data:{}\n\n", "data: {}\n\n"},
		{"the end of OpenAI's", "data: {}\n\ndata: [DONE]\n\n", "data: {}\n\n"},
		{"one event in several lines", "data: {\"a\":\ndata: 1}\n\n", "data: {\"a\": 1}\n\n"},
		{"no blank line at the end", "data: {\"a\":1}", "data: {\"a\":1}\n\n"},
		{"half an event", "data: {}\n\ndata: {\"a\"", "data: {}\n\ndata: {\"error\":{\"message\":\"an event that is not JSON\",\"status\":\"ADKMCP_STREAM_CUT\"}}\n\n"},
		{"nothing", "", ""},
		{"an error object", "[{\"error\":{\"code\":429,\"status\":\"X\"}}]\n", "data: {\"error\":{\"code\":429,\"status\":\"X\"}}\n\n"},
		{"something else", "<html>\nhello", "data: {\"error\":{\"message\":\"\\u003chtml\\u003e hello\",\"status\":\"ADKMCP_NOT_A_STREAM\"}}\n\n"},
		{"arguments", `data: {"candidates":[{"content":{"parts":[{"text":"a"},{"functionCall":{"args":{"n":1e400},"name":"f"}},{"functionCall":{"name":"g"}}]},"index":0}],"x":1}` + "\n\n",
			`data: {"candidates":[{"content":{"parts":[{"text":"a"},{"functionCall":{"args":{"adkmcp:raw":"{\"n\":1e400}"},"name":"f"}},{"functionCall":{"name":"g"}}]},"index":0}],"x":1}` + "\n\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for name, in := range map[string]io.Reader{"": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in))} {
				out, err := io.ReadAll(iotest.OneByteReader(newEventStream(io.NopCloser(in), maxAnswer)))
				if err != nil || string(out) != c.out {
					t.Errorf("%s: %v\n got %s\nwant %s", name, err, out, c.out)
				}
			}
		})
	}
	t.Run("a broken connection", func(t *testing.T) {
		in := io.MultiReader(strings.NewReader("data: {}\n\ndata: {\"ha"), iotest.ErrReader(io.ErrUnexpectedEOF))
		out, err := io.ReadAll(newEventStream(io.NopCloser(in), maxAnswer))
		want := "data: {}\n\ndata: {\"error\":{\"message\":\"unexpected EOF\",\"status\":\"ADKMCP_STREAM_CUT\"}}\n\n"
		if err != nil || string(out) != want {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("a large event", func(t *testing.T) {
		in := `data: {"a":"` + strings.Repeat("x", 3<<20) + `"}` + "\n\n"
		out, err := io.ReadAll(newEventStream(io.NopCloser(strings.NewReader(in)), maxAnswer))
		if err != nil || string(out) != in {
			t.Errorf("%v: %d bytes", err, len(out))
		}
	})
	t.Run("no end", func(t *testing.T) {
		out, err := io.ReadAll(newEventStream(io.NopCloser(io.MultiReader(strings.NewReader("data: {}\n\ndata: "), endless{})), 1<<20))
		want := fmt.Sprintf("data: {}\n\ndata: {\"error\":{\"message\":%q,\"status\":\"ADKMCP_STREAM_CUT\"}}\n\n", errTooLong)
		if err != nil || string(out) != want {
			t.Errorf("%v: %.200s", err, out)
		}
	})
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func FuzzEventStream(f *testing.F) {
	f.Add([]byte("data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"args\":{}}}]}}]}\r\n\r\n: x\n\ndata"))
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := io.ReadAll(newEventStream(io.NopCloser(bytes.NewReader(in)), maxAnswer))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range bytes.Split(out, []byte("\n\n")) {
			if len(e) > 0 && (!bytes.HasPrefix(e, []byte("data: ")) || bytes.ContainsAny(e, "\n")) {
				t.Errorf("genai cannot read %q", e)
			}
		}
	})
}
