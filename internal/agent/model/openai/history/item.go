package history

import (
	"bytes"
	"encoding/json"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// maxID is how long an id may be.
const maxID = 64

// provider marks what is signed by this provider.
const provider = "openai"

// The types of items that we know. All others are passed over.
const (
	TypeMessage  = "message"
	TypeThoughts = "reasoning"
	TypeCall     = "function_call"
	typeResult   = "function_call_output"
	TypeList     = "mcp_list_tools"
	TypeRan      = "mcp_call"
	TypeAsks     = "mcp_approval_request"
	TypeAnswers  = "mcp_approval_response"
	typeSearch   = "tool_search_call"
	typeFound    = "tool_search_output"
)

// Commentary is the phase of a message that comes before the answer.
const Commentary = "commentary"

// Item is something that the service says, or that it is told: a union of which
// Type says what is set.
type Item struct {
	Type    string    `json:"type"`
	ID      string    `json:"id"`
	Phase   string    `json:"phase"`
	Content []content `json:"content"`

	Summary   []content `json:"summary"`
	Encrypted string    `json:"encrypted_content"`

	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`

	ServerLabel string          `json:"server_label"`
	Output      json.RawMessage `json:"output"`
	Error       json.RawMessage `json:"error"`
	Request     string          `json:"approval_request_id"`
	Approve     bool            `json:"approve"`
	Reason      string          `json:"reason"`

	Raw json.RawMessage // as it goes back
}

type content struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// Read reads an item; nil for one of a type that is not known.
func Read(raw json.RawMessage) (*Item, error) {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, err
	}
	i := &Item{Type: kind.Type, Raw: raw}
	switch kind.Type {
	case typeSearch, typeFound: // they hold JSON of other shapes
		return i, nil
	case TypeMessage, TypeThoughts, TypeCall, TypeList, TypeRan, TypeAsks, TypeAnswers:
		return i, json.Unmarshal(raw, i)
	}
	return nil, nil
}

// Failed reports whether the item is about something that went wrong.
func (i *Item) Failed() bool { return len(i.Error) > 0 && !bytes.Equal(i.Error, []byte("null")) }

// Failure says what went wrong: the service gives text, or an object that holds a
// message.
func (i *Item) Failure() string {
	var said string
	if json.Unmarshal(i.Error, &said) == nil {
		return said
	}
	var structured struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(i.Error, &structured) == nil && structured.Message != "" {
		return structured.Message
	}
	return string(i.Error)
}

// output is what a call of a server's tool gave.
func (i *Item) output() string {
	var text string
	switch {
	case i.Failed():
		return "error: " + i.Failure()
	case json.Unmarshal(i.Output, &text) == nil:
		return text
	}
	return string(i.Output)
}

// Tool names the tool of a server that an item is about.
func (i *Item) Tool() string { return i.ServerLabel + "." + i.Name }

// Thoughts gives what the model thought, as far as it is shown.
func (i *Item) Thoughts() string {
	list := i.Summary
	if len(list) == 0 {
		list = i.Content
	}
	texts := make([]string, len(list))
	for n, c := range list {
		texts[n] = c.Text
	}
	return strings.Join(texts, "\n\n")
}

// Keep brings the item into the form in which it goes back, and reports whether it
// goes back at all: nothing that the service would have to look up does, since it
// keeps nothing, nor does a list that there is none of, so that it is asked for again.
func (i *Item) Keep() bool {
	switch i.Type {
	case TypeThoughts:
		if i.Encrypted == "" {
			return false
		}
		summary := make([]map[string]string, len(i.Summary))
		for n, c := range i.Summary {
			summary[n] = map[string]string{"type": "summary_text", "text": c.Text}
		}
		kept := map[string]any{"type": TypeThoughts, "summary": summary, "encrypted_content": i.Encrypted}
		if i.ID != "" && len(i.ID) <= maxID { // others come from gateways, and it takes thoughts without one
			kept["id"] = i.ID
		}
		i.Raw, _ = wire.Encode(kept) // texts always have a JSON form
	case TypeMessage:
		i.Raw, _ = wire.Encode(assistant(i.Text(), i.Phase))
	case TypeList:
		return !i.Failed()
	case TypeCall:
		return false
	}
	return true
}

// Text is what a message says.
func (i *Item) Text() string {
	var b strings.Builder
	for _, c := range i.Content {
		if c.Type == "output_text" {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

// Refusal is what a message says instead of an answer; empty for none.
func (i *Item) Refusal() string {
	var b strings.Builder
	for _, c := range i.Content {
		b.WriteString(c.Refusal)
	}
	return b.String()
}

// Signed gives the item that a part was made of; nil for a part of anything
// else.
func Signed(p *genai.Part) *Item {
	if p == nil || !p.Thought {
		return nil
	}
	data, ok := model.Signed(provider, p.ThoughtSignature)
	if !ok {
		return nil
	}
	i, err := Read(data)
	if err != nil {
		return nil // what is not ours any more, whoever changed it
	}
	return i
}

// phaseOf gives the phase of the message that a text was part of; the service wants
// it back with the text.
func phaseOf(p *genai.Part) string {
	data, ok := model.Signed(provider, p.ThoughtSignature)
	if !ok || p.Thought {
		return ""
	}
	var kept phaseMark
	if json.Unmarshal(data, &kept) != nil {
		return ""
	}
	return kept.Phase
}

type phaseMark struct {
	Phase string `json:"phase"`
}

// Hidden makes of items parts that go back to the service and that nobody else
// takes for an answer. What shows that something was done says so, so that a reply
// of nothing else is not empty: it would be asked for again, and the service would
// do it again.
func Hidden(items []*Item) []*genai.Part {
	parts := make([]*genai.Part, 0, len(items))
	for _, i := range items {
		text := ""
		switch {
		case i.Type == TypeThoughts:
			text = i.Thoughts()
		case i.Type == TypeMessage:
			text = i.Text()
		case i.Type == TypeRan && i.Failed():
			text = "[" + i.Tool() + " failed]"
		case i.Type == TypeRan:
			text = "[ran " + i.Tool() + "]"
		}
		parts = append(parts, &genai.Part{Text: text, Thought: true, ThoughtSignature: model.Sign(provider, i.Raw)})
	}
	return parts
}

// Note makes a part that tells the model, and nobody else, something of its own answer.
func Note(text string) *genai.Part {
	i := &Item{Type: TypeMessage, Content: []content{{Type: "output_text", Text: text}}}
	i.Keep()
	return Hidden([]*Item{i})[0]
}

// Said makes a part of a message; nil for one that says nothing. The message's phase
// goes with it, since the service wants it back.
func Said(i *Item) *genai.Part {
	text := i.Text()
	if text == "" {
		return nil
	}
	p := &genai.Part{Text: text}
	if i.Phase != "" {
		mark, _ := json.Marshal(phaseMark{i.Phase}) // text always marshals
		p.ThoughtSignature = model.Sign(provider, mark)
	}
	return p
}
