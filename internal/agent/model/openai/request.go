package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/openai/dialect"
	"github.com/adkmcp/adkmcp/internal/agent/model/openai/history"
	"github.com/adkmcp/adkmcp/internal/agent/model/openai/thinking"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
	"github.com/adkmcp/adkmcp/internal/config"
)

// Bounds of a request.
const (
	maxTools  = 128 // tools that the service takes
	minOutput = 16  // of max_output_tokens
)

// request is the body of a request (OpenAI, "Create a response"). store is false:
// the conversation is ours.
type request struct {
	Model           string            `json:"model"`
	Instructions    string            `json:"instructions,omitempty"`
	Input           []json.RawMessage `json:"input"`
	Tools           []json.RawMessage `json:"tools,omitempty"`
	Text            *format           `json:"text,omitempty"`
	Reasoning       *reasoning        `json:"reasoning,omitempty"`
	Include         []string          `json:"include,omitempty"`
	MaxOutputTokens *int              `json:"max_output_tokens,omitempty"`
	Temperature     *float64          `json:"temperature,omitempty"`
	TopP            *float64          `json:"top_p,omitempty"`
	Stream          bool              `json:"stream"`
	Store           bool              `json:"store"`
}

type reasoning struct {
	Effort  config.Effort `json:"effort"`
	Summary string        `json:"summary,omitempty"`
}

type format struct {
	Format jsonSchema `json:"format"`
}

type jsonSchema struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

// function is the declaration of a tool.
type function struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

// body builds a request. so is what this step has said and been told already. It
// tells what the request has of all that it could do without.
func (m *Model) body(req *model.Request, so []*history.Item, without concessions) (body []byte, has held, err error) {
	r := request{
		Model: m.cfg.Name, Instructions: req.System, MaxOutputTokens: m.cfg.MaxOutputTokens,
		Temperature: m.cfg.Temperature, TopP: m.cfg.TopP, Stream: !without.stream, Reasoning: m.reasoning(without),
	}
	hosted, seen, err := m.host(req)
	if err != nil {
		return nil, has, err
	}
	if r.Tools, err = m.tools.Of(req); err != nil {
		return nil, has, err
	}
	if r.Tools = append(r.Tools, hosted...); len(r.Tools) > maxTools {
		return nil, has, &model.Error{Code: model.InvalidRequest, Message: fmt.Sprintf("the agent has %d tools, %s takes %d: select fewer of them in the agent file", len(r.Tools), name, maxTools)}
	}
	if without.schema {
		r.Instructions = wire.Demanding(r.Instructions, req)
	} else if r.Text, err = m.output(req); err != nil {
		return nil, has, err
	}
	if !without.thoughts {
		r.Include = []string{"reasoning.encrypted_content"}
	}
	seen.Bare, seen.Blind = without.thoughts, without.images
	in, err := history.Of(req.Contents, so, seen)
	if err != nil {
		return nil, has, wire.NotEncoded(name, err)
	}
	r.Input = in.Items
	if body, err = wire.Encode(r); err == nil && m.extra != nil {
		body, err = merge(body, m.extra)
	}
	if err != nil {
		return nil, has, wire.NotEncoded(name, err)
	}
	has = held{thoughts: in.Thoughts, include: r.Include != nil, stream: r.Stream, schema: r.Text != nil, images: in.Images && !without.images}
	if r.Reasoning != nil {
		has.summary = r.Reasoning.Summary != ""
		if without.effort == "" {
			has.effort = r.Reasoning.Effort
		}
	}
	return body, has, nil
}

// reasoning says how much the model shall think; nil to leave that to the service.
func (m *Model) reasoning(without concessions) *reasoning {
	if m.cfg.Thinking == nil || without.think {
		return nil
	}
	effort := cmp.Or(without.effort, thinking.Effort(m.cfg.Name, m.cfg.Thinking.Effort))
	switch {
	case effort == "":
		return nil
	case effort == config.NoThinking || without.summary:
		return &reasoning{Effort: effort}
	}
	return &reasoning{Effort: effort, Summary: "auto"}
}

// output is the form that the service holds the answer to; nil for text.
func (m *Model) output(req *model.Request) (*format, error) {
	if req.OutputSchema == nil {
		return nil, nil
	}
	schema, strict, err := dialect.Translate(req.OutputSchema)
	if err != nil {
		return nil, &model.Error{Code: model.InvalidRequest, Message: "output_schema cannot be declared to OpenAI: simplify it", Err: err}
	}
	return &format{jsonSchema{Type: "json_schema", Name: "answer", Schema: schema, Strict: strict && m.holds()}}, nil
}

// holds reports whether the service holds this model to a schema in all that
// package dialect takes for strict: models that were fine-tuned know fewer keywords.
func (m *Model) holds() bool { return !strings.HasPrefix(m.cfg.Name, "ft:") }

func (m *Model) encodeTool(tool *genai.FunctionDeclaration, schema json.RawMessage) ([]byte, error) {
	if !history.IsName(tool.Name) {
		return nil, errors.New("its name must be up to 64 letters, digits or any of _ -")
	}
	if len(schema) == 0 {
		schema = json.RawMessage(`{}`)
	}
	parameters, strict, err := dialect.Translate(schema)
	if err != nil {
		return nil, fmt.Errorf("its parameters: %w", err)
	}
	return wire.Encode(function{"function", tool.Name, tool.Description, parameters, strict && m.holds()})
}

// merge adds members to a request; objects that are in both are merged too.
func merge(body []byte, extra map[string]any) ([]byte, error) {
	var own map[string]json.RawMessage
	if err := json.Unmarshal(body, &own); err != nil {
		return nil, err
	}
	for key, value := range extra {
		more, isObject := value.(map[string]any)
		if had := own[key]; isObject && bytes.HasPrefix(had, []byte("{")) {
			merged, err := merge(had, more)
			if err != nil {
				return nil, err
			}
			own[key] = merged
			continue
		}
		raw, err := wire.Encode(value)
		if err != nil {
			return nil, err
		}
		own[key] = raw
	}
	return wire.Encode(own)
}
