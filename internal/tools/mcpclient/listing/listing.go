// Package listing makes of what a server lists the tools that a model is shown:
// those that are wanted, with names and schemas that models take and texts without
// anything hidden in them.
//
// Start with [Apply]. name.go has the names, text.go the texts, schema.go the
// schemas.
package listing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
)

// Bounds of what is taken of a server.
const (
	maxTools       = 2000
	maxDescription = 4 << 10 // bytes
	maxWarnings    = 50
)

// Rules say what is wanted of a list.
type Rules struct {
	// Include and Exclude are globs for the server's own names; no Include is
	// every tool.
	Include, Exclude []string
	Prefix           string // the model sees PREFIX_NAME; may be empty
	// Taken are names that the model sees already.
	Taken []string
	// Idempotent overrides what the server says; nil does not.
	Idempotent *bool
	// Refuse says why a tool must not be used, or nothing; it may be nil.
	Refuse func(*protocol.Tool) string
}

// Entry is a tool that is shown.
type Entry struct {
	Spec *agent.Spec
	Tool *protocol.Tool // as the server lists it
}

// Apply gives the tools in the server's order. Every tool that is wanted and left
// out is named by a warning, and so is every glob that matches nothing.
func Apply(tools []protocol.Tool, r *Rules) (entries []Entry, warnings []string) {
	warn := func(format string, args ...any) {
		if len(warnings) < maxWarnings {
			warnings = append(warnings, fmt.Sprintf(format, args...))
		}
	}
	if n := len(tools) - maxTools; n > 0 {
		warn("the server lists %d tools; %d of them are left out", len(tools), n)
		tools = tools[:maxTools]
	}
	r.unmatched(tools, warn)
	wanted := r.wanted(tools, warn)
	names := r.names(wanted)
	for i, t := range wanted {
		if slices.Contains(reserved, names[i]) {
			warn("the tool %s is left out: the name %s is reserved; a prefix helps", shown(t.Name), names[i])
			continue
		}
		if names[i] == "" {
			warn("the tool %s is left out: another one has its name", shown(t.Name))
			continue
		}
		spec, err := r.spec(t, names[i])
		if err != nil {
			warn("the tool %s is left out: %v", shown(t.Name), err)
			continue
		}
		entries = append(entries, Entry{spec, t})
	}
	return entries, warnings
}

// unmatched warns of globs that match no tool: most likely somebody has mistyped.
func (r *Rules) unmatched(tools []protocol.Tool, warn func(string, ...any)) {
	for _, glob := range slices.Concat(r.Include, r.Exclude) {
		if !slices.ContainsFunc(tools, func(t protocol.Tool) bool { return config.Glob(glob, t.Name) }) {
			warn("%q matches no tool of the server", glob)
		}
	}
}

// wanted gives the tools that include, exclude and Refuse let pass, each name once.
func (r *Rules) wanted(tools []protocol.Tool, warn func(string, ...any)) []*protocol.Tool {
	var list []*protocol.Tool
	seen := make(map[string]bool, len(tools))
	for i := range tools {
		t := &tools[i]
		matches := func(glob string) bool { return config.Glob(glob, t.Name) }
		if len(r.Include) > 0 && !slices.ContainsFunc(r.Include, matches) || slices.ContainsFunc(r.Exclude, matches) {
			continue
		}
		if seen[t.Name] {
			warn("the tool %s is listed twice; the first one counts", shown(t.Name))
			continue
		}
		seen[t.Name] = true
		if r.Refuse != nil {
			if why := r.Refuse(t); why != "" {
				warn("the tool %s is left out: %s", shown(t.Name), why)
				continue
			}
		}
		list = append(list, t)
	}
	return list
}

func (r *Rules) spec(t *protocol.Tool, name string) (*agent.Spec, error) {
	parameters, err := Parameters(t.InputSchema)
	if err != nil {
		return nil, err
	}
	hints := hintsOf(t.Annotations)
	if r.Idempotent != nil {
		hints.Idempotent = *r.Idempotent
	}
	return &agent.Spec{Name: name, Description: description(t), Parameters: parameters, Hints: hints, Annotations: t.Annotations}, nil
}

// description is the server's, or else the title.
func description(t *protocol.Tool) string {
	title, _ := t.Annotations["title"].(string)
	for _, text := range []string{t.Description, t.Title, title} {
		if clean := strings.TrimSpace(Clean(text, maxDescription)); clean != "" {
			return clean
		}
	}
	return ""
}

// hintsOf reads a tool's annotations (MCP, schema, ToolAnnotations). What is not
// said is the worst.
func hintsOf(a map[string]any) agent.Hints {
	is := func(key string, value bool) bool {
		v, ok := a[key].(bool)
		return ok && v == value
	}
	return agent.Hints{
		ReadOnly: is("readOnlyHint", true), NonDestructive: is("destructiveHint", false),
		Idempotent: is("idempotentHint", true), ClosedWorld: is("openWorldHint", false),
	}
}
