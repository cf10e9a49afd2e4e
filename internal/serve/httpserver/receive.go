package httpserver

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

// isJSON reports whether a request says that its body is JSON. What a web page
// can send without asking first says something else.
func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

func refuseKind(w http.ResponseWriter) {
	refuse(w, http.StatusUnsupportedMediaType, rpc.CodeInvalidRequest, "the Content-Type must be application/json")
}

// receive reads the message of a POST; nil after having answered what is none.
func (s *Server) receive(w http.ResponseWriter, r *http.Request) *rpc.Message {
	body, ok := readBody(w, r)
	if !ok {
		return nil
	}
	m, bad := rpc.Parse(body)
	if bad != nil {
		fail(w, http.StatusBadRequest, m.ID, bad)
		return nil
	}
	return m
}

// readBody reads the body within its bounds on size and time, which has begun
// with the request. The bound on time stays if there is more that nobody wants.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	const tooLarge = "the message is larger than 4 MiB"
	if r.ContentLength > maxBodyBytes {
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusRequestEntityTooLarge, rpc.CodeInvalidRequest, tooLarge)
		return nil, false
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, maxBodyBytes), r.ContentLength)
	var limit *http.MaxBytesError
	switch {
	case err == nil:
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		return body, true
	case errors.As(err, &limit):
		refuse(w, http.StatusRequestEntityTooLarge, rpc.CodeInvalidRequest, tooLarge)
	case errors.Is(err, io.ErrUnexpectedEOF):
		refuse(w, http.StatusBadRequest, rpc.CodeParse, "the message broke off")
	default:
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusRequestTimeout, rpc.CodeInvalidRequest, "the message did not come in time")
	}
	return nil, false
}

// readAll reads to the end. It keeps what it reads in pieces: memory is taken
// when bytes have come, not when they are announced, and a buffer that grows
// would be copied again and again. length is -1 if it is not known.
func readAll(r io.Reader, length int64) ([]byte, error) {
	const piece = 64 << 10
	if length >= 0 && length <= piece {
		body := make([]byte, length)
		_, err := io.ReadFull(r, body)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return body, err
	}
	var pieces [][]byte
	p := make([]byte, 0, piece)
	for {
		n, err := r.Read(p[len(p):piece])
		p = p[:len(p)+n]
		switch {
		case errors.Is(err, io.EOF):
			return bytes.Join(append(pieces, p), nil), nil
		case err != nil:
			return nil, err
		case len(p) == piece:
			pieces, p = append(pieces, p), make([]byte, 0, piece)
		}
	}
}

// passedOn is what of the header an agent may see: not the secrets with which
// the caller opened this server.
func passedOn(h http.Header) http.Header {
	h = h.Clone()
	for name := range h {
		switch strings.ToLower(name) {
		case "authorization", "proxy-authorization", "cookie", "mcp-session-id":
			delete(h, name)
		}
	}
	return h
}
