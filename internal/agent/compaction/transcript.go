package compaction

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"
)

// What estimates count with. Four bytes a token are about right for English text;
// what services count for media depends on much that is not known here.
const (
	bytesPerToken = 4
	mediaTokens   = 1000
)

// Tokens is about how many tokens contents are.
func Tokens(contents []*genai.Content) int64 {
	w := &writer{}
	w.contents(contents)
	return int64(w.Len()/bytesPerToken + w.media*mediaTokens)
}

// transcript writes contents as text, an earlier summary before them. Where that
// would be longer than limit bytes, the longest things in it keep their head and
// tail; what is cut is said.
func transcript(earlier *genai.Content, contents []*genai.Content, limit int) string {
	const least = 64
	for each := limit; ; each /= 2 {
		w := &writer{limit: max(each, least)}
		if earlier != nil {
			w.entry("Summary of what was before", strings.TrimPrefix(earlier.Parts[0].Text, Marker))
		}
		w.contents(contents)
		switch {
		case w.Len() <= limit:
			return w.String()
		case each <= least: // very many small things
			return clip(w.String(), limit)
		}
	}
}

// writer writes a transcript. Each entry begins at the start of a line and nothing
// else does, so that no text can pretend to be another entry.
type writer struct {
	strings.Builder
	limit int // of each text, in bytes; 0 for none
	media int // how many there were
}

func (w *writer) contents(contents []*genai.Content) {
	for _, c := range contents {
		who := "User"
		if c.Role == genai.RoleModel {
			who = "Agent"
		}
		for _, p := range c.Parts {
			w.part(who, p)
		}
	}
}

func (w *writer) part(who string, p *genai.Part) {
	if p.Thought {
		return
	}
	if p.Text != "" {
		w.entry(who, p.Text)
	}
	if d := p.InlineData; d != nil {
		w.medium(who, d.MIMEType, d.DisplayName, len(d.Data))
	}
	if d := p.FileData; d != nil {
		w.medium(who, d.MIMEType, d.FileURI, 0)
	}
	if c := p.FunctionCall; c != nil {
		w.entry("Agent calls "+c.Name, compact(c.Args))
	}
	if r := p.FunctionResponse; r != nil {
		w.entry("Result of "+r.Name, compact(r.Response))
		for _, m := range r.Parts {
			if d := m.InlineData; d != nil {
				w.medium("Result of "+r.Name, d.MIMEType, d.DisplayName, len(d.Data))
			}
		}
	}
	if c := p.ExecutableCode; c != nil {
		w.entry("Agent runs code", c.Code)
	}
	if r := p.CodeExecutionResult; r != nil {
		w.entry("Result of the code", r.Output)
	}
}

// medium names bytes that are not sent.
func (w *writer) medium(who, mimeType, name string, size int) {
	w.media++
	if size > 0 {
		name = strings.TrimSpace(fmt.Sprintf("%s %d bytes", name, size))
	}
	w.entry(who, fmt.Sprintf("[%s %s]", mimeType, name))
}

func (w *writer) entry(who, text string) {
	if w.limit > 0 {
		text = clip(text, w.limit)
	}
	w.WriteString(who + ": " + strings.ReplaceAll(text, "\n", "\n  ") + "\n")
}

// compact gives a JSON object on one line.
func compact(v map[string]any) string {
	if len(v) == 0 {
		return "{}"
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// clip keeps the head and the tail of a text.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head, tail := limit/2, len(text)-limit/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s … [%d bytes left out] … %s", text[:head], tail-head, text[tail:])
}
