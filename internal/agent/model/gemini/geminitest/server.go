// Package geminitest is a Gemini service for tests: it plays scripted replies
// over HTTP on a loopback port and refuses, as the real service does, requests
// that break its rules.
//
// Start with [Start]. Replies are put together with [Chunk], [Final], [Call]
// and their siblings; [Server.Refusals] tells what was wrong with requests that
// were refused.
package geminitest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model/servicetest"
)

// Server is the service. It is safe for concurrent use.
type Server struct {
	// Its URL is the service's address, for a model's base_url.
	*servicetest.Server[Request]
	// Key, if set before the first request, is the only API key that is
	// valid. Without it any key is.
	Key string

	script Script
	mu     sync.Mutex
	said   [][]*genai.Part // what the model said, one entry per reply
}

// Script gives the reply to a request that breaks no rule. It is called by
// several goroutines at the same time if requests come so.
type Script func(r *Request) Reply

// Play is a script of replies in order. Whoever asks for more gets status 400.
func Play(replies ...Reply) Script {
	return servicetest.Play[Request](Fail(400, "INVALID_ARGUMENT", "the script of the test has no more replies"), replies...)
}

// Request is a request as it came.
type Request struct {
	N        int // counts from 0, refused ones included
	Model    string
	Vertex   bool // it came to Vertex AI's address
	Header   http.Header
	Body     []byte
	Contents []*genai.Content
	System   string
	Tools    []*genai.FunctionDeclaration
	Hosted   []string // what the service is to run itself, such as googleSearch
}

// Start starts a service. The caller closes it; ctx counts for the start only.
func Start(ctx context.Context, script Script) (*Server, error) {
	s := &Server{script: script}
	var err error
	if s.Server, err = servicetest.Start[Request](ctx, s.serve); err != nil {
		return nil, err
	}
	return s, nil
}

