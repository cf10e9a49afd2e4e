package wire_test

import (
	"encoding/json"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// TestDemanding: the schema is said once, whoever says it.
func TestDemanding(t *testing.T) {
	schema := json.RawMessage(`{"type":"object"}`)
	const demand = "Answer with nothing but one JSON object, without a code fence and without any other words, that matches this JSON Schema:\n" + `{"type":"object"}`
	for name, c := range map[string]struct {
		system string
		req    model.Request
		want   string
	}{
		"no schema":         {"Be brief.", model.Request{}, "Be brief."},
		"a schema":          {"Be brief.", model.Request{OutputSchema: schema}, "Be brief.\n\n" + demand},
		"no text before it": {"", model.Request{OutputSchema: schema}, demand},
		"beside tools":      {"Be brief.", model.Request{OutputSchema: schema, Tools: []*genai.FunctionDeclaration{{Name: "look"}}}, "Be brief."},
		"beside hosted":     {"Be brief.", model.Request{OutputSchema: schema, Hosted: []string{"mcp:wiki"}}, "Be brief."},
	} {
		if got := wire.Demanding(c.system, &c.req); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
