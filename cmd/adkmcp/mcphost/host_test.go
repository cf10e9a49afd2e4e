package mcphost

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// asChild as the first argument makes this program a server over stdio. The second
// one says of what protocol versions: any, or those with a handshake only.
const asChild = "child"

func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != asChild {
		os.Exit(m.Run())
	}
	era := os.Args[2]
	var out io.Writer = &locked{w: os.Stdout}
	in, w := io.Pipe()
	go func() {
		lines := bufio.NewReader(os.Stdin)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				_ = w.CloseWithError(err)
				return
			}
			var req struct {
				ID     json.RawMessage
				Method string
			}
			if era == "legacy" && json.Unmarshal([]byte(line), &req) == nil && req.Method == "server/discover" {
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", req.ID)
				continue
			}
			_, _ = io.WriteString(w, line)
		}
	}()
	if err := server.NewStdioServer(newServer()).Listen(context.Background(), in, out); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

const form = `{"type":"object","properties":{"z":{"type":"string"},"b":{"type":"integer","minimum":1},"a":{"type":"string"}},"required":["z","b"]}`

// newServer has a tool that asks two questions and gives the answers, one that
// says whether it may ask, one that gives a block of every kind, and one that
// never ends.
func newServer() *server.MCPServer {
	s := server.NewMCPServer("test", "1", server.WithResourceCapabilities(false, false))
	s.AddTool(mcp.NewTool("ask"), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		one, two := server.ElicitationResponse(req.Params.InputResponses, "one"), server.ElicitationResponse(req.Params.InputResponses, "two")
		if one == nil || two == nil {
			elicit := func(message, form string) mcp.ElicitationParams {
				return mcp.ElicitationParams{Mode: mcp.ElicitationModeForm, Message: message, RequestedSchema: json.RawMessage(form)}
			}
			return server.NewInputRequestBuilder("").Elicit("one", elicit("One?", form)).Elicit("two", elicit("Two?", `{"type":"object","properties":{}}`)).ToolResult(), nil
		}
		text, err := json.Marshal([]any{one.Action, one.Content, two.Action})
		return mcp.NewToolResultText(string(text)), err
	})
	s.AddTool(mcp.NewTool("may"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		may := false
		if info := server.RequestProtocolInfoFromContext(ctx); info.Modern {
			may = info.ClientCapabilities.Elicitation != nil
		} else if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
			may = session.GetClientCapabilities().Elicitation != nil
		}
		return mcp.NewToolResultText(fmt.Sprint(may)), nil
	})
	size := int64(3)
	s.AddTool(mcp.NewTool("show"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		link := mcp.NewResourceLink("adkmcp://1", "a.txt", "", "text/plain")
		link.Size = &size
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{
			mcp.NewTextContent("text"), mcp.NewImageContent("aW1n", "image/png"), mcp.NewAudioContent("", "audio/wav"), link,
			mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: "x:1", MIMEType: "text/plain", Text: "inside"}),
			mcp.NewEmbeddedResource(mcp.BlobResourceContents{URI: "x:2", MIMEType: "a/b", Blob: "AAE="}),
			mcp.NewImageContent("%", "image/png"),
		}}, nil
	})
	s.AddTool(mcp.NewTool("wait"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	s.AddResource(mcp.NewResource("adkmcp://1", "a.txt"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{
			mcp.TextResourceContents{URI: "adkmcp://1", MIMEType: "text/plain", Text: "all"},
			mcp.BlobResourceContents{URI: "adkmcp://1", Blob: "%"},
		}, nil
	})
	return s
}

// servers are the ways to reach the server.
func servers(t *testing.T) map[string]*Server {
	t.Helper()
	remote := func(h http.Handler, path string) *Server {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		r, err := Remote(Address{URL: s.URL + path, Token: "secret", Patience: time.Minute, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	private := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer secret" {
				t.Errorf("%s without the token", r.URL.Path)
			}
			h.ServeHTTP(w, r)
		})
	}
	all := map[string]*Server{
		"http":        remote(private(server.NewStreamableHTTPServer(newServer())), "/mcp"),
		"http legacy": remote(private(server.NewStreamableHTTPServer(newServer(), server.WithStreamableHTTPProtocolVersions(mcp.LegacyProtocolVersions()...))), "/mcp"),
		"sse":         remote(private(server.NewSSEServer(newServer())), "/sse"),
	}
	t.Setenv("GORACE", "atexit_sleep_ms=0") // or a child with the race detector sleeps before it exits
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, era := range map[string]string{"stdio": "any", "stdio legacy": "legacy"} {
		all[name] = Start(Program{Command: []string{self, asChild, era}, Stderr: io.Discard})
	}
	return all
}

