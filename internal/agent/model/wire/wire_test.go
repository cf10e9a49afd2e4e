package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func none(string) (string, bool) { return "", false }

// client asks a handler.
func client(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	c := New(Service{Name: "Fake", URL: s.URL, Who: "FAKE_KEY", Model: "m", Secrets: []string{"hush-hush"}, Header: http.Header{"X-Key": {"hush-hush"}}, Lookup: none})
	t.Cleanup(func() { c.Close(); s.Close() })
	return c
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}
}

func collect(ctx context.Context, c *Client) (events []string, err error) {
	for e, err := range c.Stream(ctx, "/ask", []byte(`{}`)) {
		if err != nil {
			return events, err
		}
		events = append(events, e.Name+"|"+string(e.Data))
	}
	return events, nil
}

func TestEvents(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		events []string
		err    error
	}{
		"plain":                       {"data: {}\n\ndata: {\"b\":2}\n\n", []string{"|{}", `|{"b":2}`}, nil},
		"named, CRLF":                 {"event: x\r\ndata: {}\r\n\r\n", []string{"x|{}"}, nil},
		"comments and blank lines":    {": hi\n\n\n\nid: 1\nretry: 5\ndata:{}\n\n: bye\n", []string{"|{}"}, nil},
		"several lines":               {"data: {\"a\":\ndata: 1}\n\n", []string{"|{\"a\":\n1}"}, nil},
		"pings that are no objects":   {"data: ping\n\ndata: []\n\ndata: {}\n\n", []string{"|{}"}, nil},
		"a name without data":         {"event: x\n\ndata: {}\n\n", []string{"|{}"}, nil},
		"the last one without an end": {"data: {}\n\ndata: {\"b\":1}", []string{"|{}", `|{"b":1}`}, nil},
		"[DONE] without an end":       {"data: {}\n\ndata: [DONE]", []string{"|{}", "|[DONE]"}, nil},
		"half an event":               {"data: {}\n\ndata: {\"b\":", []string{"|{}"}, ErrCut},
		"a page":                      {"<html>\nno\n</html>", nil, ErrForeign},
		"nothing":                     {"", nil, nil},
	} {
		got, err := collect(t.Context(), client(t, says(c.body)))
		if !slices.Equal(got, c.events) || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestWholeJSON(t *testing.T) {
	body := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = io.WriteString(w, text)
		}
	}
	if got, err := collect(t.Context(), client(t, body("{\n\"a\": 1}\n"))); err != nil || !slices.Equal(got, []string{"json|{\n\"a\": 1}\n"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := collect(t.Context(), client(t, body("{"))); !errors.Is(err, ErrForeign) {
		t.Errorf("%v", err)
	}
}

func TestBounds(t *testing.T) {
	long := `data: {"x":"` + strings.Repeat("x", 1<<20) + "\"}\n\n"
	var n int
	var failed error
	for e, err := range read(strings.NewReader(strings.Repeat(long, 5)), 3<<20) {
		if failed = err; err == nil {
			n += len(e.Data)
		}
	}
	if !errors.Is(failed, ErrTooLong) || n > 3<<20 {
		t.Errorf("%d bytes, %v", n, failed)
	}
}

func TestRefusals(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "hush-hush" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", r.Header)
		}
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, "slow down, hush-hush"+strings.Repeat("!", maxRefusal))
	})
	_, err := collect(t.Context(), c)
	var refused *Refusal
	if !errors.As(err, &refused) || refused.Status != 429 || len(refused.Body) != maxRefusal || refused.RetryAfter != 3*time.Second {
		t.Fatalf("%v", err)
	}
	explained := c.Explain(err, func([]byte) Reading { return Reading{} })
	var e *model.Error
	if !errors.As(explained, &e) || e.Code != model.RateLimited || e.RetryAfter != 3*time.Second || strings.Contains(e.Error(), "hush") || !strings.Contains(e.Error(), "slow down, [redacted]") {
		t.Errorf("%v", explained)
	}
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for value, want := range map[string]time.Duration{
			"": 0, "3": 3 * time.Second, "-3": 0, "1.5": 1500 * time.Millisecond, "99999999999": 0, "soon": 0,
			time.Now().Add(time.Minute).UTC().Format(http.TimeFormat):  time.Minute,
			time.Now().Add(-time.Minute).UTC().Format(http.TimeFormat): 0,
		} {
			if got := retryAfter(http.Header{"Retry-After": {value}}); got != want {
				t.Errorf("%q: %v, want %v", value, got, want)
			}
		}
		if got := retryAfter(http.Header{"Retry-After": {"Fri, 31 Dec 9999 23:59:59 GMT"}}); got < 300*24*time.Hour || got > 366*24*time.Hour {
			t.Errorf("in the far future: %v", got)
		}
		if got := retryAfter(http.Header{"Retry-After": {"3"}, "Retry-After-Ms": {"250"}}); got != 250*time.Millisecond {
			t.Errorf("in milliseconds: %v", got)
		}
	})
}

