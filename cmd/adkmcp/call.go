package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/spf13/cobra"

	"github.com/adkmcp/adkmcp/internal/serve"
)

// Bounds of a call. An agent's own limits end it sooner as a rule; callTimeout
// is for servers without any.
const (
	callTimeout     = time.Hour
	connectTimeout  = 30 * time.Second
	discoverTimeout = 5 * time.Second
	// outputDelay is how long an ended server's standard error may stay open in
	// the hands of what it started.
	outputDelay = 500 * time.Millisecond
)

type callOptions struct {
	url, tokenEnv, tool, conversation, save string
	patience                                time.Duration // for the server to show its tools
	timeout                                 time.Duration // for the answer
	logs                                    *logOptions
}

func (a *app) callCommand(logs *logOptions) *cobra.Command {
	o := &callOptions{logs: logs, patience: connectTimeout}
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
	f.DurationVar(&o.timeout, "timeout", callTimeout, "how long to wait for the answer")
	f.StringVar(&o.save, "save", "", "write images, audio and other data of the answer into this folder")
	return cmd
}

// call connects, calls and prints.
func (a *app) call(ctx context.Context, o *callOptions, args, command []string) error {
	s, request, err := a.server(o, args, command)
	if err != nil {
		return err
	}
	c := client.NewClient(s, client.WithDiscoverTimeout(discoverTimeout))
	defer c.Close() // how the server ends says nothing about the answer
	tools, err := connect(ctx, o.patience, c, s)
	if err != nil {
		return err
	}
	tool, err := chooseTool(tools, o.tool)
	if err != nil {
		return err
	}
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		if message, ok := n.Params.AdditionalFields["message"].(string); ok && n.Method == "notifications/progress" {
			fmt.Fprintln(a.stderr, a.style(a.stderr).dim("· "+plain(message)))
		}
	})
	req := mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Meta: &mcp.Meta{ProgressToken: "call"}}}
	arguments := map[string]any{"request": request}
	if o.conversation != "" {
		arguments["conversation"] = o.conversation
	}
	req.Params.Arguments = arguments
	within, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	result, err := c.CallTool(within, req)
	switch {
	case err != nil && within.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("no answer within %s; --timeout allows more", o.timeout)
	case err != nil:
		return explain(s, "during the call", fmt.Errorf("call %s: %w", tool, err))
	}
	return a.printResult(o, s, result)
}

// server decides which server is meant and what is asked of it.
func (a *app) server(o *callOptions, args, command []string) (server, string, error) {
	switch {
	case len(command) > 0 && len(args) == 1 && o.url == "":
		return a.child(command, nil), args[0], nil
	case len(command) > 0:
		return nil, "", usageError("with -- COMMAND there is one argument before it, the request, and no --url")
	case o.url != "" && len(args) == 1:
		s, err := a.remote(o)
		return s, args[0], err
	case o.url != "":
		return nil, "", usageError("with --url there is one argument, the request")
	case len(args) != 2:
		return nil, "", usageError("want an agent file and a request: adkmcp call agents/dice.yaml \"Roll a d20\"")
	}
	if _, err := os.Stat(args[0]); err != nil {
		return nil, "", usageError("no agent file: %w", err)
	}
	self, err := a.executable()
	if err != nil {
		return nil, "", err
	}
	serve := []string{self, "serve", "--stdio", "--log-level", o.logs.level, "--log-format", o.logs.format}
	if o.logs.file != "" {
		serve = append(serve, "--log-file", o.logs.file)
	}
	return a.child(append(serve, "--", args[0]), ownVariable), args[1], nil
}

// ownVariable reports whether a line of an environment sets one of our flags. In
// the environment of a call it is meant for the call, not for the server.
func ownVariable(line string) bool { return strings.HasPrefix(line, "ADKMCP_") }

// server is the other side of a call: a connection, and what shows of the server
// beside the protocol.
type server interface {
	transport.Interface
	// reason says what is behind a failure of the connection, or nothing if it
	// says it itself.
	reason(when string, err error) error
	// unreadable gives what was wrong with blocks of the result that are left out.
	unreadable() []error
}

// explain turns a failure into what the person is told. A server's own words may
// be in it.
func explain(s server, when string, err error) error {
	if why := s.reason(when, err); why != nil {
		return why
	}
	return errors.New(plain(err.Error()))
}

// sifter takes the content blocks out of a result that the MCP library cannot
// read, since it would refuse the whole result for one of them.
type sifter struct{ bad []error }

func (s *sifter) unreadable() []error { return s.bad }

