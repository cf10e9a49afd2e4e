// Package content turns what an MCP server answers into what a model reads: text,
// JSON and media. What has no such form is named in the text, so that nothing is
// lost unseen.
//
// Start with [OfTool].
package content

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"reflect"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/mediatype"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/listing"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
)

// Bounds of what a server says, in bytes: an error's message, a URI, and names.
const (
	maxMessage = 4 << 10
	maxURI     = 2 << 10
	maxName    = 200
)

// codeURLElicitation is the code of an error which says that a person has to open
// a page first (MCP 2025-11-25, client/elicitation, "URL Elicitation Required").
const codeURLElicitation = -32042

// unreadable is the result of an answer that is none of MCP.
const unreadable = "the server's answer cannot be read: it is no result as MCP has it"

// OfTool reads the result of tools/call.
func OfTool(raw json.RawMessage) *agent.Result {
	var r struct {
		Content           []json.RawMessage `json:"content"`
		StructuredContent json.RawMessage   `json:"structuredContent"`
		IsError           bool              `json:"isError"`
	}
	err := json.Unmarshal(raw, &r)
	s := bytes.TrimSpace(r.StructuredContent)
	structured := len(s) > 0 && string(s) != "null"
	if err != nil || r.Content == nil && !structured { // a list without anything in it says that there is nothing
		return agent.Failure(unreadable)
	}
	var b builder
	for _, block := range r.Content {
		b.block(block)
	}
	res := b.result()
	res.IsError = r.IsError
	if structured {
		res.Output = withStructured(b.text(), s)
	}
	return res
}

// withStructured is the structured content where the text says no more than it.
func withStructured(text string, structured json.RawMessage) any {
	switch {
	case strings.TrimSpace(text) == "" || sameJSON(text, structured):
		return structured
	case wraps(structured, text):
		return text
	}
	var b bytes.Buffer
	if json.Compact(&b, structured) != nil {
		return text
	}
	return text + "\n" + b.String()
}

// wraps reports whether a structure is nothing but the text under some name, as
// servers write that declare a schema for everything.
func wraps(structured json.RawMessage, text string) bool {
	v, _ := decode(structured)
	object, _ := v.(map[string]any)
	for _, member := range object {
		return len(object) == 1 && member == text
	}
	return false
}

func sameJSON(text string, structured json.RawMessage) bool {
	a, okA := decode([]byte(text))
	b, okB := decode(structured)
	return okA && okB && reflect.DeepEqual(a, b)
}

// decode reads one JSON value, numbers as they were written.
func decode(data []byte) (v any, ok bool) {
	if !json.Valid(data) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

// OfResource reads the result of resources/read.
func OfResource(raw json.RawMessage) *agent.Result {
	var r struct {
		Contents []json.RawMessage `json:"contents"`
	}
	if json.Unmarshal(raw, &r) != nil {
		return agent.Failure(unreadable)
	}
	var b builder
	for _, one := range r.Contents {
		b.resource(one)
	}
	return b.result()
}

// OfPrompt reads the result of prompts/get: each message is a line that begins
// with its role.
func OfPrompt(raw json.RawMessage) *agent.Result {
	var r struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal(raw, &r) != nil {
		return agent.Failure(unreadable)
	}
	var b builder
	for _, m := range r.Messages {
		before := len(b.lines)
		for _, block := range blocks(m.Content) {
			b.block(block)
		}
		if len(b.lines) == before {
			b.lines = append(b.lines, "")
		}
		b.lines[before] = line(m.Role, maxName) + ": " + b.lines[before]
	}
	return b.result()
}

// blocks are those of a message, which is one block or a list of them.
func blocks(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	return []json.RawMessage{raw}
}

// builder collects what a result holds.
type builder struct {
	lines []string
	media []*genai.Blob
}

func (b *builder) text() string { return strings.Join(b.lines, "\n") }

func (b *builder) result() *agent.Result { return &agent.Result{Output: b.text(), Media: b.media} }

func (b *builder) say(format string, args ...any) {
	b.lines = append(b.lines, fmt.Sprintf(format, args...))
}

// block takes a content block (MCP, schema, ContentBlock).
func (b *builder) block(raw json.RawMessage) {
	var c struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Data     string          `json:"data"`
		MIMEType string          `json:"mimeType"`
		URI      string          `json:"uri"`
		Name     string          `json:"name"`
		Resource json.RawMessage `json:"resource"`
	}
	if json.Unmarshal(raw, &c) != nil {
		b.say("[a part of the result was left out: it is no content block]")
		return
	}
	switch c.Type {
	case "text":
		b.lines = append(b.lines, c.Text)
	case "image", "audio":
		data, err := unbase64(c.Data)
		if err != nil {
			b.say("[%s left out: its data is no base64]", c.Type)
			return
		}
		b.media = append(b.media, blob(c.MIMEType, "", data))
	case "resource":
		b.resource(c.Resource)
	case "resource_link":
		b.say("[resource %s%s: %s]", line(c.Name, maxName), inBrackets(c.MIMEType), line(c.URI, maxURI))
	default:
		b.say("[a part of the result was left out: content of type %q is not known]", line(c.Type, maxName))
	}
}

