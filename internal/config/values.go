package config

import (
	"encoding/json"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Duration is a length of time, in YAML text such as 5s, 2m or 1h30m.
type Duration time.Duration

// Std gives the standard library's form.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String gives the form that YAML takes.
func (d Duration) String() string { return time.Duration(d).String() }

// redacted is what a secret looks like wherever it is printed.
const redacted = "[redacted]"

// Secret is a value that cannot print itself; [Secret.Reveal] gives it to the
// one who needs it.
type Secret struct{ value string }

// NewSecret makes a secret of value.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal gives the value itself. Call it where the value goes on the wire and
// nowhere else.
func (s Secret) Reveal() string { return s.value }

// IsZero reports whether there is no value.
func (s Secret) IsZero() bool { return s.value == "" }

// String hides the value.
func (s Secret) String() string {
	if s.value == "" {
		return ""
	}
	return redacted
}

// GoString hides the value from %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the value from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON hides the value.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalYAML hides the value.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

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
