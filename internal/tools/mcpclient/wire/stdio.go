package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/adkmcp/adkmcp/internal/tools/process"
)

const (
	// defaultMessage is how large a message of a child may be.
	defaultMessage = 16 << 20
	// keptLines is how many lines of standard error an error shows.
	keptLines = 20
	// shownBytes is how much of a line is shown: of one that is no message, and of
	// those that an error shows.
	shownBytes = 500
	// outputTime is how long what a child has said may take to be read after its
	// end, and how long its end may take to show after its input has broken.
	outputTime = time.Second
	// writeTime is how long a message may take to go out whose context has ended:
	// nothing but a child that does not read takes longer.
	writeTime = 200 * time.Millisecond
)

// StdioOptions are those of [NewStdio].
type StdioOptions struct {
	// Name is the server's, for the log.
	Name string
	Log  *slog.Logger
	// MaxMessage is how many bytes a message of the server may have; 0 is 16 MiB.
	MaxMessage int
}

// NewStdio makes a connection to a server that [Transport].Open starts as a child
// (transports, "stdio"). What it says on standard error is logged at debug level,
// and so is what it says on standard output that is no message. What should be one
// and cannot be read ends the connection, since a call may wait for it.
func NewStdio(spec process.Spec, o StdioOptions) Transport {
	if o.MaxMessage <= 0 {
		o.MaxMessage = defaultMessage
	}
	o.Log = o.Log.With("server", o.Name)
	return &stdio{
		spec: spec, o: o,
		writing: make(chan struct{}, 1), broken: make(chan struct{}), closing: make(chan struct{}), done: make(chan struct{}), over: make(chan struct{}),
	}
}

// stdio is a child and its standard streams.
type stdio struct {
	spec  process.Spec
	o     StdioOptions
	child *process.Child

	writing chan struct{} // holds a token while a message is being written
	broken  chan struct{} // closed when the child is of no use any more
	closing chan struct{} // closed by Close
	done    chan struct{} // closed when the connection has ended by itself
	over    chan struct{} // closed when nothing of the child is left

	mu     sync.Mutex
	opened bool
	closed bool
	err    error    // why it is broken, or has ended
	last   []string // lines of standard error
}

// Open implements Transport: it starts the child.
func (t *stdio) Open(ctx context.Context, in Inbox) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errClosed
	}
	child, err := process.Start(t.spec, t.said)
	if err != nil {
		return err
	}
	t.child, t.opened = child, true
	read := make(chan struct{})
	go func() {
		defer close(read)
		t.read(in)
	}()
	go t.watch(read)
	return nil
}

// watch waits for the end of the child, or for Close, and ends all of it.
func (t *stdio) watch(read <-chan struct{}) {
	defer close(t.over)
	byItself := true
	select {
	case <-read:
	case <-t.child.Done():
		timer := time.NewTimer(outputTime)
		defer timer.Stop()
		select {
		case <-read:
		case <-timer.C: // a process that escaped holds the pipe
		}
	case <-t.broken:
	case <-t.closing:
		byItself = false
	}
	t.child.Stop()
	<-read
	if byItself {
		t.fail(t.ended())
		close(t.done)
	}
}

// ended says how the child has ended.
func (t *stdio) ended() error {
	text := fmt.Sprintf("program %q ended (%s)", t.spec.Args[0], t.child.Exit())
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.last) == 0 {
		return errors.New(text + " and said nothing on standard error")
	}
	return fmt.Errorf("%s; it said last:\n%s", text, strings.Join(t.last, "\n"))
}

// fail notes why the child is of no use any more, unless it is known.
func (t *stdio) fail(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = why
		close(t.broken)
	}
}

// said takes a line of standard error.
func (t *stdio) said(line []byte) {
	t.o.Log.Debug("an MCP server says", "line", string(line))
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.last) == keptLines {
		t.last = append(t.last[:0], t.last[1:]...)
	}
	t.last = append(t.last, shown(line))
}

// read gives the messages of the child to in, until its standard output ends.
func (t *stdio) read(in Inbox) {
	lines := bufio.NewReaderSize(t.child.Stdout, 64<<10)
	for {
		line, err := t.line(lines)
		if errors.Is(err, errMessageSize) {
			t.fail(fmt.Errorf("%w: program %q wrote a line of more than %d bytes", errMessageSize, t.spec.Args[0], t.o.MaxMessage))
			return
		}
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte(bom)))
		if len(line) > 0 {
			if bad := t.receive(in, line); bad != nil {
				t.fail(bad)
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// receive gives the messages of a line to in. The error is why there can be no more.
func (t *stdio) receive(in Inbox, line []byte) error {
	list, err := messages(line)
	for _, m := range list {
		in.Receive(m, "")
	}
	if err == nil {
		return nil
	}
	t.o.Log.Debug("an MCP server wrote what is no message to standard output", "line", shown(line))
	if errors.Is(err, errUnreadable) {
		return fmt.Errorf("program %q: %w", t.spec.Args[0], err)
	}
	return nil
}

// shown is the beginning of a line.
func shown(line []byte) string {
	return string(bytes.ToValidUTF8(line[:min(len(line), shownBytes)], nil))
}

// line gives the next line; the last one needs no end.
func (t *stdio) line(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(bytes.TrimSuffix(part, []byte("\n"))) > t.o.MaxMessage {
			return nil, errMessageSize
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// Send implements Transport. A message that ctx cuts in two breaks the connection.
func (t *stdio) Send(ctx context.Context, m *Outgoing) error {
	select {
	case t.writing <- struct{}{}:
		defer func() { <-t.writing }()
	case <-ctx.Done():
	case <-t.closing:
	case <-t.broken:
	}
	if err := t.obstacle(ctx); err != nil {
		return &NotSentError{err}
	}
	line := append(bytes.Clone(m.Body), '\n')
	out := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		timer := time.NewTimer(writeTime)
		defer timer.Stop()
		select {
		case <-out:
		case <-timer.C:
			t.fail(fmt.Errorf("program %q does not read what it is sent", t.spec.Args[0]))
		}
	})()
	n, err := t.child.Stdin.Write(line) // which the end of the child ends
	close(out)
	if err == nil {
		return nil
	}
	cause := ctx.Err()
	if cause == nil {
		cause = t.cutOff(err)
	}
	if n < len(m.Body) {
		return &NotSentError{cause}
	}
	return cause
}

// obstacle is why nothing can be sent, if that is so.
func (t *stdio) obstacle(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errClosed
	}
	return cmp.Or(t.err, ctx.Err())
}

// cutOff says why the child's standard input has broken. Mostly the child has
// ended, which shows a moment later.
func (t *stdio) cutOff(err error) error {
	timer := time.NewTimer(outputTime)
	defer timer.Stop()
	select {
	case <-t.broken:
	case <-t.closing:
		return errClosed
	case <-timer.C:
		t.fail(fmt.Errorf("program %q does not take messages any more: %w", t.spec.Args[0], err))
	}
	return t.Err()
}

// Done implements Transport.
func (t *stdio) Done() <-chan struct{} { return t.done }

// Err implements Transport.
func (t *stdio) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Close implements Transport.
func (t *stdio) Close() error {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		close(t.closing)
	}
	opened := t.opened
	t.mu.Unlock()
	if opened {
		<-t.over
	}
	return nil
}
