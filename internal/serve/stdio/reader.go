package stdio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// byteOrderMark is what some programs put in front of the first line.
var byteOrderMark = []byte("\xef\xbb\xbf")

// reader gives the input line by line, with memory for [MaxLine] bytes whatever
// comes.
type reader struct {
	src   *bufio.Reader
	buf   []byte
	begun bool
}

// errTooLong: a line was longer than MaxLine; it has been skipped.
var errTooLong = errors.New("line is too long")

// next gives the next line that is not blank, without its end; it is valid
// until next is called again. A last line needs no end. The error is
// errTooLong, with the beginning of the line, or one of the input, io.EOF for
// its end.
func (r *reader) next() ([]byte, error) {
	for {
		line, err := r.read()
		if !r.begun {
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		r.begun = true
		if line = bytes.TrimSpace(line); len(line) > 0 || err != nil {
			if errors.Is(err, io.EOF) && len(line) > 0 {
				err = nil // and the next read says so again
			}
			return line, err
		}
	}
}

// read reads to the end of a line.
func (r *reader) read() ([]byte, error) {
	r.buf = r.buf[:0]
	tooLong := false
	for {
		part, err := r.src.ReadSlice('\n')
		tooLong = tooLong || len(r.buf)+len(bytes.TrimSuffix(part, []byte("\n"))) > MaxLine
		if !tooLong {
			r.buf = append(r.buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong:
			return r.buf, errTooLong
		}
		return r.buf, err
	}
}

// idOf looks for the id of a message of which only the beginning is known: at
// its top, and where it comes before what made it too long.
func idOf(beginning []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(beginning))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil
		}
		if name == "id" && len(value) > 0 && (value[0] == '"' || value[0] == '-' || value[0] >= '0' && value[0] <= '9') {
			return value
		}
	}
	return nil
}
