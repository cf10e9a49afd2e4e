package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/mediatype"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// result gives the parts of a call's result: its response, with its media within it
// where this model takes them and beside it where not. Behind goes the text that
// cannot stand beside a response.
func (c *conversation) result(p *pending) (parts, behind []*genai.Part) {
	r := genai.FunctionResponse{Response: map[string]any{"error": "the result is not known"}}
	if p.result != nil {
		r = *p.result
	}
	if len(r.Response) == 0 { // the service wants one
		r.Response = map[string]any{"output": ""}
	}
	r.ID, r.Name = p.call.ID, p.call.Name
	if hasRef(r.Response) {
		c.fail(quoteRefs(&r))
	}
	parts = []*genai.Part{{FunctionResponse: &r}}
	var kept []*genai.FunctionResponsePart
	var unread []*genai.Blob
	for _, media := range r.Parts {
		if media == nil || media.InlineData == nil {
			continue
		}
		b := &genai.Blob{MIMEType: media.InlineData.MIMEType, Data: media.InlineData.Data}
		switch kind := shown(b.MIMEType, b.Data); {
		case !c.Older && slices.Contains(responseTypes, kind):
			kept = append(kept, &genai.FunctionResponsePart{InlineData: &genai.FunctionResponseBlob{MIMEType: kind, Data: b.Data, DisplayName: media.InlineData.DisplayName}})
		case kind == mediatype.Text:
			behind = append(behind, &genai.Part{Text: string(b.Data)})
		case reads(kind):
			parts = append(parts, &genai.Part{InlineData: &genai.Blob{MIMEType: kind, Data: b.Data}})
		default:
			unread = append(unread, b)
		}
	}
	if r.Parts = kept; len(unread) > 0 {
		c.fail(mention(&r, wire.LeftOut(unread)))
	}
	return parts, behind
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

// mention tells the model in the output of a response what was left out of it.
func mention(r *genai.FunctionResponse, note string) error {
	key := "output"
	if _, failed := r.Response["error"]; failed {
		key = "error"
	}
	text, isText := r.Response[key].(string)
	if !isText && r.Response[key] != nil {
		encoded, err := json.Marshal(r.Response[key])
		if err != nil {
			return fmt.Errorf("response of %s: %w", r.Name, err)
		}
		text = string(encoded)
	}
	changed := map[string]any{}
	maps.Copy(changed, r.Response)
	changed[key] = strings.TrimLeft(text+"\n"+note, "\n")
	r.Response = changed
	return nil
}
