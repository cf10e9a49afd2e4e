package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// bom may stand at the beginning of a stream.
const bom = "\uFEFF"

// maxEventID is how long the id of an event may be that is sent back.
const maxEventID = 1 << 10

var errMessageSize = errors.New("a message of the server is too large")

// place is where a stream of events has come to; it outlives the stream.
type place struct {
	// id is the last event's; empty where the server gives none, or one that
	// cannot be sent back.
	id string
	// retry is how long to wait before the stream is opened again; 0 where the
	// server has not said.
	retry time.Duration
}

// event is one event of a stream with data.
type event struct {
	name string // empty stands for "message"
	data []byte
}

// events reads a stream of server-sent events (the HTML standard, section 9.2.6).
type events struct {
	r             *bufio.Reader
	most          int64 // bytes of data in an event
	place         *place
	crSeen, begun bool
}

func newEvents(r io.Reader, most int64, p *place) *events {
	return &events{r: bufio.NewReader(r), most: most, place: p}
}

// next gives the next event that has data; those without only move the place.
// The data is the caller's. An event that is cut off is none.
func (e *events) next() (event, error) {
	var ev event
	id := e.place.id
	lines := 0
	for {
		line, err := e.line(e.most - int64(len(ev.data)))
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			e.place.id = id
			if len(ev.data) > 0 {
				return ev, nil
			}
			ev, lines = event{}, 0
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			ev.name = string(value)
		case "data":
			if lines++; lines > 1 {
				ev.data = append(ev.data, '\n')
			}
			ev.data = append(ev.data, value...)
			if int64(len(ev.data)) > e.most {
				return event{}, errMessageSize
			}
		case "id":
			id = eventID(value, id)
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.place.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// eventID is the id that an event gives; the one before stays if it is none.
func eventID(value []byte, before string) string {
	if bytes.IndexByte(value, 0) >= 0 {
		return before
	}
	if len(value) > maxEventID || !printable(value) {
		return ""
	}
	return string(value)
}

// line gives the next line without its end, which is CR, LF or both. Its bytes
// are good until the next call, unless it is longer than the buffer.
func (e *events) line(most int64) ([]byte, error) {
	most = max(most, maxEventID) + int64(len("data: "))
	var long []byte
	for {
		chunk, end, err := e.chunk()
		if err != nil {
			return nil, err
		}
		if int64(len(long)+len(chunk)) > most {
			return nil, errMessageSize
		}
		if end && long == nil {
			return chunk, nil
		}
		long = append(long, chunk...)
		if end {
			return long, nil
		}
	}
}

// chunk gives what has come of a line, and whether that is its end.
func (e *events) chunk() (chunk []byte, end bool, err error) {
	first, err := e.r.Peek(1)
	if err == nil && !e.begun && first[0] == bom[0] {
		_, err = e.r.Peek(len(bom))
	}
	if err != nil {
		return nil, false, err
	}
	buf, err := e.r.Peek(e.r.Buffered())
	if err != nil {
		return nil, false, err
	}
	skip := 0
	if e.crSeen && buf[0] == '\n' { // the second half of CRLF, which is not waited for
		skip = 1
	}
	e.crSeen = false
	rest := buf[skip:]
	if !e.begun {
		rest = bytes.TrimPrefix(rest, []byte(bom))
		skip = len(buf) - len(rest)
		e.begun = true
	}
	n := bytes.IndexAny(rest, "\r\n")
	if n < 0 {
		_, err = e.r.Discard(len(buf))
		return rest, false, err
	}
	e.crSeen = rest[n] == '\r'
	_, err = e.r.Discard(skip + n + 1)
	return rest[:n], true, err
}

// printable reports whether text can stand in a header.
func printable[T []byte | string](text T) bool {
	for _, c := range []byte(text) {
		if c < 0x20 || c == 0x7f {
			return false
		}
	}
	return true
}
