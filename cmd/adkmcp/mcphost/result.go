package mcphost

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// Result is what a tool call came to.
type Result struct {
	IsError    bool
	Blocks     []Block
	Structured json.RawMessage // as the server wrote it; nil where there is none
	Meta       map[string]any  // the server's _meta; nil where there is none
	// Unreadable says what was wrong with the blocks that are left out.
	Unreadable []error
}

// Kind is the kind of a [Block], as people call it.
type Kind string

// The kinds.
const (
	Text     Kind = "text"
	Image    Kind = "image"
	Audio    Kind = "audio"
	Resource Kind = "resource" // embedded, or read
	Link     Kind = "link"     // to a resource
)

// Block is one block of a result.
type Block struct {
	Kind     Kind
	Text     string // of a Text, and of a Resource that is text
	Data     []byte // of an Image, an Audio and a Resource that is data, which has it even if empty
	MIMEType string // empty where the server gave none
	URI      string // of a Resource and a Link
	Name     string // of a Link
	Size     *int64 // of what a Link leads to, in bytes; nil if unknown
}

func newResult(r *mcp.CallToolResult, s *sifter) *Result {
	result := &Result{IsError: r.IsError}
	if r.StructuredContent != nil {
		result.Structured = r.RawStructuredContent
	}
	if r.Meta != nil {
		result.Meta = r.Meta.AdditionalFields
	}
	result.Unreadable = s.takeUnreadable()
	for _, c := range r.Content {
		b, err := newBlock(c)
		if err != nil {
			result.Unreadable = append(result.Unreadable, err)
			continue
		}
		result.Blocks = append(result.Blocks, b)
	}
	return result
}

func newBlock(c mcp.Content) (Block, error) {
	switch c := c.(type) {
	case mcp.TextContent:
		return Block{Kind: Text, Text: c.Text}, nil
	case mcp.ImageContent:
		data, err := decode(Image, c.Data)
		return Block{Kind: Image, MIMEType: c.MIMEType, Data: data}, err
	case mcp.AudioContent:
		data, err := decode(Audio, c.Data)
		return Block{Kind: Audio, MIMEType: c.MIMEType, Data: data}, err
	case mcp.ResourceLink:
		return Block{Kind: Link, URI: c.URI, Name: c.Name, MIMEType: c.MIMEType, Size: c.Size}, nil
	case mcp.EmbeddedResource:
		return resourceBlock(c.Resource)
	}
	return Block{}, fmt.Errorf("it is of a kind that this program does not know: %T", c)
}

func resourceBlock(c mcp.ResourceContents) (Block, error) {
	switch c := c.(type) {
	case mcp.TextResourceContents:
		return Block{Kind: Resource, URI: c.URI, MIMEType: c.MIMEType, Text: c.Text}, nil
	case mcp.BlobResourceContents:
		data, err := decode(Resource, c.Blob)
		return Block{Kind: Resource, URI: c.URI, MIMEType: c.MIMEType, Data: data}, err
	}
	return Block{}, fmt.Errorf("it is a resource of a kind that this program does not know: %T", c)
}

// decode takes data as MCP carries it.
func decode(kind Kind, data string) ([]byte, error) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, fmt.Errorf("the server sent %s data that is not base64: %w", kind, err)
	}
	return raw, nil
}

// sifter sees the answers to tool calls before the MCP library does. It takes
// out the content blocks that the library cannot read, since it would refuse the
// whole result for one of them, and keeps forms as the server wrote them.
type sifter struct {
	mu         sync.Mutex
	unreadable []error
	forms      map[string]json.RawMessage // by what the library makes of them
}

func (s *sifter) seen() *sifter { return s }

// takeUnreadable gives what was wrong with blocks, once.
func (s *sifter) takeUnreadable() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := s.unreadable
	s.unreadable = nil
	return errs
}

func (s *sifter) sift(method string, response *transport.JSONRPCResponse) {
	var result map[string]json.RawMessage
	if method != string(mcp.MethodToolsCall) || response == nil || json.Unmarshal(response.Result, &result) != nil || result == nil {
		return
	}
	if string(result["resultType"]) == `"`+string(mcp.ResultTypeInputRequired)+`"` {
		s.keepForms(result["inputRequests"])
		return
	}
	var blocks []json.RawMessage
	content, present := result["content"]
	if present && json.Unmarshal(content, &blocks) != nil {
		return // the library says what is wrong
	}
	readable := []json.RawMessage{}
	for _, block := range blocks {
		if _, err := mcp.UnmarshalContent(block); err != nil {
			s.mu.Lock()
			s.unreadable = append(s.unreadable, err)
			s.mu.Unlock()
			continue
		}
		readable = append(readable, block)
	}
	if present && len(readable) == len(blocks) {
		return
	}
	// What has been read as JSON can be written as JSON.
	result["content"], _ = json.Marshal(readable)
	response.Result, _ = json.Marshal(result)
}
