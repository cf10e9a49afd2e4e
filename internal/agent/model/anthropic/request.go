package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/anthropic/dialect"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
	"github.com/adkmcp/adkmcp/internal/config"
)

// request is the body of a request (the API's reference, "Create a Message").
type request struct {
	Model        string            `json:"model"`
	MaxTokens    int               `json:"max_tokens"`
	System       []block           `json:"system,omitempty"`
	Messages     []message         `json:"messages"`
	Tools        []json.RawMessage `json:"tools,omitempty"`
	ToolChoice   *toolChoice       `json:"tool_choice,omitempty"`
	Thinking     json.RawMessage   `json:"thinking,omitempty"`
	OutputConfig *outputConfig     `json:"output_config,omitempty"`
	sampling
	Stream bool `json:"stream"`
}

// sampling are the settings of an answer that are sent as they are.
type sampling struct {
	Temperature   *float64 `json:"temperature,omitempty"`
	TopP          *float64 `json:"top_p,omitempty"`
	TopK          *int     `json:"top_k,omitempty"`
	StopSequences []string `json:"stop_sequences,omitempty"`
}

type toolChoice struct {
	Type string `json:"type"`
}

type outputConfig struct {
	Effort string        `json:"effort,omitempty"`
	Format *outputFormat `json:"format,omitempty"`
}

type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// readSampling takes the settings of an answer. A model that takes none takes the
// defaults neither way.
func readSampling(cfg *config.Model, n named) sampling {
	s := sampling{StopSequences: cfg.Stop}
	if !n.has(refusesSampling) {
		s.Temperature, s.TopP, s.TopK = cfg.Temperature, cfg.TopP, cfg.TopK
	}
	return s
}

// body is the JSON of a request.
func (m *Model) body(ctx context.Context, req *model.Request, without spared) ([]byte, error) {
	if len(req.Hosted) > 0 {
		return nil, &model.Error{Code: model.InvalidRequest, Message: fmt.Sprintf("Anthropic runs no tool %q itself: take it out of the agent's tools", req.Hosted[0])}
	}
	r := request{Model: m.name, MaxTokens: m.thinking.maxTokens, sampling: m.sampling, Stream: true}
	var err error
	if r.Tools, err = m.tools.Of(req); err != nil {
		return nil, err
	}
	if r.Messages, err = m.think(ctx, &r, req, without); err != nil {
		return nil, wire.NotEncoded("Anthropic", err)
	}
	system := req.System
	if held := m.output(req); held != nil && !without.format {
		if r.OutputConfig == nil {
			r.OutputConfig = &outputConfig{}
		}
		r.OutputConfig.Format = &outputFormat{"json_schema", held}
	} else {
		system = wire.Demanding(system, req)
	}
	if strings.TrimSpace(system) != "" {
		r.System = []block{{Type: "text", Text: strings.TrimLeft(system, "\n")}}
	}
	declareUsed(&r)
	most := m.named.images()
	if without.images {
		most = 0
	}
	fitImages(r.Messages, most)
	mark(&r)
	body, err := wire.Encode(&r)
	if err != nil {
		return nil, wire.NotEncoded("Anthropic", err)
	}
	return body, nil
}

// think gives the conversation, and sets what is asked about thinking: not where
// thoughts are asked for by budget while the assistant's turn that goes on has begun
// without one, since another model began it. The service would refuse that.
func (m *Model) think(ctx context.Context, r *request, req *model.Request, without spared) ([]message, error) {
	t := &m.thinking
	from := ""
	if t.back && !without.thoughts {
		from = m.name
	}
	messages, err := messagesOf(req.Contents, from)
	if err != nil {
		return nil, err
	}
	if t.byBudget && !begunWithThought(messages) {
		m.log.DebugContext(ctx, "thinking is left off for one call, since this turn began without a thought that can be shown", "model", m.name)
		return messagesOf(req.Contents, "")
	}
	r.Thinking = t.member
	if t.effort != "" {
		r.OutputConfig = &outputConfig{Effort: t.effort}
	}
	return messages, nil
}

// outputCache keeps the newest schema of an answer as it is sent.
type outputCache struct {
	mu   sync.Mutex
	raw  json.RawMessage
	held json.RawMessage // nil where the service cannot hold an answer to it
}

// output gives the schema that the service holds the answer to, nil for none: the
// instruction then says it.
func (m *Model) output(req *model.Request) json.RawMessage {
	if len(req.OutputSchema) == 0 || !m.named.has(takesSchema) {
		return nil
	}
	c := &m.outputs
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.raw == nil || !bytes.Equal(c.raw, req.OutputSchema) {
		held, err := dialect.Output(req.OutputSchema)
		if err != nil {
			m.log.Info("Anthropic cannot hold answers to output_schema, so the instruction says it", "model", m.name, "reason", err)
			held = nil
		}
		c.raw, c.held = slices.Clone(req.OutputSchema), held
	}
	return c.held
}

// refused keeps in mind that the service does not hold answers to a schema.
func (c *outputCache) refused(raw json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw, c.held = slices.Clone(raw), nil
}

// declareUsed declares the tools of the history where a request has none of its own:
// the service refuses calls without a declaration. The model may call none of them.
func declareUsed(r *request) {
	if len(r.Tools) > 0 {
		return
	}
	var names []string
	for _, m := range r.Messages {
		for _, b := range m.Content {
			if b.Type == "tool_use" && !slices.Contains(names, b.Name) {
				names = append(names, b.Name)
			}
		}
	}
	for _, name := range names {
		r.Tools = append(r.Tools, json.RawMessage(`{"name":"`+name+`","input_schema":{"type":"object"}}`))
	}
	if names != nil {
		r.ToolChoice = &toolChoice{"none"}
	}
}

// mark says up to where the service caches what it is sent (the API's page on prompt
// caching): the tools, the instruction, and all of the conversation so far. From a mark
// the service looks back for what it has by 20 blocks alone, fewer than a step with many
// calls has, so where the request before this one ended is marked too.
func mark(r *request) {
	if n := len(r.Tools); n > 0 {
		r.Tools[n-1] = marked(r.Tools[n-1])
	}
	if len(r.System) > 0 {
		r.System[0].CacheControl = ephemeral
	}
	newest := len(r.Messages) - 1
	for i := newest; i >= max(0, newest-2); i -= 2 { // the user's
		content := r.Messages[i].Content
		content[len(content)-1].CacheControl = ephemeral
	}
}
