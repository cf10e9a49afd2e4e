package geminitest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// Reply is what the service answers with.
type Reply struct {
	Status int
	Header map[string]string
	// Chunks are the JSON of the events of a stream; if nil, Body is sent as
	// it is.
	Chunks []string
	Body   string
	Half   bool // ends in the middle of one more event
	Cut    bool // drops the connection in the middle of one more event
	Hang   bool // keeps the connection open after the last event
	Noise  bool // comments, other fields, blank lines and [DONE] in between
	// Pace, if set, is called before each chunk is sent.
	Pace func(chunk int)
}

// Stream is a reply of chunks.
func Stream(chunks ...string) Reply {
	if chunks == nil {
		chunks = []string{}
	}
	return Reply{Status: 200, Chunks: chunks}
}

// Say is a reply of text in one chunk.
func Say(text string) Reply { return Stream(Final("STOP", Text(text))) }

// Fail is an error as the service words them. details are JSON objects.
func Fail(status int, code, message string, details ...string) Reply {
	body := fmt.Sprintf(`{"error":{"code":%d,"message":%s,"status":%q,"details":[%s]}}`,
		status, quote(message), code, strings.Join(details, ","))
	return Reply{Status: status, Header: map[string]string{"Content-Type": "application/json"}, Body: body}
}

// Chunk is one event with parts, in JSON.
func Chunk(parts ...string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + strings.Join(parts, ",") + `]},"index":0}],` +
		`"usageMetadata":{"promptTokenCount":10,"totalTokenCount":10},"modelVersion":"fake","responseId":"r"}`
}

// Final is the event that ends an answer. It has parts only if they are given,
// and counts 10 prompt, 5 answer and 2 thought tokens.
func Final(reason string, parts ...string) string {
	content := ""
	if len(parts) > 0 {
		content = `"content":{"role":"model","parts":[` + strings.Join(parts, ",") + `]},`
	}
	return `{"candidates":[{` + content + `"finishReason":` + quote(reason) + `,"index":0}],` +
		`"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"thoughtsTokenCount":2,"totalTokenCount":17},"modelVersion":"fake","responseId":"r"}`
}

// Text is a part of text.
func Text(text string) string { return `{"text":` + quote(text) + `}` }

// Thought is a part that summarises thoughts.
func Thought(text string) string { return `{"text":` + quote(text) + `,"thought":true}` }

// Signature is an empty text that carries a signature.
func Signature(signature string) string {
	return `{"text":"","thoughtSignature":"` + encode(signature) + `"}`
}

// Signed is a text that carries a signature.
func Signed(text, signature string) string {
	return `{"text":` + quote(text) + `,"thoughtSignature":"` + encode(signature) + `"}`
}

// Call is a function call without an id. args is JSON; an empty signature is
// left out.
func Call(name, args, signature string) string {
	part := `{"functionCall":{"name":` + quote(name) + `,"args":` + args + `}`
	if signature != "" {
		part += `,"thoughtSignature":"` + encode(signature) + `"`
	}
	return part + `}`
}

func quote(s string) string {
	text, _ := json.Marshal(s) // strings always marshal
	return string(text)
}

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// decode reads JSON, keeps numbers as they are written and refuses fields that
// the value does not have.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	d.DisallowUnknownFields()
	return d.Decode(into)
}
