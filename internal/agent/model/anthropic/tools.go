package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model/anthropic/dialect"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// maxTools bounds the tools of a request. The service names no limit; a list as long
// as this is a mistake.
const maxTools = 512

// toolName is the service's rule for names of tools.
var toolName = pattern(`^[a-zA-Z0-9_-]{1,64}$`)

// declaration is a tool as it is sent.
type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

func encodeTool(tool *genai.FunctionDeclaration, schema json.RawMessage) ([]byte, error) {
	if !toolName().MatchString(tool.Name) {
		return nil, errors.New("its name must be up to 64 letters, digits, _ or -")
	}
	d := declaration{tool.Name, tool.Description, json.RawMessage(`{"type":"object"}`)}
	if len(schema) > 0 {
		var err error
		if d.InputSchema, err = dialect.Translate(schema); err != nil {
			return nil, fmt.Errorf("its parameters: %w", err)
		}
	}
	return wire.Encode(d)
}

// marked is a declaration up to which the service caches what it is sent.
func marked(tool json.RawMessage) json.RawMessage {
	return append(append(json.RawMessage{}, tool[:len(tool)-1]...), `,"cache_control":{"type":"ephemeral"}}`...)
}
