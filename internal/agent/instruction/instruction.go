// Package instruction puts the session's state into an agent's instruction.
//
// Start with [Parse].
package instruction

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/template"
)

// Text is an instruction's text split at its places.
type Text []template.InstructionSegment

// Parse splits a text.
func Parse(text string) Text { return template.ParseInstruction(text) }

// MissingState is an instruction's place for which there is nothing to put in.
type MissingState struct{ key, file string }

func (e *MissingState) Error() string {
	if strings.HasPrefix(e.key, template.ArtifactPrefix) {
		return fmt.Sprintf("the instruction in %s names {%s}, but this version keeps no artifacts", e.file, e.key)
	}
	return fmt.Sprintf("the instruction in %s names {%s}, but the conversation's state has no %q: "+
		"set it under state, have a tool set it, or write {%s?} if it may be missing", e.file, e.key, e.key, e.key)
}

// Render puts state into the places. Text that was put in is not searched for
// places again. file is where the instruction stands, for the error, which is a
// [*MissingState].
func (in Text) Render(state func(key string) (any, bool), file string) (string, error) {
	if len(in) == 1 {
		return in[0].Text, nil
	}
	var b strings.Builder
	for _, s := range in {
		b.WriteString(s.Text)
		if s.Key == "" {
			continue
		}
		v, ok := state(s.Key)
		if !ok && !s.Optional {
			return "", &MissingState{key: s.Key, file: file}
		}
		b.WriteString(stateText(v))
	}
	return b.String(), nil
}

// stateText prints a value of the state: text as it is, nothing for nil, and
// JSON for all else.
func stateText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
