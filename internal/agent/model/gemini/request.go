package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/gemini/dialect"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// body is what a request holds besides its settings, as it goes on the wire.
type body struct {
	contents []wireContent
	tools    json.RawMessage // nil for none
	mixed    bool            // functions, and tools that the service runs itself
	output   json.RawMessage // the schema that the answer is held to; nil for none
}

// wireContent is a content as it is sent.
type wireContent struct {
	Role  string `json:"role,omitempty"`
	Parts []any  `json:"parts"`
}

// signaturePart is a part that holds nothing but a signature. The service
// takes no part without data, and genai leaves out an empty text.
type signaturePart struct {
	*genai.Part
	Text string `json:"text"`
}

// body builds the contents and tools of a request.
//
// They don't go through genai, which decodes them into maps and back: that
// rounds numbers with many digits, copies each image several times, and a
// value that cannot be encoded makes the request empty without an error.
func (m *Model) body(req *model.Request) (*body, error) {
	b := &body{contents: make([]wireContent, 0, len(req.Contents))}
	var err error
	if b.tools, b.mixed, err = m.declare(req); err != nil {
		return nil, err
	}
	if b.output, err = m.output(req); err != nil {
		return nil, err
	}
	for _, c := range req.Contents {
		if c == nil {
			continue
		}
		parts, err := m.wireParts(c.Parts)
		if err != nil {
			return nil, notEncoded(err)
		}
		last := len(b.contents) - 1
		switch {
		case len(parts) == 0:
		case last >= 0 && c.Role == genai.RoleModel && b.contents[last].Role == genai.RoleModel: // refused
			b.contents[last].Parts = append(b.contents[last].Parts, parts...)
		default:
			b.contents = append(b.contents, wireContent{c.Role, parts})
		}
	}
	return b, nil
}

// jsonType is the type of answers that are held to a schema.
const jsonType = "application/json"

// output is the schema that the service holds the answer to. There is none with
// tools, which the API does not take beside it (then the instruction says what
// the answer must match), and none where generate_content_config has settings
// of its own for the form of an answer.
func (m *Model) output(req *model.Request) (json.RawMessage, error) {
	g := &m.generate
	own := g.ResponseSchema != nil || g.ResponseJsonSchema != nil || g.ResponseMIMEType != "" && g.ResponseMIMEType != jsonType
	if req.OutputSchema == nil || len(req.Tools) > 0 || len(req.Hosted) > 0 || own {
		return nil, nil
	}
	schema, err := dialect.Output(req.OutputSchema)
	if err != nil {
		return nil, &model.Error{Code: model.InvalidRequest, Message: "output_schema cannot be declared to Gemini: simplify it", Err: err}
	}
	return schema, nil
}

// notEncoded is the error of a conversation that has no JSON form.
func notEncoded(err error) error {
	return &model.Error{Code: model.InvalidRequest, Message: "the conversation cannot be sent to Gemini", Err: err}
}

// callConfig is a fresh configuration for one call; genai writes to it. sent
// becomes true when the request is built.
func (m *Model) callConfig(system string, b *body, sent *bool) *genai.GenerateContentConfig {
	c := m.generate
	if system != "" {
		c.SystemInstruction = &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: system}}}
	}
	if b.output != nil {
		c.ResponseMIMEType = jsonType
	}
	if b.mixed && !m.settings.vertex { // the Gemini API demands it, Vertex AI does not know it
		t := genai.ToolConfig{}
		if c.ToolConfig != nil {
			t = *c.ToolConfig
		}
		yes := true
		t.IncludeServerSideToolInvocations, c.ToolConfig = &yes, &t
	}
	c.AutomaticContinuation = new(bool) // each continuation is billed
	options := genai.HTTPOptions{}
	if c.HTTPOptions != nil {
		options = *c.HTTPOptions
	}
	if options.Headers = options.Headers.Clone(); options.Headers == nil {
		options.Headers = make(http.Header)
	}
	options.ExtrasRequestProvider = func(request map[string]any) map[string]any {
		*sent = true
		request["contents"] = b.contents
		if b.tools != nil {
			request["tools"] = b.tools
		}
		if settings, ok := request["generationConfig"].(map[string]any); ok && b.output != nil {
			settings["responseJsonSchema"] = b.output // genai would round its numbers
		}
		return request
	}
	c.HTTPOptions = &options
	return &c
}

