package serve

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// Keys of a result's _meta.
const (
	MetaConversation = "adkmcp/conversation" // the handle, a string
	MetaUsage        = "adkmcp/usage"        // tokens of the turn: model.Usage
)

// structured is a plain text answer for hosts that show the model nothing but
// structuredContent. The tools declare no output schema, since an answer with
// an image in it has no such form and hosts insist on it once it is declared.
type structured struct {
	Answer       string `json:"answer"`
	Conversation string `json:"conversation"`
}

// result turns a turn's outcome into what the caller gets.
func (s *Server) result(a *Agent, th thread, out turns.Outcome) *mcp.CallToolResult {
	if out.Err != nil {
		return s.startFailure(a, out.Err)
	}
	blocks, err := s.blocks(a, out.Answer.Content)
	if err != nil {
		return s.startFailure(a, err)
	}
	text, onlyText := plain(blocks)
	r := &mcp.CallToolResult{Content: blocks}
	if reason := unfinished(out.Answer, len(blocks) > 0); reason != "" {
		r.IsError = true
		r.Content = append(r.Content, mcp.NewTextContent(reason))
	}
	if th.tell || len(out.Answer.Questions) > 0 && !th.once {
		r.Content = append(r.Content, mcp.NewTextContent(
			fmt.Sprintf("Conversation: %s (pass it as `conversation` to go on)", th.key.Handle)))
		if onlyText && !r.IsError {
			r.StructuredContent = structured{Answer: text, Conversation: th.key.Handle}
		}
	}
	meta := make(map[string]any, 2)
	if !th.once {
		meta[MetaConversation] = th.key.Handle
	}
	if u := out.Answer.Usage; u != (model.Usage{}) {
		meta[MetaUsage] = u
	}
	if len(meta) > 0 {
		r.Meta = &mcp.Meta{AdditionalFields: meta}
	}
	return r
}

// unfinished says why an answer is none or not the whole; it is empty for a
// turn that ended well.
func unfinished(a *agent.Answer, some bool) string {
	switch {
	case len(a.Questions) > 0:
		var asked []string
		for _, q := range a.Questions {
			asked = append(asked, q.Message)
		}
		return "The agent waits for an answer that cannot be given over MCP yet: " + strings.Join(asked, "; ")
	case a.Problem != nil && a.Problem.Code == string(model.MaxTokens) && some:
		return fmt.Sprintf("The answer above was cut: %s (%s)", a.Problem.Message, a.Problem.Code)
	case a.Problem != nil && some:
		return fmt.Sprintf("The answer above is not complete: %s (%s)", a.Problem.Message, a.Problem.Code)
	case a.Problem != nil:
		return fmt.Sprintf("%s (%s)", a.Problem.Message, a.Problem.Code)
	case !some:
		return "the agent ended without an answer"
	}
	return ""
}

// startFailure is the result of a turn that did not start or could not be
// recorded. An error of our own is for the log: its text may say too much.
func (s *Server) startFailure(a *Agent, err error) *mcp.CallToolResult {
	switch {
	case errors.Is(err, session.ErrNotFound):
		return failure("there is no such conversation, or it has expired: leave the argument conversation out, or pass new to start afresh")
	case errors.Is(err, session.ErrTooLarge):
		return failure("this conversation is full: pass new as the argument conversation to start afresh")
	case errors.Is(err, session.ErrConflict):
		return failure("the conversation was changed by somebody else in the meantime: try again")
	case errors.Is(err, session.ErrClosed), errors.Is(err, turns.ErrStopping):
		return failure("the server is stopping: try again when it is back")
	case errors.Is(err, turns.ErrBusy):
		return failure("the server is busy, too many turns are running: try again later")
	case errors.Is(err, turns.ErrCancelled), errors.Is(err, context.Canceled):
		return failure("the call was cancelled")
	case errors.Is(err, context.DeadlineExceeded):
		return failure("the agent did not get its turn in time: an earlier one of this conversation is still running. Try again later, or pass new as the argument conversation to start afresh")
	}
	s.opts.Log.Error("a turn failed", "agent", a.Name, "error", err)
	return failure("an internal error; the server's log says more")
}

func failure(text string) *mcp.CallToolResult { return mcp.NewToolResultError(text) }

// blocks gives a content's parts in their order as MCP content, adjacent text
// as one block; nil if there is nothing to show.
func (s *Server) blocks(a *Agent, c *genai.Content) ([]mcp.Content, error) {
	if c == nil {
		return nil, nil
	}
	var blocks []mcp.Content
	var text strings.Builder
	flush := func() {
		if strings.TrimSpace(text.String()) != "" {
			blocks = append(blocks, mcp.NewTextContent(text.String()))
		}
		text.Reset()
	}
	for _, part := range c.Parts {
		switch {
		case part.Thought:
		case part.Text != "":
			text.WriteString(part.Text)
		case part.FileData != nil:
			text.WriteString(part.FileData.FileURI)
		case part.InlineData != nil:
			flush()
			block, err := s.inline(a, part.InlineData)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, block)
		}
	}
	flush()
	return blocks, nil
}

// inline gives bytes of an answer as the MCP content that fits them.
func (s *Server) inline(a *Agent, b *genai.Blob) (mcp.Content, error) {
	data := base64.StdEncoding.EncodeToString(b.Data)
	kind := b.MIMEType
	if kind == "" {
		kind = "application/octet-stream"
	}
	switch major, _, _ := strings.Cut(strings.ToLower(kind), "/"); major {
	case "image":
		return mcp.NewImageContent(data, kind), nil
	case "audio":
		return mcp.NewAudioContent(data, kind), nil
	}
	id, err := s.newID("")
	if err != nil {
		return nil, err
	}
	return mcp.NewEmbeddedResource(mcp.BlobResourceContents{
		URI: "adkmcp://" + a.Name + "/" + id, MIMEType: kind, Blob: data,
	}), nil
}

// plain joins the blocks if all of them are text.
func plain(blocks []mcp.Content) (text string, ok bool) {
	var texts []string
	for _, b := range blocks {
		t, isText := b.(mcp.TextContent)
		if !isText {
			return "", false
		}
		texts = append(texts, t.Text)
	}
	return strings.Join(texts, "\n"), len(texts) > 0
}
