package httpserver

import (
	"context"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// answers answers every question with yes.
type answers struct{}

func (answers) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept}}, nil
}

// TestRealClient: a client that others wrote gets along with both transports.
func TestRealClient(t *testing.T) {
	s := open(t, nil).serve()
	for name, tt := range map[string]struct {
		connect func() (transport.Interface, error)
		tool    string
		want    string
	}{
		"streamable HTTP":           {func() (transport.Interface, error) { return transport.NewStreamableHTTP(s.url) }, "canary", "anonymous"},
		"streamable HTTP, question": {func() (transport.Interface, error) { return transport.NewStreamableHTTP(s.url) }, "ask", `{"action":"accept"}`},
		"SSE":                       {func() (transport.Interface, error) { return transport.NewSSE(s.at("/sse")) }, "canary", "anonymous"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			way, err := tt.connect()
			if err != nil {
				t.Fatal(err)
			}
			c := client.NewClient(way, client.WithElicitationHandler(answers{}), client.WithLegacyProtocolOnly()) //nolint:staticcheck // that era is what this tests
			if err := c.Start(ctx); err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
				ProtocolVersion: "2025-11-25", ClientInfo: mcp.Implementation{Name: "c", Version: "1"}}}); err != nil {
				t.Fatal(err)
			}
			res, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tt.tool}})
			if err != nil {
				t.Fatal(err)
			}
			if got := mcp.GetTextFromContent(res.Content[0]); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
