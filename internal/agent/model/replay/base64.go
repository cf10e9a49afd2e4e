package replay

import (
	"encoding/base64"
	"strings"
)

// minBase64 is how long the base64 of the shortest secret is that is looked for.
const minBase64 = 8

// redactBase64 takes out of a text the words in base64 (RFC 4648, either alphabet)
// that hold a secret: whole, since what is left of one says something of it.
func redactBase64(text string, redact func(string) string) string {
	var out strings.Builder
	done := 0
	for from := 0; from < len(text); {
		to := from
		for to < len(text) && isBase64(text[to]) {
			to++
		}
		if to-from >= minBase64 && holdsSecret(text[from:to], redact) {
			for to < len(text) && text[to] == '=' { // how long the secret is, is nobody's business
				to++
			}
			out.WriteString(text[done:from] + "[redacted]")
			done = to
		}
		from = max(to, from+1)
	}
	return out.String() + text[done:]
}

// isBase64 reports whether a byte can be in a word in base64, which may be broken
// into lines (RFC 2045, section 6.8).
func isBase64(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("+/-_\r\n", c) >= 0
}

// holdsSecret reports whether a word in base64 holds a secret. It may begin after
// something else that has the same letters, such as a path.
func holdsSecret(word string, redact func(string) string) bool {
	word = strings.NewReplacer("-", "+", "_", "/", "\r", "", "\n", "").Replace(word)
	for skip := range min(4, len(word)) {
		part := word[skip:]
		if len(part)%4 == 1 { // no base64 is so long; the last letter is not its
			part = part[:len(part)-1]
		}
		plain, err := base64.RawStdEncoding.DecodeString(part)
		if err == nil && redact(string(plain)) != string(plain) {
			return true
		}
	}
	return false
}
