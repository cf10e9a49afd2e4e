package gemini

import (
	"encoding/json"
	"net/http"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/gemini/dialect"
	"github.com/adkmcp/adkmcp/internal/agent/model/gemini/history"
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

// body builds the contents and tools of a request, without signatures if the service
// has refused them.
//
// They don't go through genai, which decodes them into maps and back: that
// rounds numbers with many digits, copies each image several times, and a
// value that cannot be encoded makes the request empty without an error.
func (m *Model) body(req *model.Request, unsigned bool) (*body, error) {
	b := &body{contents: make([]wireContent, 0, len(req.Contents))}
	var err error
	if b.tools, b.mixed, err = m.declare(req); err != nil {
		return nil, err
	}
	if b.output, err = m.output(req); err != nil {
		return nil, err
	}
	contents, err := history.Of(req.Contents, history.Reader{Older: older().MatchString(m.name), Vertex: m.settings.vertex, Unsigned: unsigned})
	if err != nil {
		return nil, notEncoded(err)
	}
	for _, c := range contents {
		parts := make([]any, len(c.Parts))
		for i, p := range c.Parts {
			if parts[i] = p; model.IsBlank(p) {
				parts[i] = signaturePart{Part: p}
			}
		}
		b.contents = append(b.contents, wireContent{c.Role, parts})
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
