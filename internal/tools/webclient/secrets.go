package webclient

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

const redacted = "[redacted]"

// Secrets finds the secrets of a tool in what it sends and hides them in what
// comes back. A nil one knows none.
type Secrets struct {
	sent   []string
	hidden *strings.Replacer
}

// NewSecrets takes values as they stand in the agent file, and the credentials that
// go along in headers.
func NewSecrets(values []string, credentials ...Credential) *Secrets {
	const shortest = 4 // hiding shorter ones would only garble the text
	s := &Secrets{}
	for _, v := range values {
		if v != "" {
			s.sent = append(s.sent, forms(v)...)
		}
	}
	hidden := slices.Clone(s.sent)
	for _, c := range credentials {
		_, token, _ := strings.Cut(c.Value, " ")
		hidden = append(hidden, c.Value, token)
	}
	slices.SortStableFunc(hidden, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, v := range hidden {
		if len(v) >= shortest {
			pairs = append(pairs, v, redacted)
		}
	}
	s.hidden = strings.NewReplacer(pairs...)
	return s
}

// In reports whether a body holds one of the values.
func (s *Secrets) In(body []byte) bool {
	return s != nil && slices.ContainsFunc(s.sent, func(v string) bool { return bytes.Contains(body, []byte(v)) })
}

// Hide replaces the secrets in a text.
func (s *Secrets) Hide(text string) string {
	if s == nil {
		return text
	}
	return s.hidden.Replace(text)
}

// forms are the ways in which a secret is sent and comes back: as it is, inside
// a URL, a form, or JSON, where some escape <, > and & as well.
func forms(s string) []string {
	list := []string{s, Escape(s, ""), url.QueryEscape(s)}
	if q, err := Quote(s); err == nil {
		list = append(list, string(q[1:len(q)-1]))
	}
	if q, err := json.Marshal(s); err == nil {
		list = append(list, string(q[1:len(q)-1]))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Quote gives s as a JSON string, with <, > and & as they are.
func Quote(s string) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(s)
	return bytes.TrimSpace(b.Bytes()), err
}
