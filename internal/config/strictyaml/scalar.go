package strictyaml

import (
	"regexp"
	"strings"
	"sync"
)

// Class is what YAML takes a plain scalar for.
type Class int

// The classes. Word and Date are text in YAML 1.2 and something else to older
// readers; whoever wants text has to quote them.
const (
	Text  Class = iota
	Null        // ~, null, nothing
	Bool        // true, false
	Int         // 12, 0x10, 0o17, 1_000
	Float       // 1.10, 1e5, .inf
	Word        // yes, no, on, off, y, n
	Date        // 2026-11-30
)

// String names the class as a message does.
func (c Class) String() string {
	switch c {
	case Null:
		return "nothing"
	case Bool, Word:
		return "true or false"
	case Int, Float:
		return "a number"
	case Date:
		return "a date"
	}
	return "text"
}

// What numbers and dates look like; what only older readers take for a number
// is here too.
var (
	intForm   = lazily(`^[-+]?(0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9][0-9_]*)$`)
	floatForm = lazily(`^[-+]?(\.(inf|Inf|INF|nan|NaN|NAN)|([0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?)$`)
	dateForm  = lazily(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ][-+0-9:.Zz ]*)?$`)
)

// lazily compiles a pattern when it is first needed.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// classify says what YAML takes a plain scalar for: the core schema of YAML
// 1.2.2, section 10.3.2, and the forms that older readers take for more.
func classify(s string) Class {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return Null
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return Bool
	case "y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF":
		return Word
	}
	switch {
	case strings.IndexByte("+-.0123456789", s[0]) < 0:
		return Text
	case intForm().MatchString(s):
		return Int
	case floatForm().MatchString(s):
		return Float
	case dateForm().MatchString(s):
		return Date
	}
	return Text
}

// decimal reports whether s is a whole number in plain digits.
func decimal(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return s == "0" || s != "" && s[0] != '0' && strings.Trim(s, "0123456789") == ""
}
