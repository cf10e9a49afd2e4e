package mcpclient

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/adkmcp/adkmcp/internal/agent"
)

// serveArg has this program be an MCP server.
const serveArg = "serve-mcp"

// msg is a JSON-RPC message.
type msg = map[string]any

// testServer is an MCP server of 2025-11-25 that misbehaves as its mode says.
type testServer struct {
	mode string

	mu      sync.Mutex
	changed bool
	asked   int
	answers map[string]chan msg // to its own requests
}

// tools are those that it lists.
func (s *testServer) tools() []msg {
	s.mu.Lock()
	defer s.mu.Unlock()
	tool := func(name, description string, more msg) msg {
		t := msg{"name": name, "description": description, "inputSchema": msg{"type": "object"}}
		for k, v := range more {
			t[k] = v
		}
		return t
	}
	list := []msg{
		tool("echo", "Gives its arguments back.", msg{"annotations": msg{"readOnlyHint": true}}),
		tool("die", "Ends the server.", nil),
		tool("ask", "Asks the person.", nil),
		tool("headers", "Gives the request's headers.", nil),
		tool("progress", "Says how it goes.", nil),
		tool("change", "Changes what is listed.", nil),
		tool("env", "Gives the environment.", nil),
		tool("hang", "Never answers.", nil),
	}
	if s.changed {
		list = append(list, tool("new", "Was not there before.", nil))
	}
	return list
}

// handle answers a request. say sends other messages before the answer.
func (s *testServer) handle(ctx context.Context, m msg, header http.Header, say func(msg)) (msg, *msg) {
	params, _ := m["params"].(msg)
	switch m["method"] {
	case "initialize":
		return msg{"protocolVersion": "2025-11-25", "capabilities": msg{"tools": msg{"listChanged": true}, "resources": msg{}, "prompts": msg{}}, "serverInfo": msg{"name": "test", "version": "1"}}, nil
	case "tools/list":
		return msg{"tools": s.tools()}, nil
	case "resources/list":
		return msg{"resources": []msg{{"uri": "demo://1", "name": "one"}}, "_meta": msg{"x": 1}}, nil
	case "resources/read":
		return msg{"contents": []msg{{"uri": params["uri"], "text": "its text"}}}, nil
	case "prompts/list":
		return msg{"prompts": []msg{{"name": "hello"}}}, nil
	case "prompts/get":
		return msg{"messages": []msg{{"role": "user", "content": msg{"type": "text", "text": fmt.Sprint("hi ", params["arguments"])}}}}, nil
	case "tools/call":
		return s.call(ctx, params, header, say)
	case "ping":
		return msg{}, nil
	}
	return nil, &msg{"code": -32601, "message": "no such method"}
}

func text(s string) msg { return msg{"content": []msg{{"type": "text", "text": s}}} }