// resource takes the contents of a resource (MCP, schema, TextResourceContents and
// BlobResourceContents).
func (b *builder) resource(raw json.RawMessage) {
	var r struct {
		URI      string  `json:"uri"`
		MIMEType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Blob     *string `json:"blob"`
	}
	if json.Unmarshal(raw, &r) != nil {
		b.say("[a resource was left out: it cannot be read]")
		return
	}
	name := line(r.URI, maxURI) + inBrackets(r.MIMEType)
	switch {
	case r.Text != nil:
		b.say("[resource %s]\n%s", name, *r.Text)
	case r.Blob != nil:
		data, err := unbase64(*r.Blob)
		if err != nil {
			b.say("[resource %s left out: its data is no base64]", name)
			return
		}
		if mediatype.IsText(r.MIMEType) && utf8.Valid(data) {
			b.say("[resource %s]\n%s", name, data)
			return
		}
		b.say("[resource %s: %d bytes, attached]", name, len(data))
		b.media = append(b.media, blob(r.MIMEType, r.URI, data))
	default:
		b.say("[resource %s: it holds nothing]", name)
	}
}

func inBrackets(mimeType string) string {
	if mimeType = line(mimeType, maxName); mimeType == "" {
		return ""
	}
	return " (" + mimeType + ")"
}

// line makes what a server calls something fit to stand within a line that we write.
func line(s string, limit int) string {
	return strings.Join(strings.Fields(listing.Clean(s, limit)), " ")
}

func blob(mimeType, name string, data []byte) *genai.Blob {
	mimeType = line(mimeType, maxName)
	if mimeType == "" {
		mimeType = mediatype.Of(name, data)
	}
	if kind, _, err := mime.ParseMediaType(mimeType); err != nil || !strings.Contains(kind, "/") {
		mimeType = "application/octet-stream"
	}
	return &genai.Blob{MIMEType: mimeType, Data: data}
}

// unbase64 takes the standard alphabet, with padding or without, since not every
// server writes it.
func unbase64(s string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}

// Failure is the result of a JSON-RPC error.
func Failure(e *protocol.Error) *agent.Result {
	var b builder
	b.say("the server refused the call: %s (code %d)", bounded(e.Message), e.Code)
	var data struct {
		Elicitations []struct{ URL, Message string } `json:"elicitations"`
	}
	if e.Code == codeURLElicitation && json.Unmarshal(e.Data, &data) == nil {
		for _, q := range data.Elicitations {
			b.say("A person has to open %s first: %s", bounded(q.URL), bounded(q.Message))
		}
	}
	return agent.Failure(bounded(b.text()))
}

// OfError is the result of whatever went wrong with a call, if it was the server
// that said so.
func OfError(err error) (*agent.Result, bool) {
	var refused *protocol.Error
	if errors.As(err, &refused) {
		return Failure(refused), true
	}
	return nil, false
}

func bounded(s string) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= maxMessage {
		return s
	}
	n := maxMessage - len("…")
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// Note adds a line to what the model reads of a result.
func Note(r *agent.Result, line string) *agent.Result {
	noted := *r
	switch output := r.Output.(type) {
	case string:
		noted.Output = strings.TrimPrefix(output+"\n"+line, "\n")
	case json.RawMessage:
		noted.Output = string(output) + "\n" + line
	}
	return &noted
}
