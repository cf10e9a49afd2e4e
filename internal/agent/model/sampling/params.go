package sampling

import (
	"encoding/json"
	"fmt"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// defaultMaxTokens is how long an answer may get where the agent file says
// nothing; the protocol wants a number.
const defaultMaxTokens = 4096

// params are those of sampling/createMessage (schema, "CreateMessageRequestParams").
type params struct {
	Messages       []message    `json:"messages"`
	Preferences    *preferences `json:"modelPreferences,omitempty"`
	System         string       `json:"systemPrompt,omitempty"`
	IncludeContext string       `json:"includeContext"`
	Temperature    *float64     `json:"temperature,omitempty"`
	MaxTokens      int          `json:"maxTokens"`
	Stop           []string     `json:"stopSequences,omitempty"`
	Tools          []tool       `json:"tools,omitempty"`
	Choice         *choice      `json:"toolChoice,omitempty"`
}

type preferences struct {
	Hints []hint `json:"hints"`
}

type hint struct {
	Name string `json:"name"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"inputSchema"`
}

type choice struct {
	Mode string `json:"mode"`
}

// anything is the schema of a tool that has none.
const anything = `{"type":"object"}`

// params are the question that a request comes to, as JSON.
func (m *Model) params(req *model.Request) (json.RawMessage, error) {
	if len(req.Hosted) > 0 {
		return nil, &model.Error{Code: model.Misconfigured, Message: fmt.Sprintf(
			"the tool %s runs in the service of another model, which model: host does not reach: remove it or choose another model in the agent file", req.Hosted[0])}
	}
	p := params{
		System: wire.Demanding(req.System, req), IncludeContext: "none",
		Temperature: m.cfg.Temperature, MaxTokens: defaultMaxTokens, Stop: m.cfg.Stop,
	}
	if m.cfg.MaxOutputTokens != nil {
		p.MaxTokens = *m.cfg.MaxOutputTokens
	}
	if m.cfg.Name != "" {
		p.Preferences = &preferences{Hints: []hint{{m.cfg.Name}}}
	}
	var err error
	if p.Tools, err = declare(req); err != nil {
		return nil, notEncoded(err)
	}
	if len(p.Tools) > 0 {
		p.Choice = &choice{"auto"}
	}
	if p.Messages, err = messages(req.Contents); err != nil {
		return nil, notEncoded(err)
	}
	payload, err := wire.Encode(p)
	if err != nil {
		return nil, notEncoded(err)
	}
	return payload, nil
}

// notEncoded is the error of a request that has no JSON form.
func notEncoded(err error) error {
	return &model.Error{Code: model.InvalidRequest, Message: "the conversation cannot be put to the host's model", Err: err}
}

// declare gives the tools in the form of tools/list.
func declare(req *model.Request) ([]tool, error) {
	tools := make([]tool, len(req.Tools))
	for i, t := range req.Tools {
		tools[i] = tool{Name: t.Name, Description: t.Description, Schema: json.RawMessage(anything)}
		if t.ParametersJsonSchema == nil {
			continue
		}
		var err error
		if tools[i].Schema, err = wire.Encode(t.ParametersJsonSchema); err != nil {
			return nil, fmt.Errorf("parameters of %s: %w", t.Name, err)
		}
	}
	return tools, nil
}
