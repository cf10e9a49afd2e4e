// Command adkmcp serves YAML-defined agents as MCP tools.
//
// Start with main.go for streams, signals and exit codes, then root.go for the
// commands, one file each, and wire.go, where everything is put together.
package main

import (
	"context"
	"crypto/rand"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2 // wrong arguments, or input that cannot be read
	exitInterrupted = 130
)

// app is what the commands get from outside the program.
type app struct {
	stdin          *os.File
	stdout, stderr *os.File
	lookup         func(name string) (string, bool)
	now            func() time.Time
	newID          func() string
	executable     func() (string, error)
	redact         redactor
}

// gcPercent is the collector's GOGC where the environment sets none. The tables
// of our libraries take 3 MB of heap before main begins; with the default of
// 100, and so a first collection at 4 MB, it would run in the middle of every
// start, at a cost of 1 MB and some milliseconds.
const gcPercent = 200

func main() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	a := &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		lookup: os.LookupEnv, now: time.Now, newID: rand.Text, executable: os.Executable,
	}
	ctx, stop := interruptible(context.Background())
	code := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// interruptible gives a context that the first signal ends. A second one ends
// the program at once, whatever it is doing.
func interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			cancel(&interrupted{s})
		case <-done:
			return
		}
		select {
		case <-signals:
			os.Exit(exitInterrupted)
		case <-done:
		}
	}()
	return ctx, func() { signal.Stop(signals); close(done); cancel(nil) }
}

// interrupted is the cause for which a command's context ends.
type interrupted struct{ signal os.Signal }

func (i *interrupted) Error() string { return "interrupted by " + i.signal.String() }
