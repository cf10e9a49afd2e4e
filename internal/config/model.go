package config

import (
	"encoding/json"
	"slices"
)

// The providers that this version has.
const (
	Gemini     = "gemini"
	OpenAI     = "openai"            // the Responses API
	Compatible = "openai-compatible" // the Chat Completions API at a base_url
	Anthropic  = "anthropic"
	Host       = "host" // the calling host's own model, by MCP sampling
	Scripted   = "scripted"
	Replay     = "replay"
)

// Model names a model and how to reach it. In YAML it is a name, a
// provider/name, or a mapping.
type Model struct {
	Pos Position `yaml:"-"`

	Provider string            `yaml:"provider" env:"true" enum:"gemini,openai,openai-compatible,ollama,anthropic,host,scripted,replay" why:"this version has no other" doc:"Who runs the model; derived from the name where it can be."`
	Name     string            `yaml:"name" env:"true" doc:"The model's name, such as gemini-flash-latest."`
	BaseURL  string            `yaml:"base_url" env:"true" doc:"Another address of the provider's API."`
	APIKey   Secret            `yaml:"api_key" env:"true" doc:"The key, best as ${VAR}; by default the provider's own variables."`
	Headers  map[string]Secret `yaml:"headers" env:"true" doc:"More headers for each request to the model."`
	Timeout  Duration          `yaml:"timeout" env:"true" default:"5m" doc:"How long one model call may take."`
	Retries  int               `yaml:"retries" env:"true" default:"3" min:"0" max:"100" doc:"How often a call is tried again after rate limits and outages."`

	// What follows are the settings of an answer; nil leaves one to the provider.
	// Package load puts those of generate_content_config here too, for the
	// providers that are not Gemini.
	Temperature      *float64  `yaml:"temperature" min:"0" max:"2" doc:"How much chance there is in an answer."`
	TopP             *float64  `yaml:"top_p" min:"0" max:"1" doc:"Only the likeliest tokens that make up this share are considered."`
	TopK             *int      `yaml:"top_k" min:"1" doc:"Only so many of the likeliest tokens are considered."`
	MaxOutputTokens  *int      `yaml:"max_output_tokens" min:"1" doc:"The longest answer of one model call, thoughts included."`
	Stop             []string  `yaml:"stop" doc:"Texts before which an answer ends."`
	Seed             *int      `yaml:"seed" min:"-2147483648" max:"2147483647" doc:"Makes chance repeatable, as far as the provider can."`
	PresencePenalty  *float64  `yaml:"presence_penalty" min:"-2" max:"2" doc:"Above 0: less of what was said already."`
	FrequencyPenalty *float64  `yaml:"frequency_penalty" min:"-2" max:"2" doc:"Above 0: less of what was said often."`
	Thinking         *Thinking `yaml:"thinking" doc:"How much the model thinks before it answers: none, minimal, low, medium, high, or a number of tokens."`

	// ExtraBody is put into the body of each request; openai and openai-compatible.
	ExtraBody json.RawMessage `yaml:"extra_body" type:"object" doc:"openai, openai-compatible: more members of the request, for what a server has beyond the API."`

	Price         *Price   `yaml:"price" doc:"What the model costs, for usage figures and limits of cost."`
	ContextWindow int      `yaml:"context_window" min:"1000" doc:"How many tokens a request and its answer may have together; a longer conversation is an error before it is sent."` // 0: not known
	Fallback      []Model  `yaml:"fallback" doc:"Models that answer, in this order, when this one fails or cannot be reached."`
	Cooldown      Duration `yaml:"cooldown" default:"1m" doc:"How long a model that failed is passed over where there is a fallback."`

	Script    []Rule `yaml:"script" env:"false" doc:"What a scripted model says and calls; the first rule that fits plays."`
	Recording string `yaml:"recording" env:"true" doc:"The recording that a replay model plays, relative to this file; by default that beside the agent file, NAME.recording.json."` // absolute after loading
}

// Clone is a copy that can be changed without the other.
func (m *Model) Clone() Model {
	c := *m
	c.Fallback = slices.Clone(m.Fallback)
	return c
}

// Effort is how much a model thinks, in words.
type Effort string

// The efforts, from none upwards.
const (
	NoThinking      Effort = "none"
	MinimalThinking Effort = "minimal"
	LowThinking     Effort = "low"
	MediumThinking  Effort = "medium"
	HighThinking    Effort = "high"
)

// Thinking says how much a model thinks before it answers: by one of the words, or
// by a number of tokens. Exactly one of the two is set.
type Thinking struct {
	Effort Effort
	Budget int // tokens
}

