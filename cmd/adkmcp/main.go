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

	"github.com/adkmcp/adkmcp/cmd/adkmcp/streams"
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
	redact         streams.Redactor
	// hurry is closed by the second signal: what still runs is to be stopped.
	hurry <-chan struct{}
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
	// A host that goes away breaks our output. That is an error of a write like
	// any other, for those who have to clean up; nobody reads this channel.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, hurry, stop := interruptible(context.Background())
	a.hurry = hurry
	code := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// interruptible gives a context that the first signal ends, and a channel that
// the second one closes. The third ends the program at once, and may leave
// behind what it has started.
func interruptible(ctx context.Context) (_ context.Context, hurry <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 3)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as nohup wants
			signal.Notify(signals, s)
		}
	}
	second, done := make(chan struct{}), make(chan struct{})
	go func() {
		for n := 1; ; n++ {
			select {
			case s := <-signals:
				switch n {
				case 1:
					cancel(&interrupted{s})
				case 2:
					close(second)
				default:
					os.Exit(exitInterrupted)
				}
			case <-done:
				return
			}
		}
	}()
	return ctx, second, func() { signal.Stop(signals); close(done); cancel(nil) }
}

// interrupted is the cause for which a command's context ends.
type interrupted struct{ signal os.Signal }

func (i *interrupted) Error() string { return "interrupted by " + i.signal.String() }
