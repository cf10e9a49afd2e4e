package serve_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
	"github.com/adkmcp/adkmcp/internal/serve"
)

// typed is an agent whose arguments match a schema.
func typed(schema string) serve.Agent {
	raw := json.RawMessage(schema)
	return serve.Agent{Name: "typed", File: "typed.yaml", Conversation: config.NoHistory, InputSchema: raw,
		Input: jsonschema.New(raw, jsonschema.Arguments("typed")), Attachments: &config.Attachments{MaxCount: 1, MaxBytes: 100}}
}

// TestTypedArguments: what matches the schema reaches the agent as JSON, in the
// order of the names; what does not reaches the caller, all of it at once.
func TestTypedArguments(t *testing.T) {
	const open = `{"type":"object","properties":{"order":{"type":"integer","minimum":1},"note":{"type":"string"}},"required":["order"]}`
	const closed = `{"type":"object","properties":{"order":{"type":"integer","minimum":1},"note":{"type":"string"}},"required":["order"],"additionalProperties":false}`
	for _, tc := range []struct{ name, schema, args, got, problem string }{
		{"valid", closed, `{"note":"n","order":12345678901234567890}`, `{"note":"n","order":12345678901234567890}`, ""},
		{"missing", open, `{"note":"n"}`, "", "argument order: missing"},
		{"no arguments", open, `null`, "", "argument order: missing"},
		{"another type", open, `{"order":"1"}`, "", "argument order: must be integer, got string"},
		{"several problems", closed, `{"order":0,"note":1,"x":2}`, "", "argument note: must be string, got number; argument order: must be >= 1, got 0; argument x: not an argument of typed, its arguments are note, order"},
		{"one more", open, `{"order":1,"x":2}`, `{"order":1,"x":2}`, ""},
		{"one more than there may be", closed, `{"order":1,"request":"go"}`, "", "argument request: not an argument of typed, its arguments are note, order"},
		{"our own arguments", closed, `{"order":1,"conversation":"new","attachments":[{"text":"t"}]}`, `{"order":1}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t, config.NoHistory, typed(tc.schema))
			f.agent.started = make(chan string, 1)
			m := call(1, "", nil)
			params := m["params"].(map[string]any)
			params["name"], params["arguments"] = "typed", json.RawMessage(tc.args)
			texts, isError, _ := result(t, f.send(t, t.Context(), newCaller("k"), m))
			close(f.agent.started)
			if got := <-f.agent.started; got != tc.got {
				t.Errorf("the agent got %q", got)
			}
			if tc.problem != "" && (!isError || !slices.Equal(texts, []string{tc.problem})) {
				t.Errorf("the caller got %q", texts)
			}
			f.stop(t)
		})
	}
}