// Price is what a model costs, in US dollars for a million tokens.
type Price struct {
	Input       float64  `yaml:"input" required:"true" min:"0" doc:"US dollars for a million tokens of input."`
	Output      float64  `yaml:"output" required:"true" min:"0" doc:"US dollars for a million tokens of output, thoughts included."`
	CachedInput *float64 `yaml:"cached_input" min:"0" doc:"US dollars for a million tokens of input that the provider had cached; by default what input costs."`
}

// Of is what a model call cost, in US dollars. Cached tokens are among those of
// the input, and thoughts beside those of the output.
func (p *Price) Of(input, cached, output, thoughts int64) float64 {
	if p == nil {
		return 0
	}
	forCached := p.Input
	if p.CachedInput != nil {
		forCached = *p.CachedInput
	}
	const million = 1e6
	return (float64(input-cached)*p.Input + float64(cached)*forCached + float64(output+thoughts)*p.Output) / million
}

// Compaction says when older turns give way to a summary of the model's. The keys
// are those of ADK's EventsCompactionConfig; either pair, or both.
type Compaction struct {
	CompactionInterval int   `yaml:"compaction_interval" min:"1" doc:"After so many turns since the last summary they are summarised."`
	OverlapSize        *int  `yaml:"overlap_size" min:"0" doc:"With compaction_interval: so many turns before them are summarised with them."`
	TokenThreshold     int64 `yaml:"token_threshold" min:"1" doc:"When a request to the model had more tokens than this, the older part is summarised."`
	EventRetentionSize *int  `yaml:"event_retention_size" min:"0" doc:"With token_threshold: so many of the newest events are kept as they are."`
}

// Rule is one rule of a scripted model.
type Rule struct {
	Match string `yaml:"match" doc:"An RE2 pattern for the caller's newest text; without one the rule always fits."`
	Steps []Step `yaml:"steps" required:"true" doc:"One step for each model call of the turn; the last one plays again and again."`
}

// Step is what a scripted model does on one model call: say something and
// call tools, or reply and be done.
type Step struct {
	Say   string       `yaml:"say" doc:"Text beside the calls."`
	Reply string       `yaml:"reply" doc:"The answer. {name} is a group of the pattern or the last result of a tool."`
	Files []string     `yaml:"files" env:"false" doc:"Files that go along with the reply, relative to this file."` // absolute after loading
	Call  []ScriptCall `yaml:"call" doc:"Calls that run at the same time, each a mapping of the tool's name to its arguments."`
}

// ScriptCall is a tool call of a scripted model.
type ScriptCall struct {
	Tool string
	Args json.RawMessage // a JSON object in the file's order, numbers as written; {name} places inside strings
}

// HostedMCP is an MCP server that the model's own service connects to (OpenAI,
// "MCP and Connectors"). Exactly one of ServerURL and ConnectorID is set.
type HostedMCP struct {
	ServerLabel       string            `yaml:"server_label" required:"true" pattern:"^[A-Za-z][A-Za-z0-9_-]*$" form:"a letter, then letters, digits, _ and -" why:"the service takes nothing else" max:"63" doc:"What the server is called towards the model."`
	ServerDescription string            `yaml:"server_description" doc:"What the server is good for."`
	ServerURL         string            `yaml:"server_url" env:"true" doc:"Where the server is, as the service reaches it."`
	ConnectorID       string            `yaml:"connector_id" pattern:"^connector_[a-z0-9_]+$" form:"connector_ and a name" why:"that is what connectors are called" doc:"One of the service's own connectors instead of server_url."`
	Headers           map[string]Secret `yaml:"headers" env:"true" doc:"Headers that the service sends to the server."`
	Authorization     Secret            `yaml:"authorization" env:"true" doc:"An OAuth access token for the server or connector."`
	AllowedTools      []string          `yaml:"allowed_tools" doc:"Only these of the server's tools; by default all."`
	RequireApproval   HostedApproval    `yaml:"require_approval" doc:"always (the default), never, or a mapping of the two to lists of tools."`
	DeferLoading      bool              `yaml:"defer_loading" doc:"The model finds the tools by searching instead of being shown all."`
}

// HostedApproval says which tools of a hosted server a person must approve each
// call of. With All set it holds for all tools; else Always and Never name some,
// and the others need an approval.
type HostedApproval struct {
	All    string   `yaml:"-"` // always or never; empty with the lists
	Always []string `yaml:"always" doc:"Tools whose calls a person approves."`
	Never  []string `yaml:"never" doc:"Tools that run without an approval."`
}