func (s *testServer) call(ctx context.Context, params msg, header http.Header, say func(msg)) (msg, *msg) {
	meta, _ := params["_meta"].(msg)
	switch params["name"] {
	case "echo":
		args, _ := json.Marshal(params["arguments"])
		return text(fmt.Sprintf("%s hops %v", args, meta[agent.MetaHops])), nil
	case "die":
		fmt.Fprintln(os.Stderr, "last words")
		os.Exit(3)
	case "headers":
		shown, _ := json.Marshal(header)
		return text(string(shown)), nil
	case "env":
		return text(strings.Join(os.Environ(), "\n")), nil
	case "progress":
		say(msg{"jsonrpc": "2.0", "method": "notifications/progress", "params": msg{"progressToken": meta["progressToken"], "progress": 1, "message": "halfway"}})
		return text("done"), nil
	case "change":
		s.mu.Lock()
		s.changed = true
		s.mu.Unlock()
		say(msg{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
		return text("changed"), nil
	case "ask":
		answer := s.request(ctx, say, "elicitation/create", msg{"message": "Which\u200b one?", "requestedSchema": msg{"type": "object", "properties": msg{"x": msg{"type": "string"}}}})
		shown, _ := json.Marshal(answer["result"])
		return text(string(shown)), nil
	case "hang":
		select {}
	}
	return nil, &msg{"code": -32602, "message": "no such tool"}
}

// request asks the client something.
func (s *testServer) request(ctx context.Context, say func(msg), method string, params msg) msg {
	s.mu.Lock()
	s.asked++
	id := fmt.Sprint("s-", s.asked)
	answer := make(chan msg, 1)
	if s.answers == nil {
		s.answers = map[string]chan msg{}
	}
	s.answers[id] = answer
	s.mu.Unlock()
	say(msg{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	select {
	case m := <-answer:
		return m
	case <-ctx.Done():
		return nil
	}
}

// answered takes the answer to a request of ours, if m is one.
func (s *testServer) answered(m msg) bool {
	if _, isRequest := m["method"]; isRequest {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.answers[fmt.Sprint(m["id"])]; c != nil {
		c <- m
	}
	return true
}

// serve speaks over pipes until in ends.
func (s *testServer) serve(in io.Reader, out io.Writer) {
	switch s.mode {
	case "fails":
		fmt.Fprintln(os.Stderr, "cannot start: no licence")
		os.Exit(2)
	case "banner":
		fmt.Fprintln(out, "Welcome to the server!")
	case "silent":
		_, _ = io.Copy(io.Discard, in)
		return
	}
	var mu sync.Mutex
	say := func(m msg) {
		mu.Lock()
		defer mu.Unlock()
		_ = json.NewEncoder(out).Encode(m)
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var m msg
		d := json.NewDecoder(strings.NewReader(lines.Text()))
		d.UseNumber()
		if d.Decode(&m) != nil || s.answered(m) || m["id"] == nil {
			continue
		}
		go func() {
			result, err := s.handle(context.Background(), m, nil, say)
			say(response(m, result, err))
		}()
	}
}

func response(m, result msg, err *msg) msg {
	r := msg{"jsonrpc": "2.0", "id": m["id"]}
	if err != nil {
		r["error"] = *err
	} else {
		r["result"] = result
	}
	return r
}

// site is a testServer over streamable HTTP, whose sessions can be forgotten.
type site struct {
	testServer

	mu       sync.Mutex
	sessions map[string]bool
	started  int
	seen     []http.Header // of all requests
	cut      bool          // the next call is cut off after it was read
}

func (s *site) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = nil
}

// cutNext has the next call cut off.
func (s *site) cutNext() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = true
}

// sessionCount is how many sessions there have been.
func (s *site) sessionCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

// ServeHTTP implements [http.Handler].
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m msg
	d := json.NewDecoder(r.Body)
	d.UseNumber()
	if r.Method == http.MethodPost && d.Decode(&m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.seen = append(s.seen, r.Header.Clone())
	known := s.sessions[r.Header.Get("Mcp-Session-Id")]
	cut := s.cut && m["method"] == "tools/call"
	s.cut = s.cut && !cut
	if m["method"] == "initialize" {
		s.started++
		id := fmt.Sprint("session-", s.started)
		if s.sessions == nil {
			s.sessions = map[string]bool{}
		}
		s.sessions[id], known = true, true
		w.Header().Set("Mcp-Session-Id", id)
	}
	s.mu.Unlock()
	switch {
	case m["method"] == "server/discover":
		w.WriteHeader(http.StatusBadRequest)
	case !known:
		w.WriteHeader(http.StatusNotFound)
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case cut:
		panic(http.ErrAbortHandler)
	case s.answered(m) || m["id"] == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(m msg) {
			line, _ := json.Marshal(m)
			_, _ = fmt.Fprintf(w, "data: %s\n\n", line)
			w.(http.Flusher).Flush()
		}
		result, err := s.handle(r.Context(), m, r.Header, say)
		say(response(m, result, err))
	}
}
