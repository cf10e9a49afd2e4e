package config

import (
	"encoding/json"

	"github.com/adkmcp/adkmcp/internal/config/template"
)

// Tool is one entry of an agent's tools. Exactly one of Builtin, Shell, HTTP,
// Ask, MCP, OpenAPI, Agent and HostedMCP is set. The last four need no name; what an
// mcp, openapi or hosted_mcp entry gives has names of its own.
type Tool struct {
	Pos Position `yaml:"-"`

	Name        string          `yaml:"name" max:"63" pattern:"^[A-Za-z][A-Za-z0-9_-]*$" form:"a letter, then letters, digits, _ and -" why:"models take nothing else for a tool's name" doc:"The tool's name, or that of a built-in where no kind key stands beside it."`
	Description string          `yaml:"description" doc:"What the tool does; the model reads it."`
	Parameters  []Parameter     `yaml:"parameters" entries:"true" doc:"Name to JSON Schema; required unless it has a default or optional: true."`
	InputSchema json.RawMessage `yaml:"input_schema" type:"object" doc:"A whole JSON Schema of type object instead of parameters."`

	// Schema is the JSON Schema of the arguments, made from Parameters or
	// InputSchema; an object schema that forbids undeclared arguments. Built-ins
	// have none here.
	Schema json.RawMessage `yaml:"-"`

	// Secrets are the values that must not be printed: those that came out of
	// the environment in headers, auth, env, url, query and body, and literal
	// auth values.
	Secrets []string `yaml:"-"`

	Timeout        Duration `yaml:"timeout" default:"60s" doc:"How long one call may take."`
	MaxResultBytes int      `yaml:"max_result_bytes" default:"65536" min:"1" max:"67108864" doc:"What is longer is cut in the middle."`

	// What follows bends any tool, whatever its kind; package
	// internal/tools/middleware has the order.
	RequiresApproval *Condition `yaml:"requires_approval" doc:"Whether a person must approve each call: true, or an expression such as args.amount > 100."` // nil for no
	Allow            []CallRule `yaml:"allow" doc:"Only calls that match one of these rules run, whoever approves."`
	Deny             []CallRule `yaml:"deny" doc:"Calls that match one of these rules never run, whoever approves."`
	MaxResultTokens  int        `yaml:"max_result_tokens" min:"1" max:"10000000" doc:"What is longer, in tokens of about four bytes, is cut at its end; by default max_result_bytes alone counts."` // 0 for none
	MaxFailures      int        `yaml:"max_failures" min:"1" max:"1000" doc:"After so many failures in a turn the tool is gone for the rest of it."`                                                // 0 for none
	Retry            *Retry     `yaml:"retry" doc:"Try calls again whose way to the tool failed; idempotent or read-only tools only. A number of tries, or a mapping."`
	Cache            *Cache     `yaml:"cache" doc:"Remember results of equal calls: true, or a mapping."`
	RateLimit        *RateLimit `yaml:"rate_limit" doc:"How many calls a minute run: a number, or a mapping."`
	Defer            bool       `yaml:"defer" doc:"Hidden from the model until tool_search finds it."`
	RequiresEnv      []string   `yaml:"requires_env" pattern:"^[A-Za-z_][A-Za-z0-9_]*$" form:"the name of an environment variable" doc:"Environment variables without which the agent does not start."`
	When             *Condition `yaml:"when" doc:"An expression on the session's state, such as state.plan == 'pro'; the model sees the tool while it is true."` // nil for always
	AnswerMedia      bool       `yaml:"answer_media" doc:"Images, audio and other data of the results become part of the agent's answer."`
	Idempotent       *bool      `yaml:"idempotent" doc:"Whether the same call twice has the effect of one; by default what the kind says."`

	// Include, Exclude and Prefix choose and name what an mcp or openapi entry
	// gives. The globs are for the server's own names, or for operation ids.
	Include []string `yaml:"include" doc:"mcp, openapi: only these tools; * stands for any characters."`
	Exclude []string `yaml:"exclude" doc:"mcp, openapi: not these tools; * stands for any characters."`
	Prefix  string   `yaml:"prefix" max:"40" pattern:"^[A-Za-z][A-Za-z0-9_-]*$" form:"a letter, then letters, digits, _ and -" why:"models take nothing else in a tool's name" doc:"mcp, openapi: the model sees PREFIX_NAME."`

	Builtin *Builtin   `yaml:"args" doc:"Settings of a built-in."` // set for entries without a kind key
	Shell   *Shell     `yaml:"shell" doc:"Run a program: its argv list, or a mapping."`
	HTTP    *HTTP      `yaml:"http" doc:"Make an HTTP request."`
	Ask     *Ask       `yaml:"ask" doc:"Ask the person who waits."`
	MCP     *MCP       `yaml:"mcp" doc:"The tools of an MCP server: its name in mcp_servers, or the server itself."`
	OpenAPI *OpenAPI   `yaml:"openapi" doc:"The operations of an OpenAPI document: its path or URL, or a mapping."`
	Agent   *AgentTool `yaml:"agent" doc:"Another agent as a tool: the path of its file, or the agent itself."`

	HostedMCP *HostedMCP `yaml:"hosted_mcp" doc:"The tools of an MCP server that the model's own service calls; provider openai."`
}

