package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
)

const (
	// idPrefix begins the ids of our requests. They are texts, so that a request
	// of the server's is never taken for the response to one of ours.
	idPrefix = "adkmcp-"
	// maxAnswers is how many answers to the server may wait to be sent, and
	// answerSenders how many are sent at once. Sending one may take answerTime.
	maxAnswers    = 64
	answerSenders = 4
	answerTime    = 30 * time.Second
)

var errClosed = errors.New("the connection is closed")

// Client is a connection to one server. It is safe for concurrent use.
type Client struct {
	o       Options
	answers chan response
	closing chan struct{}
	end     context.CancelFunc // ends what runs beside the calls
	work    sync.WaitGroup     // what runs beside the calls
	server  Server             // written while connecting only

	mu      sync.Mutex
	closed  bool
	version string // that is spoken; empty while connecting
	last    int    // number of our last request or call
	pending map[string]*exchange
	running map[string]*running  // calls by progress token
	owner   *string              // of the first call
	mixed   bool                 // another owner has made calls, too
	asked   map[string]*question // of the server, by id
	lapsed  bool                 // changes may have been missed
}

// response is one of ours on its way.
type response struct {
	body   json.RawMessage
	header http.Header
}

// Connect opens the transport and agrees with the server on a protocol version.
// The transport belongs to the client from then on, and is closed when connecting
// fails. ctx bounds connecting only.
//
// Beside those of the transport, [wire.ErrLegacySSE] among them, the errors are an
// [*Error] of the server and versions that do not fit.
func Connect(ctx context.Context, o Options) (*Client, error) {
	if o.ProbeTimeout <= 0 {
		o.ProbeTimeout = defaultProbe
	}
	c := &Client{
		o: o, answers: make(chan response, maxAnswers), closing: make(chan struct{}),
		pending: make(map[string]*exchange), running: make(map[string]*running), asked: make(map[string]*question),
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	c.end = end
	err := o.Transport.Open(ctx, inbox{c})
	if err == nil {
		for range answerSenders {
			c.work.Go(func() { c.sendAnswers(life) })
		}
		err = c.greet(ctx)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	if wanted := c.listenable(); len(wanted) > 0 {
		c.work.Go(func() { c.listen(life, wanted) })
	}
	return c, nil
}

// Server is what the server said of itself when the connection was made.
func (c *Client) Server() Server { return c.server }

// Done is closed when the connection has ended by itself; Err then says why. Where
// each request has a connection of its own, that is never.
func (c *Client) Done() <-chan struct{} { return c.o.Transport.Done() }

// Err says why the connection has ended.
func (c *Client) Err() error { return c.o.Transport.Err() }

// Close ends the connection and all that runs on it, and returns when nothing of
// it is left; calls return soon after. It must not be called from a callback.
func (c *Client) Close() error {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.closing)
	}
	c.mu.Unlock()
	c.end()
	err := c.o.Transport.Close()
	c.work.Wait()
	return err
}

// over reports whether the connection has ended.
func (c *Client) over() bool {
	select {
	case <-c.closing:
		return true
	case <-c.Done():
		return true
	default:
		return false
	}
}

// why says why the connection has ended.
func (c *Client) why() error {
	if err := c.Err(); err != nil {
		return err
	}
	return errClosed
}

// whileOpen gives a context that ends with the connection, too. Whoever asked for
// it calls stop.
func (c *Client) whileOpen(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-c.closing:
		case <-c.Done():
		case <-ctx.Done():
			return
		}
		cancel(c.why())
	}()
	return ctx, func() {
		cancel(nil)
		<-watched
	}
}

// spoken is the protocol version that is spoken; empty while that is not settled.
func (c *Client) spoken() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

func (c *Client) modern() bool { return rpc.IsModern(c.spoken()) }

// respond sends a response of ours, in its time.
func (c *Client) respond(body json.RawMessage, header http.Header) {
	select {
	case c.answers <- response{body, header}:
	default:
		c.o.Log.Debug("an answer to an MCP server was dropped: too many wait")
	}
}

func (c *Client) sendAnswers(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-c.answers:
			c.tell(ctx, &wire.Outgoing{Body: a.body, Version: c.spoken(), Header: a.header}, answerTime)
		}
	}
}

// tell sends what gets no response that we wait for. It takes most at longest.
func (c *Client) tell(ctx context.Context, m *wire.Outgoing, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if err := c.o.Transport.Send(ctx, m); err != nil {
		c.o.Log.Debug("a message to an MCP server could not be sent", "error", err)
	}
}
