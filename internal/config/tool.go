package config

import "encoding/json"

// Tool is one entry of an agent's tools. Exactly one of Builtin, Shell,
// HTTP and Ask is set.
type Tool struct {
	Pos Position `yaml:"-"`

	Name        string          `yaml:"name" required:"true" max:"63" pattern:"^[A-Za-z][A-Za-z0-9_-]*$" form:"a letter, then letters, digits, _ and -" why:"models take nothing else for a tool's name" doc:"The tool's name, or that of a built-in where no kind key stands beside it."`
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

	Timeout          Duration `yaml:"timeout" default:"60s" doc:"How long one call may take."`
	RequiresApproval bool     `yaml:"requires_approval" doc:"A person must approve each call."`
	MaxResultBytes   int      `yaml:"max_result_bytes" default:"65536" min:"1" max:"67108864" doc:"What is longer is cut in the middle."`

	Builtin *Builtin `yaml:"args" doc:"Settings of a built-in."` // set for entries without a kind key
	Shell   *Shell   `yaml:"shell" doc:"Run a program: its argv list, or a mapping."`
	HTTP    *HTTP    `yaml:"http" doc:"Make an HTTP request."`
	Ask     *Ask     `yaml:"ask" doc:"Ask the person who waits."`
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

// Builtin is the args of a built-in tool.
type Builtin struct {
	Root  string `yaml:"root" env:"true" doc:"files: the folder that can be read, relative to this file."` // absolute after loading
	Write bool   `yaml:"write" doc:"files: also allow writing."`
}

// Ask puts a form before the person who waits for the answer.
type Ask struct {
	Message Template        `yaml:"message" required:"true" doc:"What the person reads; {name} is a parameter."`
	Form    json.RawMessage `yaml:"form" type:"object" doc:"The fields: a flat JSON Schema of type object, as MCP elicitation takes it; by default one text, which the model gets as it is."`
}

// Shell runs a program. Exactly one of Command and Script is set. In YAML it
// may be just the argv list. A program that is named with a slash is absolute
// after loading.
type Shell struct {
	Command          []Template          `yaml:"command" doc:"The program and its arguments; {name} is a parameter."`
	Script           string              `yaml:"script" doc:"A script, in a file whose path is appended to the interpreter; parameters come as environment variables."`
	Interpreter      []Template          `yaml:"interpreter" doc:"What runs the script; by default sh."`
	Stdin            *Template           `yaml:"stdin" doc:"Text for the standard input; by default it is empty."`
	Dir              string              `yaml:"dir" env:"true" doc:"The working directory, relative to this file; by default the folder of this file."` // absolute after loading
	Env              map[string]Template `yaml:"env" doc:"Environment variables on top of a minimal environment."`                                       // no places
	PassEnv          []string            `yaml:"pass_env" pattern:"^[A-Za-z_][A-Za-z0-9_]*$" form:"the name of an environment variable" doc:"Environment variables that are passed on."`
	SuccessExitCodes []int               `yaml:"success_exit_codes" default:"0" min:"0" max:"255" doc:"Exit codes that are no failure."`
	Output           string              `yaml:"output" default:"text" pattern:"^(text|json|[a-z]+/[A-Za-z0-9.+-]+)$" form:"text, json or a MIME type such as image/png" doc:"What the program prints: text, json, or a MIME type."`
	Concurrency      int                 `yaml:"concurrency" default:"4" min:"1" max:"1000" doc:"How many calls run at the same time."`
}

// HTTP makes one request.
type HTTP struct {
	Method     string              `yaml:"method" default:"GET" enum:"GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS" doc:"The HTTP method."`
	URL        string              `yaml:"url" required:"true" doc:"An RFC 6570 template; {name} is a parameter."` // ${VAR} replaced, braces of such values percent-encoded
	Headers    map[string]Template `yaml:"headers" doc:"Headers; {name} is a parameter."`
	Query      []QueryParam        `yaml:"query" entries:"true" doc:"Query parameters; {name} is a parameter."`
	Body       *Body               `yaml:"body" doc:"The request's body: json, form or raw."`
	Auth       *Auth               `yaml:"auth" env:"true" doc:"How requests are signed: bearer, basic or header."`
	AllowHosts []string            `yaml:"allow_hosts" pattern:"^[A-Za-z0-9._:\\[\\]-]+$" form:"a host name" doc:"Hosts that redirects may lead to, besides the URL's own."`
	Result     string              `yaml:"result" doc:"A jq program that picks the result out of a JSON answer."`
}

// QueryParam is one query parameter; a value that is exactly the place of a
// list gives one parameter per item.
type QueryParam struct {
	Name  string
	Value Template
}

// Body is a request body; exactly one of JSON, Form and Raw is set.
type Body struct {
	// JSON is in the file's order. Each string in it is a template for
	// [ParsePlaces]; variables have been replaced.
	JSON        json.RawMessage `yaml:"json" doc:"A JSON value; {name} in its texts is a parameter, and a text that is just that takes the parameter's type."`
	Form        []QueryParam    `yaml:"form" entries:"true" doc:"Fields of a form; {name} is a parameter."`
	Raw         *Template       `yaml:"raw" doc:"Text; {name} is a parameter."`
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
