package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// provider marks what is signed by this provider.
const provider = "openai"

// The types of items that we know. All others are passed over.
const (
	typeMessage  = "message"
	typeThoughts = "reasoning"
	typeCall     = "function_call"
	typeResult   = "function_call_output"
	typeList     = "mcp_list_tools"
	typeRan      = "mcp_call"
	typeAsks     = "mcp_approval_request"
	typeAnswers  = "mcp_approval_response"
	typeSearch   = "tool_search_call"
	typeFound    = "tool_search_output"
)

// commentary is the phase of a message that comes before the answer.
const commentary = "commentary"

// item is something that the service says, or that it is told: a union of which
// Type says what is set.
type item struct {
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
	Error       json.RawMessage `json:"error"`
	Request     string          `json:"approval_request_id"`

	raw json.RawMessage // as it goes back
}

type content struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// readItem reads an item; nil for one of a type that is not known.
func readItem(raw json.RawMessage) (*item, error) {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, err
	}
	i := &item{Type: kind.Type, raw: raw}
	switch kind.Type {
	case typeSearch, typeFound: // they hold JSON of other shapes
		return i, nil
	case typeMessage, typeThoughts, typeCall, typeList, typeRan, typeAsks, typeAnswers:
		return i, json.Unmarshal(raw, i)
	}
	return nil, nil
}

// failed reports whether the item is about something that went wrong.
func (i *item) failed() bool { return len(i.Error) > 0 && !bytes.Equal(i.Error, []byte("null")) }

// failure says what went wrong: the service gives text, or an object that holds a
// message.
func (i *item) failure() string {
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

// tool names the tool of a server that an item is about.
func (i *item) tool() string { return i.ServerLabel + "." + i.Name }

// thoughts gives what the model thought, as far as it is shown.
func (i *item) thoughts() string {
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

// keep brings the item into the form in which it goes back, and reports whether it
// goes back at all: nothing that the service would have to look up does, since it
// keeps nothing, nor does a list that there is none of, so that it is asked for again.
func (i *item) keep() (bool, error) {
	var err error
	switch i.Type {
	case typeThoughts:
		if i.Encrypted == "" {
			return false, nil
		}
		summary := make([]map[string]string, len(i.Summary))
		for n, c := range i.Summary {
			summary[n] = map[string]string{"type": "summary_text", "text": c.Text}
		}
		i.raw, err = wire.Encode(map[string]any{"type": typeThoughts, "id": i.ID, "summary": summary, "encrypted_content": i.Encrypted})
	case typeMessage:
		i.raw, err = wire.Encode(assistant(i.text(), i.Phase))
	case typeList:
		return !i.failed(), nil
	case typeCall:
		return false, nil
	}
	return true, err
}

// text is what a message says.
func (i *item) text() string {
	var b strings.Builder
	for _, c := range i.Content {
		if c.Type == "output_text" {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

// refusal is what a message says instead of an answer; empty for none.
func (i *item) refusal() string {
	var b strings.Builder
	for _, c := range i.Content {
		b.WriteString(c.Refusal)
	}
	return b.String()
}

// signedItem gives the item that a part was made of; nil for a part of anything
// else.
func signedItem(p *genai.Part) *item {
	if p == nil || !p.Thought {
		return nil
	}
	data, ok := model.Signed(provider, p.ThoughtSignature)
	if !ok {
		return nil
	}
	i, err := readItem(data)
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
