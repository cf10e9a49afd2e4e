package catalog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/adkmcp/adkmcp/internal/config/template"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/agent/mediatype"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

// ErrNotFound says that the agent has no such resource for this principal. Nobody learns
// whether there is one for others.
var ErrNotFound = errors.New("resource not found")

// errTooLarge: something exceeds MaxRead.
var errTooLarge = errors.New("too large")

// cardType is the MIME type of cards.
const cardType = "application/json"

// Card describes an agent to programs. It holds nothing of how the agent works
// inside: no instruction, model, key, header or path.
type Card struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	Version      string          `json:"version"` // of the server
	Conversation string          `json:"conversation"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"` // of the agent's tool
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Tools        []Tool          `json:"tools"` // that the agent itself uses
}

// Tool is a tool on a [Card].
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// ArtifactURI is where a file that an agent made can be read.
func ArtifactURI(agent, id string) string { return artifactPrefix(agent) + escape(id) }

func artifactPrefix(agent string) string { return "adkmcp://" + agent + "/artifacts/" }

func cardURI(agent string) string { return "adkmcp://" + agent + "/card" }

func describeCard(a *Agent) mcp.Resource {
	return mcp.Resource{
		URI: cardURI(a.Name), Name: a.Name + "/card", Title: cmp.Or(a.Title, a.Name), MIMEType: cardType,
		Description: strings.TrimSpace("Describes the agent " + a.Name + ": what it takes and gives, its tools, prompts and resources. " + a.Description),
	}
}

// card writes the agent's card.
func (f *offer) card() ([]byte, error) {
	card := f.Card
	card.Tools = orEmpty(card.Tools)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(struct {
		Card
		Prompts           []mcp.Prompt           `json:"prompts"`
		Resources         []mcp.Resource         `json:"resources"`
		ResourceTemplates []mcp.ResourceTemplate `json:"resourceTemplates"`
	}{card, orEmpty(f.prompts), f.fixed[1:], orEmpty(f.templates)}) // the first is the card itself
	return b.Bytes(), err
}

// orEmpty makes a list out of none, which JSON would call null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// resource is one that an agent's file declares.
type resource struct {
	*config.Resource
	pattern pattern
}

func newResource(r *config.Resource) *resource {
	n := &resource{Resource: r}
	n.pattern = newPattern(n.Address())
	return n
}

// Address is the URI or the template of URIs, as the file has it.
func (r *resource) Address() string { return cmp.Or(r.URI, r.URITemplate) }

// where names the resource of an agent for a message.
func (r *resource) where(f *offer) string {
	return fmt.Sprintf("%q of the agent %s", r.Address(), f.Name)
}

// listedType is the MIME type as far as it is known without reading anything.
func (r *resource) listedType() string {
	switch {
	case r.MIMEType != "":
		return r.MIMEType
	case r.Text != nil:
		return textType
	case r.File != nil && len(r.File.Segments) > 0: // the text after the last place
		return mediatype.OfName(r.File.Segments[len(r.File.Segments)-1].Text)
	}
	return ""
}

// Read gives what a resource of the agent holds for the principal of ctx: one
// that its file declares, its card, or a file that it made for this principal.
// The error wraps [ErrNotFound] if there is none, and is fit for the caller.
func (c *Catalog) Read(ctx context.Context, agent, uri string) (data []byte, mimeType string, err error) {
	err = ErrNotFound
	for _, f := range c.offers {
		if f.Name == agent {
			data, mimeType, err = c.read(ctx, f, uri)
		}
	}
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, "", fmt.Errorf("%w: %s", ErrNotFound, uri)
	case err != nil:
		return nil, "", fmt.Errorf("the resource %s cannot be read: %w", uri, err)
	}
	return data, mimeType, nil
}

func (c *Catalog) read(ctx context.Context, f *offer, uri string) ([]byte, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	if uri == cardURI(f.Name) {
		data, err := f.card()
		return data, cardType, err
	}
	if id, ok := strings.CutPrefix(uri, artifactPrefix(f.Name)); ok {
		return c.artifact(ctx, f.Name, id)
	}
	r, values := f.find(uri)
	if r == nil {
		return nil, "", ErrNotFound
	}
	if r.Text != nil {
		text, err := c.fill(*r.Text, values)
		return []byte(text), cmp.Or(r.MIMEType, textType), err
	}
	return c.readTemplate(*r.File, values, r.MIMEType)
}

