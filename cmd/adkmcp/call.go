package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/spf13/cobra"

	"github.com/adkmcp/adkmcp/internal/serve"
)

// Bounds of a call. The call itself may take as long as the agent's own
// limits let it.
const (
	connectTimeout  = 30 * time.Second
	discoverTimeout = 5 * time.Second
)

type callOptions struct {
	url, tokenEnv, tool, conversation, save string
	logs                                    *logOptions
}

func (a *app) callCommand(logs *logOptions) *cobra.Command {
	o := &callOptions{logs: logs}
	cmd := &cobra.Command{
		Use:   "call {PATH | --url URL} REQUEST  |  call REQUEST -- COMMAND...",
		Short: "Call an agent as an MCP host does",
		Long: `Act as an MCP host: start a server for PATH (or COMMAND, or connect to URL), call
the agent's tool with REQUEST and print the answer. Progress goes to standard
error. The exit code is 1 when the agent's result is an error.`,
		Example: `  adkmcp call agents/dice.yaml "Roll a d20"
  adkmcp call --url http://127.0.0.1:8080/mcp "Roll a d20"
  adkmcp call "Roll a d20" -- adkmcp serve --stdio agents/dice.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.logs.quiet(cmd.Flags())
			dash := cmd.ArgsLenAtDash()
			if dash < 0 {
				dash = len(args)
			}
			return a.call(cmd.Context(), o, args[:dash], args[dash:])
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.url, "url", "", "connect to a server over streamable HTTP instead of starting one")
	f.StringVar(&o.tokenEnv, "token-env", "", "with --url: the environment variable that holds the bearer token")
	f.StringVar(&o.tool, "tool", "", "which tool to call, where the server has several")
	f.StringVar(&o.conversation, "conversation", "", "go on with the conversation of this handle")
	f.StringVar(&o.save, "save", "", "write images, audio and other data of the answer into this folder")
	return cmd
}

// call connects, calls and prints.
func (a *app) call(ctx context.Context, o *callOptions, args, command []string) error {
	conn, request, err := a.connection(o, args, command)
	if err != nil {
		return err
	}
	c := client.NewClient(conn, client.WithDiscoverTimeout(discoverTimeout))
	defer c.Close() // how the server ends says nothing about the answer
	if err := connect(ctx, c); err != nil {
		return err
	}
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		if message, ok := n.Params.AdditionalFields["message"].(string); ok && n.Method == "notifications/progress" {
			fmt.Fprintln(a.stderr, a.style(a.stderr).dim("· "+message))
		}
	})
	tool, err := chooseTool(ctx, c, o.tool)
	if err != nil {
		return err
	}
	req := mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Meta: &mcp.Meta{ProgressToken: "call"}}}
	arguments := map[string]any{"request": request}
	if o.conversation != "" {
		arguments["conversation"] = o.conversation
	}
	req.Params.Arguments = arguments
	result, err := c.CallTool(ctx, req)
	if err != nil {
		return fmt.Errorf("call %s: %w", tool, err)
	}
	return a.printResult(o, result)
}

// connection decides which server is meant and what is asked of it.
func (a *app) connection(o *callOptions, args, command []string) (transport.Interface, string, error) {
	switch {
	case len(command) > 0 && len(args) == 1 && o.url == "":
		return a.child(command), args[0], nil
	case len(command) > 0:
		return nil, "", usageError("with -- COMMAND there is one argument before it, the request, and no --url")
	case o.url != "" && len(args) == 1:
		conn, err := a.remote(o)
		return conn, args[0], err
	case o.url != "":
		return nil, "", usageError("with --url there is one argument, the request")
	case len(args) != 2:
		return nil, "", usageError("want an agent file and a request: adkmcp call agents/dice.yaml \"Roll a d20\"")
	}
	self, err := a.executable()
	if err != nil {
		return nil, "", err
	}
	return a.child([]string{self, "serve", "--stdio", "--log-level", o.logs.level, args[0]}), args[1], nil
}

// child starts a server as a host does. It inherits our environment; what it
// logs shows on our standard error.
func (a *app) child(command []string) transport.Interface {
	return transport.NewStdioWithOptions(command[0], nil, command[1:],
		transport.WithCommandFunc(func(ctx context.Context, name string, _, args []string) (*exec.Cmd, error) {
			cmd := exec.CommandContext(context.WithoutCancel(ctx), name, args...) // ended by closing its standard input
			cmd.Stderr = a.stderr
			return cmd, nil
		}))
}

func (a *app) remote(o *callOptions) (transport.Interface, error) {
	var options []transport.StreamableHTTPCOption
	if o.tokenEnv != "" {
		token, ok := a.lookup(o.tokenEnv)
		if !ok || token == "" {
			return nil, usageError("--token-env: the environment variable %s is not set", o.tokenEnv)
		}
		options = append(options, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	}
	conn, err := transport.NewStreamableHTTP(o.url, options...)
	if err != nil {
		return nil, usageError("--url: %w", err)
	}
	return conn, nil
}

func connect(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := c.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	init := mcp.InitializeRequest{}
	init.Params.ClientInfo = mcp.Implementation{Name: "adkmcp call", Version: buildVersion()}
	if _, err := c.Initialize(ctx, init); err != nil {
		if errors.Is(err, transport.ErrTransportClosed) {
			return errors.New("the server ended before it answered; what it said stands above")
		}
		return fmt.Errorf("connect: %w", err)
	}
	return nil
}

func chooseTool(ctx context.Context, c *client.Client, want string) (string, error) {
	list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return "", fmt.Errorf("list the server's tools: %w", err)
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	switch {
	case slices.Contains(names, want):
		return want, nil
	case want == "" && len(names) == 1:
		return names[0], nil
	case want == "":
		return "", usageError("the server has %d tools, choose one with --tool: %s", len(names), strings.Join(names, ", "))
	}
	return "", usageError("the server has no tool %q; it has: %s", want, strings.Join(names, ", "))
}

// printResult prints the content blocks: text to standard output, or to
// standard error if the result is one.
func (a *app) printResult(o *callOptions, r *mcp.CallToolResult) error {
	out := a.stdout
	if r.IsError {
		out = a.stderr
	}
	saver := &saver{dir: o.save}
	blocks := r.Content
	if handle := handleOf(r); handle != "" && len(blocks) > 1 {
		// A server of ours tells the model in a last block; a person is told
		// beside the answer, and only if the server will still be there.
		if last, ok := blocks[len(blocks)-1].(mcp.TextContent); ok && strings.Contains(last.Text, handle) {
			blocks = blocks[:len(blocks)-1]
		}
		if o.url != "" {
			fmt.Fprintln(a.stderr, a.style(a.stderr).dim("go on with --conversation "+handle))
		}
	}
	for _, block := range blocks {
		if err := a.printBlock(out, block, saver); err != nil {
			return err
		}
	}
	if r.IsError {
		return &exitError{code: exitFailed}
	}
	return nil
}

func handleOf(r *mcp.CallToolResult) string {
	if r.Meta == nil {
		return ""
	}
	handle, _ := r.Meta.AdditionalFields[serve.MetaConversation].(string)
	return handle
}

func (a *app) printBlock(out *os.File, block mcp.Content, s *saver) error {
	var note string
	var err error
	switch b := block.(type) {
	case mcp.TextContent:
		_, err = fmt.Fprintln(out, b.Text)
		return err
	case mcp.ImageContent:
		note, err = s.encoded("image", b.MIMEType, b.Data)
	case mcp.AudioContent:
		note, err = s.encoded("audio", b.MIMEType, b.Data)
	case mcp.ResourceLink:
		_, err = fmt.Fprintln(out, b.URI)
		return err
	case mcp.EmbeddedResource:
		switch r := b.Resource.(type) {
		case mcp.TextResourceContents:
			_, err = fmt.Fprintln(out, r.Text)
			return err
		case mcp.BlobResourceContents:
			note, err = s.encoded("resource", r.MIMEType, r.Blob)
		}
	default:
		note = fmt.Sprintf("a block of a kind that this program does not know: %T", block)
	}
	if err == nil {
		_, err = fmt.Fprintln(a.stderr, a.style(a.stderr).dim(note))
	}
	return err
}
