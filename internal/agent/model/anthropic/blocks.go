package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/mediatype"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// block is a content block of any type.
type block struct {
	Type string `json:"type"`

	Text   string  `json:"text,omitempty"`
	Source *source `json:"source,omitempty"` // of an image or a document

	ID    string          `json:"id,omitempty"` // tool_use
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`

	ToolUseID string `json:"tool_use_id,omitempty"` // tool_result
	Content   any    `json:"content,omitempty"`     // string or []block
	IsError   bool   `json:"is_error,omitempty"`

	Thinking  *string `json:"thinking,omitempty"` // may be empty
	Signature string  `json:"signature,omitempty"`
	Data      string  `json:"data,omitempty"` // redacted_thinking

	CacheControl *cacheControl `json:"cache_control,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"`
}

// ephemeral is the one kind of cache mark. Nobody writes to it.
var ephemeral = &cacheControl{"ephemeral"}

type source struct {
	Type      string `json:"type"` // base64 or text
	MediaType string `json:"media_type"`
	Data      any    `json:"data"` // []byte for base64, string for text

	side int // the longer one of an image, in pixels
}

func textBlock(text string) block { return block{Type: "text", Text: text} }

func (b *block) isThought() bool { return b.Type == "thinking" || b.Type == "redacted_thinking" }

// isBlank reports whether the service would refuse a text block of it.
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// dataBlock gives the block of an image, a PDF or a text; ok is false for what the
// service does not read, such as a photo of type HEIC.
func dataBlock(b *genai.Blob) (out block, ok bool) {
	switch kind := mediatype.Shown(b.MIMEType, b.Data); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		pixels, ok := mediatype.Side(kind, b.Data)
		return block{Type: "image", Source: &source{"base64", kind, b.Data, pixels}}, ok && base64.StdEncoding.EncodedLen(len(b.Data)) <= maxImage
	case "application/pdf":
		return block{Type: "document", Source: &source{"base64", kind, b.Data, 0}}, true
	case mediatype.Text:
		return block{Type: "document", Source: &source{"text", kind, string(b.Data), 0}}, true
	}
	return block{}, false
}

// dataBlocks gives the blocks of several, and says in words what is left out.
func dataBlocks(blobs []*genai.Blob) (blocks []block, note string) {
	var unread []*genai.Blob
	for _, b := range blobs {
		switch read, ok := dataBlock(b); {
		case !ok:
			unread = append(unread, b)
		case read.Source.side > maxSide:
			note += fmt.Sprintf("[left out: an image of %d pixels, since you cannot read any of more than %d a side]\n", read.Source.side, maxSide)
		default:
			blocks = append(blocks, read)
		}
	}
	return blocks, strings.TrimSpace(note + wire.LeftOut(unread))
}

// thought is the signature of a thought of ours: what the service must get back
// beside its text. Another model could not read it.
type thought struct {
	Model     string `json:"model"`
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"` // in place of text and signature
}

// thoughtBlock gives the block of a thought that this model had; ok is false for
// others.
func thoughtBlock(p *genai.Part, modelName string) (out block, ok bool) {
	raw, ours := model.Signed(provider, p.ThoughtSignature)
	var t thought
	if !ours || json.Unmarshal(raw, &t) != nil || t.Model != modelName {
		return block{}, false
	}
	if t.Redacted != "" {
		return block{Type: "redacted_thinking", Data: t.Redacted}, true
	}
	return block{Type: "thinking", Thinking: &p.Text, Signature: t.Signature}, t.Signature != ""
}

// plainBlocks gives the blocks of a part that is neither thought, call nor result. An
// assistant's message holds nothing but text.
func plainBlocks(p *genai.Part, assistant bool) []block {
	var all []block
	text := func(t string) {
		if !isBlank(t) {
			all = append(all, textBlock(t))
		}
	}
	switch {
	case p.InlineData != nil && !assistant:
		blocks, note := dataBlocks([]*genai.Blob{p.InlineData})
		all = blocks
		text(note)
	case p.InlineData != nil:
		text(fmt.Sprintf("[here stood %d bytes of type %q]", len(p.InlineData.Data), p.InlineData.MIMEType))
	case p.FileData != nil:
		text(fmt.Sprintf("[left out, since you cannot read it: the file %s of type %q]", p.FileData.FileURI, p.FileData.MIMEType))
	case p.ExecutableCode != nil:
		text("```\n" + p.ExecutableCode.Code + "\n```")
	case p.CodeExecutionResult != nil:
		text("[output of the code]\n" + p.CodeExecutionResult.Output)
	default:
		text(p.Text)
	}
	return all
}
