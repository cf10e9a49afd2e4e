// Package anthropictest is Anthropic's Messages API for tests: it plays scripted
// replies over HTTP on a loopback port and refuses, as the real service does, requests
// that break its rules.
//
// Start with [Start]. Replies are put together with [Stream], [Text], [Call] and their
// siblings (reply.go); [Server.Refusals] tells what was wrong with requests that were
// refused (strict.go, blocks.go, schema.go).
package anthropictest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/adkmcp/adkmcp/internal/agent/model/servicetest"
)

// Server is the service. It is safe for concurrent use.
type Server struct {
	// Its URL is the service's address, for a model's base_url.
	*servicetest.Server[Request]
	// Key is the only key that is valid, for x-api-key or as a bearer.
	Key string

	script   Script
	mu       sync.Mutex
	thoughts map[string]minted // by signature, or data of redacted ones
}

// Script gives the reply to a request that breaks no rule. It is called by several
// goroutines at the same time if requests come so.
type Script func(r *Request) Reply

// Play is a script of replies in order. Whoever asks for more gets status 400.
func Play(replies ...Reply) Script {
	return servicetest.Play[Request](Fail(400, "invalid_request_error", "the script of the test has no more replies"), replies...)
}

// Request is a request as it came.
type Request struct {
	N        int // counts from 0, refused ones included
	Header   http.Header
	Body     []byte
	Model    string
	System   string
	Messages []Message
	Tools    []Tool
	Format   json.RawMessage // the schema of the answer
	Thinking json.RawMessage
	Effort   string
}

// Start starts a service. The caller closes it; ctx counts for the start only.
func Start(ctx context.Context, key string, script Script) (*Server, error) {
	s := &Server{Key: key, script: script, thoughts: map[string]minted{}}
	var err error
	if s.Server, err = servicetest.Start[Request](ctx, s.serve); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	request := &Request{Header: r.Header, Body: body}
	s.Keep(request, &request.N)
	reply := s.answer(r, request)
	s.remember(request, reply)
	s.write(w, reply)
	if reply.Hang {
		<-r.Context().Done()
	}
}

// answer holds a request against the rules, and plays the script.
func (s *Server) answer(r *http.Request, request *Request) Reply {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" || r.URL.RawQuery != "" {
		return s.refuse(404, "not_found_error", "Not found: "+r.Method+" "+r.URL.String())
	}
	given := r.Header.Get("X-Api-Key")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && given == "" {
		given = bearer
	}
	if given != s.Key {
		return s.refuse(401, "authentication_error", "invalid x-api-key")
	}
	if r.Header.Get("Anthropic-Version") != "2023-06-01" {
		return s.refuse(400, "invalid_request_error", "anthropic-version: header is required")
	}
	if r.Header.Get("Content-Type") != "application/json" {
		return s.refuse(400, "invalid_request_error", "content-type must be application/json")
	}
	if err := s.check(request); err != nil {
		if unknown := new(unknownModel); errors.As(err, &unknown) {
			return s.refuse(404, "not_found_error", unknown.Error())
		}
		return s.refuse(400, "invalid_request_error", err.Error())
	}
	return s.script(request)
}

func (s *Server) refuse(status int, kind, message string) Reply {
	s.Refuse(message)
	return Fail(status, kind, message)
}

// remember keeps the thoughts of a reply, which must come back as they were.
func (s *Server) remember(request *Request, r Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	prefix := request.prefix()
	for _, b := range r.Blocks {
		switch b.kind {
		case "thinking":
			s.thoughts[b.signature] = minted{strings.Join(b.pieces, ""), prefix}
		case "redacted_thinking":
			s.thoughts[b.data] = minted{"", prefix}
		}
	}
}

// write sends a reply as an event stream, or as the body that it has.
func (s *Server) write(w http.ResponseWriter, r Reply) {
	for name, value := range r.Header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Request-Id", "req_fake")
	if r.Body != "" {
		w.WriteHeader(r.Status)
		_, _ = io.WriteString(w, r.Body)
		return
	}
	flow := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	_ = flow.Flush()
	for _, e := range r.events() {
		_, _ = io.WriteString(w, "event: "+e.name+"\ndata: "+e.data+"\n\n")
		_ = flow.Flush()
	}
	if r.Half {
		_, _ = io.WriteString(w, "event: content_block_delta\ndata: {\"type\":\"content_bl")
	}
	if r.Cut {
		_ = flow.Flush()
		if conn, _, err := flow.Hijack(); err == nil {
			_ = conn.Close()
		}
	}
}
