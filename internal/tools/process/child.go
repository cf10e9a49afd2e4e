package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// maxLine is how many bytes of a line of standard error are kept.
const maxLine = 8 << 10

// Child is a program that runs on. It is safe for concurrent use, and whoever
// started it calls [Child.Stop], also when it has ended by itself.
type Child struct {
	// Stdin is what the program reads. Closing it is how most programs are told to
	// end.
	Stdin io.WriteCloser
	// Stdout is what the program writes. It can be read to its end after the
	// program has ended, until Stop.
	Stdout io.Reader

	cmd    *exec.Cmd
	spec   Spec
	pipes  []io.Closer   // our ends
	stderr chan struct{} // closed when standard error has been read to its end
	done   chan struct{}

	mu    sync.Mutex
	group *tree // nil once it is released
	stop  sync.Once
}

// Start starts a program as [Run] does, and lets it run. Stdin and MaxOutput of
// the spec are not used. Every line of the program's standard error goes to
// stderr, one at a time, without its end, cut to 8 KiB and made valid UTF-8; the
// slice is the callee's.
//
// The error is a [*StartError] when the program could not be started.
func Start(spec Spec, stderr func(line []byte)) (*Child, error) {
	cmd, err := spec.command()
	if err != nil {
		return nil, err
	}
	c := &Child{cmd: cmd, spec: spec, stderr: make(chan struct{}), done: make(chan struct{})}
	cmd.Stdin = nil
	theirs, errOut, err := c.connect()
	if err == nil {
		if c.group, err = start(cmd); err != nil {
			err = startError(cmd, err)
		}
	}
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		c.closePipes()
		return nil, err
	}
	go func() {
		defer close(c.stderr)
		eachLine(errOut, stderr)
	}()
	go c.wait()
	return c, nil
}

// connect makes the pipes. It gives the child's ends, also on an error, and ours
// of its standard error.
func (c *Child) connect() (theirs []*os.File, errOut *os.File, err error) {
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	inR, inW := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	for _, f := range []*os.File{inW, outR, errR} {
		if f != nil {
			c.pipes = append(c.pipes, f)
		}
	}
	for _, f := range []*os.File{inR, outW, errW} {
		if f != nil {
			theirs = append(theirs, f)
		}
	}
	if err != nil {
		return theirs, nil, fmt.Errorf("make the pipes of program %q: %w", c.spec.Args[0], err)
	}
	c.Stdin, c.Stdout = inW, outR
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = inR, outW, errW
	return theirs, errR, nil
}

// wait waits for the end of the program, and ends what it has left behind.
func (c *Child) wait() {
	defer close(c.done)
	group := c.group // nobody takes it away before this does
	group.await()
	within(drainTime, c.stderr)
	c.mu.Lock()
	defer c.mu.Unlock()
	// The leader has not been waited for yet, so its number still names this
	// group and no other.
	group.kill()
	_ = c.cmd.Wait()
	group.release()
	c.group = nil
}

// Done is closed when the program has ended, by itself or not, and what it had
// started as well.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit says in words how the program ended, such as "exit code 3"; it is empty
// before [Child.Done] is closed.
func (c *Child) Exit() string {
	select {
	case <-c.done:
	default:
		return ""
	}
	switch state := c.cmd.ProcessState; {
	case state == nil:
		return "for unknown reasons"
	case signalName(state) != "":
		return fmt.Sprintf("killed by signal %q", signalName(state))
	default:
		return fmt.Sprintf("exit code %d", state.ExitCode())
	}
}

// Stop closes the program's standard input and gives it the grace of its spec to
// end, asks the tree to end and gives it the grace again, and then kills it. It
// returns when nothing is left of it, whoever called first.
func (c *Child) Stop() {
	c.stop.Do(func() {
		_ = c.Stdin.Close()
		if !within(c.spec.grace(), c.done) {
			c.signal((*tree).terminate)
		}
		if !within(c.spec.grace(), c.done) {
			c.signal((*tree).kill)
		}
		within(killTime+drainTime+closeTime, c.done) // unless the kernel holds it
		c.closePipes()                               // which a process that escaped may still hold
		<-c.stderr
	})
}

// signal does something to the tree unless it is gone.
func (c *Child) signal(do func(*tree)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.group != nil {
		do(c.group)
	}
}

func (c *Child) closePipes() {
	for _, p := range c.pipes {
		_ = p.Close()
	}
}

// eachLine gives the lines of r to take, until r ends.
func eachLine(r io.Reader, take func(line []byte)) {
	lines := bufio.NewReaderSize(r, 4<<10)
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		line = append(line, part[:min(len(part), maxLine+1-len(line))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 || err == nil {
			take(bytes.ToValidUTF8(line[:min(len(line), maxLine)], []byte("\uFFFD")))
		}
		if err != nil {
			return
		}
		line = line[:0]
	}
}
