package catalog

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/template"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/adkmcp/adkmcp/internal/agent/mediatype"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

func describePrompt(p *config.Prompt) mcp.Prompt {
	d := mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
	for _, a := range p.Arguments {
		d.Arguments = append(d.Arguments, mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
	}
	return d
}

// promptHandler answers prompts/get. Arguments that the prompt does not know are
// ignored, an optional one that is missing leaves its place empty.
func (c *Catalog) promptHandler(f *offer, p *config.Prompt) server.PromptHandlerFunc {
	return func(ctx context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		values := req.Params.Arguments
		var missing []string
		for _, a := range p.Arguments {
			if _, ok := values[a.Name]; a.Required && !ok {
				missing = append(missing, a.Name)
			}
		}
		if len(missing) > 0 {
			return nil, invalid("the prompt %s lacks what it needs: %s", p.Name, strings.Join(missing, ", "))
		}
		messages := p.Messages
		if p.Text != nil {
			messages = []config.PromptMessage{{Text: p.Text}}
		}
		result := &mcp.GetPromptResult{Description: p.Description}
		for i := range messages {
			content, err := c.message(ctx, f, p, &messages[i], values)
			if err != nil {
				return nil, err
			}
			role := mcp.RoleUser
			if messages[i].Role == "assistant" {
				role = mcp.RoleAssistant
			}
			result.Messages = append(result.Messages, mcp.PromptMessage{Role: role, Content: content})
		}
		return result, nil
	}
}

// message makes the content of one message; its errors are the request's.
func (c *Catalog) message(ctx context.Context, f *offer, p *config.Prompt, m *config.PromptMessage, values map[string]string) (mcp.Content, error) {
	if m.File != "" {
		return c.fileContent(f, p, m.File)
	}
	if m.Resource != nil {
		return c.embedded(ctx, f, p, *m.Resource, values)
	}
	text, err := c.fill(*m.Text, values)
	if err != nil { // the arguments make it too large
		return nil, invalid("a message of the prompt %s is %v", p.Name, err)
	}
	return mcp.NewTextContent(text), nil
}

// embedded is a resource of the agent. Where the whole URI is an argument it
// counts as it is given, else a value is a part of the URI and never more.
func (c *Catalog) embedded(ctx context.Context, f *offer, p *config.Prompt, t template.Text, values map[string]string) (mcp.Content, error) {
	if _, whole := t.Only(); !whole {
		escaped := make(map[string]string, len(values))
		for name, value := range values {
			escaped[name] = escape(value)
		}
		values = escaped
	}
	uri, err := c.fill(t, values)
	if err != nil {
		return nil, invalid("a URI of the prompt %s is %v", p.Name, err)
	}
	data, mimeType, err := c.Read(ctx, f.Name, uri)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, invalid("the agent %s has no resource %s for its prompt %s", f.Name, uri, p.Name)
	case err != nil:
		return nil, &rpc.Error{Code: rpc.CodeInternal, Message: err.Error()}
	}
	return mcp.NewEmbeddedResource(contents(uri, mimeType, data)), nil
}

// fileContent is a file as the kind of content that fits it. SVG is text: no
// model takes it as an image. What is no image and no sound is embedded under a
// name of its own, since its path is nothing for callers.
func (c *Catalog) fileContent(f *offer, p *config.Prompt, path string) (mcp.Content, error) {
	name := filepath.Base(path)
	data, mimeType, err := c.readFile(path, "")
	if err != nil {
		return nil, &rpc.Error{Code: rpc.CodeInternal, Message: fmt.Sprintf("the file %s of the prompt %s cannot be read: %v", name, p.Name, err)}
	}
	switch kind, _, _ := strings.Cut(mimeType, "/"); {
	case mediatype.IsText(mimeType):
	case kind == "image":
		return mcp.NewImageContent(base64.StdEncoding.EncodeToString(data), mimeType), nil
	case kind == "audio":
		return mcp.NewAudioContent(base64.StdEncoding.EncodeToString(data), mimeType), nil
	}
	uri := "adkmcp://" + f.Name + "/prompts/" + p.Name + "/" + escape(name)
	return mcp.NewEmbeddedResource(contents(uri, mimeType, data)), nil
}

// invalid is the error of a request that asks for what cannot be.
func invalid(format string, args ...any) *rpc.Error {
	return &rpc.Error{Code: rpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}
