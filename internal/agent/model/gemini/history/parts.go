package history

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// idPrefix marks the ids of calls that the runner gave, for want of one of the
// service's; they are taken out again before a request is sent (ADK's rule).
const idPrefix = "adk-"

// noSignature stands where a call that another model made has none (Gemini API,
// "Thought signatures", on calls that the model did not make).
const noSignature = "skip_thought_signature_validator"

// isOwn reports whether a signature is one that goes back to the service.
func (c *conversation) isOwn(signature []byte) bool {
	return !c.Unsigned && len(signature) > 0 && !model.IsSigned(signature)
}

// said gives the parts of what the model said: as the service sent them, in order,
// signatures byte for byte, but without thoughts and signatures that are not its own.
// It lists the calls among them.
func (c *conversation) said(parts []*genai.Part) (said []*genai.Part, calls []*pending) {
	signed := false
	for _, p := range parts {
		signed = signed || p != nil && p.FunctionCall != nil && c.isOwn(p.ThoughtSignature)
	}
	for _, p := range parts {
		switch {
		case p == nil, p.Thought && !c.isOwn(p.ThoughtSignature), model.IsBlank(p) && !c.isOwn(p.ThoughtSignature):
		case (p.ToolCall != nil || p.ToolResponse != nil) && (c.Vertex || c.Unsigned): // they are the Gemini API's, and signed
		case p.FunctionResponse != nil: // no place for it
			said = append(said, c.told(p.FunctionResponse)...)
		case p.FunctionCall != nil:
			part, call := c.fit(p), *p.FunctionCall
			if call.Name = fitName(call.Name); strings.HasPrefix(call.ID, idPrefix) {
				call.ID = ""
			}
			if !signed && !c.Older {
				part.ThoughtSignature, signed = []byte(noSignature), true
			}
			part.FunctionCall = &call
			said, calls = append(said, part), append(calls, &pending{call: &call, id: p.FunctionCall.ID, name: p.FunctionCall.Name})
		default:
			said = append(said, readable(c.fit(p)))
		}
	}
	return said, calls
}

// fit is a copy of a part of the model's without what the service does not take of it.
func (c *conversation) fit(p *genai.Part) *genai.Part {
	bare := *p
	if !c.isOwn(p.ThoughtSignature) {
		bare.ThoughtSignature = nil
	}
	if c.Vertex { // genai's converter refuses it there
		bare.PartMetadata = nil
	}
	return &bare
}

// heard gives a part of what came from outside, results of calls aside.
func (c *conversation) heard(p *genai.Part) []*genai.Part {
	switch {
	case model.IsBlank(p), p.Thought:
		return nil
	case p.FunctionResponse != nil:
		return c.told(p.FunctionResponse)
	case p.FunctionCall != nil: // only a model calls
		args, err := wire.Arguments(p.FunctionCall)
		c.fail(err)
		return []*genai.Part{{Text: "[a call of " + p.FunctionCall.Name + ": " + string(args) + "]"}}
	}
	bare := *p
	bare.ThoughtSignature = nil
	return []*genai.Part{readable(&bare)}
}

// told says in words what a response holds whose call is missing.
func (c *conversation) told(r *genai.FunctionResponse) []*genai.Part {
	text, _, err := wire.Output(r)
	c.fail(err)
	parts := []*genai.Part{{Text: "[a result of " + r.Name + ", whose call is missing: " + text + "]"}}
	for _, b := range wire.Media(r) {
		parts = append(parts, readable(&genai.Part{InlineData: b}))
	}
	return parts
}

func (c *conversation) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// badRunes are those that no name of a function has (the API's FunctionDeclaration).
var badRunes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_.:-]`) })

// fitName is the name of a tool as the service takes it; one that was called under
// another provider may have characters that it does not.
func fitName(name string) string {
	const longest = 128
	name = badRunes().ReplaceAllString(name, "_")
	if name == "" || strings.IndexByte("0123456789.:-", name[0]) >= 0 {
		name = "_" + name
	}
	return name[:min(len(name), longest)]
}

// hasRef reports whether there may be a key "$ref" in a value.
func hasRef(v any) bool {
	switch v := v.(type) {
	case nil, string, bool, json.Number, float64, int:
		return false
	case json.RawMessage:
		return bytes.Contains(v, []byte(`"$ref"`))
	case map[string]any:
		for key, value := range v {
			if key == "$ref" || hasRef(value) {
				return true
			}
		}
		return false
	case []any:
		for _, value := range v {
			if hasRef(value) {
				return true
			}
		}
		return false
	}
	text, err := json.Marshal(v) // a type of the tool's own
	return err == nil && bytes.Contains(text, []byte(`"$ref"`))
}