// connect connects until the end of the test.
func connect(t *testing.T, ctx context.Context, s *Server, ask func(context.Context, Question) (Reply, error)) *Host {
	t.Helper()
	h, err := s.Connect(ctx, Options{Name: "test", Version: "1", Patience: time.Minute, Ask: ask})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func TestAsk(t *testing.T) {
	for name, s := range servers(t) {
		if !s.Asks() { // over the deprecated SSE: nothing to test
			continue
		}
		t.Run(name, func(t *testing.T) {
			var asking atomic.Int32
			var mu sync.Mutex
			var order []string
			h := connect(t, t.Context(), s, func(_ context.Context, q Question) (Reply, error) {
				if asking.Add(1) > 1 {
					t.Error("two questions at the same time")
				}
				defer asking.Add(-1)
				if q.Message == "Two?" {
					return Reply{Action: "decline"}, nil
				}
				mu.Lock()
				defer mu.Unlock()
				order = names(q.Schema)
				return Reply{Action: "accept", Content: json.RawMessage(`{"z":"x","b":2}`)}, nil
			})
			r, err := h.Call(t.Context(), "ask", nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := `["accept",{"b":2,"z":"x"},"decline"]`; len(r.Blocks) != 1 || r.Blocks[0].Text != want {
				t.Errorf("got %+v", r)
			}
			if diff := cmp.Diff([]string{"z", "b", "a"}, order); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// names are those of the properties, in their order.
func names(schema json.RawMessage) (names []string) {
	var s struct{ Properties json.RawMessage }
	_ = json.Unmarshal(schema, &s)
	for _, part := range strings.Split(string(s.Properties), `":{`) {
		if i := strings.LastIndexByte(part, '"'); i >= 0 && !strings.HasSuffix(part, "}") {
			names = append(names, part[i+1:])
		}
	}
	return names
}

// TestMayAsk sees that the server is offered questions only if somebody answers.
func TestMayAsk(t *testing.T) {
	for name := range servers(t) {
		t.Run(name, func(t *testing.T) {
			for want, ask := range map[string]func(context.Context, Question) (Reply, error){
				"false": nil,
				"true":  func(context.Context, Question) (Reply, error) { return Reply{}, nil },
			} {
				s := servers(t)[name]
				if !s.Asks() {
					want = "false"
				}
				r, err := connect(t, t.Context(), s, ask).Call(t.Context(), "may", nil)
				if err != nil || r.Blocks[0].Text != want {
					t.Errorf("got %+v, %v, want %s", r, err, want)
				}
			}
		})
	}
}

// TestAskEnds ends the connection's context, the call's, or the connection
// while somebody is asked.
func TestAskEnds(t *testing.T) {
	for name := range servers(t) {
		if name == "sse" {
			continue
		}
		ends := []string{"life", "call", "close", "error"}
		if name == "stdio" {
			ends = ends[:1] // the others are those of http
		}
		for _, what := range ends {
			t.Run(name+" "+what, func(t *testing.T) {
				life, kill := context.WithCancel(t.Context())
				defer kill()
				call, hangUp := context.WithCancel(t.Context())
				defer hangUp()
				asked, ended := make(chan bool), make(chan bool)
				var once sync.Once
				h := connect(t, life, servers(t)[name], func(ctx context.Context, _ Question) (Reply, error) {
					first := false
					once.Do(func() { first = true })
					if !first {
						return Reply{Action: "cancel"}, nil
					}
					close(asked)
					defer close(ended)
					if what != "error" {
						<-ctx.Done()
					}
					return Reply{}, errors.New("no")
				})
				over := make(chan error, 1)
				go func() {
					_, err := h.Call(call, "ask", nil)
					over <- err
				}()
				<-asked
				switch what {
				case "life":
					kill()
				case "call":
					hangUp()
				case "close":
					hangUp() // or the library waits for an answer to HTTP for ever
					h.Close()
				}
				if err := <-over; err == nil {
					t.Error("the call ended well")
				}
				if what == "call" {
					h.Close() // a server of the old protocol does not tell that the call has ended
				}
				<-ended
			})
		}
	}
}

func TestResult(t *testing.T) {
	size := int64(3)
	want := []Block{
		{Kind: Text, Text: "text"},
		{Kind: Image, MIMEType: "image/png", Data: []byte("img")},
		{Kind: Audio, MIMEType: "audio/wav", Data: []byte{}},
		{Kind: Link, URI: "adkmcp://1", Name: "a.txt", MIMEType: "text/plain", Size: &size},
		{Kind: Resource, URI: "x:1", MIMEType: "text/plain", Text: "inside"},
		{Kind: Resource, URI: "x:2", MIMEType: "a/b", Data: []byte{0, 1}},
	}
	for name, s := range servers(t) {
		t.Run(name, func(t *testing.T) {
			h := connect(t, t.Context(), s, nil)
			if tools := h.Tools(); !slices.Equal(tools, []string{"ask", "may", "show", "wait"}) {
				t.Errorf("tools: %q", tools)
			}
			r, err := h.Call(t.Context(), "show", map[string]any{"x": 1})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, r.Blocks); diff != "" || !r.IsError || len(r.Unreadable) != 1 {
				t.Errorf("%s\n%+v", diff, r)
			}
			blocks, err := h.Read(t.Context(), "adkmcp://1")
			if diff := cmp.Diff([]Block{{Kind: Resource, URI: "adkmcp://1", MIMEType: "text/plain", Text: "all"}}, blocks); diff != "" || err == nil {
				t.Errorf("%v\n%s", err, diff)
			}
			if _, err := h.Read(t.Context(), "adkmcp://2"); err == nil {
				t.Error("read what there is not")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			if _, err := h.Call(ctx, "wait", nil); err == nil {
				t.Error("the call ended")
			}
		})
	}
}

// TestConnectInterrupted ends the wait for a server that says nothing.
func TestConnectInterrupted(t *testing.T) {
	called := make(chan bool, 1)
	mute := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		called <- true
		<-r.Context().Done()
	}))
	defer mute.Close()
	for _, path := range []string{"/mcp", "/sse"} {
		s, err := Remote(Address{URL: mute.URL + path, Patience: time.Hour, Timeout: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-called; cancel() }()
		if _, err := s.Connect(ctx, Options{Patience: time.Hour}); err == nil {
			t.Error("connected")
		}
	}
}

// TestPage has a server ask in the mode that it was not offered.
func TestPage(t *testing.T) {
	e := newElicitor(t.Context(), func(context.Context, Question) (Reply, error) { return Reply{Action: "accept"}, nil }, &sifter{})
	r, err := e.Elicit(t.Context(), mcp.ElicitationRequest{Params: mcp.ElicitationParams{Mode: mcp.ElicitationModeURL, URL: "http://127.0.0.1/"}})
	if err == nil {
		t.Errorf("got %+v", r)
	}
}

// TestPings calls an SSE server that pings, before each answer, with the numbers
// that requests have as a rule.
func TestPings(t *testing.T) {
	out := make(chan string)
	answers := map[string]string{
		"initialize": `"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"x","version":"1"},"capabilities":{"tools":{}}}`,
		"tools/list": `"result":{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`,
		"tools/call": `"result":{"content":[{"type":"text","text":"well"}]}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
			var req struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.NewDecoder(r.Body).Decode(&req)
			answer, ok := answers[req.Method]
			if !ok {
				answer = `"error":{"code":-32601,"message":"no such method"}`
			}
			if req.ID == nil {
				return
			}
			for i := range 10 {
				out <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)
			}
			out <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, req.ID, answer)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: endpoint\ndata: /message\n\n")
		for {
			w.(http.Flusher).Flush()
			select {
			case message := <-out:
				fmt.Fprintf(w, "event: message\ndata: %s\n\n", message)
			case <-r.Context().Done():
				return
			}
		}
	}))
	defer s.Close()
	r, err := Remote(Address{URL: s.URL + "/sse", Patience: time.Minute, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	h := connect(t, t.Context(), r, nil)
	defer h.Close()
	if got, err := h.Call(t.Context(), "x", nil); err != nil || got.Blocks[0].Text != "well" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestLateAnswer sends an answer for which a person took longer than the
// library waits.
func TestLateAnswer(t *testing.T) {
	arrived := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- string(body)
	}))
	defer s.Close()
	r, err := Remote(Address{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	c := r.conn.(*streamable)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	post := func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewBufferString("answer"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{Transport: c}).Do(req)
		if err == nil {
			res.Body.Close()
		}
		return err
	}
	if err := post(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request that is too late: %v", err)
	}
	c.late.Add(1)
	if err := post(); err != nil || <-arrived != "answer" {
		t.Errorf("an answer that is late: %v", err)
	}
	if err := post(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the next request that is too late: %v", err)
	}
}

// TestSift takes the unreadable blocks out of results, and nothing else.
func TestSift(t *testing.T) {
	for _, c := range []struct {
		result, want string
		bad          int
	}{
		{`{"content":[{"type":"text","text":"a"}]}`, `{"content":[{"type":"text","text":"a"}]}`, 0},
		{`{"content":[{"type":"smell"},{"type":"text","text":"a"}],"n":1e400}`, `{"content":[{"type":"text","text":"a"}],"n":1e400}`, 1},
		{`{"isError":true}`, `{"content":[],"isError":true}`, 0},
		{`{"content":7}`, `{"content":7}`, 0},
		{`null`, `null`, 0},
		{`{"resultType":"input_required","inputRequests":{}}`, `{"resultType":"input_required","inputRequests":{}}`, 0},
	} {
		s := &sifter{}
		response := &transport.JSONRPCResponse{Result: json.RawMessage(c.result)}
		s.sift("tools/call", response)
		if got := string(response.Result); got != c.want || len(s.takeUnreadable()) != c.bad || len(s.takeUnreadable()) != 0 {
			t.Errorf("%s: got %s", c.result, got)
		}
	}
	(&sifter{}).sift("tools/call", nil)
}

// TestToken keeps the token from another server.
func TestToken(t *testing.T) {
	seen := make(chan string, 1)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header.Get("Authorization") }))
	defer other.Close()
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	r, err := Remote(Address{URL: s.URL, Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Transport: r.conn.(*streamable)}).Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := <-seen; got != "" {
		t.Errorf("the other server got %q", got)
	}
}

func TestRemoteURL(t *testing.T) {
	for _, url := range []string{"nonsense", "ftp://127.0.0.1/mcp", "http:///mcp", "http://a b/", "://"} {
		if _, err := Remote(Address{URL: url}); err == nil || !strings.Contains(err.Error(), "want a whole URL such as http://127.0.0.1:8080/mcp") {
			t.Errorf("%q: %v", url, err)
		}
	}
}