func (s *sifter) sift(method string, response *transport.JSONRPCResponse) {
	var result map[string]json.RawMessage
	if method != string(mcp.MethodToolsCall) || response == nil || json.Unmarshal(response.Result, &result) != nil || result == nil {
		return
	}
	var blocks []json.RawMessage
	content, present := result["content"]
	if present && json.Unmarshal(content, &blocks) != nil {
		return // the library says what is wrong
	}
	readable := []json.RawMessage{}
	for _, block := range blocks {
		if _, err := mcp.UnmarshalContent(block); err != nil {
			s.bad = append(s.bad, err)
			continue
		}
		readable = append(readable, block)
	}
	if present && len(readable) == len(blocks) {
		return
	}
	// What has been read as JSON can be written as JSON.
	result["content"], _ = json.Marshal(readable)
	response.Result, _ = json.Marshal(result)
}

// child is a server that we have started.
type child struct {
	*transport.Stdio
	sifter
	cmd    *exec.Cmd
	stderr *heard
}

// heard passes on what is written and remembers that there was something.
type heard struct {
	w     io.Writer
	spoke atomic.Bool
}

func (h *heard) Write(p []byte) (int, error) {
	h.spoke.Store(true)
	return h.w.Write(p)
}

// child starts a server as a host does. It inherits our environment but for the
// lines that drop names; what it logs shows on our standard error.
func (a *app) child(command []string, drop func(line string) bool) *child {
	s := &child{stderr: &heard{w: a.stderr}}
	s.Stdio = transport.NewStdioWithOptions(command[0], nil, command[1:],
		transport.WithCommandFunc(func(ctx context.Context, name string, _, args []string) (*exec.Cmd, error) {
			s.cmd = exec.CommandContext(context.WithoutCancel(ctx), name, args...) // ended by closing its standard input
			s.cmd.Stderr, s.cmd.WaitDelay = s.stderr, outputDelay
			if drop != nil {
				s.cmd.Env = slices.DeleteFunc(s.cmd.Environ(), drop)
			}
			return s.cmd, nil
		}))
	return s
}

// SendRequest sends a request as the MCP library does.
func (s *child) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	response, err := s.Stdio.SendRequest(ctx, req)
	s.sift(req.Method, response)
	return response, err
}

// reason tells how the server ended, if it did. Its end shows on its standard
// output or, as an error of the file, on its standard input.
func (s *child) reason(when string, err error) error {
	var input *fs.PathError
	if !errors.Is(err, transport.ErrTransportClosed) && !errors.As(err, &input) || s.cmd.Process == nil {
		return nil
	}
	if err := s.Close(); errors.Is(err, transport.ErrChildShutdownTimeout) {
		return fmt.Errorf("the server closed its standard output %s and did not end", when)
	}
	how := s.cmd.ProcessState.String()
	if code := s.cmd.ProcessState.ExitCode(); code >= 0 {
		how = fmt.Sprintf("exit code %d", code)
	}
	if s.stderr.spoke.Load() {
		how += "); what it said stands above"
	} else {
		how += ") and said nothing"
	}
	return fmt.Errorf("the server ended %s (%s", when, how)
}

// remote is a server that we reach over streamable HTTP.
type remote struct {
	*transport.StreamableHTTP
	sifter
	url      *url.URL
	tokenEnv string
	status   atomic.Int32 // of the newest response
}

// RoundTrip notes the status, which the MCP library does not tell.
func (s *remote) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		s.status.Store(int32(res.StatusCode))
	}
	return res, err
}

func (a *app) remote(o *callOptions) (*remote, error) {
	u, err := url.Parse(o.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usageError("--url %q: want a whole URL such as %s", o.url, exampleURL)
	}
	s := &remote{url: u, tokenEnv: o.tokenEnv}
	options := []transport.StreamableHTTPCOption{transport.WithHTTPBasicClient(&http.Client{Transport: s})}
	if o.tokenEnv != "" {
		token, ok := a.lookup(o.tokenEnv)
		if !ok || token == "" {
			return nil, usageError("--token-env: the environment variable %s is not set", o.tokenEnv)
		}
		options = append(options, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	}
	if s.StreamableHTTP, err = transport.NewStreamableHTTP(o.url, options...); err != nil {
		return nil, usageError("--url: %w", err)
	}
	return s, nil
}

const exampleURL = "http://127.0.0.1:8080/mcp"

// SendRequest sends a request as the MCP library does.
func (s *remote) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	response, err := s.StreamableHTTP.SendRequest(ctx, req)
	s.sift(req.Method, response)
	return response, err
}

// wsaRefused is Windows' code for a refused connection, which its
// syscall.ECONNREFUSED is not.
const wsaRefused = syscall.Errno(10061)

