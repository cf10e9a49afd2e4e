package anthropictest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Message is a message of a request.
type Message struct {
	Role   string
	Blocks []Content
}

// Content is a content block of a request.
type Content struct {
	Type         string          `json:"type"`
	Text         string          `json:"text"`
	Source       *Source         `json:"source"`
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Input        json.RawMessage `json:"input"`
	ToolUseID    string          `json:"tool_use_id"`
	Result       json.RawMessage `json:"content"`
	IsError      bool            `json:"is_error"`
	Thinking     *string         `json:"thinking"`
	Signature    string          `json:"signature"`
	Data         string          `json:"data"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`

	images []int // pixels of those within a result
}

// Source is the data of an image or a document.
type Source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`

	pixels int // of the longer side of an image
}

type rawMessage struct {
	Role    string     `json:"role"`
	Content []rawBlock `json:"content"`
}

// rawBlock is a block whose members depend on its type.
type rawBlock struct{ json.RawMessage }

// members are what a block of a type may hold; those with * it must.
var members = map[string]string{
	"text":              "type* text* cache_control",
	"image":             "type* source* cache_control",
	"document":          "type* source* title context citations cache_control",
	"tool_use":          "type* id* name* input* cache_control",
	"tool_result":       "type* tool_use_id* content is_error cache_control",
	"thinking":          "type* thinking* signature*",
	"redacted_thinking": "type* data*",
}

// read holds a block against the rules of its type.
func (raw rawBlock) read(at string) (*Content, error) {
	var c Content
	if err := decode(raw.RawMessage, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw.RawMessage, &given); err != nil {
		return nil, err
	}
	may, ok := members[c.Type]
	if !ok {
		return nil, refusal("%s: Input tag '%s' found using 'type' does not match any of the expected tags", at, c.Type)
	}
	for name := range strings.FieldsSeq(may) {
		bare, required := strings.CutSuffix(name, "*")
		if _, ok := given[bare]; required && !ok {
			return nil, refusal("%s.%s.%s: Field required", at, c.Type, bare)
		}
		delete(given, bare)
	}
	for name := range given {
		return nil, refusal("%s.%s.%s: Extra inputs are not permitted", at, c.Type, name)
	}
	switch c.Type {
	case "text":
		if strings.TrimSpace(c.Text) == "" {
			return nil, refusal("%s: text content blocks must contain non-whitespace text", at)
		}
	case "image", "document":
		return &c, c.checkSource(at)
	case "tool_use":
		return &c, c.checkCall(at)
	case "tool_result":
		return &c, c.checkResult(at)
	}
	return &c, nil
}

// magic is how images of a type begin.
var magic = map[string]string{"image/png": "\x89PNG\r\n\x1a\n", "image/jpeg": "\xff\xd8\xff", "image/gif": "GIF8", "image/webp": "RIFF"}

func (c *Content) checkSource(at string) error {
	s := c.Source
	if c.Type == "document" && s.Type == "text" && s.MediaType == "text/plain" {
		if strings.TrimSpace(s.Data) == "" {
			return refusal("%s.document: text must not be blank", at)
		}
		return nil
	}
	if s.Type != "base64" {
		return refusal("%s.source: Input tag '%s'", at, s.Type)
	}
	data, err := base64.StdEncoding.DecodeString(s.Data)
	if err != nil || len(data) == 0 {
		return refusal("%s.source.base64: invalid base64 data", at)
	}
	if c.Type == "document" {
		switch {
		case s.MediaType != "application/pdf":
			return refusal("%s.document.source.base64.media_type: Input should be 'application/pdf'", at)
		case !bytes.HasPrefix(data, []byte("%PDF-")):
			return refusal("%s.document.source.base64: The PDF specified was not valid.", at)
		}
		return nil
	}
	begin, ok := magic[s.MediaType]
	switch {
	case !ok:
		return refusal("%s.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'", at)
	case !bytes.HasPrefix(data, []byte(begin)), s.MediaType == "image/webp" && (len(data) < 12 || string(data[8:12]) != "WEBP"):
		return refusal("%s.image.source.base64: The image was specified using the %s media type, but does not appear to be one", at, s.MediaType)
	case len(s.Data) > 5<<20:
		return refusal("%s.image.source.base64: image exceeds 5 MB maximum: %d bytes > 5242880 bytes", at, len(s.Data))
	}
	if s.pixels, err = s.side(data); err != nil {
		return err
	}
	if s.pixels > maxSide {
		return refusal("%s.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels", at)
	}
	return nil
}

var callID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

func (c *Content) checkCall(at string) error {
	switch {
	case !callID.MatchString(c.ID):
		return refusal("%s.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", at)
	case !toolName.MatchString(c.Name):
		return refusal("%s.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'", at)
	case !bytes.HasPrefix(bytes.TrimSpace(c.Input), []byte("{")):
		return refusal("%s.tool_use.input: Input should be a valid dictionary", at)
	}
	return nil
}

func (c *Content) checkResult(at string) error {
	if c.Result == nil || bytes.HasPrefix(c.Result, []byte(`"`)) {
		return nil
	}
	var blocks []rawBlock
	if err := decode(c.Result, &blocks); err != nil {
		return fmt.Errorf("%s.tool_result.content: %w", at, err)
	}
	for i, raw := range blocks {
		inner, err := raw.read(fmt.Sprintf("%s.tool_result.content.%d", at, i))
		switch {
		case err != nil:
			return err
		case !slices.Contains([]string{"text", "image", "document"}, inner.Type):
			return refusal("%s.tool_result.content.%d: Input tag '%s'", at, i, inner.Type)
		case c.IsError && inner.Type != "text":
			return refusal("%s.tool_result: all content must be type text if is_error is true", at)
		case inner.Type == "image":
			c.images = append(c.images, inner.Source.pixels)
		}
	}
	return nil
}

