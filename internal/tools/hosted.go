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

// Spec implements [agent.Tool].
func (h *hosted) Spec() *agent.Spec { return &h.spec }

// Call implements [agent.Tool]; nobody can make it.
func (h *hosted) Call(context.Context, *agent.Call) (*agent.Result, error) {
	return nil, errors.New(h.spec.Name + " is run by the model's own service")
}
