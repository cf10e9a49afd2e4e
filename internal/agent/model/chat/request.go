package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat/dialect"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// responseFormat is the member that holds answers to a schema.
const responseFormat = "response_format"

// body builds a request.
func (m *Model) body(req *model.Request, as manner) (body []byte, has held, err error) {
	if len(req.Hosted) > 0 {
		return nil, has, &model.Error{Code: model.InvalidRequest, Message: fmt.Sprintf("%s runs no tool %q itself: take it out of the agent's tools", m.settings.host, req.Hosted[0])}
	}
	format, err := m.format(req, as)
	if err != nil {
		return nil, has, err
	}
	messages, err := m.messages(system(req, as, format != nil), req.Contents, as)
	if err != nil {
		return nil, has, wire.NotEncoded(m.settings.host, err)
	}
	declared := &m.tools
	if as.brief {
		declared = &m.brief
	}
	tools, err := declared.Of(req)
	if err != nil {
		return nil, has, err
	}
	b := newObject()
	b.put("model", m.name)
	b.put("messages", messages)
	if len(tools) > 0 { // some servers refuse a list of none
		b.put("tools", tools)
	}
	b.put("stream", !as.whole)
	if format != nil {
		b.put(responseFormat, format)
	}
	members := m.settings.membersAs(as)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		b.put(name, members[name])
	}
	if b.err != nil {
		return nil, has, wire.NotEncoded(m.settings.host, b.err)
	}
	has = holds(messages)
	has.stream, has.schema, has.options = !as.whole, format != nil, members[streamOptions] != nil
	has.effort = members[effort] != nil && !m.settings.owns(effort)
	has.limit = (members[oldLimit] != nil || members[newLimit] != nil) && !m.settings.ownLimit()
	has.long = slices.ContainsFunc(req.Tools, func(t *genai.FunctionDeclaration) bool {
		return !as.brief && utf8.RuneCountInString(t.Description) > maxDescription
	})
	return append(b.text.Bytes(), '}'), has, nil
}

// holds looks at the messages of a request.
func holds(messages []message) (has held) {
	for i := range messages {
		m := &messages[i]
		_, parts := m.Content.([]any)
		has.system = has.system || m.Role == "system"
		has.media = has.media || parts
		has.calls = has.calls || m.ToolCalls != nil
		has.null = has.null || m.Content == nil
		has.thoughts = has.thoughts || m.Reasoning != nil
	}
	return has
}

// Members whose name or presence is a matter of manner.
const (
	streamOptions = "stream_options"
	effort        = "reasoning_effort"
	oldLimit      = "max_tokens"
	newLimit      = "max_completion_tokens"
)

// membersAs gives the members of the agent file as a server takes them. Those of
// extra_body are for whoever wrote it to get right.
func (s *settings) membersAs(as manner) map[string]json.RawMessage {
	out := maps.Clone(s.members)
	if string(out[responseFormat]) == "null" { // see format
		delete(out, responseFormat)
	}
	if as.uncounted || as.whole {
		delete(out, streamOptions)
	}
	if as.unthinking && !s.owns(effort) {
		delete(out, effort)
	}
	if value, ok := out[oldLimit]; ok && as.completion && !s.ownLimit() {
		delete(out, oldLimit)
		out[newLimit] = value
	}
	return out
}

// jsonObject is a JSON object that is written member by member, without a copy of
// the images in it.
type jsonObject struct {
	text    bytes.Buffer
	encoder *json.Encoder
	err     error // the first
}

func newObject() *jsonObject {
	o := &jsonObject{}
	o.encoder = json.NewEncoder(&o.text)
	o.encoder.SetEscapeHTML(false)
	return o
}

func (o *jsonObject) put(name string, value any) {
	separator := byte(',')
	if o.text.Len() == 0 {
		separator = '{'
	}
	o.text.WriteByte(separator)
	o.encode(name)
	o.text.WriteByte(':')
	o.encode(value)
}

func (o *jsonObject) encode(v any) {
	if err := o.encoder.Encode(v); err != nil {
		o.err = errors.Join(o.err, err)
		return
	}
	o.text.Truncate(o.text.Len() - 1) // the line break
}

type schemaFormat struct {
	Type       string      `json:"type"`
	JSONSchema namedSchema `json:"json_schema"`
}

type namedSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict,omitempty"`
}

// format is what holds the answer to a schema. There is none with tools, which many
// servers refuse beside it, and none where extra_body has a response_format, of null
// too: the system text says it then.
func (m *Model) format(req *model.Request, as manner) (*schemaFormat, error) {
	if m.settings.owns(responseFormat) || as.told || req.OutputSchema == nil || len(req.Tools) > 0 {
		return nil, nil
	}
	schema, strict, err := dialect.Output(req.OutputSchema)
	if err != nil {
		return nil, &model.Error{Code: model.InvalidRequest, Message: "output_schema cannot be declared to " + m.settings.host + ": simplify it", Err: err}
	}
	return &schemaFormat{"json_schema", namedSchema{"answer", schema, strict}}, nil
}

// maxTools is how many tools OpenAI takes; most servers know no bound.
const maxTools = 128

// toolName is OpenAI's rule (Chat Completions, tools[].function.name).
var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[a-zA-Z0-9_-]{1,64}\z`) })

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// declare gives the Encode of [wire.Declarations].
func declare(as manner) func(*genai.FunctionDeclaration, json.RawMessage) ([]byte, error) {
	return func(tool *genai.FunctionDeclaration, schema json.RawMessage) ([]byte, error) {
		if !toolName().MatchString(tool.Name) {
			return nil, errors.New("its name must be 1 to 64 letters, digits or any of _ -")
		}
		parameters, err := dialect.Parameters(schema)
		if err != nil {
			return nil, fmt.Errorf("its parameters: %w", err)
		}
		description, _ := as.describe(tool.Description)
		return wire.Encode(map[string]any{"type": "function", "function": function{tool.Name, description, parameters}})
	}
}
