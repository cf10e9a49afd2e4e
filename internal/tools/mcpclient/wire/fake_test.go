package wire

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// script is a RoundTripper that needs no network, so that time can be fake. Each
// request takes the next of steps; the last one stays.
type script struct {
	steps []step
	began time.Time

	mu  sync.Mutex
	log []string // METHOD, the time since began, and Last-Event-ID
}

// step answers a request: with err, or a status and a stream.
type step struct {
	err    error
	status int // 0 is 200
	kind   string
	texts  []string // of the stream, in turn
	open   bool     // the stream stays open after them
}

func stream(texts ...string) step { return step{texts: texts} }

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, strings.TrimSpace(fmt.Sprint(r.Method, " ", time.Since(s.began), " ", r.Header.Get("Last-Event-ID"))))
	next := s.steps[0]
	if len(s.steps) > 1 {
		s.steps = s.steps[1:]
	}
	if next.err != nil {
		return nil, next.err
	}
	res := &http.Response{StatusCode: max(next.status, 200), Header: http.Header{"Content-Type": {"text/event-stream"}}}
	if next.kind != "" {
		res.Header.Set("Content-Type", next.kind)
	}
	out, in := io.Pipe()
	res.Body = out
	stop := context.AfterFunc(r.Context(), func() { _ = in.CloseWithError(r.Context().Err()) })
	go func() {
		for _, text := range next.texts {
			_, _ = io.WriteString(in, text)
		}
		if !next.open {
			stop()
			_ = in.Close()
		}
	}()
	return res, nil
}

func (s *script) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log
}
