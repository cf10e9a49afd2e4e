package httpserver

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
)

// sink carries the response to one POST: the library's answer, and what goes
// before it. The library's own way for notifications loses some and sends
// others to the wrong stream, so ours go out here, and its answer follows as
// the last event if a stream has begun. It implements the library's
// HTTPResponseWriter.
type sink struct {
	w  http.ResponseWriter
	rc *http.ResponseController
	// stream: the client takes an event stream.
	stream bool
	// lost is called when the client does not take what is written any more:
	// it has gone, or has not read for writeTimeout.
	lost func(error)

	mu     sync.Mutex
	status int  // what was sent, 0 before
	events bool // an event stream was begun
}

func newSink(w http.ResponseWriter, r *http.Request, lost func(error)) *sink {
	return &sink{w: w, rc: http.NewResponseController(w), stream: accepts(r, "text/event-stream"), lost: lost}
}

// accepts reports whether the request names the media type among those that it
// takes. A wildcard does not count: a client that means streams says so.
func accepts(r *http.Request, mediaType string) bool {
	for _, value := range r.Header.Values("Accept") {
		for item := range strings.SplitSeq(value, ",") {
			name, _, _ := strings.Cut(item, ";")
			if strings.EqualFold(strings.TrimSpace(name), mediaType) {
				return true
			}
		}
	}
	return false
}

// Header is the response's header.
func (s *sink) Header() http.Header { return s.w.Header() }

// CanStream says whether the library may begin a stream.
func (s *sink) CanStream() bool { return s.stream }

// WriteHeader begins the response, unless a stream has.
func (s *sink) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(status)
}

func (s *sink) begin(status int) {
	if s.status != 0 {
		return
	}
	s.status = status
	s.events = strings.HasPrefix(s.w.Header().Get("Content-Type"), "text/event-stream")
	if s.events {
		s.w.Header().Set("X-Accel-Buffering", "no") // nginx would hold events back
		s.w.Header().Set("Cache-Control", "no-cache")
	}
	extend(s.rc)
	s.w.WriteHeader(status)
}

// Write writes a part of the library's answer, which in a stream is one event.
// It hides that the client has gone: the library would log an error for what
// clients do all the time, and has nothing else to do about it.
func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(http.StatusOK)
	if !s.events || bytes.HasPrefix(p, []byte("event:")) || bytes.HasPrefix(p, []byte("id:")) {
		extend(s.rc)
		if _, err := s.w.Write(p); err != nil {
			s.lost(err)
		}
		return len(p), nil
	}
	_ = s.event(p) // which has told of an error
	return len(p), nil
}

// Flush sends what has been written.
func (s *sink) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	extend(s.rc)
	_ = s.rc.Flush()
}

// notify sends a notification as an event, and begins the stream if need be.
func (s *sink) notify(message []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.beginStream() {
		return nil
	}
	return s.event(message)
}

// keepAlive sends a comment, which clients skip.
func (s *sink) keepAlive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.beginStream() {
		return nil
	}
	return s.flush([]byte(": keep-alive\n\n"))
}

// beginStream reports whether events can be sent.
func (s *sink) beginStream() bool {
	if s.status == 0 && s.stream {
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.begin(http.StatusOK)
	}
	return s.events
}

func (s *sink) event(message []byte) error {
	message = bytes.TrimRight(message, "\n")
	frame := make([]byte, 0, len(message)+len("event: message\ndata: \n\n"))
	frame = append(frame, "event: message\ndata: "...)
	frame = append(frame, message...)
	return s.flush(append(frame, "\n\n"...))
}

func (s *sink) flush(p []byte) error {
	extend(s.rc)
	_, err := s.w.Write(p)
	if err == nil {
		err = s.rc.Flush()
	}
	if err != nil {
		s.lost(err)
	}
	return err
}