func TestUnreachable(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	c := New(Service{Name: "Fake", URL: s.URL, Lookup: none})
	s.Close()
	_, err := collect(t.Context(), c)
	var e *model.Error
	if !errors.As(c.Explain(err, nil), &e) || e.Code != model.Unavailable || !strings.Contains(e.Message, "model.base_url") {
		t.Errorf("%v", err)
	}
	c.Close()
}

// TestUntrusted has a certificate that nobody knows.
func TestUntrusted(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	s.StartTLS()
	defer s.Close()
	c := New(Service{Name: "Fake", URL: s.URL, Lookup: none})
	defer c.Close()
	_, err := collect(t.Context(), c)
	var e *model.Error
	if !errors.As(c.Explain(err, nil), &e) || e.Code != model.Misconfigured || !strings.Contains(e.Message, "certificate") {
		t.Errorf("%v", err)
	}
}

// TestStall has an answer that goes silent after its first piece, and one that is
// slow to begin.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			before time.Duration
			err    error
		}{"slow to begin": {10 * time.Minute, nil}} {
			r, w := io.Pipe()
			ctx, cancel := context.WithCancelCause(t.Context())
			body := Watch(r, IdleTimeout, cancel)
			go func() {
				time.Sleep(c.before)
				_, _ = io.WriteString(w, "data: {}\n\n")
				<-ctx.Done()
				_ = w.CloseWithError(context.Cause(ctx))
			}()
			var got []string
			var failed error
			for e, err := range read(body, maxAnswer) {
				if failed = err; err == nil {
					got = append(got, string(e.Data))
				}
			}
			if !errors.Is(failed, ErrStalled) || len(got) != 1 {
				t.Errorf("%s: %q, %v", name, got, failed)
			}
			_ = body.Close()
		}
	})
}

