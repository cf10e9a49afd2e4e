package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genai"
)

// scrubber takes out what must not be in a recording, and what would differ from
// run to run.
type scrubber struct{ redact func(string) string }

// Hiding is what recordings do to texts: what redact takes out, and it takes out of
// words in base64 too.
func Hiding(redact func(string) string) func(text string) string {
	return func(text string) string { return redactBase64(redact(text), redact) }
}

// Rewrite passes every string of a JSON value through text, those of keys too, and
// every number: one that text changes becomes a string. All else stays as it is,
// without the space in between. Nothing stays nothing.
func Rewrite(raw []byte, text func(string) string) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var in, out bytes.Buffer
	if err := json.Compact(&in, raw); err != nil {
		return nil, err
	}
	depth := 0
	for b := in.Bytes(); len(b) > 0; {
		n := 1
		switch c := b[0]; {
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			depth--
		case c == '"':
			n = stringLength(b)
		case c == '-', '0' <= c && c <= '9':
			n = len(b) - len(bytes.TrimLeft(b, "+-.0123456789eE"))
		}
		if depth > maxDepth {
			return nil, fmt.Errorf("JSON is nested more than %d levels deep", maxDepth)
		}
		token, err := rewriteToken(b[:n], text)
		if err != nil {
			return nil, err
		}
		out.Write(token)
		b = b[n:]
	}
	return out.Bytes(), nil
}

// stringLength is the length of the string that valid JSON begins with.
func stringLength(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

func rewriteToken(token []byte, text func(string) string) ([]byte, error) {
	if len(token) == 1 && (token[0] < '0' || token[0] > '9') {
		return token, nil
	}
	old := string(token)
	if token[0] == '"' {
		if err := json.Unmarshal(token, &old); err != nil {
			return nil, err
		}
	}
	if now := text(old); now != old {
		return marshal(now)
	}
	return token, nil
}

// canonical is the one form of a JSON value that is compared: without secrets, keys
// sorted; nothing for nothing.
func (s scrubber) canonical(raw []byte) (json.RawMessage, error) {
	raw, err := Rewrite(raw, s.redact)
	if err != nil || raw == nil {
		return nil, err
	}
	var v any
	if err := unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return marshal(v)
}

// asked is a content of a request as it is compared: ids counted, large data as its
// hash.
func (s scrubber) asked(c *genai.Content, ids *namer) (string, error) {
	raw, err := s.content(c, func(p *genai.Part) {
		if p.FunctionCall != nil {
			p.FunctionCall.ID = ids.name(p.FunctionCall.ID)
		}
		if p.FunctionResponse != nil {
			p.FunctionResponse.ID = ids.name(p.FunctionResponse.ID)
		}
		eachBlob(p, func(mimeType *string, data *[]byte) {
			if len(*data) > maxInline {
				*mimeType += fmt.Sprintf("; sha256=%x; size=%d", sha256.Sum256(*data), len(*data))
				*data = nil
			}
		})
	})
	return string(raw), err
}

// said is a content of a reply as it is kept: whole.
func (s scrubber) said(c *genai.Content) (json.RawMessage, error) {
	return s.content(c, func(*genai.Part) {})
}

// content is the JSON of a content without secrets. Its parts pass through change,
// as copies.
func (s scrubber) content(c *genai.Content, change func(*genai.Part)) (json.RawMessage, error) {
	own, err := clone(c)
	if err != nil {
		return nil, err
	}
	parts := partsOf(own)
	s.mend(parts)
	for _, p := range parts {
		p.ThoughtSignature = s.data(p.ThoughtSignature)
		eachBlob(p, func(_ *string, data *[]byte) { *data = s.data(*data) })
		change(p)
	}
	raw, err := marshal(own)
	if err != nil {
		return nil, err
	}
	if raw, err = s.canonical(raw); err != nil {
		return nil, err
	}
	if _, err := readContent(raw); err != nil {
		return nil, fmt.Errorf("content without its secrets: %w", err)
	}
	return raw, nil
}

// data is bytes without secrets, neither in themselves nor in the form in which JSON
// holds them.
func (s scrubber) data(b []byte) []byte {
	if text := string(b); s.redact(text) != text {
		b = []byte(s.redact(text))
	}
	if text := base64.StdEncoding.EncodeToString(b); s.redact(text) != text {
		return []byte("[redacted]")
	}
	return b
}

// mend finds a secret that lies across parts, as pieces of a stream cut it: the text
// of all of them then moves into the first.
func (s scrubber) mend(parts []*genai.Part) {
	for _, thought := range []bool{false, true} {
		var texts []*genai.Part
		var joined, apart strings.Builder
		for _, p := range parts {
			if p.Text != "" && p.Thought == thought {
				texts = append(texts, p)
				joined.WriteString(p.Text)
				apart.WriteString(s.redact(p.Text))
			}
		}
		if whole := s.redact(joined.String()); whole != apart.String() {
			for _, p := range texts {
				p.Text = ""
			}
			texts[0].Text = whole
		}
	}
}

// readContent reads the JSON of a content; null is nil.
func readContent(raw []byte) (*genai.Content, error) {
	var c *genai.Content
	if err := unmarshal(raw, &c); err != nil {
		return nil, err
	}
	return c, nil
}

// clone copies a content, all of it.
func clone(c *genai.Content) (*genai.Content, error) {
	raw, err := marshal(c)
	if err != nil {
		return nil, err
	}
	return readContent(raw)
}

// partsOf gives the parts that there are.
func partsOf(c *genai.Content) []*genai.Part {
	if c == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Parts), func(p *genai.Part) bool { return p == nil })
}

// eachBlob visits the inline data of a part.
func eachBlob(p *genai.Part, visit func(mimeType *string, data *[]byte)) {
	if b := p.InlineData; b != nil {
		visit(&b.MIMEType, &b.Data)
	}
	if r := p.FunctionResponse; r != nil {
		for _, media := range r.Parts {
			if media != nil && media.InlineData != nil {
				visit(&media.InlineData.MIMEType, &media.InlineData.Data)
			}
		}
	}
}

// The ids of calls: those that the runner gives, which differ from run to run, and
// what stands for them in a recording, a number after it.
const (
	givenID    = "adk-"
	recordedID = "call-"
)

// namer counts the ids of calls in the order in which they appear.
type namer struct {
	names map[string]string
	last  int // the highest number so far
}

// name gives what stands for an id. A service's own id stays; if it looks like one
// of ours, the count goes on after it.
func (n *namer) name(id string) string {
	if !strings.HasPrefix(id, givenID) {
		digits, ok := strings.CutPrefix(id, recordedID)
		if k, err := strconv.ParseUint(digits, 10, 24); ok && err == nil {
			n.last = max(n.last, int(k))
		}
		return id
	}
	name, ok := n.names[id]
	if !ok {
		n.last++
		name = recordedID + strconv.Itoa(n.last)
		if n.names == nil {
			n.names = make(map[string]string)
		}
		n.names[id] = name
	}
	return name
}

// nameCalls gives the calls of a reply ids as the runner does: to each that has none,
// or the same as one before it.
func nameCalls(c *genai.Content) {
	seen := make(map[string]bool)
	for i, p := range partsOf(c) {
		if p.FunctionCall == nil {
			continue
		}
		if id := p.FunctionCall.ID; id == "" || seen[id] {
			p.FunctionCall.ID = givenID + strconv.Itoa(i)
		}
		seen[p.FunctionCall.ID] = true
	}
}

func unchanged(text string) string { return text }
