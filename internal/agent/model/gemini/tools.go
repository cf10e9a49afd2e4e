package gemini

import (
	"bytes"
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

// toolCache keeps declarations in the form in which they are sent. It holds
// the newest one of each name and is emptied when it has grown too large.
type toolCache struct {
	mu    sync.Mutex
	names map[string]*declaration
}

type declaration struct {
	description string
	schema      []byte
	wire        []byte // nil for one that is left out
}

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
	functions, err := m.functions(req)
	if err != nil {
		return nil, false, err
	}
	var all []string
	if functions != nil {
		all = append(all, `{"functionDeclarations":[`+string(functions)+`]}`)
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
	return json.RawMessage("[" + strings.Join(all, ",") + "]"), functions != nil && len(req.Hosted) > 0, nil
}

// functions gives the declarations of a request's functions, nil for none.
func (m *Model) functions(req *model.Request) ([]byte, error) {
	if len(req.Tools) > maxTools {
		return nil, &model.Error{
			Code:    model.InvalidRequest,
			Message: fmt.Sprintf("the agent has %d tools, Gemini takes %d: select fewer of them in the agent file", len(req.Tools), maxTools),
		}
	}
	var out []byte
	for _, tool := range req.Tools {
		d, err := m.tools.get(tool)
		if err != nil {
			m.deps.Log.Warn("tool left out: it cannot be declared to Gemini", "tool", tool.Name, "model", m.name, "reason", err)
			req.Notify(fmt.Sprintf("the tool %s is left out, since it cannot be declared to Gemini: %v", tool.Name, err))
		}
		if d.wire == nil {
			continue
		}
		if out != nil {
			out = append(out, ',')
		}
		out = append(out, d.wire...)
	}
	return out, nil
}

// get gives the declaration of a tool. The error says why it is left out; it
// comes once.
func (c *toolCache) get(tool *genai.FunctionDeclaration) (*declaration, error) {
	schema, err := rawSchema(tool)
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.names[tool.Name]
	if d != nil && d.description == tool.Description && bytes.Equal(d.schema, schema) {
		return d, nil
	}
	d = &declaration{description: tool.Description, schema: schema}
	if err == nil {
		d.wire, err = encodeTool(tool, schema)
	}
	if c.names == nil || len(c.names) >= 4*maxTools {
		c.names = make(map[string]*declaration)
	}
	c.names[tool.Name] = d
	return d, err
}

func rawSchema(tool *genai.FunctionDeclaration) ([]byte, error) {
	switch s := tool.ParametersJsonSchema.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return s, nil
	default:
		return json.Marshal(s)
	}
}

func encodeTool(tool *genai.FunctionDeclaration, schema []byte) ([]byte, error) {
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
