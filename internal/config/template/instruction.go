package template

import (
	"strings"
	"unicode"
)

// InstructionSegment is a piece of an instruction: text as it is, or the place
// of a key of the session's state.
type InstructionSegment struct {
	Text     string
	Key      string // empty for text
	Optional bool   // nothing is fine
}

// ArtifactPrefix begins the names of places that stand for an artifact.
const ArtifactPrefix = "artifact."

// ParseInstruction splits an instruction at its places, as ADK defines them: a
// run of braces around a name, which may have a question mark behind it. A name
// is an identifier, which one of the prefixes app:, user: and temp: may stand
// before, or artifact. and a file's name. Whatever else stands in braces stays
// as it is, and so does a brace behind a dollar. There is always one segment
// at least.
func ParseInstruction(s string) []InstructionSegment {
	var segments []InstructionSegment
	done := 0
	for i := 0; i < len(s); {
		start := i + strings.IndexByte(s[i:], '{')
		if start < i {
			break
		}
		inside := start + len(s[start:]) - len(strings.TrimLeft(s[start:], "{"))
		end := strings.IndexAny(s[inside:], "{}")
		if end < 0 {
			break
		}
		i = inside + end
		if s[i] == '{' {
			continue
		}
		i += len(s[i:]) - len(strings.TrimLeft(s[i:], "}"))
		name, optional := strings.CutSuffix(strings.TrimSpace(s[inside:inside+end]), "?")
		if start > 0 && s[start-1] == '$' || !isStateName(name) {
			continue
		}
		segments = append(segments, InstructionSegment{Text: s[done:start]}, InstructionSegment{Key: name, Optional: optional})
		done = i
	}
	return append(segments, InstructionSegment{Text: s[done:]})
}

func isStateName(name string) bool {
	if rest, ok := strings.CutPrefix(name, ArtifactPrefix); ok {
		return rest != ""
	}
	for _, prefix := range []string{"app:", "user:", "temp:"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			name = rest
			break
		}
	}
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsNumber(r)) {
			return false
		}
	}
	return name != ""
}
