package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/answer"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// Keys of a result's _meta.
const (
	MetaConversation = "adkmcp/conversation" // the handle, a string
	MetaUsage        = "adkmcp/usage"        // tokens and cost of the turn and of its steps
)

// usage is what a turn used, and each of its model calls.
type usage struct {
	model.Usage
	Steps []answer.Step `json:"steps,omitempty"`
}

// structured is a plain text answer for hosts that show the model nothing but
// structuredContent. A tool without an output_schema declares none for it, since
// an answer with an image in it has no such form and hosts insist on it once it
// is declared.
type structured struct {
	Answer       string `json:"answer"`
	Conversation string `json:"conversation"`
}

// result turns a turn's outcome into what the caller gets.
func (c *call) result(ctx context.Context, out turns.Outcome) *mcp.CallToolResult {
	a, th := c.agent, &c.thread
	if out.Err != nil {
		return c.startFailure(a, out.Err)
	}
	said := out.Answer
	content := said.Content
	if a.ResultAll {
		content = said.All
	}
	w := &writer{call: c}
	w.content(ctx, content, a.ResultAll, said.Structured != nil)
	if w.err != nil {
		return c.startFailure(a, w.err)
	}
	text, onlyText := plain(w.blocks)
	r := &mcp.CallToolResult{}
	reason := unfinished(said, len(w.blocks) > 0)
	if reason != "" {
		r.IsError = true
		w.blocks = append(w.blocks, mcp.NewTextContent(reason))
	}
	for _, saved := range said.Artifacts {
		w.link(saved, "")
	}
	if said.Structured != nil && !r.IsError {
		r.StructuredContent = said.Structured
	}
	if th.tell {
		w.blocks = append(w.blocks, mcp.NewTextContent(
			fmt.Sprintf("Conversation: %s (pass it as `conversation` to go on)", th.key.Handle)))
		if onlyText && !r.IsError && a.OutputSchema == nil {
			r.StructuredContent = structured{Answer: text, Conversation: th.key.Handle}
		}
	}
	r.Content = w.blocks
	meta := make(map[string]any, 2)
	if !th.once {
		meta[MetaConversation] = th.key.Handle
	}
	if u := said.Usage; u != (model.Usage{}) {
		meta[MetaUsage] = usage{u, said.Steps}
	}
	if len(meta) > 0 {
		r.Meta = &mcp.Meta{AdditionalFields: meta}
	}
	return r
}

// unfinished says why an answer is none or not the whole; it is empty for a
// turn that ended well.
func unfinished(a *answer.Answer, some bool) string {
	switch {
	case a.Problem != nil && a.Problem.Code == string(model.MaxTokens) && some:
		return fmt.Sprintf("The answer above was cut: %s (%s)", a.Problem.Message, a.Problem.Code)
	case a.Problem != nil && a.Problem.Code == session.InvalidOutput && some:
		return fmt.Sprintf("What is above is no valid answer: %s (%s)", a.Problem.Message, a.Problem.Code)
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
	case errors.Is(err, agent.ErrNothingOpen):
		return failure("these questions have been answered already, or the turn that asked them has ended: make the request again without requestState")
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