func (s *remote) reason(_ string, err error) error {
	var broken *transport.Error // any other error is an answer of the server
	status := s.status.Load()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, wsaRefused):
		return fmt.Errorf("nothing listens at %s; start a server with: adkmcp serve --http HOST:PORT PATH", s.url.Redacted())
	case !errors.As(err, &broken) || status < http.StatusBadRequest:
		return nil
	case status == http.StatusUnauthorized && s.tokenEnv == "":
		return errors.New("the server wants a token (status 401): name the environment variable that holds it with --token-env")
	case status == http.StatusUnauthorized:
		return fmt.Errorf("the server does not take the token (status 401) that --token-env %s names", s.tokenEnv)
	case strings.HasSuffix(s.url.Path, "/mcp"):
		return fmt.Errorf("the server answered with status %d at %s", status, s.url.Redacted())
	}
	return fmt.Errorf("the server answered with status %d at %s; adkmcp serves MCP at /mcp, as in %s", status, s.url.Redacted(), exampleURL)
}

// connect starts and greets the server and gives the names of its tools.
func connect(ctx context.Context, patience time.Duration, c *client.Client, s server) (tools []string, err error) {
	if err := c.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	init := mcp.InitializeRequest{}
	init.Params.ClientInfo = mcp.Implementation{Name: "adkmcp call", Version: buildVersion()}
	what := "connect"
	if _, err = c.Initialize(within, init); err == nil {
		what = "list the server's tools"
		tools, err = listTools(within, c)
	}
	switch {
	case err == nil:
		return tools, nil
	case within.Err() != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("the server did not answer within %s", patience)
	}
	return nil, explain(s, "before it answered", fmt.Errorf("%s: %w", what, err))
}

func listTools(ctx context.Context, c *client.Client) ([]string, error) {
	if c.GetServerCapabilities().Tools == nil {
		return nil, nil
	}
	list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names, nil
}

func chooseTool(names []string, want string) (string, error) {
	all := plain(strings.Join(names, ", "))
	switch {
	case len(names) == 0:
		return "", errors.New("the server has no tools")
	case slices.Contains(names, want):
		return want, nil
	case want == "" && len(names) == 1:
		return names[0], nil
	case want == "":
		return "", usageError("the server has %d tools, choose one with --tool: %s", len(names), all)
	}
	return "", usageError("the server has no tool %q; it has: %s", want, all)
}

// printResult prints the content blocks: text to standard output, or to
// standard error if the result is one.
func (a *app) printResult(o *callOptions, s server, r *mcp.CallToolResult) error {
	out := a.stdout
	if r.IsError {
		out = a.stderr
	}
	p := &printer{out: out, notes: a.stderr, raw: !isTerminal(out), style: a.style(a.stderr), saver: saver{dir: o.save}, failed: r.IsError}
	blocks := r.Content
	if handle := handleOf(r); handle != "" && len(blocks) > 1 {
		// A server of ours tells the model in a last block; a person is told
		// beside the answer, and only if the server will still be there.
		if last, ok := blocks[len(blocks)-1].(mcp.TextContent); ok && strings.Contains(last.Text, handle) {
			blocks = blocks[:len(blocks)-1]
		}
		if o.url != "" {
			p.note("go on with --conversation " + handle)
		}
	}
	for _, block := range blocks {
		if err := p.block(block); err != nil {
			return err
		}
	}
	for _, err := range s.unreadable() {
		p.problem(fmt.Errorf("a block of the result cannot be shown: %w", err))
	}
	switch {
	case len(blocks) > 0:
	case r.StructuredContent != nil:
		if err := p.text(string(r.RawStructuredContent)); err != nil {
			return err
		}
	case len(s.unreadable()) == 0:
		p.problem(errors.New("the result is empty"))
	}
	if p.failed {
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

// block prints one block. The error is that of the output, which nothing more
// can be printed to.
func (p *printer) block(block mcp.Content) error {
	var note string
	var err error
	switch b := block.(type) {
	case mcp.TextContent:
		return p.text(b.Text)
	case mcp.ImageContent:
		note, err = p.saver.encoded("image", b.MIMEType, b.Data)
	case mcp.AudioContent:
		note, err = p.saver.encoded("audio", b.MIMEType, b.Data)
	case mcp.ResourceLink:
		return p.text(b.URI)
	case mcp.EmbeddedResource:
		switch r := b.Resource.(type) {
		case mcp.TextResourceContents:
			return p.text(r.Text)
		case mcp.BlobResourceContents:
			note, err = p.saver.encoded("resource", r.MIMEType, r.Blob)
		default:
			err = fmt.Errorf("a resource of a kind that this program does not know: %T", r)
		}
	default:
		err = fmt.Errorf("a block of a kind that this program does not know: %T", block)
	}
	if err != nil {
		p.problem(err)
		return nil
	}
	p.note(note)
	return nil
}