func TestGenerate(t *testing.T) {
	reason := errors.New("gone")
	synctest.Test(t, func(t *testing.T) {
		waits := func(ctx context.Context, _ func(*model.Reply) bool) (*model.Reply, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("wrapped: %w", ctx.Err())
		}
		outcome := func(ctx context.Context, timeout time.Duration) error {
			var got error
			for _, err := range Generate(ctx, timeout, waits) {
				got = err
			}
			return got
		}
		code := func(err error) model.Code {
			var e *model.Error
			if errors.As(err, &e) {
				return e.Code
			}
			return ""
		}
		if err := outcome(t.Context(), time.Second); code(err) != model.Timeout || !strings.Contains(err.Error(), "model.timeout (1s)") {
			t.Errorf("%v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := outcome(ctx, time.Minute); code(err) != model.Timeout || !strings.Contains(err.Error(), "turn") {
			t.Errorf("%v", err)
		}
		ctx, stop := context.WithCancelCause(t.Context())
		stop(reason)
		if err := outcome(ctx, time.Minute); !errors.Is(err, reason) {
			t.Errorf("%v", err)
		}
	})
}

func TestContent(t *testing.T) {
	for _, c := range []struct {
		response map[string]any
		text     string
		failed   bool
	}{
		{nil, "", false},
		{map[string]any{}, "", false},
		{map[string]any{"output": "x"}, "x", false},
		{map[string]any{"error": "no"}, "no", true},
		{map[string]any{"output": nil}, "", false},
		{map[string]any{"output": map[string]any{"a": "<"}}, `{"a":"<"}`, false},
		{map[string]any{"output": "x", "more": 1}, `{"more":1,"output":"x"}`, false},
	} {
		text, failed, err := Output(&genai.FunctionResponse{Response: c.response})
		if text != c.text || failed != c.failed || err != nil {
			t.Errorf("%v: %q %v %v", c.response, text, failed, err)
		}
	}
	for in, ok := range map[string]bool{"": true, " null ": true, "{}": true, `{"a":12345678901234567890}`: true, "[]": false, "{": false, "{} {}": false, "{}]": false, `"x"`: false, `"{\"a\":1}"`: true} {
		if _, err := ReadArguments([]byte(in)); (err == nil) != ok {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("event: a\r\ndata: {}\r\n\r\n: x\n\ndata"))
	f.Fuzz(func(t *testing.T, in []byte) {
		ends := 0
		for e, err := range read(strings.NewReader(string(in)), 1<<20) {
			if err != nil {
				ends++
			} else if len(e.Data) == 0 {
				t.Error("an event without data")
			}
		}
		if ends > 1 {
			t.Error("it ended twice")
		}
	})
}

// TestReuse: whoever has what it wants leaves a connection that can be used again.
func TestReuse(t *testing.T) {
	connections := 0
	s := httptest.NewUnstartedServer(says("data: {}\n\ndata: [DONE]\n\n"))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections++
		}
	}
	s.Start()
	c := New(Service{Name: "Fake", URL: s.URL, Lookup: none})
	for range 5 {
		for _, err := range c.Stream(t.Context(), "/ask", []byte(`{}`)) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	c.Close()
	s.Close()
	if connections != 1 {
		t.Errorf("%d connections", connections)
	}
}

func TestFinish(t *testing.T) {
	for word, want := range map[string]Ending{
		"stop": Whole, "STOP": Whole, "TOOL_CALLS": Whole, "tool-calls": Whole, "end_turn": Whole, "length": Length, "MAX_TOKENS": Length,
		"content_filter": Withheld, "content-filter": Withheld, "MODEL_ARMOR": Withheld, "network_error": Failed, "": Unknown, "SOLAR_FLARE": Unknown,
	} {
		if got := Finish(word); got != want {
			t.Errorf("%s: %d, want %d", word, got, want)
		}
	}
}

func TestAddress(t *testing.T) {
	for raw, says := range map[string]string{
		"https://host/v1/": "", "\thttp://127.0.0.1:1\n": "", "": "must be a URL", "host/v1": "must be a URL", "ftp://host": "must be a URL",
		"https://u:p@host": "model.api_key", "https://host/v1?x=1": "without ?", "https://host/v1#x": "without ?", "https://host/v1/responses": "leave out /responses",
	} {
		u, err := Address(raw, "/responses")
		if says == "" && (err != nil || strings.HasSuffix(u.String(), "/")) || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v, %v", raw, u, err)
		}
	}
}

// TestNoHalfSecret: what is cut is cut after secrets are taken out, or half of one
// would stand at the end.
func TestNoHalfSecret(t *testing.T) {
	c := New(Service{Name: "Fake", Secrets: []string{"hush-hush-hush"}, Lookup: none})
	defer c.Close()
	e := c.Refusal(Reading{Status: 400, Message: strings.Repeat("x", maxMessage-6) + " hush-hush-hush"})
	if strings.Contains(e.Error(), "hush") {
		t.Errorf("%v", e)
	}
}
