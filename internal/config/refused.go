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
		"sub_agents":             notBuilt + "; let the agents be tools of this one: agent: FILE",
		"max_iterations":         notBuilt + "; limits.max_model_calls bounds a turn",

		"disallow_transfer_to_parent": notBuilt + "; without sub_agents nothing is transferred",
		"disallow_transfer_to_peers":  notBuilt + "; without sub_agents nothing is transferred",
	},
	reflect.TypeFor[Model](): { //nolint:gosec // tokens of text, no credentials
		"max_tokens":            "use max_output_tokens",
		"max_completion_tokens": "use max_output_tokens",
		"stop_sequences":        "use stop",
		"reasoning_effort":      "use thinking",
		"thinking_config":       "use thinking",
		"options":               "use extra_body for what a server has beyond the API",
		"fallbacks":             "use fallback",
	},
	reflect.TypeFor[Tool](): {
		"code":                 noPython + "use shell or http",
		"func":                 noPython + "use shell or http",
		"defer_loading":        "use defer",
		"enabled":              "use when with an expression, or leave the tool out",
		"max_retries":          "use max_failures for how often the tool may fail, retry for trying a call again",
		"require_confirmation": "use requires_approval",
		"tool_filter":          "use include and exclude",
		"tool_name_prefix":     "use prefix",
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
	"AgentTool":                "write agent: with the path of the agent's file",
	"ExampleTool":              "put the examples into the instruction",
	"FunctionTool":             noPython + "use a shell or http tool",
	"LongRunningFunctionTool":  noPython + "use a shell or http tool",
	"MCPToolset":               "write mcp: with the server, or with its name in mcp_servers",
	"McpToolset":               "write mcp: with the server, or with its name in mcp_servers",
	"OpenAPIToolset":           "write openapi: with the path or URL of the document",
	"VertexAiLoadProfilesTool": "this version has no such tool",
	"VertexAiSearchTool":       "this version has no such tool; use an http tool",
	"built_in_code_execution":  "it is called code_execution here",
	"enterprise_web_search":    "this version has no such tool; use google_search",
	"exit_loop":                "this version has no loops",
	"google_maps_grounding":    "this version has no such tool",
	"request_input":            "use ask with a message and a form, or get_user_choice",
	"set_model_response":       "use the agent's output_schema",
	"transfer_to_agent":        "this version has no sub-agents; write agent: with the path of the agent's file",
}