var path = regexp.MustCompile(`/models/([^/:]+):(streamGenerateContent|generateContent)$`)

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	m := path.FindStringSubmatch(r.URL.Path)
	if m == nil || r.Method != http.MethodPost {
		write(w, Fail(404, "NOT_FOUND", "no method at "+r.URL.Path))
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	request := &Request{Model: m[1], Vertex: strings.Contains(r.URL.Path, "/v1beta1/"), Header: r.Header, Body: body}
	s.Keep(request, &request.N)

	reply := Fail(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers")
	switch key := r.Header.Get("X-Goog-Api-Key"); {
	case key == "" && r.Header.Get("Authorization") == "":
	case s.Key != "" && key != s.Key:
		reply = Fail(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.",
			`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}`)
	default:
		if err := s.check(request); err != nil {
			s.Refuse(err.Error())
			reply = Fail(400, "INVALID_ARGUMENT", err.Error())
			break
		}
		reply = s.script(request)
		s.remember(reply)
	}
	if m[2] == "generateContent" && reply.Chunks != nil {
		reply = whole(reply)
	}
	write(w, reply)
	if reply.Hang {
		<-r.Context().Done()
	}
}

// wireTool is one entry of a request's tools.
type wireTool struct {
	FunctionDeclarations []*genai.FunctionDeclaration `json:"functionDeclarations"`
	GoogleSearch         *struct{}                    `json:"googleSearch"`
	URLContext           *struct{}                    `json:"urlContext"`
	CodeExecution        *struct{}                    `json:"codeExecution"`
}

func (t *wireTool) hosted() []string {
	var names []string
	for name, set := range map[string]bool{"googleSearch": t.GoogleSearch != nil, "urlContext": t.URLContext != nil, "codeExecution": t.CodeExecution != nil} {
		if set {
			names = append(names, name)
		}
	}
	return names
}

type wireToolConfig struct {
	FunctionCallingConfig            any  `json:"functionCallingConfig"`
	RetrievalConfig                  any  `json:"retrievalConfig"`
	IncludeServerSideToolInvocations bool `json:"includeServerSideToolInvocations"`
}

// check reads a request and holds it against the service's rules.
func (s *Server) check(r *Request) error {
	var wire struct {
		Contents          []rawContent   `json:"contents"`
		SystemInstruction *genai.Content `json:"systemInstruction"`
		Tools             []wireTool     `json:"tools"`
		ToolConfig        wireToolConfig `json:"toolConfig"`
		GenerationConfig  map[string]any `json:"generationConfig"`
		SafetySettings    any            `json:"safetySettings"`
		CachedContent     any            `json:"cachedContent"`
		Labels            any            `json:"labels"`
	}
	if err := decode(r.Body, &wire); err != nil {
		return refusal("Invalid JSON payload received. " + err.Error())
	}
	if wire.SystemInstruction != nil {
		for _, p := range wire.SystemInstruction.Parts {
			r.System += p.Text
		}
	}
	for _, t := range wire.Tools {
		r.Tools = append(r.Tools, t.FunctionDeclarations...)
		r.Hosted = append(r.Hosted, t.hosted()...)
	}
	if err := CheckTools(r.Tools); err != nil {
		return err
	}
	if err := checkMixed(r, wire.ToolConfig.IncludeServerSideToolInvocations); err != nil {
		return err
	}
	if err := checkOutput(wire.GenerationConfig, len(wire.Tools) > 0); err != nil {
		return err
	}
	if err := checkSettings(r.Model, wire.GenerationConfig); err != nil {
		return err
	}
	for i := range wire.Contents {
		c, err := wire.Contents[i].content()
		if err != nil {
			return fmt.Errorf("contents[%d]: %w", i, err)
		}
		r.Contents = append(r.Contents, c)
	}
	s.mu.Lock()
	said := slices.Clone(s.said)
	s.mu.Unlock()
	return checkContents(r, said)
}

// checkMixed holds functions beside tools of the service's own against the rules on
// them ("Combine built-in tools and function calling"): models before Gemini 3 do not
// take both; the Gemini API demands a flag that Vertex AI does not know.
func checkMixed(r *Request, flag bool) error {
	switch mixed := len(r.Tools) > 0 && len(r.Hosted) > 0; {
	case r.Vertex && flag:
		return refusal(`Invalid JSON payload received. Unknown name "includeServerSideToolInvocations" at 'tool_config': Cannot find field.`)
	case mixed && r.Vertex && oldModel.MatchString(r.Model):
		return refusal("Multiple tools are supported only when they are all search tools.")
	case mixed && oldModel.MatchString(r.Model):
		return refusal("Tool use with function calling is unsupported")
	case mixed && !r.Vertex && !flag:
		return refusal("Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.")
	}
	return nil
}

// remember keeps what the model said, so that it can be recognised when it
// comes back.
func (s *Server) remember(r Reply) {
	var parts []*genai.Part
	for _, chunk := range r.Chunks {
		var c struct { // genai's own type reads numbers as floating point
			Candidates []struct {
				Content struct {
					Parts []json.RawMessage `json:"parts"`
				} `json:"content"`
			} `json:"candidates"`
		}
		if json.Unmarshal([]byte(chunk), &c) != nil || len(c.Candidates) == 0 {
			continue
		}
		for _, raw := range c.Candidates[0].Content.Parts {
			p := &genai.Part{}
			if decode(raw, p) == nil {
				parts = append(parts, p)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, normal(parts))
}

// write sends a reply as an event stream, or as the body that it has.
func write(w http.ResponseWriter, r Reply) {
	for name, value := range r.Header {
		w.Header().Set(name, value)
	}
	if r.Chunks == nil {
		w.WriteHeader(r.Status)
		_, _ = io.WriteString(w, r.Body)
		return
	}
	flow := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(r.Status)
	_ = flow.Flush()
	for i, chunk := range r.Chunks {
		if r.Pace != nil {
			r.Pace(i)
		}
		text := "data: " + chunk + "\r\n\r\n"
		if r.Noise {
			text = ": ping\n\nevent: message\nid: 1\n" + text + "\n\n: pong\n\n\n"
		}
		_, _ = io.WriteString(w, text)
		_ = flow.Flush()
	}
	if r.Noise {
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
	if r.Half {
		_, _ = io.WriteString(w, `data: {"candidates": [{"content`)
	}
	if r.Cut {
		_, _ = io.WriteString(w, `data: {"candidates": [{"content`)
		_ = flow.Flush()
		if conn, _, err := flow.Hijack(); err == nil {
			_ = conn.Close()
		}
	}
}

// whole is a streamed reply as generateContent gives it.
func whole(r Reply) Reply {
	all := map[string]any{}
	var parts []any
	for _, chunk := range r.Chunks {
		var c map[string]any
		if err := decode([]byte(chunk), &c); err != nil {
			return Fail(500, "INTERNAL", err.Error())
		}
		for k, v := range c {
			all[k] = v
		}
		candidates, _ := c["candidates"].([]any)
		for _, candidate := range candidates {
			content, _ := candidate.(map[string]any)["content"].(map[string]any)
			more, _ := content["parts"].([]any)
			parts = append(parts, more...)
			if content != nil {
				content["parts"] = parts
			}
		}
	}
	body, err := json.Marshal(all)
	if err != nil {
		return Fail(500, "INTERNAL", err.Error())
	}
	return Reply{Status: r.Status, Header: map[string]string{"Content-Type": "application/json"}, Body: string(body)}
}