// Parameter is one declared argument of a tool with a kind key.
type Parameter struct {
	Name   string
	Schema json.RawMessage // without optional and allow_leading_dash
	// Optional is true with optional: true or a default; Default is JSON or nil.
	Optional         bool
	Default          json.RawMessage
	AllowLeadingDash bool
}

// MCP is the tools of an MCP server. In YAML it is the name of one of the
// agent's mcp_servers, or a mapping: of the name, as server, or of the keys of an
// [MCPServer], and of these.
type MCP struct {
	// Server is set after loading, for a name too.
	Server *MCPServer `yaml:"-"`
	// Ref is the name in mcp_servers; empty for a server that stands here.
	Ref string `yaml:"server" required:"true" doc:"The server's name in mcp_servers."`

	Required  bool   `yaml:"required" doc:"Without this server the agent does not answer; by default it goes on without its tools."`
	Resources bool   `yaml:"resources" doc:"Give the model tools that list and read the server's resources."`
	Prompts   bool   `yaml:"prompts" doc:"Give the model tools that list and get the server's prompts."`
	Pin       string `yaml:"pin" env:"true" doc:"A file that holds what the server's tools looked like when somebody approved of them (adkmcp tools pin); a tool that has changed since is left out."` // absolute after loading
}

// MCPServer says how an MCP server is reached: by Command or by URL, of which
// exactly one is set.
type MCPServer struct {
	Pos  Position `yaml:"-"`
	Name string   `yaml:"-"` // its key in mcp_servers; else a name made from command or url
	// Secrets are the values that must not be printed.
	Secrets []string `yaml:"-"`

	// What the entry of tools says may stand beside a server that is described
	// there; see [MCP].
	_ bool   `yaml:"required" doc:"mcp in tools: without this server the agent does not answer."`
	_ bool   `yaml:"resources" doc:"mcp in tools: give the model tools that list and read the server's resources."`
	_ bool   `yaml:"prompts" doc:"mcp in tools: give the model tools that list and get the server's prompts."`
	_ string `yaml:"pin" doc:"mcp in tools: a file that holds what the server's tools looked like when somebody approved of them."`

	Transport string            `yaml:"transport" alias:"type" default:"auto" enum:"auto,stdio,http,streamable-http,streamableHttp,sse" doc:"auto: stdio with command; with url streamable HTTP, and SSE where the server knows only that."` // auto, stdio, http or sse
	Command   string            `yaml:"command" env:"true" doc:"The program that is the server."`                                                                                                                                            // absolute after loading if it has a slash
	Args      []string          `yaml:"args" env:"true" doc:"Its arguments."`
	Dir       string            `yaml:"dir" alias:"cwd" env:"true" doc:"Its working directory, relative to this file; by default the folder of this file."` // absolute after loading
	Env       map[string]Secret `yaml:"env" env:"true" doc:"Environment variables on top of a minimal environment."`
	PassEnv   []string          `yaml:"pass_env" pattern:"^[A-Za-z_][A-Za-z0-9_]*$" form:"the name of an environment variable" doc:"Environment variables that are passed on."`

	URL            string            `yaml:"url" env:"true" doc:"The server's address."`
	Headers        map[string]Secret `yaml:"headers" env:"true" doc:"Headers of every request."`
	HeadersFrom    *HeadersFrom      `yaml:"headers_from" doc:"More headers, from a command or a file, for tokens that change."`
	ForwardHeaders []string          `yaml:"forward_headers" doc:"Headers of the caller's own request that are passed on; never Authorization, which is for us."`
	OAuth          *OAuth            `yaml:"oauth" doc:"Get tokens by OAuth: as a client of its own, or for the person at the terminal."`

	Protocol     string   `yaml:"protocol" default:"auto" enum:"auto,2024-11-05,2025-03-26,2025-06-18,2025-11-25,2026-07-28" doc:"The version of MCP; auto asks the server."`
	Connect      string   `yaml:"connect" default:"lazy" enum:"lazy,eager" doc:"When to connect: on first use, or at start."`
	StartTimeout Duration `yaml:"start_timeout" default:"30s" doc:"How long starting, connecting and listing may take."`
	IdleTimeout  Duration `yaml:"idle_timeout" default:"10m" doc:"After so long without a call the connection is closed until the next one."`
	Roots        []string `yaml:"roots" env:"true" doc:"Folders that the server is told of, relative to this file."` // absolute after loading
	Elicitation  string   `yaml:"elicitation" default:"ask" enum:"ask,deny" doc:"What the server asks the person: passed on to whoever waits, or declined."`
	Sampling     string   `yaml:"sampling" default:"deny" enum:"deny,allow" doc:"Whether the server may use this agent's model."`
}

