package listing

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean gives a text that somebody else wrote as a person would see it: without
// control characters, without what turns the direction of what follows, and
// without anything invisible, in which instructions for a model could hide. New
// lines and tabs stay. It has at most limit bytes, and dots if there was more.
func Clean(s string, limit int) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return cut(strings.Map(visible, strings.ToValidUTF8(s, string(utf8.RuneError))), limit)
}

// visible is for strings.Map: what is invisible goes.
func visible(r rune) rune {
	switch {
	case r == '\n', r == '\t', r >= ' ' && r < unicode.MaxASCII:
		return r
	case r == '\r', r == '\u2028', r == '\u2029', r == '\u0085':
		return '\n'
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return -1
	}
	return r
}

// hides reports whether there is anything in a text that [Clean] would take out.
func hides(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return visible(r) != r })
}

// cut gives at most so many bytes of a valid text, whole characters only.
func cut(s string, limit int) string {
	const dots = "…"
	if len(s) <= limit {
		return s
	}
	n := max(limit-len(dots), 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + dots
}
