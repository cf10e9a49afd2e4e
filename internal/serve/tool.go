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

// A tool's input schema is as plain as can be: several hosts drop a tool, or all
// of them, for a keyword that they do not know.
const (
	requestProperty      = `{"type":"string","description":"What the agent should do or answer, in plain language."}`
	conversationProperty = `{"type":"string","description":"Handle of a conversation to go on with, as an earlier result gave it, or the word new to start afresh. Leave it out otherwise."}`
	attachmentsProperty  = `{"type":"array","description":"What goes along with the request: resources of this server by their uri, or data (base64) or text with its mimeType.","items":{"type":"object","properties":{` +
		`"uri":{"type":"string"},"data":{"type":"string"},"text":{"type":"string"},"mimeType":{"type":"string"},"name":{"type":"string"}}}}`
)

// maxResultChars is what Claude Code takes at most of a result, if the tool asks
// for it.
const maxResultChars = 500_000

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
	if a.policy() == config.PerConnection || a.policy() == config.Explicit {
		description = strings.TrimSpace(description) + fmt.Sprintf("\n\nThe result may name a conversation: pass it as `conversation` to go on with it. "+
			"A conversation is forgotten when it has not been used for %s.", inWords(expiry))
	}
	t := mcp.NewToolWithRawSchema(a.Name, description, a.inputSchema())
	t.Title = a.Title
	t.Annotations = a.annotations()
	t.RawOutputSchema = a.OutputSchema
	if a.MaxAnswer > 0 {
		t.Meta = &mcp.Meta{AdditionalFields: map[string]any{"anthropic/maxResultSizeChars": min(a.MaxAnswer+resultMargin, maxResultChars)}}
	}
	return t
}

// resultMargin is room for what a result holds beside the answer's text, in
// characters.
const resultMargin = 4096

// inputSchema is the schema of the tool's arguments: request, or what the
// agent's input_schema says, and our own.
func (a *Agent) inputSchema() json.RawMessage {
	var own []string
	if a.policy() != config.NoHistory {
		own = append(own, `"`+argConversation+`":`+conversationProperty)
	}
	if a.Attachments != nil {
		own = append(own, `"`+argAttachments+`":`+attachmentsProperty)
	}
	if a.InputSchema == nil {
		return json.RawMessage(`{"type":"object","properties":{` + strings.Join(append([]string{`"` + argRequest + `":` + requestProperty}, own...), ",") +
			`},"required":["` + argRequest + `"]}`)
	}
	schema, err := withProperties(a.InputSchema, own)
	if err != nil {
		return a.InputSchema // it has been checked, and stays what it is
	}
	return schema
}

// withProperties adds properties to a schema of type object, after its own.
func withProperties(schema json.RawMessage, more []string) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(schema, &fields); err != nil {
		return nil, err
	}
	properties := strings.TrimSpace(string(fields["properties"]))
	if properties == "" || properties == "null" {
		properties = "{}"
	}
	inside := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(properties, "{"), "}"))
	if inside != "" {
		more = append([]string{inside}, more...)
	}
	fields["properties"] = json.RawMessage("{" + strings.Join(more, ",") + "}")
	return json.Marshal(fields)
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
