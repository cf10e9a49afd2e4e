// Package output holds an agent's answers against its output_schema.
//
// Start with [Schema].
package output

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
)

// Schema is an agent's output_schema. It is safe for concurrent use.
type Schema struct {
	raw    json.RawMessage
	schema *jsonschema.Schema
}

// New gives nil where there is none.
func New(raw json.RawMessage) *Schema {
	if len(raw) == 0 {
		return nil
	}
	return &Schema{raw, jsonschema.New(raw, jsonschema.Options{Whole: "answer", Is: "it is", Part: "answer."})}
}

// Demand tells the model what its answer must match. Where it may call tools
// the instruction says it, and a provider must not hold it to the schema
// natively: the Gemini API refuses functions beside a JSON response on most
// models, and ADK too uses the native way without tools only (its rule for
// output_schema). An error means that the schema is none.
func (o *Schema) Demand(req *model.Request) error {
	if err := o.schema.Compile(); err != nil {
		return fmt.Errorf("output_schema is not a usable JSON Schema: %w", err)
	}
	req.OutputSchema = o.raw
	if len(req.Tools)+len(req.Hosted) > 0 {
		req.System = strings.TrimLeft(req.System+"\n\nCall tools as you need them. Then answer with nothing but one JSON object, "+
			"without a code fence and without any other words, that matches this JSON Schema:\n"+string(o.raw), "\n")
	}
	return nil
}

// Read gives the JSON of an answer's text, as it was written, and its value with
// numbers as json.Number, or says what is wrong with it.
func (o *Schema) Read(answer string) (raw json.RawMessage, value any, problem string) {
	text := unfenced(answer)
	if text == "" {
		return nil, nil, "it holds no text"
	}
	raw = json.RawMessage(text)
	if value, problem = o.schema.Read(raw); problem != "" {
		return nil, nil, problem
	}
	return raw, value, ""
}

// unfenced takes white space and one markdown code fence off a JSON object.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	const fence = "```"
	start := strings.IndexByte(text, '{')
	if start < 0 || !strings.HasPrefix(text, fence) || !strings.HasSuffix(text, fence) {
		return text
	}
	// Between them stands the name of a language, on the line of the fence.
	if info := strings.TrimSpace(text[:start]); strings.ContainsAny(info, " \t\r\n") {
		return text
	}
	return strings.TrimSpace(strings.TrimRight(text[start:], "`"))
}
