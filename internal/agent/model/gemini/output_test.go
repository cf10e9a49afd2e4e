package gemini_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	g "github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
)

const outputSchema = `{"type":"object","properties":{"reason":{"type":"string","minLength":3},"answer":{"type":"integer","maximum":12345678901234567890}},"required":["reason","answer"]}`

// TestHeldToASchema: what is sent for output_schema.
func TestHeldToASchema(t *testing.T) {
	const held = `"responseJsonSchema":{"properties":{"answer":{"maximum":12345678901234567890,"type":"integer"},` +
		`"reason":{"description":"Further constraints (JSON Schema): {\"minLength\":3}","type":"string"}},"propertyOrdering":["reason","answer"],"required":["reason","answer"],"type":"object"},` +
		`"responseMimeType":"application/json"`
	for name, tt := range map[string]struct {
		generate *genai.GenerateContentConfig
		tools    []*genai.FunctionDeclaration
		want     string
		not      string
	}{
		"alone":             {nil, nil, held, ""},
		"beside others":     {&genai.GenerateContentConfig{Temperature: new(float32), ResponseMIMEType: "application/json"}, nil, held, ""},
		"with tools":        {nil, []*genai.FunctionDeclaration{tool("look", `{"type":"object"}`)}, `"functionDeclarations"`, "response"},
		"a type of its own": {&genai.GenerateContentConfig{ResponseMIMEType: "text/plain"}, nil, `"responseMimeType":"text/plain"`, "responseJsonSchema"},
		"a schema of its own": {&genai.GenerateContentConfig{ResponseMIMEType: "application/json", ResponseJsonSchema: map[string]any{"type": "string"}}, nil,
			`"responseJsonSchema":{"type":"string"},"responseMimeType":"application/json"`, "reason"},
	} {
		t.Run(name, func(t *testing.T) {
			f := startWith(t, g.Play(g.Say("{}"), g.Say("x")), nil, tt.generate)
			req := request(user("go"))
			req.Tools, req.OutputSchema = tt.tools, json.RawMessage(outputSchema)
			if o := ask(t.Context(), f, req); o.err != nil {
				t.Fatal(o.err)
			}
			noRefusals(t, f)
			body := string(f.service.Requests()[0].Body)
			if !strings.Contains(body, tt.want) || tt.not != "" && strings.Contains(body, tt.not) {
				t.Errorf("sent %s\nwant in it %s and not %q", body, tt.want, tt.not)
			}
			req.OutputSchema, req.Tools = nil, nil // nothing of it stays
			if o := ask(t.Context(), f, req); o.err != nil || tt.generate == nil && strings.Contains(string(f.service.Requests()[1].Body), "response") {
				t.Errorf("%v, then sent %s", o.err, f.service.Requests()[1].Body)
			}
		})
	}
	f := start(t, g.Play(g.Say("{}")))
	req := request(user("go"))
	req.OutputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"other.json"}}}`)
	if o := ask(t.Context(), f, req); o.code() != model.InvalidRequest || !strings.Contains(o.err.Error(), "output_schema") || len(f.service.Requests()) > 0 {
		t.Errorf("%v", o.err)
	}
}

// TestAgentIsCorrected: the whole agent against the service, which takes the
// conversation that a correction makes.
func TestAgentIsCorrected(t *testing.T) {
	for name, withTool := range map[string]bool{"with a tool": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			f := start(t, g.Play(g.Stream(g.Chunk(g.Text("It is ")), g.Final("STOP", g.Text("five."))),
				g.Say("```json\n{\"reason\": \"counted\", \"answer\": 5}\n```"), g.Say(`{"reason":"again","answer":6}`)))
			var ts tools
			if withTool {
				ts.add("look", `{"type":"object"}`, func(context.Context, *agent.Call) (*agent.Result, error) { return agent.Text("x"), nil })
			}
			ran := newTurnsOf(t, f, ts, outputSchema)
			a := ran.take(t.Context(), "How many?")
			if a.Problem != nil || string(a.Structured) != `{"reason": "counted", "answer": 5}` || !strings.HasPrefix(ran.text.String(), "It is five.```json") {
				t.Errorf("%+v %+v, streamed %q", a, a.Problem, ran.text.String())
			}
			if a = ran.take(t.Context(), "And now?"); a.Problem != nil || string(a.Structured) != `{"reason":"again","answer":6}` {
				t.Errorf("%+v %+v", a, a.Problem)
			}
			noRefusals(t, f)
			if system := f.service.Requests()[1].System; strings.Contains(system, outputSchema) != withTool {
				t.Errorf("the instruction is %q", system)
			}
		})
	}
}
