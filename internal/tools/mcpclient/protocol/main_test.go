package protocol

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

// asChild as the first argument makes this program a server over its standard
// streams: the second one says which.
const asChild = "child"

func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != asChild {
		goleak.VerifyTestMain(m)
		return
	}
	switch os.Args[2] {
	case "library":
		library()
	case "rough":
		rough(os.Stdin, os.Stdout)
	}
}

// library is a server made with mcp-go, which speaks both eras.
func library() {
	s := server.NewMCPServer("library", "3", server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("ask"), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer := server.ElicitationResponse(req.Params.InputResponses, "who")
		if answer == nil {
			return server.NewInputRequestBuilder("state").Elicit("who", mcp.ElicitationParams{
				Mode: mcp.ElicitationModeForm, Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`),
			}).ToolResult(), nil
		}
		return mcp.NewToolResultText(fmt.Sprint(answer.Action, answer.Content)), nil
	})
	s.AddTool(mcp.NewTool("wait"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "waiting")
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "cancelled")
		return nil, ctx.Err()
	})
	if err := server.NewStdioServer(s).Listen(context.Background(), os.Stdin, os.Stdout); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// rough is an old server with bad manners: it greets on standard output, does not
// answer what it does not know, pings with the ids of its client, and dies.
func rough(in io.Reader, out io.Writer) {
	fmt.Fprintln(out, "Rough server 0.1\n> listening on stdio")
	fmt.Fprintln(os.Stderr, "started")
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		m, bad := rpc.Parse(lines.Bytes())
		if bad != nil || !m.IsRequest() {
			continue
		}
		result := "{}"
		switch m.Method {
		case rpc.Initialize:
			result = `{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"rough","version":"0.1"}}`
		case methodListTools:
			result = `{"tools":[` + strings.Repeat(`{"name":"a","inputSchema":{}},5,`, 3) + `{"name":"die","inputSchema":{"a":1,"A":2}}]}`
		case rpc.CallTool:
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"method":"ping"}`+"\n", m.ID)
			if strings.Contains(string(m.Params), "die") {
				fmt.Fprintln(os.Stderr, "out of memory")
				os.Exit(3)
			}
		default:
			continue
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}