// of are the blocks that each role may say.
var of = map[string][]string{
	"user":      {"text", "image", "document", "tool_result"},
	"assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
}

// checkMessages holds the conversation against the rules.
func (s *Server) checkMessages(b *body, r *Request, has abilities, thinking thinkingConfig) error {
	ids := map[string]bool{}
	tools := false
	var images []int
	for i, raw := range b.Messages {
		m := Message{Role: raw.Role}
		may, ok := of[raw.Role]
		switch {
		case !ok:
			return refusal(`messages: Unexpected role "%s".`, raw.Role)
		case i == 0 && raw.Role != "user":
			return refusal(`messages: first message must use the "user" role`)
		case i > 0 && raw.Role == b.Messages[i-1].Role:
			return refusal(`messages: roles must alternate between "user" and "assistant"`)
		case len(raw.Content) == 0:
			return refusal("messages.%d: all messages must have non-empty content", i)
		}
		for j, rawBlock := range raw.Content {
			at := fmt.Sprintf("messages.%d.content.%d", i, j)
			c, err := rawBlock.read(at)
			if err != nil {
				return err
			}
			if !slices.Contains(may, c.Type) {
				return refusal("%s: %s blocks can only be in messages of the other role", at, c.Type)
			}
			if err := s.checkThought(at, c, r, has, thinking); err != nil {
				return err
			}
			if images = append(images, c.images...); c.Type == "image" {
				images = append(images, c.Source.pixels)
			}
			if c.Type == "tool_use" && ids[c.ID] {
				return refusal("messages: `tool_use` ids must be unique")
			}
			ids[c.ID] = c.Type == "tool_use" || ids[c.ID]
			tools = tools || c.Type == "tool_use"
			m.Blocks = append(m.Blocks, *c)
		}
		r.Messages = append(r.Messages, m)
	}
	switch n := len(r.Messages); {
	case n == 0:
		return refusal("messages: at least one message is required")
	case r.Messages[n-1].Role == "assistant":
		return refusal("This model does not support assistant message prefill. The conversation must end with a user message.")
	case tools && len(b.Tools) == 0:
		return refusal("Requests which include `tool_use` or `tool_result` blocks must define tools.")
	}
	if err := checkOrder(r.Messages); err != nil {
		return err
	}
	if err := s.checkImages(images, has); err != nil {
		return err
	}
	if thinking.Type == "enabled" {
		return checkBegun(r.Messages)
	}
	return nil
}

