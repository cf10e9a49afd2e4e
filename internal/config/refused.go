package config

import (
	"reflect"

	"google.golang.org/genai"
)

const (
	noPython = "Python cannot run here: "
	notBuilt = "this version has no such key"
)

// refusedKeys are keys that ADK or the Gemini API know and agent files don't,
// with what to do instead.
var refusedKeys = map[reflect.Type]map[string]string{
	reflect.TypeFor[Agent](): {
		"before_agent_callbacks": noPython + "put what it does into the instruction or into a tool",
		"after_agent_callbacks":  noPython + "put what it does into the instruction or into a tool",
		"before_model_callbacks": noPython + "put what it does into the instruction or into generate_content_config",
		"after_model_callbacks":  noPython + "put what it does into the instruction or into generate_content_config",
		"before_tool_callbacks":  noPython + "let the tool's parameters check arguments, or a shell tool's script",
		"after_tool_callbacks":   noPython + "let a shell tool's script or an http tool's result change what comes back",
		"model_code":             noPython + "use model",
		"code":                   noPython + "use shell or http tools",
		"static_instruction":     notBuilt + "; put the text first in instruction",
		"sub_agents":             notBuilt + "; serve the agents side by side",
		"mcp_servers":            notBuilt + "; use shell or http tools",
		"max_iterations":         notBuilt + "; limits.max_model_calls bounds a turn",

		"disallow_transfer_to_parent": notBuilt + "; without sub_agents nothing is transferred",
		"disallow_transfer_to_peers":  notBuilt + "; without sub_agents nothing is transferred",
	},
	reflect.TypeFor[Tool](): {
		"code":    noPython + "use shell or http",
		"func":    noPython + "use shell or http",
		"mcp":     notBuilt + "; use shell or http",
		"openapi": notBuilt + "; use http",
		"agent":   notBuilt,
	},
	reflect.TypeFor[genai.GenerateContentConfig](): {
		"tools":                  "use the agent's tools",
		"system_instruction":     "use the agent's instruction",
		"response_schema":        "use response_json_schema with response_mime_type: application/json",
		"http_options":           "use base_url, headers, timeout and retries of the agent's model",
		"continuation_token":     "the agent itself goes on where an answer ends",
		"automatic_continuation": "the agent itself goes on where an answer ends",
	},
}

// adkTools are names from ADK that are no built-ins here, with what to do
// instead.
var adkTools = map[string]string{
	"AgentTool":                "this version has no agents as tools; serve the agents side by side",
	"ExampleTool":              "put the examples into the instruction",
	"LongRunningFunctionTool":  noPython + "use a shell or http tool",
	"MCPToolset":               "this version has no MCP toolsets; use shell or http tools",
	"McpToolset":               "this version has no MCP toolsets; use shell or http tools",
	"enterprise_web_search":    "this version has no such tool",
	"exit_loop":                "this version has no loops",
	"google_maps_grounding":    "this version has no such tool",
	"google_search":            "this version has no such tool; use an http tool with a search API",
	"load_memory":              "this version has no memory",
	"load_web_page":            "this version has no such tool; use an http tool",
	"preload_memory":           "this version has no memory",
	"request_input":            "use ask with a message and a form, or get_user_choice",
	"transfer_to_agent":        "this version has no sub-agents",
	"url_context":              "this version has no such tool; use an http tool",
	"VertexAiSearchTool":       "this version has no such tool; use an http tool",
	"code_execution":           "this version has no such tool; use a shell tool",
	"set_model_response":       "use the agent's output_schema",
	"built_in_code_execution":  "this version has no such tool; use a shell tool",
	"OpenAPIToolset":           "this version has no OpenAPI toolsets; use http tools",
	"FunctionTool":             noPython + "use a shell or http tool",
	"VertexAiLoadProfilesTool": "this version has no such tool",
}
