package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxCompletions is how many values an answer may hold
// (server/utilities/completion, "Completion Results").
const maxCompletions = 100

// completes reports whether there is a place that could be completed.
func (c *Catalog) completes() bool {
	for _, p := range c.prompts {
		if len(p.Arguments) > 0 {
			return true
		}
	}
	return len(c.values) > 0
}

// completer offers the values that the agents' files list for arguments of
// prompts and for places of URIs. What is entered already plays no role.
type completer struct{ *Catalog }

// CompletePromptArgument offers values of a prompt's argument.
func (c completer) CompletePromptArgument(_ context.Context, name string, typed mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	p := c.prompts[name]
	if p == nil {
		return nil, invalid("there is no prompt %s", name)
	}
	for _, a := range p.Arguments {
		if a.Name == typed.Name {
			return complete(a.Values, typed.Value), nil
		}
	}
	return complete(nil, ""), nil
}

// CompleteResourceArgument offers values of a place.
func (c completer) CompleteResourceArgument(_ context.Context, uri string, typed mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	values, ok := c.values[uri]
	if !ok {
		return nil, invalid("there is no resource template %s", uri)
	}
	return complete(values[typed.Name], typed.Value), nil
}

// complete gives the values that begin with what was typed, then those that hold
// it, whatever their case, and both in the order of the file.
func complete(values []string, typed string) *mcp.Completion {
	typed = strings.ToLower(typed)
	begin, hold := []string{}, []string{}
	for _, v := range values {
		switch lower := strings.ToLower(v); {
		case strings.HasPrefix(lower, typed):
			begin = append(begin, v)
		case strings.Contains(lower, typed):
			hold = append(hold, v)
		}
	}
	all := slices.Concat(begin, hold)
	return &mcp.Completion{Values: all[:min(len(all), maxCompletions)], Total: len(all), HasMore: len(all) > maxCompletions}
}
