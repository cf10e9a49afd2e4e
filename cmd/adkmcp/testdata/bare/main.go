// Command bare is the least that a server of the same libraries can be. The
// benchmarks measure adkmcp against it.
package main

import (
	"context"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/spf13/cobra"
	"google.golang.org/genai"
	"gopkg.in/yaml.v3"
)

func main() {
	cmd := &cobra.Command{Use: "bare", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		data, err := os.ReadFile(args[0])
		if err != nil {
			return err
		}
		var file struct{ Name, Description string }
		if err := yaml.Unmarshal(data, &file); err != nil {
			return err
		}
		s := server.NewMCPServer(file.Name, "1")
		s.AddTool(mcp.NewTool(file.Name, mcp.WithDescription(file.Description), mcp.WithString("request", mcp.Required())), handle)
		return server.NewStdioServer(s).Listen(cmd.Context(), os.Stdin, os.Stdout)
	}}
	if err := cmd.ExecuteContext(context.Background()); err != nil {
		os.Exit(1)
	}
}

// handle echoes; asked for the model, it asks one, so that the client is
// linked in.
func handle(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	request := req.GetString("request", "")
	if request != "model" {
		return mcp.NewToolResultText(request), nil
	}
	client, err := genai.NewClient(ctx, nil)
	if err != nil {
		return nil, err
	}
	for reply, err := range client.Models.GenerateContentStream(ctx, "gemini-flash-latest", genai.Text(request), nil) {
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(reply.Text()), nil
	}
	return nil, nil
}
