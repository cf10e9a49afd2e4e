package config

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// MinSecretLength is the shortest secret that a [Redactor] looks for, in
// characters. A shorter one would hide pieces of innocent text, and its absence
// from them would give it away.
const MinSecretLength = 6

// Redactor replaces secrets in text. A nil one has none to replace. It is safe
// for concurrent use.
type Redactor struct{ replacer *strings.Replacer }

// NewRedactor looks for values and for the forms that they take inside JSON,
// JSON in JSON, and URLs. It gives nil if none of them is long enough.
func NewRedactor(values []string) *Redactor {
	var forms []string
	for _, v := range values {
		if utf8.RuneCountInString(v) < MinSecretLength {
			continue
		}
		forms = append(forms, v, url.QueryEscape(v), url.PathEscape(v))
		for _, html := range []bool{true, false} {
			once := quoted(v, html)
			forms = append(forms, once, quoted(once, html)) // twice: JSON in a JSON text
		}
	}
	if len(forms) == 0 {
		return nil
	}
	// Of two that begin at the same place the longer one has to win.
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, redacted)
	}
	return &Redactor{strings.NewReplacer(pairs...)}
}

// quoted is s as it stands inside a JSON text; < > and & may be escaped or not.
func quoted(s string, escapeHTML bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if err := enc.Encode(s); err != nil {
		return s
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

// Text gives s without secrets.
func (r *Redactor) Text(s string) string {
	if r == nil {
		return s
	}
	return r.replacer.Replace(s)
}
