package httpserver

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/serve/guard"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// held is how many of a thing are held at once to see what one of them costs.
const held = 1000

// inUse gives the memory that is in use, garbage and what is only reserved
// apart.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkIdleSession reports what a session of MCP up to 2025-11-25 costs of
// which nobody is inside.
func BenchmarkIdleSession(b *testing.B) {
	for range b.N {
		s := open(b, nil)
		before := inUse()
		for range held {
			session, err := s.server.sessions.create(b.Context(), guard.Anonymous, "/mcp")
			if err != nil {
				b.Fatal(err)
			}
			session.client.Introduce(turns.Client{Name: "client", Version: "1", Protocol: "2025-11-25"})
			s.server.sessions.leave(b.Context(), session)
		}
		b.ReportMetric(float64(inUse()-before)/held, "bytes/session")
		runtime.KeepAlive(s)
	}
}

// BenchmarkOpenStreams reports what an open stream costs: a connection of the
// old transport, and a subscription. The client's end, in the same process, is
// part of it: a socket without buffers.
func BenchmarkOpenStreams(b *testing.B) {
	for name, request := range map[string]string{
		"sse":    "GET /sse HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"listen": post("/mcp", listen, "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nAccept: text/event-stream\r\n"),
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				s := open(b, nil)
				s.server.listens.most = held
				s.serve()
				before, goroutines := inUse(), runtime.NumGoroutine()
				for range held {
					conn, err := net.Dial("tcp", s.addr)
					if err != nil {
						b.Fatal(err)
					}
					b.Cleanup(func() { conn.Close() })
					if _, err := io.WriteString(conn, request); err != nil {
						b.Fatal(err)
					}
					r := bufio.NewReaderSize(conn, 512)
					for line := ""; !strings.HasPrefix(line, "data: "); {
						if line, err = r.ReadString('\n'); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(inUse()-before)/held, "bytes/stream")
				b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/held, "goroutines/stream")
			}
		})
	}
}

// BenchmarkCall is one tools/call without a network, of each protocol.
func BenchmarkCall(b *testing.B) {
	s := open(b, nil)
	session, err := s.server.sessions.create(b.Context(), guard.Anonymous, "/mcp")
	if err != nil {
		b.Fatal(err)
	}
	for name, tt := range map[string]struct {
		body   string
		header []string
	}{
		"2026-07-28": {toolCall, modern("tools/call", "canary")},
		"2025-11-25": {callOf(1, "canary"), legacy(session.id)},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				w := httptest.NewRecorder()
				s.server.ServeHTTP(w, s.request(b.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(tt.body), tt.header...))
				if w.Code != http.StatusOK {
					b.Fatal(fmt.Sprint(w.Code, w.Body))
				}
			}
		})
	}
}
