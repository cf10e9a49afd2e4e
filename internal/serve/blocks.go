package serve

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/serve/catalog"
)

// writer writes an answer as blocks of MCP content.
type writer struct {
	*call
	blocks []mcp.Content
	err    error
}

// content writes parts in their order, thoughts left out and adjacent text as one
// block. With apart, each text is a block of its own; whole keeps text of any
// length, since it is not text alone.
func (w *writer) content(ctx context.Context, c *genai.Content, apart, whole bool) {
	if c == nil {
		return
	}
	var text strings.Builder
	flush := func() {
		if strings.TrimSpace(text.String()) != "" {
			w.text(ctx, text.String(), whole)
		}
		text.Reset()
	}
	for _, part := range c.Parts {
		switch {
		case part.Thought:
		case part.Text != "":
			text.WriteString(part.Text)
			if apart {
				flush()
			}
		case part.FileData != nil:
			text.WriteString(part.FileData.FileURI)
		case part.InlineData != nil:
			flush()
			w.blob(ctx, part.InlineData)
		}
	}
	flush()
}

// text writes text. What is longer than the agent's bound keeps its head and its
// tail, and the whole is linked to where it can be kept.
func (w *writer) text(ctx context.Context, text string, whole bool) {
	most := w.agent.MaxAnswer
	if whole || most <= 0 || len(text) <= most {
		w.blocks = append(w.blocks, mcp.NewTextContent(text))
		return
	}
	saved, err := w.save(ctx, "answer.txt", "text/plain", []byte(text))
	where := "the link below leads to the whole"
	if err != nil {
		where = "the whole is too large to be kept"
	}
	w.blocks = append(w.blocks, mcp.NewTextContent(shorten(text, most, where)))
	if saved != nil {
		w.link(saved.Info(), "The whole answer")
	}
}

// shorten keeps the first two thirds and the last third of what fits into most
// bytes, and says in between how much is missing.
func shorten(text string, most int, where string) string {
	note := func(left int) string {
		return fmt.Sprintf("\n[... %d of %d bytes left out; %s ...]\n", left, len(text), where)
	}
	room := max(0, most-len(note(len(text))))
	head := room * 2 / 3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	tail := len(text) - (room - head)
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + note(tail-head) + text[tail:]
}

// blob writes bytes as the kind of content that fits them. What is no image and
// no sound is a resource with a URI of its own, which can be read again.
func (w *writer) blob(ctx context.Context, b *genai.Blob) {
	data := base64.StdEncoding.EncodeToString(b.Data)
	kind := b.MIMEType
	if kind == "" {
		kind = "application/octet-stream"
	}
	major, _, _ := strings.Cut(strings.ToLower(kind), "/")
	switch major {
	case "image":
		w.blocks = append(w.blocks, mcp.NewImageContent(data, kind))
		return
	case "audio":
		if !w.speaks("2025-03-26") {
			break
		}
		w.blocks = append(w.blocks, mcp.NewAudioContent(data, kind))
		return
	}
	name := path.Base("/" + b.DisplayName)
	if b.DisplayName == "" {
		name = "answer"
	}
	saved, err := w.save(ctx, name, kind, b.Data)
	if err != nil && !errors.Is(err, artifact.ErrTooLarge) {
		w.err = err
		return
	}
	var uri string
	if saved != nil {
		uri = catalog.ArtifactURI(w.agent.Name, saved.ID)
	} else if id, err := w.newID("ar_"); err == nil { // one that leads nowhere is still one
		uri = catalog.ArtifactURI(w.agent.Name, id)
	}
	var contents mcp.ResourceContents = mcp.BlobResourceContents{URI: uri, MIMEType: kind, Blob: data}
	if major == "text" && utf8.Valid(b.Data) {
		contents = mcp.TextResourceContents{URI: uri, MIMEType: kind, Text: string(b.Data)}
	}
	w.blocks = append(w.blocks, mcp.NewEmbeddedResource(contents))
}

// save keeps what a caller may read again.
func (w *writer) save(ctx context.Context, name, mimeType string, data []byte) (*artifact.Artifact, error) {
	return w.opts.Artifacts.Save(ctx, w.thread.key, artifact.Artifact{Name: name, MIMEType: mimeType, Data: data})
}

// speaks reports whether the client speaks this version of MCP or a later one,
// or has not said.
func (w *writer) speaks(version string) bool {
	return w.request.client.Protocol == "" || w.request.client.Protocol >= version
}

// link writes a link to something saved; as text for a client that knows no
// links.
func (w *writer) link(saved session.Artifact, description string) {
	if !w.speaks("2025-06-18") {
		w.blocks = append(w.blocks, mcp.NewTextContent(fmt.Sprintf("%s: %s (%s, %d bytes)",
			saved.Name, catalog.ArtifactURI(w.agent.Name, saved.ID), saved.MIMEType, saved.Size)))
		return
	}
	l := mcp.NewResourceLink(catalog.ArtifactURI(w.agent.Name, saved.ID), saved.Name, description, saved.MIMEType)
	size := int64(saved.Size)
	l.Size = &size
	w.blocks = append(w.blocks, l)
}
