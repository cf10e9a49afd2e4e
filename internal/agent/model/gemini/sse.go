package gemini

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// Bounds of one answer.
const (
	maxAnswer = 128 << 20 // bytes; answers may hold images and sound
	maxStray  = 4 << 10   // bytes of what is no event stream
)

// The words that an [eventStream] puts into the status of an error event.
const (
	statusCut     = "ADKMCP_STREAM_CUT"
	statusStalled = "ADKMCP_STREAM_STALLED"
	statusForeign = "ADKMCP_NOT_A_STREAM"
)

var errTooLong = errors.New("it is too long")

// eventStream turns an event stream as services and gateways send it into the
// one that genai can read: nothing but single data lines with a blank line
// after each. Comments, other fields, [DONE] and extra blank lines go. The end
// of a stream that broke becomes an error event, since genai prints errors of
// reading on the standard logger; an event that had begun goes.
type eventStream struct {
	body  io.ReadCloser
	lines *bufio.Reader
	data  []byte // of the event that is being read
	stray []byte // of what is no event stream
	out   []byte // what genai reads
	given int    // bytes of out that were handed on
	seen  int    // bytes read
	limit int    // of seen
	ended bool
}

func newEventStream(body io.ReadCloser, limit int) *eventStream {
	return &eventStream{body: body, lines: bufio.NewReaderSize(body, 4<<10), limit: limit}
}

// Read implements [io.Reader].
func (s *eventStream) Read(p []byte) (int, error) {
	for s.given == len(s.out) {
		if s.ended {
			return 0, io.EOF
		}
		s.out, s.given = s.out[:0], 0
		s.line()
	}
	n := copy(p, s.out[s.given:])
	s.given += n
	return n, nil
}

// Close implements [io.Closer].
func (s *eventStream) Close() error { return s.body.Close() }

// line reads one line, or the rest of the stream that has none.
func (s *eventStream) line() {
	line, err := s.lines.ReadSlice('\n')
	var long []byte
	for errors.Is(err, bufio.ErrBufferFull) && s.seen+len(long) < s.limit {
		long = append(long, line...)
		line, err = s.lines.ReadSlice('\n')
	}
	if long != nil {
		line = append(long, line...)
	}
	s.seen += len(line)
	if s.seen > s.limit {
		err = errTooLong
	}
	if err == nil || errors.Is(err, io.EOF) {
		s.field(bytes.TrimRight(line, "\r\n"))
	}
	switch {
	case errors.Is(err, io.EOF):
		s.ended = true
		s.event()
		s.foreign()
	case err != nil:
		s.ended = true
		status := statusCut
		if errors.Is(err, wire.ErrStalled) {
			status = statusStalled
		}
		s.fail(&genai.APIError{Status: status, Message: err.Error()})
	}
}

// field takes one line of the stream (HTML standard, section 9.2.6).
func (s *eventStream) field(line []byte) {
	if len(line) == 0 {
		s.event()
		return
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch string(name) {
	case "data":
		value = bytes.TrimPrefix(value, []byte(" "))
		if string(value) == "[DONE]" {
			return
		}
		if len(s.data) > 0 {
			s.data = append(s.data, ' ') // a line break between JSON tokens
		}
		s.data = append(s.data, value...)
	case "", "event", "id", "retry":
	default:
		if len(s.stray) < maxStray {
			s.stray = append(append(s.stray, line...), '\n')
		}
	}
}

// event hands on the event that was read, if there is one.
func (s *eventStream) event() {
	if len(s.data) == 0 {
		return
	}
	data := s.data
	s.data = s.data[:0]
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t"), []byte("{")) { // gateways send pings and empty lists
		return
	}
	if !json.Valid(data) {
		s.ended = true
		s.fail(&genai.APIError{Status: statusCut, Message: "an event that is not JSON"})
		return
	}
	s.emit(keepArgs(data))
}

func (s *eventStream) emit(data []byte) {
	s.out = append(append(append(s.out, "data: "...), data...), "\n\n"...)
}

// foreign looks at what was no event stream: an error object without its
// wrapping, or something else altogether, such as the page of a proxy.
func (s *eventStream) foreign() {
	if len(bytes.TrimSpace(s.stray)) == 0 {
		return
	}
	if e := parseError(s.stray); e != nil {
		s.fail(e)
		return
	}
	s.fail(&genai.APIError{Status: statusForeign, Message: wire.Excerpt(string(s.stray), 200)})
}

// fail ends the stream with an error event.
func (s *eventStream) fail(e *genai.APIError) {
	event, err := json.Marshal(map[string]*genai.APIError{"error": e})
	if err == nil { // it came from JSON or is plain text
		s.emit(event)
	}
}
