package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/openai/history"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
	"github.com/adkmcp/adkmcp/internal/config"
)

// hostedPrefix stands before a server's label among the tools that a request names
// as run by the service.
const hostedPrefix = "mcp:"

// server is an MCP server that the service calls itself (OpenAI, "MCP and
// Connectors").
type server struct {
	wire     json.RawMessage // its declaration
	deferred bool            // the model finds its tools by searching
	secrets  []string
}

// mcpTool is the declaration of a server.
type mcpTool struct {
	Type            string            `json:"type"`
	ServerLabel     string            `json:"server_label"`
	Description     string            `json:"server_description,omitempty"`
	ServerURL       string            `json:"server_url,omitempty"`
	ConnectorID     string            `json:"connector_id,omitempty"`
	Headers         map[string]string `json:"headers,omitempty"`
	Authorization   string            `json:"authorization,omitempty"`
	AllowedTools    []string          `json:"allowed_tools,omitempty"`
	RequireApproval any               `json:"require_approval"`
	DeferLoading    bool              `json:"defer_loading,omitempty"`
}

type toolFilter struct {
	ToolNames []string `json:"tool_names"`
}

func newServer(s *config.HostedMCP) (*server, error) {
	made := &server{deferred: s.DeferLoading}
	d := mcpTool{
		Type: "mcp", ServerLabel: s.ServerLabel, Description: s.ServerDescription, ServerURL: s.ServerURL, ConnectorID: s.ConnectorID,
		Authorization: s.Authorization.Reveal(), AllowedTools: s.AllowedTools, RequireApproval: approval(&s.RequireApproval), DeferLoading: s.DeferLoading,
	}
	if d.Authorization != "" {
		made.secrets = append(made.secrets, secretsIn(d.Authorization)...)
	}
	for header, value := range s.Headers {
		if d.Headers == nil {
			d.Headers = make(map[string]string, len(s.Headers))
		}
		d.Headers[header] = value.Reveal()
		made.secrets = append(made.secrets, secretsIn(value.Reveal())...)
	}
	var err error
	if made.wire, err = wire.Encode(d); err != nil {
		return nil, fmt.Errorf("hosted_mcp %s: %w", s.ServerLabel, err)
	}
	return made, nil
}

// approval says which calls a person approves; the service asks for all of them
// where nothing is said.
func approval(a *config.HostedApproval) any {
	switch {
	case a.All != "":
		return a.All
	case len(a.Always) == 0 && len(a.Never) == 0:
		return "always"
	}
	filters := map[string]toolFilter{}
	if len(a.Always) > 0 {
		filters["always"] = toolFilter{a.Always}
	}
	if len(a.Never) > 0 {
		filters["never"] = toolFilter{a.Never}
	}
	return filters
}

// host gives the declarations of the servers that a request names, and what its
// history may hold of them.
func (m *Model) host(req *model.Request) ([]json.RawMessage, history.Request, error) {
	var all []json.RawMessage
	seen := history.Request{Servers: make(map[string]bool, len(req.Hosted))}
	for _, hosted := range req.Hosted {
		label, ok := strings.CutPrefix(hosted, hostedPrefix)
		s := m.servers[label]
		if !ok || s == nil {
			return nil, seen, &model.Error{Code: model.InvalidRequest, Message: fmt.Sprintf("OpenAI runs no tool %q itself: take it out of the agent's tools", hosted)}
		}
		all = append(all, s.wire)
		seen.Servers[label] = true
		seen.Search = seen.Search || s.deferred
	}
	if seen.Search {
		all = append(all, json.RawMessage(`{"type":"tool_search"}`))
	}
	return all, seen, nil
}
