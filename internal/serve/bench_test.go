package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve/stdio"
)

// bareEcho is what one would write with the library alone.
func bareEcho() *server.MCPServer {
	m := server.NewMCPServer("bare", "1")
	m.AddTool(mcp.NewTool("parrot", mcp.WithString("request", mcp.Required())), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(req.GetString("request", "")), nil
	})
	return m
}

// BenchmarkStdio is one call over pipes, an instant agent against a bare tool.
func BenchmarkStdio(b *testing.B) {
	f := newFixture(b, config.NoHistory)
	for name, listen := range map[string]func(context.Context, io.Reader, io.Writer) error{
		"bare": func(ctx context.Context, in io.Reader, out io.Writer) error {
			return server.NewStdioServer(bareEcho()).Listen(ctx, in, out)
		},
		"agent": func(ctx context.Context, in io.Reader, out io.Writer) error {
			return stdio.Run(ctx, stdio.Config{Handler: f.server.All(), In: in, Out: out, Turns: f.turns, Ended: f.server.End, Log: quiet()})
		},
	} {
		b.Run(name, func(b *testing.B) {
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan error, 1)
			go func() { done <- listen(ctx, inR, outW) }()
			message, err := json.Marshal(call(1, "echo hello", modernMeta("")))
			if err != nil {
				b.Fatal(err)
			}
			message = append(message, '\n')
			out := bufio.NewReader(outR)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := inW.Write(message); err != nil {
					b.Fatal(err)
				}
				if _, err := out.ReadSlice('\n'); err != nil {
					b.Fatal(err)
				}
			}
			cancel()
			inW.Close()
			<-done
		})
	}
}

// BenchmarkHTTP is one call over a loopback connection that is kept.
func BenchmarkHTTP(b *testing.B) {
	bare := httptest.NewServer(server.NewStreamableHTTPServer(bareEcho()))
	defer bare.Close()
	agents := openHTTP(b, newFixture(b, config.NoHistory), nil)
	for name, w := range map[string]*web{
		"bare":  {t: b, url: bare.URL, client: bare.Client()},
		"agent": agents,
	} {
		b.Run(name, func(b *testing.B) {
			message, err := json.Marshal(call(1, "echo hello", modernMeta("")))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				r, err := w.post(b.Context(), "/mcp", message, modernHeader()...)
				if err != nil || r.status != http.StatusOK {
					b.Fatal(r, err)
				}
			}
		})
	}
}
