package httpserver

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// line is a response writer that keeps what is written and wants a deadline
// before every write.
type line struct {
	t       *testing.T
	header  http.Header
	log     strings.Builder
	timed   bool
	broken  error
	flushes int
	lost    int
}

func (l *line) Header() http.Header { return l.header }

func (l *line) WriteHeader(status int) {
	l.log.WriteString(http.StatusText(status) + " " + l.header.Get("Content-Type") + "\n")
}

func (l *line) Write(p []byte) (int, error) {
	if !l.timed {
		l.t.Error("a write without a deadline")
	}
	l.timed = false
	l.log.Write(p)
	return len(p), l.broken
}

func (l *line) Flush() { l.flushes++ }

func (l *line) SetWriteDeadline(at time.Time) error {
	l.timed = at.After(time.Now()) && at.Before(time.Now().Add(writeTimeout+time.Second))
	return nil
}

func newTestSink(t *testing.T, accept string) (*sink, *line) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	l := &line{t: t, header: make(http.Header)}
	return newSink(l, r, func(error) { l.lost++ }), l
}

const both = "application/json, Text/Event-Stream;q=0.9"

func TestSink(t *testing.T) {
	notify := func(s *sink) error { return s.notify([]byte(`{"n":1}`)) }
	answer := func(s *sink) error { // as the library writes its last word
		s.Header().Set("Content-Type", "application/json")
		s.WriteHeader(http.StatusOK)
		_, err := s.Write([]byte("{\"id\":1}\n"))
		return err
	}
	upgrade := func(s *sink) error { // as the library begins a stream
		s.Header().Set("Content-Type", "text/event-stream")
		s.WriteHeader(http.StatusOK)
		_, err := s.Write([]byte("event: message\ndata: {\"n\":0}\n\n"))
		s.Flush()
		return err
	}
	accepted := func(s *sink) error { s.WriteHeader(http.StatusAccepted); return nil }
	const stream = "OK text/event-stream\n"
	for name, tt := range map[string]struct {
		accept string
		steps  []func(*sink) error
		want   string
	}{
		"answer only":          {both, []func(*sink) error{answer}, "OK application/json\n{\"id\":1}\n"},
		"progress first":       {both, []func(*sink) error{notify, notify, answer}, stream + "event: message\ndata: {\"n\":1}\n\nevent: message\ndata: {\"n\":1}\n\nevent: message\ndata: {\"id\":1}\n\n"},
		"alive first":          {both, []func(*sink) error{(*sink).keepAlive, answer}, stream + ": keep-alive\n\nevent: message\ndata: {\"id\":1}\n\n"},
		"no stream wanted":     {"application/json, */*", []func(*sink) error{(*sink).keepAlive, notify, answer}, "OK application/json\n{\"id\":1}\n"},
		"nothing said":         {"", []func(*sink) error{notify, answer}, "OK application/json\n{\"id\":1}\n"},
		"the library began":    {both, []func(*sink) error{upgrade, notify, upgrade}, stream + "event: message\ndata: {\"n\":0}\n\nevent: message\ndata: {\"n\":1}\n\nevent: message\ndata: {\"n\":0}\n\n"},
		"too late for streams": {both, []func(*sink) error{answer, notify}, "OK application/json\n{\"id\":1}\n"},
		"nothing to answer":    {both, []func(*sink) error{accepted}, "Accepted \n"},
	} {
		t.Run(name, func(t *testing.T) {
			s, l := newTestSink(t, tt.accept)
			for _, step := range tt.steps {
				if err := step(s); err != nil {
					t.Error(err)
				}
			}
			if got := l.log.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if strings.HasPrefix(tt.want, stream) && (l.flushes == 0 || l.header.Get("X-Accel-Buffering") != "no") {
				t.Errorf("%d flushes, %v", l.flushes, l.header)
			}
		})
	}
}

// TestSinkSaysWhenTheClientIsLost, so that nobody writes on and on.
func TestSinkSaysWhenTheClientIsLost(t *testing.T) {
	s, l := newTestSink(t, both)
	l.broken = errors.New("lost")
	if err := s.keepAlive(); !errors.Is(err, l.broken) {
		t.Errorf("got %v", err)
	}
	if l.lost != 1 {
		t.Error("the call does not hear of it")
	}
}

// A client that has gone is no error of the library's, which would log one.
func TestSinkKeepsALostClientToItself(t *testing.T) {
	for _, contentType := range []string{"application/json", "text/event-stream"} {
		s, l := newTestSink(t, both)
		l.broken = errors.New("lost")
		s.Header().Set("Content-Type", contentType)
		if n, err := s.Write([]byte("{}\n")); n != 3 || err != nil || l.lost != 1 {
			t.Errorf("%s: %d, %v, heard %d times", contentType, n, err, l.lost)
		}
	}
}

// gone is the response to a client that has gone.
type gone struct{ header http.Header }

func (g gone) Header() http.Header       { return g.header }
func (g gone) WriteHeader(int)           {}
func (g gone) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestLostClientIsLoggedAtDebug(t *testing.T) {
	var log bytes.Buffer
	s := open(t, func(c *Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(toolCall))
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "canary",
	} {
		r.Header.Set(name, value)
	}
	s.server.ServeHTTP(gone{make(http.Header)}, r)
	if got := log.String(); s.calls.Load() != 1 || !strings.Contains(got, "broken pipe") || strings.Contains(got, "level=ERROR") || strings.Contains(got, "level=WARN") {
		t.Errorf("after %d calls: %s", s.calls.Load(), got)
	}
}
