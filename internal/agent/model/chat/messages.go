package chat

import (
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// message is a message of a request. Content is a string, a list of parts, or nil.
type message struct {
	Role             string            `json:"role"`
	Content          any               `json:"content"`
	Reasoning        *string           `json:"reasoning_content,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
	ToolCalls        []toolCall        `json:"tool_calls,omitempty"`
	ToolCallID       string            `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Function calledFunction  `json:"function"`
	Extra    json.RawMessage `json:"extra_content,omitempty"` // see kept
}

type calledFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Words that we put where a server wants a message of a role and there is none.
const (
	beginning = "(The beginning of the conversation is not here.)"
	bridge    = "I have the results."
	goOn      = "Go on."
)

// unsigned is the extra_content of a call that Gemini did not make: a signature by
// which it takes a call without one (Gemini API, "Thought Signatures").
const unsigned = `{"google":{"thought_signature":"skip_thought_signature_validator"}}`

// conversation builds the messages of a request.
type conversation struct {
	settings *settings
	as       manner
	messages []message
	open     []openCall // calls of the last assistant message
	said     []piece    // by the user, since the last message
}

// openCall is a call whose result has still to come.
type openCall struct {
	id   string // in the contents
	name string
	sent string // in the messages
}

// messages gives a conversation in the order that the strictest templates demand:
// system, then user and assistant in turn, each one message; results directly
// behind their calls, and an assistant between results and a user, as Mistral
// wants it.
func (m *Model) messages(system string, contents []*genai.Content, as manner) ([]message, error) {
	c := &conversation{settings: &m.settings, as: as}
	switch {
	case strings.TrimSpace(system) == "":
	case as.plain:
		c.said = append(c.said, piece{text: system})
	default:
		c.messages = append(c.messages, message{Role: "system", Content: system})
	}
	for _, turn := range turns(contents) {
		var err error
		if turn[0].Role == genai.RoleModel {
			err = c.assistant(turn)
		} else {
			err = c.user(turn)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := c.results(nil); err != nil { // calls that nothing answers
		return nil, err
	}
	c.flush()
	switch last := c.last(); {
	case last == "assistant":
		c.messages = append(c.messages, message{Role: "user", Content: goOn})
	case last != "user" && last != "tool":
		c.messages = append(c.messages, message{Role: "user", Content: beginning})
	}
	c.returnReasoning()
	return c.messages, nil
}

// turns groups neighbours of the same role.
func turns(contents []*genai.Content) [][]*genai.Content {
	var all [][]*genai.Content
	for _, c := range contents {
		switch n := len(all); {
		case c == nil || !slices.ContainsFunc(c.Parts, func(p *genai.Part) bool { return p != nil }):
		case n > 0 && (all[n-1][0].Role == genai.RoleModel) == (c.Role == genai.RoleModel):
			all[n-1] = append(all[n-1], c)
		default:
			all = append(all, []*genai.Content{c})
		}
	}
	return all
}

// last is the role of the newest message, empty for none.
func (c *conversation) last() string {
	if len(c.messages) == 0 {
		return ""
	}
	return c.messages[len(c.messages)-1].Role
}

// flush makes a message of what the user has said.
func (c *conversation) flush() {
	content := joined(c.said)
	if c.said = nil; content == nil {
		return
	}
	if c.last() == "tool" {
		c.messages = append(c.messages, message{Role: "assistant", Content: bridge})
	}
	c.messages = append(c.messages, message{Role: "user", Content: content})
}

// noThought is the reasoning_content of a message that has none: Kimi K2.5 takes an
// empty text for nothing (400 "reasoning_content is missing").
const noThought = " "

// returnReasoning gives every assistant message a reasoning_content where the server
// is one that demands it: one that sent some in this conversation, or one of a
// service that refuses a history without it. Other servers get none, since some
// refuse the member (Groq, Mistral).
func (c *conversation) returnReasoning() {
	demanded := c.as.thoughts == always || slices.ContainsFunc(c.messages, func(m message) bool { return m.Reasoning != nil })
	for i := range c.messages {
		switch m := &c.messages[i]; {
		case c.as.thoughts == never:
			m.Reasoning = nil
		case demanded && m.Role == "assistant" && m.Reasoning == nil:
			blank := noThought
			m.Reasoning = &blank
		}
	}
}

// assistant adds what the model said, in one message; nothing where it was nothing
// but thoughts.
func (c *conversation) assistant(contents []*genai.Content) error {
	if err := c.results(nil); err != nil {
		return err
	}
	out := message{Role: "assistant"}
	var text []string
	for _, content := range contents {
		s, err := c.read(&out, content)
		if err != nil {
			return err
		}
		if strings.TrimSpace(s) != "" {
			text = append(text, s)
		}
	}
	if len(text) == 0 && len(out.ToolCalls) == 0 {
		return nil
	}
	if len(text) > 0 || c.as.worded {
		out.Content = strings.Join(text, "\n\n")
	}
	c.flush()
	if role := c.last(); role == "" || role == "system" {
		c.messages = append(c.messages, message{Role: "user", Content: beginning})
	}
	c.messages = append(c.messages, out)
	c.merge()
	return nil
}

// read takes the calls and the reasoning of a content into a message, and gives its
// text.
func (c *conversation) read(out *message, content *genai.Content) (string, error) {
	var text strings.Builder
	for _, p := range content.Parts {
		switch {
		case p == nil:
		case p.FunctionCall != nil:
			if err := c.call(out, p); err != nil {
				return "", err
			}
		case p.Thought:
			back := readKept(p.ThoughtSignature, c.settings.origin)
			if back.Content {
				all := p.Text
				if out.Reasoning != nil {
					all = *out.Reasoning + all
				}
				out.Reasoning = &all
			}
			out.ReasoningDetails = append(out.ReasoningDetails, back.Details...)
		default:
			text.WriteString(spoken(p))
		}
	}
	return text.String(), nil
}

// merge joins the newest two messages if both are the assistant's and the first has
// no calls, as it comes when a turn of a user held nothing that can be sent.
func (c *conversation) merge() {
	n := len(c.messages)
	if n < 2 || c.messages[n-2].Role != "assistant" || c.messages[n-2].ToolCalls != nil {
		return
	}
	before, newest := &c.messages[n-2], c.messages[n-1]
	text, _ := before.Content.(string)
	if more, ok := newest.Content.(string); ok {
		text += "\n\n" + more
	}
	newest.Content = text
	if newest.Reasoning == nil {
		newest.Reasoning = before.Reasoning
	}
	newest.ReasoningDetails = slices.Concat(before.ReasoningDetails, newest.ReasoningDetails)
	*before = newest
	c.messages = c.messages[:n-1]
}

// call adds a call to a message.
func (c *conversation) call(out *message, p *genai.Part) error {
	args, err := wire.Arguments(p.FunctionCall)
	if err != nil {
		return err
	}
	back := readKept(p.ThoughtSignature, c.settings.origin)
	id := c.idOf(p.FunctionCall.ID, back.ID)
	if c.as.vouched && back.Extra == nil && len(out.ToolCalls) == 0 {
		back.Extra = json.RawMessage(unsigned)
	}
	out.ToolCalls = append(out.ToolCalls, toolCall{
		ID: id, Type: "function",
		Function: calledFunction{calledName(p.FunctionCall.Name), string(args)},
		Extra:    back.Extra,
	})
	c.open = append(c.open, openCall{p.FunctionCall.ID, p.FunctionCall.Name, id})
	return nil
}

// spoken is a part of a model's own in words.
func spoken(p *genai.Part) string {
	switch {
	case p.Text != "":
		return p.Text
	case p.InlineData != nil:
		return wire.LeftOut([]*genai.Blob{p.InlineData})
	case p.FileData != nil:
		return fileNote(p.FileData)
	case p.ExecutableCode != nil:
		return "\n```\n" + p.ExecutableCode.Code + "\n```\n"
	case p.CodeExecutionResult != nil:
		return "\n```\n" + p.CodeExecutionResult.Output + "\n```\n"
	}
	return ""
}

// user adds results, then what else the user gave.
func (c *conversation) user(contents []*genai.Content) error {
	var answers []*genai.FunctionResponse
	var rest []*genai.Part
	for _, content := range contents {
		for _, p := range content.Parts {
			switch {
			case p == nil:
			case p.FunctionResponse != nil:
				answers = append(answers, p.FunctionResponse)
			default:
				rest = append(rest, p)
			}
		}
	}
	beside, err := c.answer(answers)
	if err != nil {
		return err
	}
	c.said = append(append(c.said, beside...), c.sent(rest)...)
	return nil
}
