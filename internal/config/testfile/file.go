// Package testfile reads the cases that are kept beside an agent: NAME.test.yaml
// beside NAME.yaml.
//
// Start with [File], then [LoadAll]; [Find] says which files a command line means.
// The struct tags are the decoder's rules, as in package config, and what is
// written in another form than its Go type says so in yaml.go. Variables of the
// environment are replaced in the judge's model only: a case means the same everywhere.
package testfile

import (
	"encoding/json"
	"regexp"

	"github.com/itchyny/gojq"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// File is one file of cases. It is immutable.
type File struct {
	// Path is the file's path as it was found.
	Path string `yaml:"-"`

	_ string `yaml:"$schema" doc:"The JSON Schema of this file, for the editor."`
	_ any    `yaml:"x-*"`

	Agent     string `yaml:"agent" doc:"The agent's file, relative to this one; by default NAME.yaml beside it."`                                  // joined with the folder of Path
	Recording string `yaml:"recording" doc:"Where the model's replies are kept, relative to this file; by default NAME.recording.json beside it."` // joined with the folder of Path
	Judge     Judge  `yaml:"judge" doc:"The model that expect.judge asks, written as the model of an agent file."`
	Cases     []Case `yaml:"cases" required:"true" doc:"What is tried, one after the other, each in a conversation of its own."`
}

// Judge is the agent whose model expect.judge asks; nil for none.
type Judge struct{ *config.Agent }

// ReadModel reads the model that a key at the top of a file names, as that of an agent
// file. It gives an agent that has it. Problems are at their places in the file.
type ReadModel func(doc *strictyaml.Document, key string) (*config.Agent, strictyaml.Problems, error)

// Case is one conversation and what is expected of it.
type Case struct {
	Pos config.Position `yaml:"-"`

	Name string `yaml:"name" required:"true" max:"200" doc:"What the case shows; no two cases of a file have the same."`
	// Turns are at least one: what a case says without turns is its only one.
	Turns []Turn `yaml:"turns" doc:"Several turns of one conversation, instead of request and expect."`

	Request   string          `yaml:"request" doc:"What the agent is asked."`
	Arguments json.RawMessage `yaml:"arguments" type:"object" doc:"The arguments of an agent with an input_schema."`
	Expect    *Expect         `yaml:"expect" doc:"What the turn has to come to."`

	Tools   []StandIn      `yaml:"tools" entries:"true" doc:"Results that stand in for those of tools; AGENT/TOOL is a tool of an agent that is a tool. Others run for real."`
	State   map[string]any `yaml:"state" doc:"The session's state at the start, on top of the agent file's."` // numbers are json.Number
	Approve *bool          `yaml:"approve" doc:"What becomes of calls that want an approval; without it they fail the case."`
}

// Turn is one request and what is expected of the answer. Exactly one of Request
// and Arguments is set.
type Turn struct {
	Request   string          `yaml:"request" doc:"What the agent is asked."`
	Arguments json.RawMessage `yaml:"arguments" type:"object" doc:"The arguments of an agent with an input_schema."`
	Expect    *Expect         `yaml:"expect" doc:"What the turn has to come to."` // nil in a turn that others build on
}

// Expect is what a turn has to come to: all of what is set. A turn that does not
// end well fails, unless Error names how.
type Expect struct {
	// Calls are all calls of the turn; nil for any, empty for none.
	Calls         *[]Call  `yaml:"calls" doc:"The tool calls of the turn, all of them and in order; [] for none."`
	CallsAnyOrder bool     `yaml:"calls_any_order" doc:"The calls may come in any order."`
	Text          Texts    `yaml:"text" doc:"The whole answer, but for white space around it; one of a list."`
	Contains      Texts    `yaml:"contains" doc:"What the answer contains; all of a list."`
	NotContains   Texts    `yaml:"not_contains" doc:"What the answer does not contain; none of a list."`
	Matches       Patterns `yaml:"matches" doc:"RE2 patterns that match somewhere in the answer; all of a list."`
	JSON          []Query  `yaml:"json" entries:"true" doc:"jq programs, such as .total, and what each gives when it is run on the answer."`
	Judge         Texts    `yaml:"judge" doc:"What the judge has to find true of the answer; all of a list."`
	Error         string   `yaml:"error" enum:"unauthorized,not_found,invalid_request,context_overflow,rate_limited,unavailable,stream_cut,empty,malformed,blocked,max_tokens,timeout,misconfigured,cancelled,interrupted,limit,missing_state,turn_timeout,invalid_output,setup,internal_error" why:"docs/testing.md says what each is" doc:"The code of the problem that the turn ends with, such as blocked or limit; texts are then held against its message."`
	MaxTokens     int64    `yaml:"max_tokens" min:"1" doc:"The most tokens that the turn may use."`
	MaxSteps      int      `yaml:"max_steps" min:"1" doc:"The most replies of the model that the turn may take."`
}

// Text is a text that is not empty.
type Text string

// Texts are one or several; in YAML one may stand without a list.
type Texts []Text

// Pattern is an RE2 pattern.
type Pattern struct{ *regexp.Regexp }

// Patterns are one or several; in YAML one may stand without a list.
type Patterns []Pattern

// Call is a call that is expected. In YAML it is a mapping of the tool to its
// arguments, or just the tool.
type Call struct {
	Tool string
	// Args is a JSON object: what of the arguments must be there.
	Args json.RawMessage
}

// Query is a jq program and the only value that it has to give.
type Query struct {
	Program string
	Code    *gojq.Code
	Want    any // numbers are json.Number
}

// StandIn gives results in place of a tool.
type StandIn struct {
	Tool    string // TOOL, or AGENT/TOOL for a tool of another agent
	Results []Result
	// Listed means that each call takes the next of the results; else all take
	// the only one.
	Listed bool
}

// Result is what a tool gives: a value, or an error of the tool.
type Result struct {
	Output  any // text or a JSON value with numbers as json.Number
	IsError bool
}
