package mcpclient

import (
	"encoding/json"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/content"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/listing"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
)

// extra is a tool of ours that gives a model a part of MCP that is no tool.
type extra struct {
	capability  string // of the server
	name        string // behind the prefix
	description string
	parameters  string
	request     func(a extraArgs) *protocol.Call
	read        func(raw json.RawMessage) *agent.Result
}

// extraArgs are the arguments of all of them.
type extraArgs struct {
	Cursor    string            `json:"cursor"`
	Templates bool              `json:"templates"`
	URI       string            `json:"uri"`
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments"`
}

// page is the params of a request for a page of a list.
func (a extraArgs) page() map[string]any {
	if a.Cursor == "" {
		return map[string]any{}
	}
	return map[string]any{"cursor": a.Cursor}
}

const cursorParameter = `"cursor":{"type":"string","description":"The nextCursor of an earlier result, for the next page."}`

// allExtras are the tools for resources, then those for prompts.
func allExtras() []extra {
	return []extra{
		{
			"resources", "list_resources", "List the resources that the server has, with their URIs.",
			`{"type":"object","properties":{` + cursorParameter + `,"templates":{"type":"boolean","description":"List the templates of URIs instead."}},"additionalProperties":false}`,
			func(a extraArgs) *protocol.Call {
				if a.Templates {
					return &protocol.Call{Method: "resources/templates/list", Params: a.page()}
				}
				return &protocol.Call{Method: "resources/list", Params: a.page()}
			}, listed,
		},
		{
			"resources", "read_resource", "Read a resource of the server.",
			`{"type":"object","properties":{"uri":{"type":"string","description":"Its URI."}},"required":["uri"],"additionalProperties":false}`,
			func(a extraArgs) *protocol.Call {
				return &protocol.Call{Method: "resources/read", Params: map[string]any{"uri": a.URI}}
			}, content.OfResource,
		},
		{
			"prompts", "list_prompts", "List the prompts that the server has, with their arguments.",
			`{"type":"object","properties":{` + cursorParameter + `},"additionalProperties":false}`,
			func(a extraArgs) *protocol.Call {
				return &protocol.Call{Method: "prompts/list", Params: a.page()}
			}, listed,
		},
		{
			"prompts", "get_prompt", "Get the messages of one of the server's prompts.",
			`{"type":"object","properties":{"name":{"type":"string","description":"The prompt's name."},"arguments":{"type":"object","additionalProperties":{"type":"string"},"description":"The prompt's arguments."}},"required":["name"],"additionalProperties":false}`,
			func(a extraArgs) *protocol.Call {
				params := map[string]any{"name": a.Name}
				if len(a.Arguments) > 0 {
					params["arguments"] = a.Arguments
				}
				return &protocol.Call{Method: "prompts/get", Params: params}
			}, content.OfPrompt,
		},
	}
}

// listed is the result of a list, without what is no part of it.
func listed(raw json.RawMessage) *agent.Result {
	var list struct {
		Resources json.RawMessage `json:"resources,omitempty"`
		Templates json.RawMessage `json:"resourceTemplates,omitempty"`
		Prompts   json.RawMessage `json:"prompts,omitempty"`
		Next      string          `json:"nextCursor,omitempty"`
	}
	err := json.Unmarshal(raw, &list)
	if err == nil {
		raw, err = json.Marshal(list)
	}
	if err != nil {
		return agent.Failure("the server's list cannot be read")
	}
	return &agent.Result{Output: raw}
}

// extras gives the tools for resources and prompts that are wanted and that the
// server has, and a warning for those that it has not. mu is held.
func (s *Toolset) extras(server *protocol.Server) (tools []*tool, warnings []string) {
	wanted := map[string]bool{"resources": s.cfg.MCP.Resources, "prompts": s.cfg.MCP.Prompts}
	for _, e := range allExtras() {
		if !wanted[e.capability] {
			continue
		}
		if _, has := server.Capabilities[e.capability]; !has {
			warnings = append(warnings, "the server has no "+e.capability)
			wanted[e.capability] = false
			continue
		}
		tools = append(tools, s.extra(e))
	}
	return tools, warnings
}

// extra gives one of them, always the same value.
func (s *Toolset) extra(e extra) *tool {
	id := identity{shown: e.name}
	if known := s.known[id]; known != nil {
		return known
	}
	prefix := s.cfg.Prefix
	if prefix == "" {
		prefix = s.name
	}
	made := &tool{
		set: s, read: e.read, repeatable: true,
		spec: agent.Spec{
			Name: listing.Fit(listing.Join(prefix, e.name)), Description: e.description, Parameters: json.RawMessage(e.parameters),
			Hints: agent.Hints{ReadOnly: true, NonDestructive: true, Idempotent: true},
		},
		request: func(args json.RawMessage) (*protocol.Call, string) {
			var a extraArgs
			if err := json.Unmarshal(args, &a); err != nil {
				return nil, "the arguments cannot be read: " + err.Error()
			}
			return e.request(a), ""
		},
	}
	s.remember(id, made)
	return made
}