// HeadersFrom gives headers that change: JSON of an object with texts, or lines
// of NAME: VALUE. Exactly one of Command and File is set.
type HeadersFrom struct {
	Command []string `yaml:"command" env:"true" doc:"An argv list whose output is the headers."`
	File    string   `yaml:"file" env:"true" doc:"A file that holds the headers, relative to this file; it is read again when it has changed."` // absolute after loading
	PassEnv []string `yaml:"pass_env" pattern:"^[A-Za-z_][A-Za-z0-9_]*$" form:"the name of an environment variable" doc:"Environment variables that the command gets."`
	TTL     Duration `yaml:"ttl" default:"5m" doc:"command: how long its output is good for."`
}

// OAuth gets tokens by one of two grants. The client-credentials grant has both
// ClientID and ClientSecret; the other may have neither, and no secret without an
// id.
type OAuth struct {
	Grant        string   `yaml:"grant" default:"authorization_code" enum:"authorization_code,client_credentials" doc:"authorization_code: a person logs in, once, with run or tools; client_credentials: we are the client."`
	ClientID     string   `yaml:"client_id" env:"true" doc:"The client's id; by default one is registered with the server."`
	ClientSecret Secret   `yaml:"client_secret" env:"true" doc:"The client's secret, best as ${VAR}."`
	Scopes       []string `yaml:"scopes" doc:"What to ask for; by default what the server names."`
	TokenURL     string   `yaml:"token_url" env:"true" doc:"client_credentials: where tokens come from; by default the server says it."`
	Store        string   `yaml:"store" default:"keyring" enum:"keyring,memory" doc:"Where tokens of a login are kept: the system's keyring, or the process."`
	RedirectPort int      `yaml:"redirect_port" min:"1" max:"65535" doc:"The port on this machine that the browser comes back to; by default any."`
}

// OpenAPI is the operations of an OpenAPI document. In YAML it may be just the
// path or URL of the document.
type OpenAPI struct {
	// Document is a path, absolute after loading, or an http or https URL.
	Document   string            `yaml:"document" env:"true" required:"true" doc:"The document, OpenAPI 3.0 or 3.1, in YAML or JSON: its path, relative to this file, or its URL."`
	Server     string            `yaml:"server" env:"true" doc:"The API's base URL; by default the document's first server."`
	Tags       []string          `yaml:"tags" doc:"Only operations with one of these tags; globs."`
	Paths      []string          `yaml:"paths" doc:"Only operations under these paths; globs."`
	Methods    []string          `yaml:"methods" doc:"Only operations with these methods, such as GET."`
	Auth       map[string]Auth   `yaml:"auth" env:"true" doc:"Security scheme of the document to its credential."`
	Headers    map[string]Secret `yaml:"headers" env:"true" doc:"Headers of every request."`
	AllowHosts []string          `yaml:"allow_hosts" pattern:"^[A-Za-z0-9._:\\[\\]-]+$" form:"a host name" doc:"Hosts that redirects may lead to, besides the server's own."`
}

// AgentTool is another agent as a tool. In YAML it is the path of its file, or
// the agent itself.
type AgentTool struct {
	Path  string `yaml:"path" env:"true"` // absolute; empty for an agent that stands inside
	Agent *Agent `yaml:"-"`               // set after loading
}

// Builtin is the args of a built-in tool.
type Builtin struct {
	Root       string   `yaml:"root" env:"true" doc:"files: the folder that can be read, relative to this file."` // absolute after loading
	Write      bool     `yaml:"write" doc:"files: also allow writing."`
	AllowHosts []string `yaml:"allow_hosts" pattern:"^(\\*\\.)?[A-Za-z0-9.-]+$" form:"a host name, or *. and one" doc:"load_web_page: only pages of these hosts; *.example.com stands for all below it; by default any public one."`
}

// Ask puts a form before the person who waits for the answer.
type Ask struct {
	Message template.Text   `yaml:"message" required:"true" doc:"What the person reads; {name} is a parameter."`
	Form    json.RawMessage `yaml:"form" type:"object" doc:"The fields: a flat JSON Schema of type object, as MCP elicitation takes it; by default one text, which the model gets as it is."`
}

