// Package stdio serves MCP over a pair of streams, one message a line.
//
// Start with [Run]. Lines come in through a [reader], which bounds them, and go
// out through one [writer]; package duplex does what lies between.
package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"syscall"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/serve/duplex"
	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

const (
	// MaxLine is the length of the longest message that is read, in bytes.
	MaxLine = 4 << 20
	// Connection is the name of the only connection.
	Connection = "stdio"
	// Principal is who calls: the user who started the process.
	Principal = "local"

	// eofGrace is how long calls may go on after the end of the input, so that
	// requests from a file or a pipe get their answers. With stopTimeout, for
	// the end of what was cancelled, it keeps us below the second and a half
	// after which hosts lose patience.
	eofGrace    = 500 * time.Millisecond
	stopTimeout = 900 * time.Millisecond
)

// errStopping is the cause for which requests end with the connection.
var errStopping = errors.New("the connection is closed")

// Config is what [Run] needs.
type Config struct {
	Handler rpc.Handler
	In      io.Reader
	Out     io.Writer // carries protocol messages and nothing else
	Turns   *turns.Registry
	// Ended is called once, when the connection has gone.
	Ended func(ctx context.Context, connection string)
	Log   *slog.Logger
}

// Run serves until the input ends or ctx does, stops the running turns and
// returns nil, within a second and a half. The error is one of the streams.
func Run(ctx context.Context, c Config) error {
	parent := ctx
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	out := &writer{out: c.Out, failed: cancel}
	conn := duplex.New(duplex.Config{
		Handler: c.Handler, Send: out.line, Log: c.Log,
		Peer: turns.Peer{Caller: agent.Caller{Principal: Principal}, Connection: Connection, Session: &turns.Session{}},
	})
	// A read cannot be called off: one that is under way when ctx ends ends with
	// the process.
	go func() { cancel(receive(ctx, c.In, conn, out)) }()
	<-ctx.Done()

	stopping, stopped := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer stopped()
	// The turns first: a call whose host does not read hangs where it tells of
	// its progress, and cannot stop its own.
	if err := c.Turns.Stop(stopping, 0, nil); err != nil {
		c.Log.Error("stopping", "error", err)
	}
	conn.Close(errStopping)
	if conn.Wait(stopping) != nil { // blocked by a host that does not read
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

// receive gives the connection what comes in until the input ends, and holds
// that end back while answers are to come. It gives the error of the input.
func receive(ctx context.Context, in io.Reader, conn *duplex.Conn, out *writer) error {
	r := &reader{src: bufio.NewReaderSize(in, 64<<10)}
	for {
		line, err := r.next()
		switch {
		case errors.Is(err, errTooLong):
			refuse(out, idOf(line), rpc.CodeInvalidRequest, fmt.Sprintf("the message is longer than %d bytes", MaxLine))
		case err != nil:
			if errors.Is(err, io.EOF) {
				drain(ctx, conn)
			}
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case isHeader(line):
			refuse(out, nil, rpc.CodeParse, "a Content-Length header: this server reads one JSON message a line, without headers (basic/transports)")
		default:
			conn.Receive(context.WithoutCancel(ctx), bytes.Clone(line))
		}
	}
}

// drain waits for the answers that are to come, but not for ever.
func drain(ctx context.Context, conn *duplex.Conn) {
	grace := time.NewTimer(eofGrace)
	defer grace.Stop()
	select {
	case <-conn.Idle():
	case <-grace.C:
	case <-ctx.Done():
	}
}

// isHeader recognises the framing of another protocol, which some hosts try.
func isHeader(line []byte) bool {
	const name = "content-length:"
	return len(line) >= len(name) && bytes.EqualFold(line[:len(name)], []byte(name))
}

// refuse answers what the connection does not see. If that fails, the writer has
// ended everything.
func refuse(out *writer, id json.RawMessage, code int, text string) {
	_ = out.line(rpc.Fail(id, &rpc.Error{Code: code, Message: text}).Body)
}
