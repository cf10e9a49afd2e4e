// Package stdio serves MCP over a pair of streams.
//
// Start with [Run]. The MCP library reads through a [reader], which bounds and
// watches what comes in, and everything goes out through one [writer]; both
// share the table of requests that wait for their response.
package stdio

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

const (
	// MaxLine is the length of the longest message that is read, in bytes.
	MaxLine = 4 << 20
	// Connection is the name of the only connection.
	Connection = "stdio"
	// Principal is who calls: the user who started the process.
	Principal = "local"

	// workers and queue are the most that the library offers. When its queue
	// is full it works on the goroutine that reads, and can then hang for
	// ever; so maxPending keeps us below that.
	workers    = 100
	queue      = 10_000
	maxPending = queue

	// eofGrace is how long calls may go on after the end of the input, so that
	// requests from a file or a pipe get their answers. With stopTimeout, for
	// the end of what was cancelled, it keeps us below the second and a half
	// after which hosts lose patience.
	eofGrace    = 500 * time.Millisecond
	stopTimeout = 900 * time.Millisecond
)

// Config is what [Run] needs.
type Config struct {
	Server *server.MCPServer
	In     io.Reader
	Out    io.Writer // carries protocol messages and nothing else
	Turns  *turns.Registry
	// Ended is called once, when the connection has gone.
	Ended func(ctx context.Context, connection string)
	Log   *slog.Logger
}

// Run serves until the input ends or ctx does, stops the running turns and
// returns nil, within a second and a half. The error is one of the streams.
//
// A process can only run it once at a time: the library has one session for
// all.
func Run(ctx context.Context, c Config) error {
	parent := ctx
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	requests := &table{pending: make(map[string]*request), empty: make(chan struct{})}
	out := &writer{out: c.Out, requests: requests, failed: cancel}
	in := &reader{src: bufio.NewReaderSize(c.In, 64<<10), out: out, requests: requests, stopped: ctx.Done(), stop: cancel}
	peer := &turns.Peer{
		Caller:     agent.Caller{Principal: Principal},
		Connection: Connection,
		Notify:     out.line,
		Cancelled:  requests.isCancelled,
	}

	s := server.NewStdioServer(c.Server)
	s.SetErrorLogger(slog.NewLogLogger(c.Log.Handler(), slog.LevelWarn))
	s.SetContextFunc(func(ctx context.Context) context.Context { return turns.WithPeer(ctx, peer) })
	server.WithWorkerPoolSize(workers)(s)
	server.WithQueueSize(queue)(s)
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		cancel(cmp.Or(s.Listen(ctx, in, out), io.EOF))
	}()
	<-ctx.Done()

	stopping, stopped := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer stopped()
	// The turns first: a call whose host does not read hangs where it tells of
	// its progress, and cannot stop its own.
	if err := c.Turns.Stop(stopping, 0, nil); err != nil {
		c.Log.Error("stopping", "error", err)
	}
	select {
	case <-listening:
	case <-stopping.Done(): // blocked by a host that does not read
		c.Log.Error("stopping: the output is blocked, responses are lost")
	}
	c.Ended(stopping, Connection)
	cause := context.Cause(ctx)
	gone := errors.Is(cause, io.EOF) || errors.Is(cause, syscall.EPIPE) // the host is
	if parent.Err() == nil && !gone {
		return fmt.Errorf("talking to the host: %w", cause)
	}
	return nil
}
