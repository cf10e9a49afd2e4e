package process

import (
	"errors"
	"io"
)

// Stream is what was kept of an output stream.
type Stream struct {
	// Head is the beginning; it is everything when Skipped is 0.
	Head []byte
	// Skipped counts the bytes between Head and Tail that were not kept.
	Skipped int64
	// Tail is the end; it is empty when Skipped is 0.
	Tail []byte
}

// Size is how many bytes the program wrote.
func (s *Stream) Size() int64 { return int64(len(s.Head)) + s.Skipped + int64(len(s.Tail)) }

// capture reads a pipe to its end and keeps the first and the last bytes. The
// buffer grows as output comes, up to max; after that its second half is
// written round and round.
type capture struct {
	end   chan struct{} // closed when nothing more will come
	whole bool          // the pipe came to its own end, rather than being closed

	max   int
	buf   []byte
	at    int   // where in buf the next byte goes
	total int64 // bytes seen
}

const firstBuffer = 4096

func newCapture(max int) *capture {
	return &capture{end: make(chan struct{}), max: max, buf: make([]byte, min(firstBuffer, max))}
}

// ReadFrom reads r to its end. It makes io.Copy, and with it os/exec, read
// straight into the buffer.
func (c *capture) ReadFrom(r io.Reader) (int64, error) {
	defer close(c.end)
	for {
		n, err := r.Read(c.room())
		c.at += n
		c.total += int64(n)
		switch {
		case errors.Is(err, io.EOF):
			c.whole = true
			return c.total, nil
		case err != nil:
			return c.total, err
		}
	}
}

// Write is not used: ReadFrom comes first.
func (c *capture) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }

// room gives the part of the buffer that the next bytes go to; it is never
// empty.
func (c *capture) room() []byte {
	if c.at == len(c.buf) {
		if len(c.buf) < c.max {
			grown := make([]byte, min(2*len(c.buf), c.max))
			copy(grown, c.buf)
			c.buf = grown
		} else {
			c.at = c.max / 2
		}
	}
	return c.buf[c.at:]
}

func (c *capture) stream() Stream {
	if c.total <= int64(len(c.buf)) {
		return Stream{Head: c.buf[:c.total]}
	}
	half := c.max / 2
	tail := make([]byte, 0, c.max-half)
	tail = append(append(tail, c.buf[c.at:]...), c.buf[half:c.at]...)
	return Stream{Head: c.buf[:half], Skipped: c.total - int64(c.max), Tail: tail}
}
