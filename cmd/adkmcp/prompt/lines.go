package prompt

import (
	"bufio"
	"context"
	"errors"
	"io"
)

// ErrTooLong means that a line was longer than its bound. The rest of the line
// is gone.
var ErrTooLong = errors.New("the line is too long")

// Lines gives what somebody types, line by line, to whoever asks for the next
// one. One caller at a time may.
type Lines struct {
	r     *bufio.Reader
	limit int // bytes
	next  chan line
	busy  bool // a read is under way
}

type line struct {
	text string
	err  error
}

// NewLines reads lines of at most limit bytes from r. Nothing is read before it is
// asked for.
func NewLines(r io.Reader, limit int) *Lines {
	return &Lines{r: bufio.NewReader(r), limit: limit, next: make(chan line, 1)}
}

// Next waits for the next line and gives it without its end. At the end of the
// input it gives io.EOF; a terminal may go on after that. When ctx ends, so does
// the waiting, with ctx's cause: a read from a terminal cannot be called off, the
// line that it gives is for the next call, or it ends with the process.
func (l *Lines) Next(ctx context.Context) (string, error) {
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	if !l.busy {
		l.busy = true
		go func() {
			text, err := l.read()
			l.next <- line{text, err}
		}()
	}
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case got := <-l.next:
		l.busy = false
		return got.text, got.err
	}
}

func (l *Lines) read() (string, error) {
	var text []byte
	long := false
	for {
		part, more, err := l.r.ReadLine()
		if err != nil {
			return "", err
		}
		if long = long || len(text)+len(part) > l.limit; !long {
			text = append(text, part...)
		}
		switch {
		case more:
		case long:
			return "", ErrTooLong
		default:
			return string(text), nil
		}
	}
}
