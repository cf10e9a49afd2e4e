package config

import (
	"encoding/json"
	"log/slog"
	"time"
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
