package protocol

import (
	"encoding/json"
	"strings"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

// maxLogged is how many bytes of what a server says are logged.
const maxLogged = 2000

// inbox takes what the server sends. It never waits.
type inbox struct{ *Client }

// Receive implements [wire.Inbox].
func (c inbox) Receive(m *rpc.Message, of string) {
	switch {
	case m.Method == "":
		c.answered(m)
	case m.IsRequest():
		c.requested(m, of)
	default:
		c.notified(m)
	}
}

// answered takes the response to a request of ours. One that nobody waits for is
// late, or made up.
func (c *Client) answered(m *rpc.Message) {
	var id string
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = json.Unmarshal(m.ID, &id) // ours are texts
	if m.Error != nil && len(c.pending) == 1 && (len(m.ID) == 0 || string(m.ID) == "null") {
		for id = range c.pending { // the server could not read the id of what it refuses
		}
	}
	if c.pending[id] != nil {
		c.pending[id].reply <- m
		delete(c.pending, id)
		return
	}
	c.o.Log.Debug("an MCP server sent a response that nobody waits for", "id", cut(m.ID))
}

// requested takes a request of the server's, which there may be up to 2025-11-25.
func (c *Client) requested(m *rpc.Message, of string) {
	switch {
	case c.modern():
		c.o.Log.Debug("an MCP server sent a request, which protocol version "+rpc.Stateless+" does not have", "method", m.Method)
	case m.Method == "ping":
		c.respond(rpc.Succeed(m.ID, struct{}{}).Body, nil)
	case !c.declares(m.Method):
		c.refuse(m, &rpc.Error{Code: rpc.CodeNoMethod, Message: "the client has no method " + m.Method})
	case m.Method == methodRoots:
		c.respond(rpc.Succeed(m.ID, c.roots()).Body, nil)
	default:
		if bad := c.handOver(m, of); bad != "" {
			c.refuse(m, &rpc.Error{Code: rpc.CodeInternal, Message: bad})
		}
	}
}

func (c *Client) refuse(m *rpc.Message, e *rpc.Error) { c.respond(rpc.Fail(m.ID, e).Body, nil) }

// handOver gives a question to the call that it belongs to, and says why it
// cannot.
func (c *Client) handOver(m *rpc.Message, of string) (problem string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var owner *running
	switch {
	case of != "" && c.pending[of] != nil:
		owner = c.pending[of].owner
	case of == "" && c.mixed:
		return "the connection serves several people, and the request does not say whom it is for"
	case of == "" && len(c.running) > 1:
		return "several calls are running, and the request does not say which of them it belongs to"
	case of == "":
		for _, r := range c.running {
			owner = r
		}
	}
	switch {
	case owner == nil:
		return "the request belongs to no call that is running"
	case owner.Ask == nil:
		return "nobody can be asked during this call"
	}
	key := rpc.Key(m.ID)
	if c.asked[key] != nil {
		return "another request with this id is being answered"
	}
	if !owner.hear(m) {
		return busy
	}
	c.asked[key] = &question{cancel: func() {}}
	return ""
}

// withdrawn takes note that the server does not want an answer any more.
func (c *Client) withdrawn(id json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.asked[rpc.Key(id)]; q != nil {
		q.withdrawn = true
		q.cancel()
	}
}

// notified takes a notification.
func (c *Client) notified(m *rpc.Message) {
	switch m.Method {
	case "notifications/progress":
		c.progressed(m)
	case "notifications/message":
		c.o.Log.Debug("an MCP server logs", "message", cut(m.Params))
	case rpc.Cancelled:
		c.withdrawn(m.CancelledID())
	case "notifications/tools/list_changed", "notifications/resources/list_changed", "notifications/prompts/list_changed":
		c.changed(strings.Split(m.Method, "/")[1])
	case "notifications/subscriptions/acknowledged":
		c.acknowledged()
	default:
		c.o.Log.Debug("an MCP server notifies", "method", m.Method)
	}
}

func (c *Client) changed(what string) {
	if c.o.Changed != nil {
		c.o.Changed(what)
	}
}

// progressed gives news of its progress to a call.
func (c *Client) progressed(m *rpc.Message) {
	var params struct {
		Token string `json:"progressToken"`
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.running[params.Token]; r != nil && !r.hear(m) {
		c.o.Log.Debug("news of the progress of a call was dropped: too much waits")
	}
}

// cut is the beginning of what a server says, for the log.
func cut(raw json.RawMessage) string { return string(raw[:min(len(raw), maxLogged)]) }
