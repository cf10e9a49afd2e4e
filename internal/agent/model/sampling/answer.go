package sampling

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
	"github.com/adkmcp/adkmcp/internal/config"
)

// cut is the stop reason of an answer that reached maxTokens.
const cut = "maxTokens"

// result is that of sampling/createMessage (schema, "CreateMessageResult").
type result struct {
	Content json.RawMessage `json:"content"` // one block, or a list of them
	Model   string          `json:"model"`
	Stop    string          `json:"stopReason"`
}

// said is a block of a result.
type said struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Data     string          `json:"data"` // base64
	MIMEType string          `json:"mimeType"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	Meta     json.RawMessage `json:"_meta"`
}

// read makes a reply of what the host has answered.
func read(req *model.Request) (*model.Reply, error) {
	if req.Answer.Action != model.Accept {
		return nil, refused(req.Answer)
	}
	var r result
	if err := json.Unmarshal(req.Answer.Payload, &r); err != nil {
		return nil, malformed("is not the result of sampling/createMessage: %v", err)
	}
	parts, err := r.parts()
	if err != nil {
		return nil, err
	}
	reply := &model.Reply{
		Content: &genai.Content{Role: genai.RoleModel, Parts: parts}, FinishReason: r.Stop, Model: config.Host,
	}
	if r.Model != "" {
		reply.Model += "/" + r.Model
	}
	answers := slices.ContainsFunc(parts, func(p *genai.Part) bool { return p.FunctionCall == nil })
	switch {
	case r.Stop == cut && answers:
		reply.Problem = &model.Error{Code: model.MaxTokens, Reason: r.Stop, Message: "the answer was cut at the limit on output tokens: raise model.max_output_tokens"}
	case r.Stop == cut:
		return nil, &model.Error{Code: model.MaxTokens, Reason: r.Stop, Message: "the output tokens were used up before there was an answer: raise model.max_output_tokens"}
	case len(parts) == 0:
		return nil, &model.Error{Code: model.Empty, Reason: r.Stop, Message: "the host's model gave an empty answer"}
	}
	return reply, nil
}

// refused is the error of a question that the host did not answer. The reason
// comes from whoever asked it, in words for the person who can act.
func refused(a *model.Answer) *model.Error {
	if a.Action == model.Decline {
		e := &model.Error{Code: model.Blocked, Message: "the calling host did not let its model answer"}
		if a.Reason != "" {
			e.Message += ": " + a.Reason
		}
		return e
	}
	e := &model.Error{Code: model.Misconfigured, Message: a.Reason}
	if a.Reason == "" {
		e.Message = "the calling host gave no answer of its model"
	}
	return e
}

func malformed(format string, args ...any) *model.Error {
	return &model.Error{Code: model.Malformed, Message: "the answer of the host's model " + fmt.Sprintf(format, args...)}
}

// parts are the blocks of a result that say something.
func (r *result) parts() ([]*genai.Part, error) {
	content := bytes.TrimSpace(r.Content)
	var blocks []said
	switch {
	case bytes.HasPrefix(content, []byte("[")):
		if err := json.Unmarshal(content, &blocks); err != nil {
			return nil, malformed("has content that cannot be read: %v", err)
		}
	case bytes.HasPrefix(content, []byte("{")):
		blocks = make([]said, 1)
		if err := json.Unmarshal(content, &blocks[0]); err != nil {
			return nil, malformed("has content that cannot be read: %v", err)
		}
	default:
		return nil, malformed("has no content")
	}
	parts := make([]*genai.Part, 0, len(blocks))
	for i := range blocks {
		b := &blocks[i]
		p, bad := b.part()
		if bad != nil {
			return nil, bad
		}
		if model.IsBlank(p) {
			continue
		}
		if len(b.Meta) > 0 && string(b.Meta) != "null" { // which the host must get back
			p.ThoughtSignature = model.Sign(config.Host, b.Meta)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func (b *said) part() (*genai.Part, *model.Error) {
	switch b.Type {
	case "text":
		return &genai.Part{Text: b.Text}, nil
	case "image", "audio":
		data, err := base64.StdEncoding.DecodeString(b.Data)
		if err != nil || len(data) == 0 || b.MIMEType == "" {
			return nil, malformed("has %s content without a mimeType or without data in base64", b.Type)
		}
		return &genai.Part{InlineData: &genai.Blob{MIMEType: b.MIMEType, Data: data}}, nil
	case "tool_use":
		args, err := wire.ReadArguments(b.Input)
		switch {
		case err != nil:
			return nil, malformed("calls the tool %.100q with arguments that are no object: %v", b.Name, err)
		case b.Name == "":
			return nil, malformed("calls a tool without a name")
		}
		return &genai.Part{FunctionCall: &genai.FunctionCall{ID: b.ID, Name: b.Name, Args: args}}, nil
	}
	return nil, malformed("has content of the type %.100q, which it cannot have", b.Type)
}
