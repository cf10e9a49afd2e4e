package serve

import (
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

// ProtocolVersions are the versions of MCP that a server speaks, newest first.
func ProtocolVersions() []string { return slices.Clone(mcp.ValidProtocolVersions) }
