package wire

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/adkmcp/adkmcp/internal/serve/httpserver"
	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// echo answers a call with two notifications and the caller's header.
type echo struct{}

func (echo) Handle(ctx context.Context, m *rpc.Message) *rpc.Response {
	peer := turns.PeerOf(ctx)
	switch m.Method {
	case rpc.Initialize:
		peer.Session.Introduce(turns.Client{Name: "c", Protocol: "2025-11-25"})
		return rpc.Succeed(m.ID, map[string]any{"protocolVersion": "2025-11-25"})
	case rpc.CallTool:
		for i := range 2 {
			_ = peer.Notify([]byte(note(i)))
		}
		return rpc.Succeed(m.ID, peer.Caller.Header.Get("X-Caller"))
	}
	return rpc.Fail(m.ID, &rpc.Error{Code: rpc.CodeNoMethod, Message: "no such method"})
}

// ours runs our own server and gives its origin.
func ours(t *testing.T) string {
	t.Helper()
	log := quiet()
	s, err := httpserver.New(httpserver.Config{
		Addr: "127.0.0.1:0", Endpoints: []httpserver.Endpoint{{Path: "/mcp", Handler: echo{}}}, SSE: true, DrainTimeout: time.Second,
		Turns: turns.New(log, time.Now), Ended: func(context.Context, string) {}, Random: rand.Reader, Log: log, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return "http://127.0.0.1:" + port
}

func TestOurServer(t *testing.T) {
	initialize := func(id string) *Outgoing {
		return &Outgoing{ID: id, Body: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, id)}
	}
	call := func(id, version, meta string) *Outgoing {
		m := &Outgoing{ID: id, Version: version, Body: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"x","arguments":{}%s}}`, id, meta)}
		m.Header = map[string][]string{"X-Caller": {"me"}}
		if meta != "" {
			m.Header["Mcp-Method"], m.Header["Mcp-Name"] = []string{"tools/call"}, []string{"x"}
		}
		return m
	}
	const meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	reply := func(id string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":"me"}`, id) }
	t.Run("streamable HTTP", func(t *testing.T) {
		l := connect(t, NewHTTP, HTTPOptions{URL: ours(t) + "/mcp", Listen: true})
		for _, m := range []*Outgoing{initialize("1"), request("", initialized, "2025-11-25"), call("2", "2025-11-25", ""), call("3", "2026-07-28", meta), request("4", "what", "2025-11-25")} {
			if err := l.Send(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		got := l.box.all()
		if len(got) != 8 {
			t.Fatalf("got %q", got)
		}
		for i, want := range []string{"1: ", "2: " + note(0), "2: " + note(1), "2: " + reply("2"), "3: " + note(0), "3: " + note(1), "3: " + reply("3"), "4: "} {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("got %s, want %s", got[i], want)
			}
		}
	})
	t.Run("SSE", func(t *testing.T) {
		l := connect(t, NewSSE, HTTPOptions{URL: ours(t) + "/sse"})
		for _, m := range []*Outgoing{initialize("1"), request("", initialized, "2025-11-25"), call("2", "2025-11-25", "")} {
			if err := l.Send(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []string{": ", ": " + note(0), ": " + note(1), `: {"jsonrpc":"2.0","id":"2","result":""}`} { // whose caller is that of the stream
			if got := l.box.next(t); !strings.HasPrefix(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
	t.Run("SSE at a path of its own", func(t *testing.T) {
		l := connect(t, NewHTTP, HTTPOptions{URL: ours(t) + "/sse"})
		if err := l.Send(t.Context(), initialize("1")); !is(ErrLegacySSE)(err) {
			t.Errorf("got %v", err)
		}
	})
}

// TestLibrary listens to a server of mcp-go, which has the stream that ours lacks,
// and drops its session.
func TestLibrary(t *testing.T) {
	s := server.NewMCPServer("s", "1", server.WithToolCapabilities(true))
	h := httptest.NewServer(server.NewStreamableHTTPServer(s, server.WithStateful(true)))
	t.Cleanup(h.Close)
	l := connect(t, NewHTTP, HTTPOptions{URL: h.URL, Listen: true})
	first := &Outgoing{ID: "1", Body: []byte(`{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)}
	for _, m := range []*Outgoing{first, request("", initialized, "2025-11-25"), request("2", "tools/list", "2025-11-25")} {
		if err := l.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if m.ID != "" {
			if got := l.box.next(t); !strings.HasPrefix(got, m.ID+`: `) {
				t.Errorf("got %s", got)
			}
		}
	}
	s.AddTool(mcp.NewTool("t"), nil) // is kept until the stream is there
	if got := l.box.next(t); !strings.HasPrefix(got, ": ") || !strings.Contains(got, "notifications/tools/list_changed") {
		t.Errorf("got %s", got)
	}
}
