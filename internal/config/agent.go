// Package config says what an agent file means.
//
// Start with [Agent]. The struct tags of the types are at once the decoder's
// rules and the source of the JSON Schema ([Schema]); package strictyaml explains
// them. What is written in another form than its Go type says so in yaml.go.
// Package load reads files; whoever uses an agent gets it checked.
package config

import (
	"encoding/json"

	"github.com/adkmcp/adkmcp/internal/config/template"

	"google.golang.org/genai"
)

// Agent is one checked agent file. It is immutable; everything that has a
// default holds it.
type Agent struct {
	// File is the path as given, Dir the absolute folder that relative paths
	// of the file start from.
	File string `yaml:"-"`
	Dir  string `yaml:"-"`
	// Definition is a hash of what the file says, for the events: comments,
	// the order of keys, quotes and anchors make no difference.
	Definition string `yaml:"-"`
	// LookupEnv gives a variable of the environment as this file sees it: that
	// of the process, then that of the .env file beside it.
	LookupEnv func(name string) (string, bool) `yaml:"-"`
	// Incomplete means that a variable of the file is not set, which only
	// checking lets pass: such an agent can be looked at, not run.
	Incomplete bool `yaml:"-"`
	// Secrets are the values of the whole file that must not be printed.
	Secrets []string `yaml:"-"`

	_ string `yaml:"$schema" doc:"The JSON Schema of this file, for the editor."`
	_ any    `yaml:"x-*"`

	Class       string      `yaml:"agent_class" default:"LlmAgent" enum:"LlmAgent,google.adk.agents.LlmAgent,google.adk.agents.llm_agent.LlmAgent" why:"this version runs LLM agents; Python classes cannot run here" doc:"The kind of agent, as in ADK."`
	Name        string      `yaml:"name" required:"true" max:"63" pattern:"^[A-Za-z][A-Za-z0-9_-]*$" form:"a letter, then letters, digits, _ and -" why:"hosts and models take nothing else for a tool's name" doc:"The agent's name, and that of the MCP tool."`
	Title       string      `yaml:"title" doc:"The name that people see."`
	Description string      `yaml:"description" doc:"What the agent is good for. The calling model reads it to decide whether to call."`
	Model       Model       `yaml:"model" env:"true" default:"gemini-flash-latest" doc:"A model's name, provider/name, or a mapping."`
	Instruction string      `yaml:"instruction" required:"true" doc:"What the model is told. {name} is a key of the session's state, {name?} one that may be missing."`
	Tools       []Tool      `yaml:"tools" doc:"What the model may call."`
	MCPServers  []MCPServer `yaml:"mcp_servers" entries:"true" doc:"MCP servers by name, as in a host's mcp.json; tools name them with mcp: NAME."`
	Memory      string      `yaml:"memory" default:"none" enum:"none,auto" doc:"auto: what was said in turns that have ended can be found with load_memory and preload_memory in later conversations of the same caller."`
	OutputKey   string      `yaml:"output_key" doc:"The key of the session's state that the answer is kept under."`

	InputSchema  json.RawMessage `yaml:"input_schema" type:"object" doc:"A JSON Schema of type object for the tool's arguments, which then stand in place of request."`
	OutputSchema json.RawMessage `yaml:"output_schema" type:"object" doc:"A JSON Schema of type object that the answer, then JSON, must match."`

	IncludeContents string                       `yaml:"include_contents" default:"default" enum:"default,none" doc:"none: the model sees the current turn only."`
	Generate        *genai.GenerateContentConfig `yaml:"generate_content_config" doc:"Settings of an answer such as temperature, as ADK and the Gemini API call them, in camelCase or snake_case."`
	State           map[string]any               `yaml:"state" doc:"The session's state at the start of a conversation."` // numbers are json.Number
	Limits          Limits                       `yaml:"limits" doc:"Bounds of one turn, and of one conversation."`
	Compaction      *Compaction                  `yaml:"events_compaction_config" doc:"When older turns give way to a summary by the model; the keys are ADK's."`
	Serve           Serve                        `yaml:"serve" doc:"How the agent looks as an MCP tool."`
}

// Limits bound one turn, and one conversation.
type Limits struct {
	MaxModelCalls  int      `yaml:"max_model_calls" default:"50" min:"1" doc:"Model calls of one turn."`
	MaxTotalTokens int64    `yaml:"max_total_tokens" default:"200000" min:"1" doc:"Tokens of one turn, as the model's service counts them."`
	MaxCost        float64  `yaml:"max_cost" min:"0.000001" doc:"US dollars of one turn; needs the model's price."` // 0 for none
	Timeout        Duration `yaml:"timeout" default:"10m" doc:"How long one turn may take."`

	MaxConversationTokens int64   `yaml:"max_conversation_tokens" min:"1" doc:"Tokens of one conversation; after that it takes no more turns."` // 0 for none
	MaxConversationCost   float64 `yaml:"max_conversation_cost" min:"0.000001" doc:"US dollars of one conversation; needs the model's price."`  // 0 for none
}

