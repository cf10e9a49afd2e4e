package document

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes a text fit for the model: without control characters and whatever
// else cannot be seen, and with at most so many bytes.
func Clean(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return -1
	}, strings.ReplaceAll(s, "\r\n", "\n"))
	s = strings.TrimSpace(s)
	if len(s) <= most {
		return s
	}
	const mark = "…"
	cut := max(most-len(mark), 0)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}
