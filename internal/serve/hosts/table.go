package hosts

import (
	"slices"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/hosts/configfile"
)

// table lists the hosts. Files, keys and limits are those of hosts as of autumn
// 2026; docs/hosts says what each does with them.
//
// Where a variable is not set, Claude Code leaves ${VAR} as it is, and the agent
// would take that for a value; ${VAR:-} becomes empty. Gemini CLI, opencode and
// Roo Code put in an empty text by themselves.
func table() []*host {
	return slices.Concat(terminals(), editors(), extensions())
}

var (
	servers    = jsonFile("mcpServers")
	milli      = limit{key: "timeout", unit: time.Millisecond}
	hourLimit  = limit{key: "timeout", unit: time.Second, most: 3600}
	cursorLike = shape{url: "url"}
)

func jsonFile(root string) configfile.Kind {
	return configfile.Kind{Format: configfile.JSON, Root: []string{root}}
}

func terminals() []*host {
	return []*host{
		{
			name: "claude-code", title: "Claude Code", kind: servers,
			user:    []place{{dir: "~", file: ".claude.json", env: "CLAUDE_CONFIG_DIR"}},
			project: []place{{file: ".mcp.json"}},
			entry:   common, shape: shape{stdio: "stdio", http: "http", url: "url"}, ref: "${%s:-}",
			limit: milli, names: names{"mcp__", "__", 128, ""},
			next: "Start Claude Code anew, then look at /mcp; it asks before it uses a project's servers.",
		},
		{
			name: "codex", title: "Codex", kind: configfile.Kind{Format: configfile.TOML, Root: []string{"mcp_servers"}},
			user:    []place{{dir: "~/.codex", file: "config.toml", env: "CODEX_HOME"}},
			project: []place{{file: ".codex/config.toml"}},
			entry:   codexEntry, shape: cursorLike, ref: "%s",
			limit: limit{key: "tool_timeout_sec", unit: time.Second}, names: names{"mcp__", "__", 64, ""},
			next: "Start Codex anew, then look at /mcp; it reads a project's file if the project is trusted.",
		},
		{
			name: "gemini-cli", title: "Gemini CLI", kind: servers,
			user:    []place{{dir: "~/.gemini", file: "settings.json"}},
			project: []place{{file: ".gemini/settings.json"}},
			entry:   common, shape: shape{url: "httpUrl"}, ref: "$%s",
			limit: milli, names: names{"mcp_", "_", 63, "_"},
			next: "Start Gemini CLI anew in a trusted folder, then look at /mcp.",
		},
		{
			name: "qwen-code", title: "Qwen Code", kind: servers,
			user:    []place{{dir: "~/.qwen", file: "settings.json"}},
			project: []place{{file: ".qwen/settings.json"}},
			entry:   common, shape: shape{url: "httpUrl"}, ref: "$%s",
			limit: milli, names: names{"mcp__", "__", 63, ""},
			next: "Start Qwen Code anew, then look at /mcp; it asks before it uses a project's servers.",
		},
		{
			name: "opencode", title: "opencode", kind: jsonFile("mcp"),
			user:    []place{{dir: "xdg:opencode", file: "opencode.json"}, {dir: "xdg:opencode", file: "opencode.jsonc"}},
			project: []place{{file: "opencode.json"}, {file: "opencode.jsonc"}},
			entry:   opencodeEntry, shape: cursorLike, ref: "{env:%s}", names: names{"", "_", 0, ""},
			next: "Start opencode anew; opencode mcp list shows whether it connects.",
		},
		{
			name: "goose", title: "Goose", kind: configfile.Kind{Format: configfile.YAMLMap, Root: []string{"extensions"}},
			user: []place{{dir: "config:Block/goose/config", file: "config.yaml", on: "windows"},
				{dir: "xdg:goose", file: "config.yaml", on: "-windows"}},
			entry: gooseEntry, shape: cursorLike, ref: "${%s}",
			limit: limit{key: "timeout", unit: time.Second}, names: names{"", "__", 0, ""},
			next: "Start a new Goose session. Variables under env_keys come from its environment or its secret store.",
		},
		{
			name: "copilot-cli", title: "Copilot CLI", kind: servers,
			user:    []place{{dir: "~/.copilot", file: "mcp-config.json", env: "COPILOT_HOME"}},
			project: []place{{file: ".github/mcp.json"}},
			entry:   common, shape: shape{stdio: "local", http: "http", url: "url", more: configfile.Object{{Key: "tools", Value: []string{"*"}}}}, ref: "${%s}",
			limit: milli, names: names{"", "-", 0, ""},
			next: "Start Copilot CLI anew, for a project in a trusted folder; copilot mcp list shows the server.",
		},
		{
			name: "amp", title: "Amp", kind: jsonFile("amp.mcpServers"),
			user:    []place{{dir: "~/.config/amp", file: "settings.json"}},
			project: []place{{file: ".amp/settings.json"}},
			entry:   common, shape: cursorLike, ref: "${%s}",
			next: "Start Amp anew; it wants a project's servers to be approved with amp mcp approve.",
		},
	}
}

