// Package openaitest is OpenAI's Responses API for tests: it plays scripted answers
// over HTTP on a loopback port and refuses, as the real service does, requests that
// break its rules.
//
// Start with [Start]. Answers are put together with [Answer], [Text], [Call] and
// their siblings; [Server.Refusals] tells what was wrong with requests that were
// refused. strict.go has the rules on requests, schema.go those on schemas.
package openaitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/adkmcp/adkmcp/internal/agent/model/servicetest"
)

// Server is the service. It is safe for concurrent use.
type Server struct {
	// Its URL is the address of the API, for a model's base_url.
	*servicetest.Server[Request]
	// Key, if set before the first request, is the only API key that is valid.
	Key string
	// Unverified, if set before the first request, is what the organization is not: its
	// models that think neither stream nor show summaries of their thoughts.
	Unverified bool

	script Script
	mu     sync.Mutex
	said   map[string]json.RawMessage // items of the service's own, by id
	leads  map[string]string          // from those to the thoughts right before them
}

// Script gives the reply to a request that breaks no rule. It is called by several
// goroutines at the same time if requests come so.
type Script func(r *Request) Reply

// Play is a script of replies in order. Whoever asks for more gets status 400.
func Play(replies ...Reply) Script {
	return servicetest.Play[Request](Fail(http.StatusBadRequest, "", "the script of the test has no more replies"), replies...)
}

// Request is a request as it came.
type Request struct {
	N      int // counts from 0, refused ones included
	Header http.Header
	Body   []byte

	Model        string
	Instructions string
	Items        []*Item
	Tools        []*Tool
	Include      []string
	Effort       string          // of thoughts
	Schema       json.RawMessage // that the answer is held to; nil for none
	Strict       bool            // with Schema
	Stream       bool
}

// Start starts a service. The caller closes it; ctx counts for the start only.
func Start(ctx context.Context, script Script) (*Server, error) {
	s := &Server{script: script, said: map[string]json.RawMessage{}, leads: map[string]string{}}
	var err error
	if s.Server, err = servicetest.Start[Request](ctx, s.serve); err != nil {
		return nil, err
	}
	s.URL += "/v1"
	return s, nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/responses" {
		write(w, Fail(http.StatusNotFound, "", "Invalid URL ("+r.Method+" "+r.URL.Path+")"))
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	request := &Request{Header: r.Header, Body: body}
	s.Keep(request, &request.N)
	reply := s.reply(request)
	write(w, reply)
	if reply.Hang {
		<-r.Context().Done()
	}
}

func (s *Server) reply(r *Request) Reply {
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok:
		return Fail(http.StatusUnauthorized, "", "You didn't provide an API key.")
	case s.Key != "" && key != s.Key:
		return Fail(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided: "+key+".")
	case r.Header.Get("Content-Type") != "application/json":
		return Fail(http.StatusBadRequest, "unsupported_content_type", "Unsupported content type")
	}
	if err := s.check(r); err != nil {
		var refused *refusal
		if !errors.As(err, &refused) {
			refused = &refusal{message: err.Error()}
		}
		if !refused.expected {
			s.Refuse(refused.message)
		}
		reply := Fail(http.StatusBadRequest, refused.code, refused.message)
		reply.Body = strings.Replace(reply.Body, `"param":null`, fmt.Sprintf(`"param":%q`, refused.param), 1)
		return reply
	}
	reply := s.script(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, o := range reply.output {
		s.said[o.ID] = o.Raw
		if n > 0 && strings.Contains(string(reply.output[n-1].Raw), `"encrypted_content"`) {
			s.leads[o.ID] = reply.output[n-1].ID
		}
	}
	if !r.Stream && reply.Events != nil {
		return reply.Whole()
	}
	return reply
}

// refusal is what the service says. One that is expected is for the client to
// correct, since nothing tells it beforehand.
type refusal struct {
	param, code, message string
	expected             bool
}

// Error implements error.
func (r *refusal) Error() string { return r.message }

// refuse is a refusal in the service's words.
func refuse(param, format string, args ...any) error {
	return &refusal{param: param, message: fmt.Sprintf(format, args...)}
}

// write sends a reply as an event stream, or as the body that it has.
func write(w http.ResponseWriter, r Reply) {
	for name, value := range r.Header {
		w.Header().Set(name, value)
	}
	if r.Events == nil {
		w.WriteHeader(r.Status)
		_, _ = io.WriteString(w, r.Body)
		return
	}
	flow := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(r.Status)
	_ = flow.Flush()
	for i, event := range r.Events {
		if r.Pace != nil {
			r.Pace(i)
		}
		var kind struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal([]byte(event), &kind) // a broken one has no name
		text := "event: " + kind.Type + "\ndata: " + event + "\n\n"
		if r.Noise {
			text = ": ping\n\nid: 1\r\n" + strings.ReplaceAll(text, "\n", "\r\n") + "\n: pong\n\n\n" + `data: {"type":"response.not_known","delta":{"x":1}}` + "\n\n"
		}
		_, _ = io.WriteString(w, text)
		_ = flow.Flush()
	}
	if r.Noise {
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
	if r.Half || r.Cut {
		_, _ = io.WriteString(w, "event: response.completed\ndata: {\"type\":\"response.comp")
		_ = flow.Flush()
	}
	if r.Cut {
		if conn, _, err := flow.Hijack(); err == nil {
			_ = conn.Close()
		}
	}
}
