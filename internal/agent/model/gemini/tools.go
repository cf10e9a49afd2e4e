package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/gemini/dialect"
)

// maxTools is how many functions the service takes.
const maxTools = 512

// toolName is the rule for names of functions (the API's FunctionDeclaration).
var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$`) })

// hosted are the tools that the service runs itself, by the names that ADK gives
// them, as they are sent.
var hosted = map[string]string{
	"google_search":  `{"googleSearch":{}}`,
	"url_context":    `{"urlContext":{}}`,
	"code_execution": `{"codeExecution":{}}`,
}

// declare gives the tools of a request in the form in which they are sent, and
// whether there are both functions and tools that the service runs itself. A
// function that the service would refuse is left out, with a warning when it is
// first met, because it would make the service refuse the whole request.
func (m *Model) declare(req *model.Request) (tools json.RawMessage, mixed bool, err error) {
	functions, err := m.tools.Of(req)
	if err != nil {
		return nil, false, err
	}
	var all []string
	if functions != nil {
		list, err := json.Marshal(functions)
		if err != nil {
			return nil, false, err
		}
		all = append(all, `{"functionDeclarations":`+string(list)+`}`)
	}
	for _, name := range req.Hosted {
		wire, known := hosted[name]
		if !known {
			return nil, false, &model.Error{Code: model.InvalidRequest, Message: fmt.Sprintf("Gemini runs no tool %q itself: take it out of the agent's tools", name)}
		}
		all = append(all, wire)
	}
	if all == nil {
		return nil, false, nil
	}
	mixed = functions != nil && len(req.Hosted) > 0
	if mixed && older().MatchString(m.name) { // "Combine built-in tools and function calling"
		return nil, false, &model.Error{
			Code: model.InvalidRequest,
			Message: fmt.Sprintf("%s takes no %s beside other tools: use a model since Gemini 3, or give it to an agent of its own that is a tool of this one",
				m.name, strings.Join(req.Hosted, ", ")),
		}
	}
	return json.RawMessage("[" + strings.Join(all, ",") + "]"), mixed, nil
}

// encodeTool gives a function's declaration in Gemini's dialect.
func encodeTool(tool *genai.FunctionDeclaration, schema json.RawMessage) ([]byte, error) {
	if !toolName().MatchString(tool.Name) {
		return nil, errors.New("its name must be a letter or _, then up to 127 letters, digits or any of _ . : -")
	}
	d := genai.FunctionDeclaration{Name: tool.Name, Description: tool.Description}
	if len(schema) > 0 {
		translated, err := dialect.Translate(schema)
		if err != nil {
			return nil, fmt.Errorf("its parameters: %w", err)
		}
		d.ParametersJsonSchema = translated
	}
	return json.Marshal(&d)
}