func editors() []*host {
	return []*host{
		{
			name: "claude-desktop", title: "Claude Desktop", kind: servers,
			user:  []place{{dir: "config:Claude", file: "claude_desktop_config.json", on: "darwin"}, {dir: "config:Claude", file: "claude_desktop_config.json", on: "windows"}},
			entry: common, next: "Quit Claude Desktop and start it again.",
		},
		{
			name: "cursor", title: "Cursor", kind: servers,
			user:    []place{{dir: "~/.cursor", file: "mcp.json"}},
			project: []place{{file: ".cursor/mcp.json"}},
			entry:   common, shape: cursorLike, ref: "${env:%s}", names: names{"", "", 60, ""},
			next: "Restart Cursor, then switch the server on in its MCP settings.",
		},
		{
			name: "vscode", title: "VS Code", kind: jsonFile("servers"),
			user:    []place{{dir: "config:Code/User", file: "mcp.json"}},
			project: []place{{file: ".vscode/mcp.json"}},
			entry:   common, shape: shape{stdio: "stdio", http: "http", url: "url"}, ref: "${env:%s}",
			next: "In VS Code run MCP: List Servers and start the server; agent mode has its tool then.",
		},
		{
			name: "windsurf", title: "Windsurf", kind: servers,
			user:  []place{{dir: "~/.codeium/windsurf", file: "mcp_config.json"}},
			entry: common, shape: shape{url: "serverUrl"}, ref: "${env:%s}",
			next: "In Windsurf press refresh in the MCP panel of Cascade.",
		},
		{
			name: "antigravity", title: "Antigravity", kind: servers,
			user:  []place{{dir: "~/.gemini/antigravity", file: "mcp_config.json"}},
			entry: common, shape: shape{url: "serverUrl"},
			next: "In Antigravity refresh the MCP servers.",
		},
		{
			name: "zed", title: "Zed", kind: jsonFile("context_servers"),
			user:    []place{{dir: "config:Zed", file: "settings.json", on: "windows"}, {dir: "xdg:zed", file: "settings.json", on: "-windows"}},
			project: []place{{file: ".zed/settings.json"}},
			entry:   common, shape: cursorLike, limit: limit{key: "timeout", unit: time.Second},
			next: "Zed sees the change by itself; the settings of its agent panel show the server.",
		},
		{
			name: "lm-studio", title: "LM Studio", kind: servers,
			user:  []place{{dir: "~/.lmstudio", file: "mcp.json"}},
			entry: common, shape: cursorLike, next: "Switch the server on in LM Studio's Program tab.",
		},
		{
			name: "kiro", title: "Kiro", kind: servers,
			user:    []place{{dir: "~/.kiro", file: "settings/mcp.json"}},
			project: []place{{file: ".kiro/settings/mcp.json"}},
			entry:   common, shape: cursorLike, ref: "${%s}",
			next: "Kiro sees the change by itself; its MCP servers view shows the server.",
		},
		{
			name: "junie", title: "Junie", kind: servers,
			user:    []place{{dir: "~/.junie", file: "mcp/mcp.json"}},
			project: []place{{file: ".junie/mcp/mcp.json"}},
			entry:   common, next: "Look at Junie's MCP settings in the IDE, and restart it if the server is not there.",
		},
	}
}

// extensions run inside VS Code and its relatives.
func extensions() []*host {
	cline := []place{{dir: "~/.cline/data", file: "settings/cline_mcp_settings.json"},
		{dir: "config:Code/User/globalStorage/saoudrizwan.claude-dev", file: "settings/cline_mcp_settings.json"}}
	return []*host{
		{
			name: "cline", title: "Cline", kind: servers, user: cline,
			entry: common, shape: shape{http: "streamableHttp", url: "url"}, limit: hourLimit, names: names{"", "__", 64, ""}, inherits: true,
			next: "Cline sees the change by itself, or when it starts anew; its MCP panel shows the server.",
		},
		{
			name: "roo-code", title: "Roo Code", kind: servers,
			user:    []place{{dir: "config:Code/User/globalStorage/rooveterinaryinc.roo-cline", file: "settings/mcp_settings.json"}},
			project: []place{{file: ".roo/mcp.json"}},
			entry:   common, shape: shape{stdio: "stdio", http: "streamable-http", url: "url"}, ref: "${env:%s}",
			limit: hourLimit, names: names{"mcp--", "--", 64, ""},
			next: "Press refresh in Roo Code's MCP panel.",
		},
		{
			name: "kilo-code", title: "Kilo Code", kind: servers,
			user:    []place{{dir: "~/.kilocode", file: "cli/global/settings/mcp_settings.json"}},
			project: []place{{file: ".kilocode/mcp.json"}},
			entry:   common, shape: shape{stdio: "stdio", http: "streamable-http", url: "url"},
			limit: hourLimit, names: names{"mcp--", "--", 64, ""},
			next: "Press refresh in Kilo Code's MCP panel.",
		},
		{
			name: "continue", title: "Continue", kind: configfile.Kind{Format: configfile.YAMLList, Root: []string{"mcpServers"}, Seed: "name: adkmcp\nversion: 0.0.1\nschema: v1\n"},
			user:    []place{{dir: "~/.continue", file: "config.yaml"}},
			project: []place{{file: ".continue/mcpServers/adkmcp.yaml"}},
			entry:   continueEntry, shape: cursorLike, ref: "${{ secrets.%s }}", names: names{"", "_", 0, ""},
			next: "Reload Continue's configuration; MCP servers are there in agent mode.",
		},
	}
}
