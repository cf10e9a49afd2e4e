package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Event is one event of a stream (HTML standard, section 9.2.6).
type Event struct {
	Name string // empty where the stream gives none
	Data []byte // what is here belongs to the receiver until the next event
}

// mark is the byte order mark, which may stand before all that is read.
const mark = "\ufeff"

// maxStray bounds what is kept of a body that is no event stream.
const maxStray = 4 << 10

// reader puts the lines of a body together to events.
type reader struct {
	lines *bufio.Reader
	limit int
	seen  int
	data  []byte
	name  string
	stray []byte // lines that belong to no event stream
}

// read yields the events of a body. Comments, ids, and extra blank lines are
// passed over, as gateways send them; an event that the end cuts off is an error.
func read(body io.Reader, limit int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := &reader{lines: bufio.NewReaderSize(body, 4<<10), limit: limit}
		if start, _ := r.lines.Peek(len(mark)); string(start) == mark {
			_, _ = r.lines.Discard(len(mark))
		}
		if start, _ := r.lines.Peek(1); string(start) == "{" { // not streamed, and not called JSON
			whole(r.lines, limit)(yield)
			return
		}
		for {
			line, err := r.line()
			if err == nil || errors.Is(err, io.EOF) {
				if event, ok := r.field(line); ok && !yield(event, nil) {
					return
				}
			}
			if err == nil {
				continue
			}
			if last, ok := r.last(err); ok && !yield(last, nil) {
				return
			}
			if err := r.end(err); err != nil {
				yield(Event{}, err)
			}
			return
		}
	}
}

// line reads one line, or the rest of the body that has no line end.
func (r *reader) line() ([]byte, error) {
	line, err := r.lines.ReadSlice('\n')
	var long []byte
	for errors.Is(err, bufio.ErrBufferFull) && r.seen+len(long) < r.limit {
		long = append(long, line...)
		line, err = r.lines.ReadSlice('\n')
	}
	if long != nil {
		line = append(long, line...)
	}
	if r.seen += len(line); r.seen > r.limit {
		return nil, ErrTooLong
	}
	return bytes.TrimRight(line, "\r\n"), err
}

// field takes one line, and gives the event that a blank one completes.
func (r *reader) field(line []byte) (Event, bool) {
	if len(line) == 0 {
		event := Event{r.name, r.data}
		ok := isObject(r.data) || string(r.data) == "[DONE]" // gateways send pings and empty lists
		r.name, r.data = "", nil
		return event, ok
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if len(r.data) > 0 {
			r.data = append(r.data, '\n')
		}
		r.data = append(r.data, value...)
	case "event":
		r.name = string(value)
	case "", "id", "retry":
	default:
		if len(r.stray) < maxStray {
			r.stray = append(append(r.stray, line...), '\n')
		}
	}
	return Event{}, false
}

func isObject(data []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(data, " \t"), []byte("{")) }

// last is an event that no blank line completes, since the body ended, and that is
// whole all the same.
func (r *reader) last(err error) (Event, bool) {
	if !errors.Is(err, io.EOF) || !json.Valid(r.data) && string(r.data) != "[DONE]" {
		return Event{}, false
	}
	return r.field(nil)
}

// whole yields a body that is one JSON text, from a server that does not stream, as
// one event of the name "json".
func whole(body io.Reader, limit int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		text, err := io.ReadAll(io.LimitReader(body, int64(limit)+1))
		switch {
		case errors.Is(err, ErrStalled):
			yield(Event{}, err)
		case err != nil:
			yield(Event{}, fmt.Errorf("%w: %w", ErrCut, err))
		case len(text) > limit:
			yield(Event{}, ErrTooLong)
		case !json.Valid(text):
			yield(Event{}, &foreign{bytes.TrimSpace(text)})
		default:
			yield(Event{Name: "json", Data: text}, nil)
		}
	}
}

// end says what is wrong with a body that ended so; nil for nothing.
func (r *reader) end(err error) error {
	switch {
	case errors.Is(err, ErrStalled), errors.Is(err, ErrTooLong):
		return err
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("%w: %w", ErrCut, err)
	case len(bytes.TrimSpace(r.stray)) > 0:
		return &foreign{bytes.TrimSpace(r.stray)}
	case len(r.data) > 0:
		return ErrCut
	}
	return nil
}

// foreign is a body that is no event stream.
type foreign struct{ text []byte }

// Error implements error.
func (f *foreign) Error() string { return ErrForeign.Error() + ": " + Excerpt(string(f.text), 200) }

// Is makes it an ErrForeign.
func (f *foreign) Is(target error) bool { return target == ErrForeign }
