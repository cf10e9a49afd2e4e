package mcpclient

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
)

// Sample answers a server's sampling/createMessage: it takes the params and gives
// the result.
type Sample func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

// SampleWith answers with a model (client/sampling): texts, images and sounds, and
// the system prompt. How many tokens there may be and which model a server would
// like is not up to it. It gives nil for no model.
func SampleWith(m model.Model) Sample {
	if m == nil {
		return nil
	}
	return func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
		req, err := samplingRequest(params)
		if err != nil {
			return nil, &protocol.Error{Code: -32602, Message: err.Error()}
		}
		reply, err := lastReply(ctx, m, req)
		if err != nil {
			return nil, err
		}
		if reply.Suspend != nil {
			return nil, errors.New("the agent's model has to ask somebody first, so that no server can use it")
		}
		return samplingResult(reply)
	}
}

// samplingRequest reads the params of sampling/createMessage.
func samplingRequest(params json.RawMessage) (*model.Request, error) {
	var p struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		SystemPrompt string `json:"systemPrompt"`
	}
	if json.Unmarshal(params, &p) != nil || len(p.Messages) == 0 {
		return nil, errors.New("the params hold no messages that can be read")
	}
	req := &model.Request{System: p.SystemPrompt}
	for i, m := range p.Messages {
		c := &genai.Content{Role: genai.RoleUser}
		if m.Role == "assistant" {
			c.Role = genai.RoleModel
		}
		parts, err := samplingParts(m.Content)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		c.Parts = parts
		if c.Role == genai.RoleUser {
			req.Turn = i
		}
		req.Contents = append(req.Contents, c)
	}
	return req, nil
}

// samplingParts reads the content of a message: a block, or since 2025-11-25 a list
// of them.
func samplingParts(raw json.RawMessage) ([]*genai.Part, error) {
	type block struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Data     string `json:"data"`
		MIMEType string `json:"mimeType"`
	}
	blocks := make([]block, 1)
	var into any = &blocks[0]
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		into = &blocks
	}
	if json.Unmarshal(raw, into) != nil {
		return nil, errors.New("its content cannot be read")
	}
	var parts []*genai.Part
	for _, b := range blocks {
		switch b.Type {
		case "text":
			parts = append(parts, &genai.Part{Text: b.Text})
		case "image", "audio":
			data, err := base64.StdEncoding.DecodeString(b.Data)
			if err != nil {
				return nil, fmt.Errorf("its %s is no base64", b.Type)
			}
			parts = append(parts, &genai.Part{InlineData: &genai.Blob{MIMEType: b.MIMEType, Data: data}})
		default:
			return nil, fmt.Errorf("content of type %q is not taken", b.Type)
		}
	}
	return parts, nil
}

// lastReply asks the model once. Its own errors stay here: what they say is not for
// the server.
func lastReply(ctx context.Context, m model.Model, req *model.Request) (*model.Reply, error) {
	for reply, err := range m.Generate(ctx, req) {
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil || reply.Suspend != nil:
			return nil, &protocol.Error{Code: -32603, Message: "the model gave no answer"}
		case !reply.Partial:
			return reply, nil
		}
	}
	return nil, &protocol.Error{Code: -32603, Message: "the model gave no answer"}
}

// samplingResult is the result of sampling/createMessage.
func samplingResult(reply *model.Reply) (json.RawMessage, error) {
	var text strings.Builder
	if reply.Content != nil {
		for _, p := range reply.Content.Parts {
			if !p.Thought {
				text.WriteString(p.Text)
			}
		}
	}
	reason := "endTurn"
	switch {
	case reply.Problem != nil && text.Len() == 0:
		return nil, &protocol.Error{Code: -32603, Message: "the model gave no answer"}
	case reply.Problem != nil:
		reason = "maxTokens"
	}
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	return json.Marshal(struct {
		Role       string `json:"role"`
		Content    block  `json:"content"`
		Model      string `json:"model"`
		StopReason string `json:"stopReason"`
	}{"assistant", block{"text", text.String()}, "the agent's model", reason})
}