// find gives the resource that a URI names, and the values of its places. One
// with a fixed URI goes first, then the order of the file counts.
func (f *offer) find(uri string) (*resource, map[string]string) {
	for _, r := range f.resources {
		if values, ok := r.pattern.match(uri); ok {
			return r, values
		}
	}
	return nil, nil
}

// artifact gives a file that the agent made. That of another principal and one
// that never was are the same.
func (c *Catalog) artifact(ctx context.Context, agent, id string) ([]byte, string, error) {
	id, ok := decode(id)
	if !ok || c.opts.Artifacts == nil {
		return nil, "", ErrNotFound
	}
	a, err := c.opts.Artifacts.Get(ctx, c.opts.Principal(ctx), agent, id)
	if err != nil {
		if errors.Is(err, artifact.ErrNotFound) {
			err = ErrNotFound
		}
		return nil, "", err
	}
	return a.Data, cmp.Or(a.MIMEType, mediatype.Of(a.Name, a.Data)), nil
}

// fill puts values into places. It measures first: a place may stand many times.
func (c *Catalog) fill(t template.Text, values map[string]string) (string, error) {
	size := 0
	for _, s := range t.Segments {
		size += len(s.Text)
		if s.Place != "" {
			size += len(values[s.Place])
		}
	}
	if size > c.opts.MaxRead {
		return "", fmt.Errorf("%w: with its places filled it has %d bytes, at most %d are served", errTooLarge, size, c.opts.MaxRead)
	}
	return t.Expand(func(place string) (string, error) { return values[place], nil })
}

func (c *Catalog) resourceHandler(f *offer) server.ResourceHandlerFunc {
	return func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		uri := req.Params.URI
		data, mimeType, err := c.Read(ctx, f.Name, uri)
		switch {
		case errors.Is(err, ErrNotFound):
			return nil, notFound(ctx, uri)
		case err != nil:
			return nil, &rpc.Error{Code: rpc.CodeInternal, Message: err.Error(), Data: map[string]string{"uri": uri}}
		}
		return []mcp.ResourceContents{contents(uri, mimeType, data)}, nil
	}
}

// contents are text where the MIME type says so and the bytes are, else a blob.
func contents(uri, mimeType string, data []byte) mcp.ResourceContents {
	if mediatype.IsText(mimeType) && utf8.Valid(data) {
		return mcp.TextResourceContents{URI: uri, MIMEType: mimeType, Text: string(data)}
	}
	return mcp.BlobResourceContents{URI: uri, MIMEType: mimeType, Blob: base64.StdEncoding.EncodeToString(data)}
}

// notFound is the answer to who asks for what is not there, whatever the reason
// (server/resources, "Error Handling").
func notFound(ctx context.Context, uri string) *rpc.Error {
	e := &rpc.Error{Code: mcp.RESOURCE_NOT_FOUND, Message: ErrNotFound.Error() + ": " + uri, Data: map[string]string{"uri": uri}}
	if server.IsModernRequest(ctx) {
		e.Code = rpc.CodeInvalidParams
	}
	return e
}

// hooks pass on our errors with their codes, and say of what may change that it
// may not be kept.
func (c *Catalog) hooks() *server.Hooks {
	h := &server.Hooks{}
	h.AddOnError(func(ctx context.Context, _ any, _ mcp.MCPMethod, message any, err error) {
		if c.opts.Failed == nil {
			return
		}
		var ours *rpc.Error
		reading, _ := message.(*mcp.ReadResourceRequest)
		switch {
		case errors.As(err, &ours):
			c.opts.Failed(ctx, ours)
		case reading != nil && errors.Is(err, server.ErrResourceNotFound): // the library found no handler
			c.opts.Failed(ctx, notFound(ctx, reading.Params.URI))
		}
	})
	h.AddAfterReadResource(func(ctx context.Context, _ any, message *mcp.ReadResourceRequest, result *mcp.ReadResourceResult) {
		if server.IsModernRequest(ctx) && c.mayChange(message.Params.URI) {
			result.SetCacheHints(0, mcp.CacheScopePrivate)
		}
	})
	return h
}

// mayChange reports whether a URI names a file, which is read each time anew.
func (c *Catalog) mayChange(uri string) bool {
	for _, f := range c.offers {
		if r, _ := f.find(uri); r != nil {
			return r.File != nil
		}
	}
	return false
}