// Serve says how the agent looks as an MCP tool.
type Serve struct {
	Name         string       `yaml:"name" max:"63" pattern:"^[A-Za-z][A-Za-z0-9_-]*$" form:"a letter, then letters, digits, _ and -" why:"hosts and models take nothing else for a tool's name" doc:"The MCP tool's name; by default the agent's."`
	Title        string       `yaml:"title" doc:"The name that people see; by default the agent's title."`
	Instructions string       `yaml:"instructions" doc:"What the host's model is told about this server."`
	Annotations  Annotations  `yaml:"annotations" doc:"Hints that override those derived from the tools."`
	Result       string       `yaml:"result" default:"last" enum:"last,all" doc:"What the caller gets: the last answer, or all text of the turn."`
	Timeout      Wait         `yaml:"timeout" default:"auto" doc:"How long a caller waits for the answer; auto: just below the limit of a host that is known to have one. The turn goes on, and the same request again gets its answer."`
	TaskAfter    Duration     `yaml:"task_after" default:"10s" doc:"When a call becomes a task, for clients that declare the tasks extension."`
	MaxAnswer    int          `yaml:"max_answer_bytes" default:"262144" min:"1024" max:"67108864" doc:"A longer text answer keeps its head and tail, and links to the whole."`
	Attachments  *Attachments `yaml:"attachments" doc:"Let callers attach data or resources; true, or a mapping of bounds."`
	Prompts      []Prompt     `yaml:"prompts" doc:"Prompts that the host offers to its user."`
	Resources    []Resource   `yaml:"resources" doc:"Resources that the host can read."`
	Conversation Conversation `yaml:"conversation" default:"connection" enum:"connection,explicit,process,none" doc:"What ties the calls of a caller together: its connection, a handle that it passes, the process (stdio only), or nothing."`
}

// Wait is how long a caller waits. In YAML it is a length of time or the word
// auto.
type Wait struct {
	Auto  bool
	Limit Duration // 0 with Auto
}

// Attachments bound what callers may attach to a request; nil lets them attach
// nothing. In YAML it may be just true or false.
type Attachments struct {
	MaxCount int      `yaml:"max_count" default:"10" min:"1" max:"100" doc:"How many a request may have."`
	MaxBytes int      `yaml:"max_bytes" default:"4194304" min:"1" max:"67108864" doc:"What they may hold together, decoded."`
	Types    []string `yaml:"types" pattern:"^[a-z]+/([A-Za-z0-9.+-]+|\\*)$" form:"a MIME type such as image/png or image/*" doc:"MIME types that are taken; by default all."`
}

// Prompt is a prompt of MCP: messages with places for arguments. Exactly one of
// Text and Messages is set.
type Prompt struct {
	Name        string           `yaml:"name" required:"true" max:"63" pattern:"^[A-Za-z][A-Za-z0-9_-]*$" form:"a letter, then letters, digits, _ and -" why:"hosts make slash commands of it" doc:"The prompt's name."`
	Title       string           `yaml:"title" doc:"The name that people see."`
	Description string           `yaml:"description" doc:"What the prompt is for."`
	Arguments   []PromptArgument `yaml:"arguments" doc:"What the user is asked for."`
	Text        *template.Text   `yaml:"text" doc:"The only message, from the user; {name} is an argument."`
	Messages    []PromptMessage  `yaml:"messages" doc:"Several messages."`
}

// PromptArgument is one argument of a [Prompt].
type PromptArgument struct {
	Name        string   `yaml:"name" required:"true" max:"63" pattern:"^[A-Za-z][A-Za-z0-9_]*$" form:"a letter, then letters, digits and _" why:"it is a place in texts" doc:"The argument's name."`
	Description string   `yaml:"description" doc:"What the user should enter."`
	Required    bool     `yaml:"required" doc:"Whether the prompt needs it."`
	Values      []string `yaml:"values" doc:"Values that the host offers to complete."`
}

// PromptMessage is one message of a [Prompt]. Exactly one of Text, File and
// Resource is set.
type PromptMessage struct {
	Role     string         `yaml:"role" default:"user" enum:"user,assistant" doc:"Who says it."`
	Text     *template.Text `yaml:"text" doc:"Text; {name} is an argument."`
	File     string         `yaml:"file" env:"true" doc:"A file that the message holds: an image, audio or other data, relative to this file."` // absolute after loading
	Resource *template.Text `yaml:"resource" doc:"The URI of one of this agent's resources, which the message embeds; {name} is an argument."`
}

// Resource is a resource of MCP. Exactly one of URI and URITemplate, and of Text
// and File is set.
type Resource struct {
	URI         string              `yaml:"uri" doc:"The resource's URI."`
	URITemplate string              `yaml:"uri_template" doc:"A URI with places such as notes://{topic}; each matches one part without a slash."`
	Name        string              `yaml:"name" required:"true" doc:"The resource's name."`
	Title       string              `yaml:"title" doc:"The name that people see."`
	Description string              `yaml:"description" doc:"What the resource holds."`
	MIMEType    string              `yaml:"mime_type" pattern:"^[a-z]+/[A-Za-z0-9.+-]+(;.*)?$" form:"a MIME type such as text/markdown" doc:"Its MIME type; by default that of the file's ending, else text/plain."`
	Text        *template.Text      `yaml:"text" doc:"What it holds; {name} is a place of uri_template."`
	File        *template.Text      `yaml:"file" doc:"The file that it is, relative to this file; {name} is a place of uri_template and never leaves the folder before it."` // absolute after loading; see [template.Text.SplitFolder]
	Values      map[string][]string `yaml:"values" doc:"For the places of uri_template: values that the host offers to complete."`
}

// Annotations override the hints that are derived from the agent's tools; nil
// leaves one derived.
type Annotations struct {
	ReadOnly    *bool `yaml:"read_only" doc:"The agent changes nothing."`
	Destructive *bool `yaml:"destructive" doc:"The agent may remove or overwrite something."`
	Idempotent  *bool `yaml:"idempotent" doc:"The same call twice has the effect of one."`
	OpenWorld   *bool `yaml:"open_world" doc:"The agent reaches beyond this machine."`
}

// Conversation says what ties the calls of a caller together.
type Conversation string

// The ways of tying calls together.
const (
	PerConnection Conversation = "connection" // default
	Explicit      Conversation = "explicit"   // by handle only
	PerProcess    Conversation = "process"    // stdio only
	NoHistory     Conversation = "none"
)
