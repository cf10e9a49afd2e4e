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

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat/dialect"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// responseFormat is the member that holds answers to a schema.
const responseFormat = "response_format"

// body builds a request.
func (m *Model) body(req *model.Request) ([]byte, error) {
	if len(req.Hosted) > 0 {
		return nil, &model.Error{Code: model.InvalidRequest, Message: fmt.Sprintf("%s runs no tool %q itself: take it out of the agent's tools", m.settings.host, req.Hosted[0])}
	}
	messages, err := m.messages(req)
	if err != nil {
		return nil, wire.NotEncoded(m.settings.host, err)
	}
	tools, err := m.tools.Of(req)
	if err != nil {
		return nil, err
	}
	format, err := m.format(req)
	if err != nil {
		return nil, err
	}
	b := newObject()
	b.put("model", m.name)
	b.put("messages", messages)
	if len(tools) > 0 { // some servers refuse a list of none
		b.put("tools", tools)
	}
	b.put("stream", true)
	if format != nil {
		b.put(responseFormat, format)
	}
	for _, name := range slices.Sorted(maps.Keys(m.settings.members)) {
		if value := m.settings.members[name]; name != responseFormat || string(value) != "null" {
			b.put(name, value)
		}
	}
	if b.err != nil {
		return nil, wire.NotEncoded(m.settings.host, b.err)
	}
	return append(b.text.Bytes(), '}'), nil
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
// servers refuse beside it (the instruction says it then), and none where extra_body
// has a response_format, of null too.
func (m *Model) format(req *model.Request) (*schemaFormat, error) {
	if _, own := m.settings.members[responseFormat]; own || req.OutputSchema == nil || len(req.Tools) > 0 {
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

// declare is the Encode of [wire.Declarations].
func (s *settings) declare(tool *genai.FunctionDeclaration, schema json.RawMessage) ([]byte, error) {
	if !toolName().MatchString(tool.Name) {
		return nil, errors.New("its name must be 1 to 64 letters, digits or any of _ -")
	}
	parameters, err := dialect.Parameters(schema)
	if err != nil {
		return nil, fmt.Errorf("its parameters: %w", err)
	}
	description, _ := s.describe(tool.Description)
	return wire.Encode(map[string]any{"type": "function", "function": function{tool.Name, description, parameters}})
}