// checkThought sees that a thought is one of the service's own, and unchanged; and with
// models that bind thoughts that nothing before it has changed either, unless the request
// says what becomes of those (the page on preserved thinking).
func (s *Server) checkThought(at string, c *Content, r *Request, has abilities, t thinkingConfig) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var known minted
	var ok bool
	switch c.Type {
	case "thinking":
		if known, ok = s.thoughts[c.Signature]; !ok || known.text != *c.Thinking {
			return refusal("%s: Invalid `signature` in `thinking` block", at)
		}
	case "redacted_thinking":
		if known, ok = s.thoughts[c.Data]; !ok {
			return refusal("%s: Invalid `data` in `redacted_thinking` block", at)
		}
	default:
		return nil
	}
	if has.binds && t.BlockBinding == nil && known.prefix != r.prefix() {
		return refusal("%s: Invalid `signature` in `%s` block. The block is bound to a different conversation.", at, c.Type)
	}
	return nil
}

// minted is a thought that the service has had.
type minted struct {
	text   string
	prefix string // all that stood before it
}

// prefix is what a request holds up to the message that is being read, but for thoughts
// and marks.
func (r *Request) prefix() string {
	var all []Content
	for _, m := range r.Messages {
		for _, c := range m.Blocks {
			if c.CacheControl = nil; c.Type != "thinking" && c.Type != "redacted_thinking" {
				all = append(all, c)
			}
		}
	}
	tools := slices.Clone(r.Tools)
	for i := range tools {
		tools[i].CacheControl = nil
	}
	text, _ := json.Marshal([]any{r.System, tools, all}) // read from JSON, so it always marshals
	return string(text)
}

// checkOrder holds calls and results against each other.
func checkOrder(messages []Message) error {
	var open []string
	for i, m := range messages {
		if m.Role == "assistant" {
			open = nil
			for _, c := range m.Blocks {
				if c.Type == "tool_use" {
					open = append(open, c.ID)
				}
			}
			switch last := m.Blocks[len(m.Blocks)-1].Type; {
			case last == "thinking" || last == "redacted_thinking":
				return refusal("messages.%d: The final block in an assistant message cannot be `thinking`.", i)
			case open != nil && last != "tool_use":
				return refusal("messages.%d: something stands behind the last tool_use", i)
			}
			continue
		}
		other := false
		for j, c := range m.Blocks {
			if c.Type != "tool_result" {
				other = true
				continue
			}
			at := slices.Index(open, c.ToolUseID)
			switch {
			case other:
				return refusal("messages.%d.content.%d: tool_result blocks must come first", i, j)
			case at < 0:
				return refusal("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s", i, j, c.ToolUseID)
			}
			open = slices.Delete(open, at, at+1)
		}
		if len(open) > 0 {
			return refusal("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", i-1, strings.Join(open, ", "))
		}
	}
	return nil
}

// checkBegun sees that the turn that goes on began with a thought.
func checkBegun(messages []Message) error {
	result := func(c Content) bool { return c.Type == "tool_result" }
	i := len(messages) - 1
	if !slices.ContainsFunc(messages[i].Blocks, result) {
		return nil
	}
	for i > 0 && slices.ContainsFunc(messages[i].Blocks, result) {
		i -= 2
	}
	if first := messages[i+1].Blocks[0].Type; first != "thinking" && first != "redacted_thinking" {
		return refusal("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`.", i+1, first)
	}
	return nil
}
