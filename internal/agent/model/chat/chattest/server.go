// Package chattest is a server of the Chat Completions API for tests: it plays
// scripted answers over HTTP on a loopback port, in the manner of one of the servers
// that there are, and refuses requests that the strictest of them refuse.
//
// Start with [Start]; [Manners] lists the manners. strict.go and schema.go hold what
// is refused, answer.go what an answer looks like.
package chattest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
)

// Server is the server. It is safe for concurrent use.
type Server struct {
	// URL is the base_url, with a path.
	URL string
	// Key, if set before the first request, is the only key that is valid.
	Key string
	// Tolerant takes every request, where a test says itself what is refused.
	Tolerant bool
	// Extra are members of a request that are taken besides the API's own.
	Extra []string

	manner   Manner
	http     *httptest.Server
	mu       sync.Mutex
	answers  []Answer
	requests []*Request
	refusals []string
	calls    int               // ids given so far
	thoughts map[string]string // what was thought before a call, by the call's id
}

// Request is a request as it came.
type Request struct {
	Header   http.Header
	Body     []byte
	Messages []Message // as far as they could be read
	Tools    []string  // names
	Schema   json.RawMessage
}

// Start starts a server that has the manner of another. The caller closes it.
func Start(m Manner) *Server {
	s := &Server{manner: m, thoughts: make(map[string]string)}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL + "/v1"
	return s
}

// Close ends the server and drops its connections.
func (s *Server) Close() { s.http.CloseClientConnections(); s.http.Close() }

// Play queues answers. A request beyond them is refused.
func (s *Server) Play(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, answers...)
}

// Requests lists the requests so far, refused ones included.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Refusals lists why requests were refused. A status that an answer has is none.
func (s *Server) Refusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refusals)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" {
		s.fail(w, http.StatusNotFound, "not_found_error", "404 page not found")
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	request := &Request{Header: r.Header, Body: body}
	if s.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.Key {
		s.fail(w, http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided")
		return
	}
	answer, id, err := s.take(request)
	if err != nil {
		s.fail(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	if answer.Status != 0 {
		s.writeFailure(w, answer)
		return
	}
	s.write(w, r, answer, id)
}

// take checks a request and gives its answer, and the number of the first of the ids
// that the answer's calls get.
func (s *Server) take(r *Request) (Answer, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	err := s.check(r)
	if s.Tolerant {
		err = nil
	}
	if err == nil && len(s.answers) == 0 {
		err = fmt.Errorf("the test has no more answers")
	}
	if err != nil {
		s.refusals = append(s.refusals, err.Error())
		return Answer{}, 0, err
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	first := s.calls
	s.calls += len(answer.Calls)
	for i := range answer.Calls {
		if id := s.manner.id(&answer, i, first); id != "" && answer.Thought != "" {
			s.thoughts[id] = answer.Thought
		}
	}
	return answer, first, nil
}

// fail refuses a request in the server's form.
func (s *Server) fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, s.manner.failure(status, code, message))
}

func (s *Server) writeFailure(w http.ResponseWriter, a Answer) {
	if a.RetryAfter != "" {
		w.Header().Set("Retry-After", a.RetryAfter)
	}
	switch {
	case a.Body != "":
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(a.Status)
		_, _ = io.WriteString(w, a.Body)
	case a.Overflow:
		s.fail(w, a.Status, s.manner.OverflowCode, s.manner.Overflow)
	default:
		s.fail(w, a.Status, "", "what went wrong with "+strconv.Itoa(a.Status))
	}
}

// write sends an answer as a stream, or whole.
func (s *Server) write(w http.ResponseWriter, r *http.Request, a Answer, id int) {
	if s.manner.Whole && !a.Cut && !a.HalfEvent && !a.Hang && a.Events == nil {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, s.manner.whole(&a, id))
		return
	}
	events := a.Events
	if events == nil {
		events = s.manner.stream(&a, id)
	}
	flow := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	_ = flow.Flush()
	for _, event := range events {
		if s.manner.Comments {
			_, _ = io.WriteString(w, ": OPENROUTER PROCESSING\n\n")
		}
		_, _ = io.WriteString(w, "data: "+event+"\n\n")
		_ = flow.Flush()
	}
	switch {
	case a.Hang:
		<-r.Context().Done()
	case a.HalfEvent:
		_, _ = io.WriteString(w, `data: {"id":"c","choices":[{"ind`)
	case a.Cut:
		_, _ = io.WriteString(w, `data: {"id":"c","choi`)
		_ = flow.Flush()
		if conn, _, err := flow.Hijack(); err == nil {
			_ = conn.Close()
		}
	case !s.manner.NoDone: // also without a finish_reason, as of a server that lost its engine
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
}
