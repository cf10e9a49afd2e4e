package show

import (
	"regexp"
	"sync"
)

// control is what a terminal would act on: control sequences, the strings that go
// with some of them (ECMA-48), and the control characters but newline and tab.
var control = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]?` +
		`|(?:\x1b[PX\]^_]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\x00-\x1f\x7f-\x{9f}]*(?:\x07|\x1b\\|\x{9c})` +
		`|\x1b[ -/]*[0-~]?` +
		`|[\x00-\x08\x0b-\x1f\x7f-\x{9f}]`)
})

// Plain is text that a terminal only shows, however a server has written it.
func Plain(text string) string { return control().ReplaceAllString(text, "") }
