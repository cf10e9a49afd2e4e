package scripted

import (
	"encoding/json"
	"fmt"

	"github.com/adkmcp/adkmcp/internal/config/template"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// player plays one step for one request.
type player struct {
	req    *model.Request
	groups []string // names of the pattern's groups, and
	values []string // what they matched
}

func (p *player) play(s step) (*model.Reply, error) {
	content := &genai.Content{Role: genai.RoleModel, Parts: make([]*genai.Part, 0, 1+len(s.files)+len(s.calls))}
	text, err := s.text.Expand(p.text)
	if err != nil {
		return nil, err
	}
	if text != "" {
		content.Parts = append(content.Parts, &genai.Part{Text: text})
	}
	files, err := readFiles(s.files)
	if err != nil {
		return nil, err
	}
	content.Parts = append(content.Parts, files...)
	for _, c := range s.calls {
		args := make(map[string]any, len(c.args))
		for name, v := range c.args {
			if args[name], err = p.argument(c.tool, name, v); err != nil {
				return nil, err
			}
		}
		content.Parts = append(content.Parts, &genai.Part{FunctionCall: &genai.FunctionCall{Name: c.tool, Args: args}})
	}
	return &model.Reply{Content: content, FinishReason: "STOP"}, nil
}

// text gives what a place stands for: a group of the pattern, or else the text
// of a tool's last result.
func (p *player) text(name string) (string, error) {
	for i, g := range p.groups {
		if g == name {
			return p.values[i], nil
		}
	}
	if s, ok := lastResult(p.req.Contents, name); ok {
		return s, nil
	}
	return "", &model.Error{Code: model.Misconfigured, Message: fmt.Sprintf(
		"the model's script names {%s}, but its pattern has no such group and no tool of that name has given a result", name)}
}

// argument puts values into one argument of a call. A text that is exactly one
// place takes the type that the tool's schema asks for.
func (p *player) argument(tool, name string, v any) (any, error) {
	t, ok := v.(template.Text)
	if !ok {
		return p.nested(v)
	}
	s, err := t.Expand(p.text)
	if err != nil {
		return nil, err
	}
	if _, only := t.Only(); only {
		return typed(s, p.typeOf(tool, name)), nil
	}
	return s, nil
}

func (p *player) nested(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case template.Text:
		return v.Expand(p.text)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			if out[i], err = p.nested(v[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			if out[k], err = p.nested(v[k]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

// typeOf is the type that a tool's schema gives an argument; empty if it gives
// none.
func (p *player) typeOf(tool, arg string) string {
	for _, d := range p.req.Tools {
		raw, ok := d.ParametersJsonSchema.(json.RawMessage)
		if d.Name != tool || !ok {
			continue
		}
		var schema struct {
			Properties map[string]struct {
				Type any `json:"type"`
			} `json:"properties"`
		}
		if json.Unmarshal(raw, &schema) == nil {
			t, _ := schema.Properties[arg].Type.(string)
			return t
		}
	}
	return ""
}

// typed turns text into a value of a JSON Schema type, and leaves it text where
// it is none, so that the check of the arguments says what is wrong.
func typed(s, kind string) any {
	switch kind {
	case "integer", "number", "boolean", "array", "object", "null":
	default:
		return s
	}
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		return s
	}
	if _, number := v.(float64); number {
		return json.Number(s)
	}
	return v
}

// lastResult is the text of a tool's newest result.
func lastResult(contents []*genai.Content, tool string) (string, bool) {
	for i := len(contents) - 1; i >= 0; i-- {
		parts := contents[i].Parts
		for j := len(parts) - 1; j >= 0; j-- {
			if r := parts[j].FunctionResponse; r != nil && r.Name == tool {
				return resultText(r.Response), true
			}
		}
	}
	return "", false
}

func resultText(response map[string]any) string {
	var v any = response
	if out, ok := response["output"]; ok {
		v = out
	} else if e, ok := response["error"]; ok {
		v = e
	}
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
