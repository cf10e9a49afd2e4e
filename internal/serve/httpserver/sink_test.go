package httpserver

import (
	"errors"
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
	l.log.Write(p)
	return len(p), l.broken
}

func (l *line) Flush() { l.flushes++ }

func (l *line) SetWriteDeadline(at time.Time) error {
	l.timed = at.After(time.Now()) && at.Before(time.Now().Add(writeTimeout+time.Second))
	return nil
}

func newTestSink(t *testing.T, stream bool) (*sink, *line) {
	t.Helper()
	l := &line{t: t, header: make(http.Header)}
	return newSink(newEvents(l, writeTimeout), stream, func(error) { l.lost++ }), l
}

func TestAccepts(t *testing.T) {
	for accept, want := range map[string]bool{
		both: true, "text/event-stream": true, "application/json, */*": false, "text/*": false, "": false, "application/json, text/event-streams": false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", nil)
		r.Header.Set("Accept", accept)
		if accepts(r, "text/event-stream") != want {
			t.Errorf("%q: %v", accept, !want)
		}
	}
}

func TestSink(t *testing.T) {
	notify := func(s *sink) error { return s.notify([]byte(`{"n":1}`)) }
	answer := func(s *sink) error { s.respond(http.StatusBadRequest, []byte(`{"id":1}`)); return nil }
	late := func(s *sink) error {
		if s.notify([]byte(`{"n":2}`)) == nil || s.keepAlive() == nil {
			return errors.New("something came after the response")
		}
		return nil
	}
	quit := func(s *sink) error { s.quit(); return nil }
	lines := func(s *sink) error { return s.notify([]byte("{\n\"n\": \r\n1}")) }
	const stream = "OK text/event-stream\n"
	for name, tt := range map[string]struct {
		stream bool
		steps  []func(*sink) error
		want   string
	}{
		"answer only":          {true, []func(*sink) error{answer, late}, "Bad Request application/json\n{\"id\":1}\n"},
		"progress first":       {true, []func(*sink) error{notify, notify, answer, late}, stream + "event: message\ndata: {\"n\":1}\n\nevent: message\ndata: {\"n\":1}\n\nevent: message\ndata: {\"id\":1}\n\n"},
		"alive first":          {true, []func(*sink) error{(*sink).keepAlive, answer}, stream + ": keep-alive\n\nevent: message\ndata: {\"id\":1}\n\n"},
		"several lines":        {true, []func(*sink) error{lines}, stream + "event: message\ndata: {\"n\":1}\n\n"},
		"no stream":            {false, []func(*sink) error{answer, late}, "Bad Request application/json\n{\"id\":1}\n"},
		"cancelled":            {true, []func(*sink) error{quit, late}, stream},
		"cancelled in stream":  {true, []func(*sink) error{notify, quit, late}, stream + "event: message\ndata: {\"n\":1}\n\n"},
		"cancelled, no stream": {false, []func(*sink) error{quit, late}, "Accepted \n"},
	} {
		t.Run(name, func(t *testing.T) {
			s, l := newTestSink(t, tt.stream)
			for _, step := range tt.steps {
				if err := step(s); err != nil {
					t.Error(err)
				}
			}
			if got := l.log.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if strings.HasPrefix(tt.want, stream+"e") && (l.flushes == 0 || l.header.Get("X-Accel-Buffering") != "no") {
				t.Errorf("%d flushes, %v", l.flushes, l.header)
			}
		})
	}
}

// TestSinkSaysWhenTheClientIsLost, so that nobody writes on and on.
func TestSinkSaysWhenTheClientIsLost(t *testing.T) {
	for name, write := range map[string]func(*sink) error{
		"alive":    (*sink).keepAlive,
		"notify":   func(s *sink) error { return s.notify([]byte("{}")) },
		"response": func(s *sink) error { s.respond(200, []byte("{}")); return errors.New("told") },
	} {
		s, l := newTestSink(t, true)
		l.broken = errors.New("lost")
		if err := write(s); err == nil || l.lost != 1 {
			t.Errorf("%s: %v, heard %d times", name, err, l.lost)
		}
	}
}

// gone is the response to a client that has gone.
type gone struct{ header http.Header }

func (g gone) Header() http.Header       { return g.header }
func (g gone) WriteHeader(int)           {}
func (g gone) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestLostClientIsLoggedAtDebug(t *testing.T) {
	s := open(t, nil)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(toolCall))
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "canary",
	} {
		r.Header.Set(name, value)
	}
	s.server.ServeHTTP(gone{make(http.Header)}, r)
	if got := s.log.String(); s.calls.Load() != 1 || !strings.Contains(got, "broken pipe") || strings.Contains(got, "level=ERROR") || strings.Contains(got, "level=WARN") {
		t.Errorf("after %d calls: %s", s.calls.Load(), got)
	}
}
