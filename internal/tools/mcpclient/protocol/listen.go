package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

// A stream of changes that ends is opened again, first after minBackoff. One that
// has held for steadyTime was fine.
const (
	minBackoff = time.Second
	maxBackoff = 5 * time.Minute
	steadyTime = time.Minute
)

// listenable are the lists of which the server says that it tells of changes,
// where it has to be asked to (server capabilities, "listChanged").
func (c *Client) listenable() []string {
	if c.o.Changed == nil || !c.modern() {
		return nil
	}
	var lists []string
	for _, what := range []string{"tools", "resources", "prompts"} {
		var can struct {
			Changes bool `json:"listChanged"`
		}
		if json.Unmarshal(c.server.Capabilities[what], &can) == nil && can.Changes {
			lists = append(lists, what)
		}
	}
	return lists
}

// listen hears of changes of these lists until ctx or the connection ends
// (basic/patterns/subscriptions).
func (c *Client) listen(ctx context.Context, lists []string) {
	wanted := make(map[string]bool, len(lists))
	for _, what := range lists {
		wanted[what+"ListChanged"] = true
	}
	for wait := minBackoff; ; wait = min(2*wait, maxBackoff) {
		began := time.Now()
		_, err := c.exchange(ctx, &request{
			method: rpc.Listen, version: c.spoken(), header: c.o.Header, untold: true,
			params: map[string]any{"notifications": wanted},
		})
		var refused *Error
		if ctx.Err() != nil || c.over() || errors.As(err, &refused) && (refused.Code == rpc.CodeNoMethod || refused.Code == rpc.CodeInvalidParams) {
			return
		}
		c.o.Log.Debug("an MCP server does not tell of changes any more", "error", err)
		c.mu.Lock()
		c.lapsed = true
		c.mu.Unlock()
		if time.Since(began) > steadyTime {
			wait = minBackoff
		}
		if c.pause(ctx, wait) != nil {
			return
		}
	}
}

// acknowledged hears that the server tells of changes from now on. If it did so
// before, some may have been missed.
func (c *Client) acknowledged() {
	c.mu.Lock()
	lapsed := c.lapsed
	c.lapsed = false
	c.mu.Unlock()
	if lapsed {
		for _, what := range c.listenable() {
			c.changed(what)
		}
	}
}
