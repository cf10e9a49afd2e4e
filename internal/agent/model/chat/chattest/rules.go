package chattest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// What one server refuses and others take.

var shortID = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

func (m *Manner) refuses(member string) bool { return slices.Contains(m.Refuses, member) }

// checkMembers refuses what the server does not know, in Mistral's words.
func (m *Manner) checkMembers(members map[string]json.RawMessage) error {
	for _, name := range m.Refuses {
		if _, ok := members[name]; ok {
			return fmt.Errorf(`{"detail":[{"type":"extra_forbidden","loc":["body","%s"],"msg":"Extra inputs are not permitted"}]}`, name)
		}
	}
	if _, ok := members["random_seed"]; ok && !m.refuses("seed") {
		return errors.New("unknown field random_seed")
	}
	return nil
}

// checkMessages holds messages against the rules of one server.
func (m *Manner) checkMessages(messages []Message) error {
	for i := range messages {
		if err := m.checkMessage(&messages[i]); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return nil
}

func (m *Manner) checkMessage(message *Message) error {
	switch {
	case m.NoSystem && message.Role == "system":
		return errors.New("System role not supported") //nolint:staticcheck // Gemma's template
	case message.Reasoning != nil && m.refuses("reasoning_content"):
		return errors.New(`{"type":"extra_forbidden","loc":["body","assistant","reasoning_content"],"msg":"Extra inputs are not permitted"}`)
	case m.ShortIDs && message.Role == "tool" && !shortID.MatchString(message.ToolCallID):
		return notShort(message.ToolCallID)
	}
	if m.NoMedia {
		for _, p := range message.Parts {
			if p.Type != "" && p.Type != "text" {
				return fmt.Errorf("unknown variant `%s`, expected `text`", p.Type)
			}
		}
	}
	for i, c := range message.ToolCalls {
		signed := c.Extra != nil && c.Extra.Google.Signature != ""
		switch {
		case m.ShortIDs && !shortID.MatchString(c.ID):
			return notShort(c.ID)
		case m.Signatures && i == 0 && !signed:
			return fmt.Errorf("Function call is missing a thought_signature in functionCall parts: %s", c.Function.Name) //nolint:staticcheck // Gemini's words
		case !m.Signatures && c.Extra != nil:
			return errors.New("unknown field extra_content")
		}
	}
	return nil
}

// notShort is Mistral's refusal of an id.
func notShort(id string) error {
	return fmt.Errorf("Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", id) //nolint:revive,staticcheck // its words
}
