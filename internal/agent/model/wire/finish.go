package wire

import (
	"strings"
	"unicode"
)

// Ending is how an answer ended.
type Ending int

// The endings. Unknown is a word that nobody has told us of: what there is of the
// answer may not be the whole, and its calls are not run.
const (
	Unknown  Ending = iota
	Whole           // it came to its own end
	Length          // at the limit on output tokens, or of the context window
	Withheld        // by a filter
	Failed          // an error of the service's own
)

// Finish reads the word for which an answer ended, as services and the gateways
// before them spell it: in capitals or not, with dashes, underscores or nothing
// between.
func Finish(word string) Ending {
	plain := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return unicode.ToLower(r)
	}, word)
	switch plain {
	case "stop", "stopped", "endturn", "eos", "eostoken", "stopsequence", "complete", "completed", "done", "finished",
		"toolcall", "toolcalls", "tooluse", "functioncall", "functioncalls", "pauseturn":
		return Whole
	case "length", "maxtokens", "maxoutputtokens", "maxlength", "modellength", "contextlength", "contextwindow", "contextlengthexceeded", "modelcontextwindowexceeded":
		return Length
	case "contentfilter", "contentfiltered", "filtered", "safety", "sensitive", "recitation", "blocklist", "prohibitedcontent", "spii",
		"modelarmor", "language", "refusal", "guardrail", "guardrailintervened", "blocked":
		return Withheld
	case "error", "networkerror", "timelimit", "timeout", "cancelled", "canceled", "abort", "aborted", "insufficientsystemresource", "unavailable":
		return Failed
	}
	return Unknown
}
