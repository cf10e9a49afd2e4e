package httpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
)

// errAnswered: the response to a request has been sent, and nothing comes after it.
var errAnswered = errors.New("the request has been answered")

// events writes an event stream.
type events struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration // for one write
}

func newEvents(w http.ResponseWriter, timeout time.Duration) events {
	return events{w: w, rc: http.NewResponseController(w), timeout: timeout}
}

// begin sends the header.
func (e *events) begin() {
	h := e.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	extend(e.rc, e.timeout)
	e.w.WriteHeader(http.StatusOK)
}

// send sends one event.
func (e *events) send(name string, data []byte) error {
	frame := make([]byte, 0, len(data)+len(name)+len("event: \ndata: \n\n"))
	frame = append(frame, "event: "...)
	frame = append(frame, name...)
	frame = append(frame, "\ndata: "...)
	frame = append(frame, data...)
	return e.write(append(frame, "\n\n"...))
}

// message sends a JSON-RPC message.
func (e *events) message(m []byte) error {
	if bytes.ContainsAny(m, "\r\n") { // which would end the event's data
		var line bytes.Buffer
		if err := json.Compact(&line, m); err != nil {
			return err
		}
		m = line.Bytes()
	}
	return e.send("message", m)
}

// keepAlive sends a comment, which clients skip.
func (e *events) keepAlive() error { return e.write([]byte(": keep-alive\n\n")) }

func (e *events) write(p []byte) error {
	extend(e.rc, e.timeout)
	defer relax(e.rc)
	if _, err := e.w.Write(p); err != nil {
		return err
	}
	return e.rc.Flush()
}

// sink carries the response to one POST, and what goes before it: then it is an
// event stream, and the response its last event.
type sink struct {
	events
	// stream: the client takes an event stream.
	stream bool
	// lost is called when the client does not take what is written any more:
	// it has gone, or has not read for the time of a write.
	lost func(error)

	mu       sync.Mutex
	begun    bool // the stream
	answered bool
}

func newSink(e events, stream bool, lost func(error)) *sink {
	return &sink{events: e, stream: stream, lost: lost}
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

// notify sends a message before the response, and begins the stream if need be.
func (s *sink) notify(message []byte) error {
	return s.before(func() error { return s.message(message) })
}

// keepAlive sends a comment before the response.
func (s *sink) keepAlive() error { return s.before(s.events.keepAlive) }

func (s *sink) before(write func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answered {
		return errAnswered
	}
	if !s.begun {
		s.begun = true
		s.begin()
	}
	return s.told(write())
}

func (s *sink) told(err error) error {
	if err != nil {
		s.lost(err)
	}
	return err
}

// respond sends the response. In a stream it has no status any more.
func (s *sink) respond(status int, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = true
	if s.begun {
		_ = s.told(s.message(body)) // there is nobody left to tell
		return
	}
	s.w.Header().Set("Content-Type", "application/json")
	extend(s.rc, s.timeout)
	s.w.WriteHeader(status)
	_, err := s.w.Write(body)
	if err == nil {
		_, err = s.w.Write([]byte("\n"))
	}
	_ = s.told(err)
}

// quit ends what the client has cancelled, which gets no response: the stream
// ends, and a client that takes none hears that its request is done with.
func (s *sink) quit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = true
	switch {
	case s.begun:
	case s.stream:
		s.begin()
	default:
		s.w.WriteHeader(http.StatusAccepted)
	}
}
