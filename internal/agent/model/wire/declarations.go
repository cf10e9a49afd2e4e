package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// Declarations keeps tools in the form in which a service takes them, the newest
// one of each name. It is safe for concurrent use.
type Declarations struct {
	Service string // for messages
	Model   string // for the log
	Max     int    // how many tools the service takes
	// Encode turns a tool into its declaration; schema is the JSON Schema of its
	// parameters, nil for none. The error says why the service would refuse it.
	Encode func(tool *genai.FunctionDeclaration, schema json.RawMessage) ([]byte, error)
	Log    *slog.Logger

	mu    sync.Mutex
	names map[string]*declaration
}

type declaration struct {
	description string
	schema      []byte
	wire        []byte // nil for one that is left out
}

// Of gives the declarations of a request's tools, in their order. A tool that the
// service would refuse is left out, with a warning when it is first met, because it
// would make the service refuse the whole request.
func (d *Declarations) Of(req *model.Request) ([]json.RawMessage, error) {
	if len(req.Tools) > d.Max {
		return nil, &model.Error{
			Code:    model.InvalidRequest,
			Message: fmt.Sprintf("the agent has %d tools, %s takes %d: select fewer of them in the agent file", len(req.Tools), d.Service, d.Max),
		}
	}
	var out []json.RawMessage
	for _, tool := range req.Tools {
		known, err := d.get(tool)
		if err != nil {
			d.Log.Warn("tool left out: it cannot be declared to "+d.Service, "tool", tool.Name, "model", d.Model, "reason", err)
			req.Notify(fmt.Sprintf("the tool %s is left out, since it cannot be declared to %s: %v", tool.Name, d.Service, err))
		}
		if known.wire != nil {
			out = append(out, known.wire)
		}
	}
	return out, nil
}

// get gives the declaration of a tool. The error says why it is left out; it
// comes once.
func (d *Declarations) get(tool *genai.FunctionDeclaration) (*declaration, error) {
	schema, err := rawSchema(tool)
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.names[tool.Name]
	if known != nil && known.description == tool.Description && bytes.Equal(known.schema, schema) {
		return known, nil
	}
	known = &declaration{description: tool.Description, schema: schema}
	if err == nil {
		known.wire, err = d.Encode(tool, schema)
	}
	if d.names == nil || len(d.names) >= 4*d.Max {
		d.names = make(map[string]*declaration)
	}
	d.names[tool.Name] = known
	return known, err
}

func rawSchema(tool *genai.FunctionDeclaration) (json.RawMessage, error) {
	switch s := tool.ParametersJsonSchema.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return s, nil
	default:
		return json.Marshal(s)
	}
}
