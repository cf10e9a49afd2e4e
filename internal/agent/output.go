package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
)

// notMatching begins the message of an answer that does not match.
const notMatching = "the answer does not match output_schema: "

// outputSchema is an agent's output_schema. It is safe for concurrent use.
type outputSchema struct {
	raw    json.RawMessage
	schema *jsonschema.Schema
}

// newOutputSchema gives nil where there is none.
func newOutputSchema(raw json.RawMessage) *outputSchema {
	if len(raw) == 0 {
		return nil
	}
	return &outputSchema{raw, jsonschema.New(raw, jsonschema.Options{Whole: "answer", Is: "it is", Part: "answer."})}
}

// demand tells the model what its answer must match. Where it may call tools
// the instruction says it, and a provider must not hold it to the schema
// natively: the Gemini API refuses functions beside a JSON response on most
// models, and ADK too uses the native way without tools only (its rule for
// output_schema). An error means that the schema is none.
func (o *outputSchema) demand(req *model.Request) error {
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

// conclude holds an answer against output_schema and keeps it under output_key:
// the text, or the value that it is the JSON of.
func (t *turn) conclude(e *session.Event) {
	var value any
	if t.output != nil {
		var problem string
		if e.Structured, value, problem = t.output.read(e.Content); problem != "" {
			e.Problem = &session.Problem{Code: session.InvalidOutput, Message: notMatching + problem}
			return
		}
	} else if t.cfg.OutputKey != "" {
		value = answerText(e.Content)
	}
	if t.cfg.OutputKey != "" && value != "" {
		e.StateDelta = map[string]any{t.cfg.OutputKey: value}
	}
}

// correction asks the model to mend the answer that was rejected.
func (t *turn) correction() *session.Event {
	what := t.h.turn.reply.Problem.Message
	e := t.event(session.Correction)
	e.Text = what + "; the model is asked once more"
	e.Content = &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: "Your answer cannot be used: " +
		strings.TrimPrefix(what, notMatching) + ". Answer again, with nothing but one JSON object that matches the schema: no code fence, no other words."}}}
	return e
}

// read gives the JSON of an answer, as it was written, and its value with
// numbers as json.Number, or says what is wrong with it.
func (o *outputSchema) read(c *genai.Content) (raw json.RawMessage, value any, problem string) {
	text := unfenced(answerText(c))
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
