package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/ordered"
)

// Encode is the JSON of a value, with <, > and & as they are.
func Encode(v any) ([]byte, error) { return ordered.Encode(v) }

// Demanding is a system text that also says what the answer must match, for a service
// that does not hold it to the request's OutputSchema. Beside tools the request's own
// text says so already.
func Demanding(system string, req *model.Request) string {
	if len(req.OutputSchema) == 0 || len(req.Tools)+len(req.Hosted) > 0 {
		return system
	}
	return strings.TrimLeft(system+"\n\nAnswer with nothing but one JSON object, without a code fence and without any other words, that matches this JSON Schema:\n"+
		string(req.OutputSchema), "\n")
}

// Arguments is the JSON object of a call's arguments.
func Arguments(call *genai.FunctionCall) (json.RawMessage, error) {
	if call.Args == nil {
		return json.RawMessage("{}"), nil
	}
	raw, err := Encode(call.Args)
	if err != nil {
		return nil, fmt.Errorf("call of %s: %w", call.Name, err)
	}
	return raw, nil
}

// ReadArguments reads the arguments that a model wrote, every digit kept. Nothing
// and null are no arguments.
func ReadArguments(raw []byte) (map[string]any, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return map[string]any{}, nil
	}
	var inner string
	if raw[0] == '"' && json.Unmarshal(raw, &inner) == nil && isObject([]byte(inner)) { // encoded twice
		raw = []byte(inner)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var args map[string]any
	if err := d.Decode(&args); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands behind the object")
	}
	return args, nil
}

// Output is what a tool's response says in text, and whether it is a failure: its
// output or error where it has nothing but that, else its JSON (genai's
// FunctionResponse).
func Output(r *genai.FunctionResponse) (text string, failed bool, err error) {
	value, key := any(r.Response), ""
	for _, k := range []string{"error", "output"} {
		if v, ok := r.Response[k]; ok && len(r.Response) == 1 {
			value, key = v, k
		}
	}
	if s, ok := value.(string); ok {
		return s, key == "error", nil
	}
	if value == nil || len(r.Response) == 0 {
		return "", key == "error", nil
	}
	raw, err := Encode(value)
	if err != nil {
		return "", false, fmt.Errorf("response of %s: %w", r.Name, err)
	}
	return string(raw), key == "error", nil
}

// Media gives the images and other data of a tool's response.
func Media(r *genai.FunctionResponse) []*genai.Blob {
	var all []*genai.Blob
	for _, p := range r.Parts {
		if p != nil && p.InlineData != nil {
			all = append(all, &genai.Blob{MIMEType: p.InlineData.MIMEType, Data: p.InlineData.Data})
		}
	}
	return all
}

// LeftOut tells a model what it is not shown, such as audio that it cannot hear.
func LeftOut(blobs []*genai.Blob) string {
	if len(blobs) == 0 {
		return ""
	}
	notes := make([]string, len(blobs))
	for i, b := range blobs {
		notes[i] = fmt.Sprintf("%d bytes of type %q", len(b.Data), b.MIMEType)
	}
	return "[left out, since you cannot read it: " + strings.Join(notes, ", ") + "]"
}