// Shell runs a program. Exactly one of Command and Script is set. In YAML it
// may be just the argv list. A program that is named with a slash is absolute
// after loading.
type Shell struct {
	Command          []template.Text          `yaml:"command" doc:"The program and its arguments; {name} is a parameter."`
	Script           string                   `yaml:"script" doc:"A script, in a file whose path is appended to the interpreter; parameters come as environment variables."`
	Interpreter      []template.Text          `yaml:"interpreter" doc:"What runs the script; by default sh."`
	Stdin            *template.Text           `yaml:"stdin" doc:"Text for the standard input; by default it is empty."`
	Dir              string                   `yaml:"dir" env:"true" doc:"The working directory, relative to this file; by default the folder of this file."` // absolute after loading
	Env              map[string]template.Text `yaml:"env" doc:"Environment variables on top of a minimal environment."`                                       // no places
	PassEnv          []string                 `yaml:"pass_env" pattern:"^[A-Za-z_][A-Za-z0-9_]*$" form:"the name of an environment variable" doc:"Environment variables that are passed on."`
	SuccessExitCodes []int                    `yaml:"success_exit_codes" default:"0" min:"0" max:"255" doc:"Exit codes that are no failure."`
	Output           string                   `yaml:"output" default:"text" pattern:"^(text|json|[a-z]+/[A-Za-z0-9.+-]+)$" form:"text, json or a MIME type such as image/png" doc:"What the program prints: text, json, or a MIME type."`
	Concurrency      int                      `yaml:"concurrency" default:"4" min:"1" max:"1000" doc:"How many calls run at the same time."`
}

// HTTP makes one request.
type HTTP struct {
	Method     string                   `yaml:"method" default:"GET" enum:"GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS" doc:"The HTTP method."`
	URL        string                   `yaml:"url" required:"true" doc:"An RFC 6570 template; {name} is a parameter."` // ${VAR} replaced, braces of such values percent-encoded
	Headers    map[string]template.Text `yaml:"headers" doc:"Headers; {name} is a parameter."`
	Query      []QueryParam             `yaml:"query" entries:"true" doc:"Query parameters; {name} is a parameter."`
	Body       *Body                    `yaml:"body" doc:"The request's body: json, form, multipart or raw."`
	Auth       *Auth                    `yaml:"auth" env:"true" doc:"How requests are signed: bearer, basic or header."`
	AllowHosts []string                 `yaml:"allow_hosts" pattern:"^[A-Za-z0-9._:\\[\\]-]+$" form:"a host name" doc:"Hosts that redirects may lead to, besides the URL's own."`
	Result     string                   `yaml:"result" doc:"A jq program that picks the result out of a JSON answer."`
}

// QueryParam is one query parameter; a value that is exactly the place of a
// list gives one parameter per item.
type QueryParam struct {
	Name  string
	Value template.Text
}

// Part is one part of a multipart body. In YAML it may be just the text.
type Part struct {
	Name        string         `yaml:"-"`
	Value       template.Text  `yaml:"value" required:"true" doc:"What the part holds; {name} is a parameter, and a list gives one part per item."`
	Filename    *template.Text `yaml:"filename" doc:"The name of a file that the part is said to be; {name} is a parameter."`
	ContentType string         `yaml:"content_type" doc:"The part's MIME type."`
	Base64      bool           `yaml:"base64" doc:"The value is base64 and is sent decoded."`
}

// Body is a request body; exactly one of JSON, Form, Multipart and Raw is set.
type Body struct {
	// JSON is in the file's order. Each string in it is a template for
	// [template.ParsePlaces]; variables have been replaced.
	JSON        json.RawMessage `yaml:"json" doc:"A JSON value; {name} in its texts is a parameter, and a text that is just that takes the parameter's type."`
	Form        []QueryParam    `yaml:"form" entries:"true" doc:"Fields of a form; {name} is a parameter."`
	Multipart   []Part          `yaml:"multipart" entries:"true" doc:"Parts of a multipart/form-data body."`
	Raw         *template.Text  `yaml:"raw" doc:"Text; {name} is a parameter."`
	ContentType string          `yaml:"content_type" doc:"The body's MIME type, where it is not that of its kind."`
}

// Auth signs requests; exactly one is set.
type Auth struct {
	Bearer Secret      `yaml:"bearer" doc:"A token for Authorization: Bearer."`
	Basic  *BasicAuth  `yaml:"basic" doc:"A user name and password."`
	Header *HeaderAuth `yaml:"header" doc:"A secret in a header of its own."`
}

// BasicAuth is a user name and password (RFC 7617).
type BasicAuth struct {
	Username string `yaml:"username" required:"true" doc:"The user name."`
	Password Secret `yaml:"password" required:"true" doc:"The password, best as ${VAR}."`
}

// HeaderAuth is a secret in a header of its own.
type HeaderAuth struct {
	Name  string `yaml:"name" required:"true" doc:"The header's name, such as X-Api-Key."`
	Value Secret `yaml:"value" required:"true" doc:"The secret, best as ${VAR}."`
}

// Position is a place in a file; lines and columns count from 1, columns in
// characters.
type Position struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}
