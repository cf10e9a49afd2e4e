package tools

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/adkmcp/adkmcp/internal/agent"
)

// hosted is a tool that the model's own service runs.
type hosted struct{ spec agent.Spec }

func newHosted(name string) *hosted {
	return &hosted{agent.Spec{Name: name, Hosted: name, Description: "Run by the model's own service.", Parameters: json.RawMessage(`{"type":"object"}`),
		Hints: agent.Hints{ReadOnly: true, ClosedWorld: name == "code_execution"}}}
}

// newHostedServer stands for the tools of an MCP server that the model's own
// service calls. What they do is not known, so nothing good is said of them.
func newHostedServer(label string) *hosted {
	return &hosted{agent.Spec{Name: "mcp_" + label, Hosted: "mcp:" + label, Description: "An MCP server that the model's own service calls.", Parameters: json.RawMessage(`{"type":"object"}`)}}
}

// Spec implements [agent.Tool].
func (h *hosted) Spec() *agent.Spec { return &h.spec }

// Call implements [agent.Tool]; nobody can make it.
func (h *hosted) Call(context.Context, *agent.Call) (*agent.Result, error) {
	return nil, errors.New(h.spec.Name + " is run by the model's own service")
}
