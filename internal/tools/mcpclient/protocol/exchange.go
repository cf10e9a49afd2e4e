package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/mirror"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
)

const (
	// cancelTime is how long telling the server of a cancellation may take.
	cancelTime = 2 * time.Second
	// streamTime is how long a stream may go on after the response that it is for.
	streamTime = 100 * time.Millisecond
)

// request is one of ours.
type request struct {
	method  string
	version string // empty for the handshake
	params  map[string]any
	meta    map[string]any
	header  http.Header
	owner   *running // the call that it belongs to; may be nil
	untold  bool     // the server is not told when it is given up
}

// exchange is a request that waits for its response.
type exchange struct {
	*request
	id    string
	reply chan *rpc.Message // holds one
	// stop ends the sending, and done gives how it has ended, once. written is set
	// when it has, without the end of the request.
	stop    context.CancelFunc
	done    chan error
	written bool
}

// exchange sends a request and waits for its result, the end of ctx, which the
// server is told of, or that of the connection.
func (c *Client) exchange(ctx context.Context, rq *request) (json.RawMessage, error) {
	x := c.enter(rq)
	defer c.leave(x)
	m, err := c.outgoing(x.id, rq)
	if err != nil {
		return nil, &wire.NotSentError{Err: err}
	}
	sending, stop := context.WithCancel(ctx)
	defer stop()
	x.stop = stop
	go func() { x.done <- c.o.Transport.Send(sending, m) }()
	for {
		select {
		case reply := <-x.reply:
			timer := time.AfterFunc(streamTime, stop)
			_ = x.end()
			timer.Stop()
			return resultOf(reply)
		case err := <-x.done:
			if err != nil {
				return x.failed(err)
			}
			x.written = true
		case <-ctx.Done():
			return nil, c.giveUp(ctx, x)
		case <-c.closing:
			return c.cut(x)
		case <-c.Done():
			return c.cut(x)
		}
	}
}

// end waits for the end of the sending.
func (x *exchange) end() error {
	if x.written {
		return nil
	}
	return <-x.done
}

// enter makes room for the response to a request.
func (c *Client) enter(rq *request) *exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := &exchange{request: rq, id: c.next(), reply: make(chan *rpc.Message, 1), done: make(chan error, 1)}
	c.pending[x.id] = x
	return x
}

func (c *Client) leave(x *exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, x.id)
}

// next gives an id that was not used before. c.mu is held.
func (c *Client) next() string {
	c.last++
	return idPrefix + strconv.Itoa(c.last)
}

// outgoing writes a request.
func (c *Client) outgoing(id string, rq *request) (*wire.Outgoing, error) {
	params := make(map[string]any, len(rq.params)+1)
	maps.Copy(params, rq.params)
	meta := make(map[string]any, len(rq.meta)+3)
	maps.Copy(meta, rq.meta)
	header := rq.header
	if rpc.IsModern(rq.version) {
		meta[rpc.MetaVersion], meta[rpc.MetaClientInfo], meta[rpc.MetaCapabilities] = rq.version, c.info(), c.capabilities(rq.version)
	}
	if rpc.IsModern(rq.version) || rq.method == rpc.Initialize { // which a server of any version may be asked
		var schema json.RawMessage
		if rq.owner != nil {
			schema = rq.owner.Schema
		}
		header = mirror.Headers(rq.header, rq.method, rq.params, schema)
	}
	if len(meta) > 0 {
		params["_meta"] = meta
	}
	body, err := rpc.Request(id, rq.method, params)
	return &wire.Outgoing{Body: body, ID: id, Version: rq.version, Header: header}, err
}

// failed says what the end of a sending means. The response may have come all the
// same.
func (x *exchange) failed(err error) (json.RawMessage, error) {
	select {
	case reply := <-x.reply:
		return resultOf(reply)
	default:
		return nil, outcome(err)
	}
}

// outcome marks the errors after which it is not known whether a request was run.
func outcome(err error) error {
	var status *wire.StatusError
	switch {
	case isNotSent(err), errors.Is(err, wire.ErrSessionLost), errors.Is(err, wire.ErrLegacySSE):
		return err
	case errors.As(err, &status) && status.Code < http.StatusInternalServerError:
		return err
	}
	return &UnknownOutcomeError{Err: err}
}

// giveUp ends a request whose context has ended. Where requests have streams,
// ending the stream tells the server from [rpc.Stateless] on
// (basic/patterns/cancellation); elsewhere a notification does.
func (c *Client) giveUp(ctx context.Context, x *exchange) error {
	x.stop()
	cut := x.end()
	if isNotSent(cut) {
		return cut
	}
	if x.untold || cut != nil && rpc.IsModern(x.version) {
		return ctx.Err()
	}
	body, err := rpc.Notification(rpc.Cancelled, map[string]any{"requestId": x.id, "reason": ctx.Err().Error()})
	if err == nil {
		c.tell(context.WithoutCancel(ctx), &wire.Outgoing{Body: body, Version: x.version, Header: x.header}, cancelTime)
	}
	return ctx.Err()
}

// cut ends a request whose connection has ended.
func (c *Client) cut(x *exchange) (json.RawMessage, error) {
	x.stop()
	if err := x.end(); isNotSent(err) {
		return nil, err
	}
	return x.failed(c.why())
}

func isNotSent(err error) bool {
	var not *wire.NotSentError
	return errors.As(err, &not)
}

// resultOf gives what a response carries.
func resultOf(m *rpc.Message) (json.RawMessage, error) {
	if m.Error == nil {
		return m.Result, nil
	}
	return nil, errorOf(m.Error)
}

// errorOf reads a JSON-RPC error.
func errorOf(raw json.RawMessage) error {
	var e Error
	if json.Unmarshal(raw, &e) != nil || e.Message == "" {
		e.Message = "the server answered with an error that says nothing"
	}
	return &e
}
