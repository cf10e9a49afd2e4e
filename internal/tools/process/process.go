// Package process runs a program and ends it together with everything that it
// started.
//
// Start with [Run], or with [Start] for a child that lives on; [Environ] makes the
// environment that a child should get.
// A child never sees our own standard streams, terminal or environment: it has
// what its [Spec] says and nothing else.
//
// On Unix the child leads a session and process group of its own, and what is
// ended is that group. A process that leaves the group by calling setsid or
// setpgid escapes; it cannot hold up the call, and [Output].Escaped tells when
// one still held a pipe. Adopting such orphans (PR_SET_CHILD_SUBREAPER) would
// change the whole program, which would then have to reap processes that it
// knows nothing of, so that is left to a container. On Windows the tree is a
// job object, which nothing escapes.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// DefaultGrace is how long a tree may take to end itself when asked to. It is
// short because a whole server has to be gone 1.5 seconds after its host has
// hung up.
const DefaultGrace = 500 * time.Millisecond

// drainTime is how long output of background processes is awaited after the
// program itself has ended. killTime is how long the system may take to end a
// killed process, closeTime how long a pipe may stay open after that.
const (
	drainTime = 200 * time.Millisecond
	killTime  = time.Second
	closeTime = 100 * time.Millisecond
)

// Spec says what to run.
type Spec struct {
	// Args is the program and its arguments. A program without a path
	// separator is looked up in the absolute folders of the PATH in Env; any
	// other path is relative to Dir.
	Args []string
	// Dir is the child's working directory, an absolute path.
	Dir string
	// Env is the child's whole environment, NAME=value each.
	Env []string
	// Stdin is what the child reads; it sees the end of input after it.
	Stdin []byte
	// MaxOutput is how many bytes of each output stream are kept, half of
	// them from the beginning and half from the end. It must be positive.
	MaxOutput int
	// Grace is the time between asking the tree to end and killing it; 0
	// means [DefaultGrace]. Windows has no way of asking, so there the tree
	// is killed at once.
	Grace time.Duration
}

// Output is what became of a program that was started.
type Output struct {
	Stdout, Stderr Stream
	// ExitCode is -1 when a signal ended the program.
	ExitCode int
	// Signal names the signal that ended the program; else it is empty.
	Signal string
	// Stopped is the context's error when that ended the program.
	Stopped error
	// Escaped is set when a pipe was still held after the whole group was
	// killed: some process left the group and may still be running.
	Escaped bool
	// Duration is how long the program ran.
	Duration time.Duration
}

// Run runs the program until it ends or ctx does, and returns when nothing of
// its process tree is left. When ctx ends, the tree is asked to end and killed
// after the grace; processes that the program leaves behind in the background
// are killed once it has ended. Output is read all the time, and what there is
// of it comes back in either case.
//
// The error is a [*StartError] when the program could not be started.
func Run(ctx context.Context, spec Spec) (*Output, error) {
	if spec.MaxOutput <= 0 {
		return nil, errors.New("process: a spec needs a positive MaxOutput")
	}
	cmd, err := spec.command()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return &Output{ExitCode: -1, Stopped: err}, nil
	}
	stdout, stderr := newCapture(spec.MaxOutput), newCapture(spec.MaxOutput)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	began := time.Now()
	group, err := start(cmd)
	if err != nil {
		return nil, startError(cmd, err)
	}
	defer group.release()

	ended := make(chan struct{})
	go func() {
		group.await()
		close(ended)
	}()
	stopped := wait(ctx, ended)
	if stopped == nil {
		within(drainTime, stdout.end, stderr.end)
	} else {
		group.terminate()
		within(spec.grace(), ended, stdout.end, stderr.end)
	}
	// The leader has not been waited for yet, so its number still names this
	// group and no other.
	group.kill()
	if !within(killTime, ended) {
		go func() { // the kernel holds it, and so it is only reaped later
			<-ended
			_ = cmd.Wait()
		}()
		return nil, fmt.Errorf("program %q (process %d) does not end although it was killed", spec.Args[0], cmd.Process.Pid)
	}
	if err := cmd.Wait(); cmd.ProcessState == nil {
		return nil, fmt.Errorf("wait for program %q: %w", spec.Args[0], err)
	}
	return &Output{
		Stdout: stdout.stream(), Stderr: stderr.stream(),
		ExitCode: cmd.ProcessState.ExitCode(), Signal: signalName(cmd.ProcessState),
		Stopped: stopped, Escaped: !stdout.whole || !stderr.whole,
		Duration: time.Since(began),
	}, nil
}

// command finds the program; nothing is started yet.
func (s *Spec) command() (*exec.Cmd, error) {
	if len(s.Args) == 0 {
		return nil, errors.New("process: a spec needs Args")
	}
	path, err := s.program()
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: path, Args: s.Args, Dir: s.Dir,
		Env:       append([]string{}, s.Env...), // nil would mean our own
		WaitDelay: closeTime,
	}
	if len(s.Stdin) > 0 {
		cmd.Stdin = bytes.NewReader(s.Stdin)
	}
	return cmd, nil
}

func (s *Spec) grace() time.Duration {
	if s.Grace > 0 {
		return s.Grace
	}
	return DefaultGrace
}

// wait waits for the program's own end, and gives ctx's error when that came
// first.
func wait(ctx context.Context, ended <-chan struct{}) error {
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-ended:
		return nil
	default:
		return ctx.Err()
	}
}

// within waits until all are closed, at most d, and reports whether they are.
func within(d time.Duration, all ...<-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for _, c := range all {
		select {
		case <-c:
		case <-timer.C:
			return false
		}
	}
	return true
}
