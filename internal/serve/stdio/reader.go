package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// reader gives the library the input line by line. A line that is too long is
// answered with an error and skipped, whatever its length, with memory for
// [MaxLine] bytes; blank lines are skipped; a last line without an end gets
// one. The end of the input is held back until the pending requests have been
// answered, for [eofGrace] at most.
type reader struct {
	src      *bufio.Reader
	out      *writer
	requests *table
	stopped  <-chan struct{}
	stop     context.CancelCauseFunc

	line []byte // what is left of the line that is being handed out
	buf  []byte // where lines are put together
	err  error  // of src, sticky
}

// Read implements io.Reader. It never returns bytes of two lines.
func (r *reader) Read(p []byte) (int, error) {
	for len(r.line) == 0 {
		if r.err != nil {
			return 0, r.end()
		}
		r.next()
	}
	n := copy(p, r.line)
	r.line = r.line[n:]
	return n, nil
}

// next reads a line; r.line stays empty if it is not one for the library.
func (r *reader) next() {
	r.buf = r.buf[:0]
	tooLong := false
	for {
		part, err := r.src.ReadSlice('\n')
		if len(r.buf)+len(bytes.TrimSuffix(part, []byte("\n"))) > MaxLine {
			tooLong = true
		}
		if !tooLong {
			r.buf = append(r.buf, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		r.err = err
		break
	}
	line := bytes.TrimSpace(r.buf)
	switch {
	case tooLong:
		r.refuse(idOf(line), codeInvalidRequest, fmt.Sprintf("the message is longer than %d bytes", MaxLine))
	case len(line) > 0 && r.watch(line):
		line = append(line, '\n')
		r.line = line
	}
}

// watch notes what a message means for the table; it reports false if the
// library must not see the message.
func (r *reader) watch(line []byte) bool {
	var m message
	if json.Unmarshal(line, &m) != nil {
		return true // the library answers it
	}
	switch {
	case m.Method == "notifications/cancelled" && m.ID == nil:
		r.requests.cancel(m.Params.RequestID)
	case m.Method != "" && isID(m.ID) && m.Result == nil:
		if !r.requests.add(m.ID) {
			r.refuse(m.ID, codeInternal, "too many requests are waiting: try again later")
			return false
		}
	}
	return true
}

// refuse answers a message in the library's place. If that fails, the writer
// has ended everything.
func (r *reader) refuse(id any, code int, text string) {
	var response errorResponse
	response.JSONRPC, response.ID = "2.0", id
	response.Error.Code, response.Error.Message = code, text
	if data, err := json.Marshal(response); err == nil {
		_ = r.out.line(data)
	}
}

// end holds the end of the input back while there are answers to come, and
// then stops everything.
func (r *reader) end() error {
	if errors.Is(r.err, io.EOF) {
		grace := time.NewTimer(eofGrace)
		defer grace.Stop()
		select {
		case <-r.requests.drained():
		case <-grace.C:
		case <-r.stopped:
		}
	}
	r.stop(r.err)
	return r.err
}

// JSON-RPC error codes.
const (
	codeInvalidRequest = -32600
	codeInternal       = -32603
)

type errorResponse struct {
	JSONRPC string `json:"jsonrpc"`
	ID      any    `json:"id"`
	Error   struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}
