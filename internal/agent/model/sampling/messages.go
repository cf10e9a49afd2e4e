package sampling

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/mediatype"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
	"github.com/adkmcp/adkmcp/internal/config"
)

// message is one of a conversation (schema, "SamplingMessage").
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // one block, or several of them
}

// block is one of a message (schema, "SamplingMessageContentBlock").
type block struct {
	Type string  `json:"type"`
	Text *string `json:"text,omitempty"`
	// Of images and audio.
	Data     []byte `json:"data,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
	// Of tool_use.
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	// Of tool_result.
	ToolUse string  `json:"toolUseId,omitempty"`
	Content []block `json:"content,omitzero"`
	IsError bool    `json:"isError,omitempty"`

	Meta json.RawMessage `json:"_meta,omitempty"`
}

func text(s string) block { return block{Type: "text", Text: &s} }

// conversation is one that is being put into messages.
type conversation struct {
	messages []message
	// open are the calls of the newest message. Their results must come next, all
	// of them and nothing else in the same message (client/sampling, "Tool Use and
	// Result Balance").
	open []*genai.FunctionCall
}

// messages gives the contents of a conversation as messages.
func messages(contents []*genai.Content) ([]message, error) {
	c := conversation{messages: make([]message, 0, len(contents))}
	for _, content := range contents {
		if content == nil {
			continue
		}
		add := c.user
		if content.Role == genai.RoleModel {
			add = c.assistant
		}
		if err := add(content.Parts); err != nil {
			return nil, err
		}
	}
	return c.messages, c.answer(nil)
}

func (c *conversation) say(role string, blocks []block) {
	switch len(blocks) {
	case 0:
	case 1:
		c.messages = append(c.messages, message{role, blocks[0]})
	default:
		c.messages = append(c.messages, message{role, blocks})
	}
}

// assistant adds what the model has said. Thoughts and what its own service did
// are another model's business.
func (c *conversation) assistant(parts []*genai.Part) error {
	if err := c.answer(nil); err != nil {
		return err
	}
	var blocks []block
	for _, p := range parts {
		if p == nil || p.Thought || model.IsBlank(p) {
			continue
		}
		said := shown(p)
		if call := p.FunctionCall; call != nil {
			input, err := wire.Arguments(call)
			if err != nil {
				return err
			}
			c.open = append(c.open, call)
			said = []block{{Type: "tool_use", ID: call.ID, Name: call.Name, Input: input}}
		}
		if meta, ok := model.Signed(config.Host, p.ThoughtSignature); ok && len(said) > 0 {
			said[0].Meta = meta
		}
		blocks = append(blocks, said...)
	}
	c.say("assistant", blocks)
	return nil
}

// user adds what the caller has said, or what tools have given.
func (c *conversation) user(parts []*genai.Part) error {
	var responses []*genai.FunctionResponse
	var blocks []block
	for _, p := range parts {
		switch {
		case p == nil:
		case p.FunctionResponse != nil:
			responses = append(responses, p.FunctionResponse)
		default:
			blocks = append(blocks, shown(p)...)
		}
	}
	if err := c.answer(responses); err != nil {
		return err
	}
	c.say("user", blocks)
	return nil
}

// answer gives each open call its result, in the order of the calls. A call
// without one, as a cut history may have, is told so; a result without its call is
// text.
func (c *conversation) answer(responses []*genai.FunctionResponse) error {
	results := make([]block, 0, len(c.open))
	for _, call := range c.open {
		i := slices.IndexFunc(responses, func(r *genai.FunctionResponse) bool { return r.ID == call.ID })
		if i < 0 {
			results = append(results, block{Type: "tool_result", ToolUse: call.ID, Content: []block{text("nothing is known of the result")}, IsError: true})
			continue
		}
		content, failed, err := given(responses[i])
		if err != nil {
			return err
		}
		results = append(results, block{Type: "tool_result", ToolUse: call.ID, Content: content, IsError: failed})
		responses = slices.Delete(slices.Clone(responses), i, i+1)
	}
	c.open = nil
	c.say("user", results)
	for _, r := range responses {
		content, _, err := given(r)
		if err != nil {
			return err
		}
		c.say("user", append([]block{text("The tool " + r.Name + " has given:")}, content...))
	}
	return nil
}

// given is what a tool has given. It is empty rather than an empty text, which
// services refuse.
func given(r *genai.FunctionResponse) (content []block, failed bool, err error) {
	output, failed, err := wire.Output(r)
	if err != nil {
		return nil, false, err
	}
	content = []block{}
	if output != "" {
		content = append(content, text(output))
	}
	for _, blob := range wire.Media(r) {
		content = append(content, data(blob))
	}
	return content, failed, nil
}

// shown is a part that says something, as blocks.
func shown(p *genai.Part) []block {
	switch {
	case p.Text != "":
		return []block{text(p.Text)}
	case p.InlineData != nil:
		return []block{data(p.InlineData)}
	case p.FileData != nil:
		return []block{text("[a file that is not shown here: " + p.FileData.FileURI + "]")}
	}
	return nil
}

// data is a blob in the form that sampling has for it. The model is told of what
// has none, such as a PDF.
func data(b *genai.Blob) block {
	kind := strings.ToLower(b.MIMEType)
	switch {
	case len(b.Data) > 0 && strings.HasPrefix(kind, "image/"):
		return block{Type: "image", Data: b.Data, MIMEType: b.MIMEType}
	case len(b.Data) > 0 && strings.HasPrefix(kind, "audio/"):
		return block{Type: "audio", Data: b.Data, MIMEType: b.MIMEType}
	case len(b.Data) > 0 && mediatype.IsText(b.MIMEType) && utf8.Valid(b.Data):
		return text(string(b.Data))
	}
	return text(wire.LeftOut([]*genai.Blob{b}))
}
