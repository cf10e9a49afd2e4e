package dialect

import (
	"regexp"
	"strings"
)

// portable reports whether the service compiles a pattern; it refuses the whole request
// for one that it does not. It takes what Python's re takes
// (https://github.com/BerriAI/litellm/pull/40485), with neither lookaround
// (https://github.com/tombii/better-ccflare/issues/357) nor octal escapes: of what Go
// compiles, no classes of Unicode, no flags, and no names in the way of JavaScript.
func portable(pattern string) bool {
	if _, err := regexp.Compile(pattern); err != nil {
		return false
	}
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch {
		case strings.HasPrefix(rest, `\x{`):
			return false
		case rest[0] == '\\' && len(rest) > 1:
			if strings.ContainsRune("pPCQEz0123456789", rune(rest[1])) {
				return false
			}
			i++
		case strings.HasPrefix(rest, "(?") && !strings.HasPrefix(rest, "(?:") && !strings.HasPrefix(rest, "(?P<"):
			return false
		}
	}
	return true
}
