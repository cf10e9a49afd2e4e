package serve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/adkmcp/adkmcp/internal/config"
)

// The tools' input schemas are as plain as can be: several hosts drop a tool,
// or all of them, for a keyword that they do not know.
const (
	requestOnly = `{"type":"object","properties":{` + requestProperty + `},"required":["request"]}`
	withHandle  = `{"type":"object","properties":{` + requestProperty + `,"conversation":{"type":"string",` +
		`"description":"Handle of a conversation to go on with, as an earlier result gave it, or the word new to start afresh. Leave it out otherwise."}},` +
		`"required":["request"]}`
	requestProperty = `"request":{"type":"string","description":"What the agent should do or answer, in plain language."}`
)

// policy is what ties the agent's calls together.
func (a *Agent) policy() config.Conversation {
	return cmp.Or(a.Conversation, config.PerConnection)
}

// tool describes the agent to MCP hosts.
func (a *Agent) tool(expiry time.Duration) mcp.Tool {
	description := a.Description
	if strings.TrimSpace(description) == "" {
		description = fmt.Sprintf("Run the %s agent.", a.Name)
	}
	schema := withHandle
	switch a.policy() {
	case config.NoHistory:
		schema = requestOnly
	case config.PerConnection, config.Explicit:
		description = strings.TrimSpace(description) + fmt.Sprintf("\n\nThe result may name a conversation: pass it as `conversation` to go on with it. "+
			"A conversation is forgotten when it has not been used for %s.", inWords(expiry))
	}
	t := mcp.NewToolWithRawSchema(a.Name, description, json.RawMessage(schema))
	t.Title = a.Title
	t.Annotations = a.annotations()
	return t
}

// annotations says what a call can do to the world: at worst what the agent's
// tools can, unless the agent's file says otherwise.
func (a *Agent) annotations() mcp.ToolAnnotation {
	readOnly := *cmp.Or(a.Annotations.ReadOnly, &a.Hints.ReadOnly)
	destructive := !readOnly && !a.Hints.NonDestructive
	openWorld := !a.Hints.ClosedWorld
	return mcp.ToolAnnotation{
		ReadOnlyHint:    &readOnly,
		DestructiveHint: cmp.Or(a.Annotations.Destructive, &destructive),
		IdempotentHint:  cmp.Or(a.Annotations.Idempotent, &a.Hints.Idempotent),
		OpenWorldHint:   cmp.Or(a.Annotations.OpenWorld, &openWorld),
	}
}

// inWords writes a duration without the zeros at its end.
func inWords(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
