package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config"
)

// instruction is an instruction text split at its places.
type instruction []config.InstructionSegment

// missingState is an instruction's place for which there is nothing to put in.
type missingState struct{ key, file string }

func (e *missingState) Error() string {
	if strings.HasPrefix(e.key, config.ArtifactPrefix) {
		return fmt.Sprintf("the instruction in %s names {%s}, but this version keeps no artifacts", e.file, e.key)
	}
	return fmt.Sprintf("the instruction in %s names {%s}, but the conversation's state has no %q: "+
		"set it under state, have a tool set it, or write {%s?} if it may be missing", e.file, e.key, e.key, e.key)
}

// render puts state into the places. Text that was put in is not searched for
// places again.
func (in instruction) render(state func(key string) (any, bool), file string) (string, error) {
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
			return "", &missingState{key: s.Key, file: file}
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
