package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/mirror"
)

// Bounds of a list of tools.
const (
	maxPages = 1000
	maxTools = 10_000
	maxTTL   = 24 * time.Hour
	// maxWarnings is how many warnings there are, and maxName how much of a tool's
	// name they show.
	maxWarnings = 100
	maxName     = 200
)

const methodListTools = "tools/list"

// lister collects a list of tools.
type lister struct {
	ToolList
	modern bool
	names  map[string]bool
}

// Tools lists the server's tools over all pages; header goes along over HTTP. A
// server that neither declares tools nor lists any has an empty list.
func (c *Client) Tools(ctx context.Context, header http.Header) (*ToolList, error) {
	l := &lister{modern: c.modern(), names: make(map[string]bool)}
	seen := make(map[string]bool)
	cursor := ""
	for page := 1; ; page++ {
		params := make(map[string]any, 1)
		if page > 1 {
			params["cursor"] = cursor
		}
		raw, err := c.exchange(ctx, &request{method: methodListTools, version: c.spoken(), params: params, header: header})
		var refused *Error
		if errors.As(err, &refused) && refused.Code == rpc.CodeNoMethod && c.server.Capabilities["tools"] == nil {
			return &l.ToolList, nil
		}
		if err != nil {
			return nil, err
		}
		if cursor, err = l.page(raw); err != nil {
			return nil, err
		}
		switch {
		case cursor == "":
		case seen[cursor]:
			l.warn("the server's list of tools repeats itself after page %d: it gave a cursor twice", page)
		case page == maxPages || len(l.Tools) >= maxTools:
			l.warn("the server's list of tools does not end: %d tools on %d pages have been read", len(l.Tools), page)
		default:
			seen[cursor] = true
			continue
		}
		return &l.ToolList, nil
	}
}

func (l *lister) warn(format string, args ...any) {
	switch n := len(l.Warnings); {
	case n < maxWarnings:
		l.Warnings = append(l.Warnings, fmt.Sprintf(format, args...))
	case n == maxWarnings:
		l.Warnings = append(l.Warnings, "there is more to warn of")
	}
}

// page reads one page, and gives where the next one begins.
func (l *lister) page(raw json.RawMessage) (cursor string, err error) {
	var page struct {
		Tools []json.RawMessage `json:"tools"`
		Next  *string           `json:"nextCursor"`
		TTL   json.RawMessage   `json:"ttlMs"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return "", fmt.Errorf("the server's list of tools cannot be read: %w", err)
	}
	var ttl float64
	if json.Unmarshal(page.TTL, &ttl) == nil && ttl > 0 {
		good := time.Duration(min(ttl, float64(maxTTL.Milliseconds()))) * time.Millisecond
		if l.TTL == 0 || good < l.TTL {
			l.TTL = good
		}
	}
	for _, raw := range page.Tools {
		if len(l.Tools) == maxTools {
			break
		}
		l.tool(raw)
	}
	if page.Next == nil {
		return "", nil
	}
	return *page.Next, nil
}

// tool takes a tool into the list, or leaves it out with a warning.
func (l *lister) tool(raw json.RawMessage) {
	var named struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(raw, &named) != nil || named.Name == "" {
		l.warn("a tool of the server is left out: it has no name")
		return
	}
	t, err := readTool(raw)
	switch {
	case err != nil:
	case l.names[t.Name]:
		err = errors.New("an earlier one has the same name")
	case l.modern:
		err = mirror.Check(t.InputSchema)
	}
	if err != nil {
		l.warn("the tool %q is left out: %s", named.Name[:min(len(named.Name), maxName)], err.Error())
		return
	}
	l.names[t.Name] = true
	l.Tools = append(l.Tools, t)
}

// readTool reads a tool. One that takes no arguments may say nothing of them.
func readTool(raw json.RawMessage) (Tool, error) {
	var t Tool
	if err := json.Unmarshal(raw, &t); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return t, fmt.Errorf("its %s must not be a JSON %s", wrong.Field, wrong.Value)
		}
		return t, err
	}
	if missing(t.InputSchema) {
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	if missing(t.OutputSchema) {
		t.OutputSchema = nil
	}
	if !isSchema(t.InputSchema) {
		return t, errors.New("its inputSchema must be an object or a boolean")
	}
	if t.OutputSchema != nil && !isSchema(t.OutputSchema) {
		return t, errors.New("its outputSchema must be an object or a boolean")
	}
	return t, nil
}

func missing(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func isSchema(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return raw[0] == '{' || raw[0] == 't' || raw[0] == 'f'
}