// wireParts gives parts as they are sent: as the service sent them, in order,
// signatures byte for byte, but without the ids that are ours and without what
// another provider signed.
func (m *Model) wireParts(parts []*genai.Part) ([]any, error) {
	sent := make([]any, 0, len(parts))
	signed := slices.ContainsFunc(parts, func(p *genai.Part) bool { return p != nil && p.FunctionCall != nil && isOwn(p.ThoughtSignature) })
	for _, p := range parts {
		if p != nil && model.IsSigned(p.ThoughtSignature) {
			if p.Thought {
				continue
			}
			bare := *p
			bare.ThoughtSignature = nil
			p = &bare
		}
		switch {
		case model.IsBlank(p):
			if p != nil && len(p.ThoughtSignature) > 0 {
				sent = append(sent, signaturePart{Part: p})
			}
		case p.FunctionCall != nil:
			sent = append(sent, m.wireCall(p, &signed))
		case p.FunctionResponse != nil:
			shaped, err := m.shapeResponse(p)
			if err != nil {
				return nil, err
			}
			sent = append(sent, shaped...)
		case p.InlineData != nil && !readable(p.InlineData):
			sent = append(sent, &genai.Part{Text: wire.LeftOut([]*genai.Blob{p.InlineData})})
		default:
			sent = append(sent, p)
		}
	}
	return sent, nil
}

// noSignature stands where a call that another model made has none (Gemini API,
// "Thought signatures", on calls that the model did not make).
const noSignature = "skip_thought_signature_validator"

// wireCall gives a call without an id that is ours. signed says whether the calls
// of its content carry a signature; newer models refuse those that don't.
func (m *Model) wireCall(p *genai.Part, signed *bool) *genai.Part {
	ours, bare := strings.HasPrefix(p.FunctionCall.ID, idPrefix), !*signed && m.signs()
	if !ours && !bare {
		return p
	}
	part, call := *p, *p.FunctionCall
	part.FunctionCall = &call
	if ours {
		call.ID = ""
	}
	if bare {
		part.ThoughtSignature, *signed = []byte(noSignature), true
	}
	return &part
}

// signs reports whether the model wants signatures of its calls; Gemini 3 was the
// first.
func (m *Model) signs() bool { return !olderModels().MatchString(m.name) }

// isOwn reports whether a signature is the service's own.
func isOwn(signature []byte) bool { return len(signature) > 0 && !model.IsSigned(signature) }

// shapeResponse gives the parts that a function response is sent as: without
// an id that is ours, without references, and its media where this model takes
// them.
func (m *Model) shapeResponse(p *genai.Part) ([]any, error) {
	part, response := *p, *p.FunctionResponse
	part.FunctionResponse = &response
	if strings.HasPrefix(response.ID, idPrefix) {
		response.ID = ""
	}
	if hasRef(response.Response) {
		if err := quoteRefs(&response); err != nil {
			return nil, err
		}
	}
	beside, unreadable := placeMedia(&response, takesMediaInResponses(m.name))
	if len(unreadable) > 0 {
		if err := mention(&response, unreadable); err != nil {
			return nil, err
		}
	}
	return append([]any{&part}, beside...), nil
}

// quoteRefs turns the values of a response that have a key "$ref" in them into
// JSON text. The service takes such keys for references to the response's own
// media and refuses those that it cannot follow.
func quoteRefs(r *genai.FunctionResponse) error {
	quoted := make(map[string]any, len(r.Response))
	for key, value := range r.Response {
		if hasRef(value) {
			text, err := json.Marshal(value)
			if err != nil {
				return fmt.Errorf("response of %s: %w", r.Name, err)
			}
			value = string(text)
		}
		quoted[key] = value
	}
	r.Response = quoted
	return nil
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
