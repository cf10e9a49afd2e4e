package httpserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"
)

// JSON-RPC error codes.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeInternal       = -32603
)

// refuse answers a request that the MCP library does not see, with a JSON-RPC
// error whose id is not known.
func refuse(w http.ResponseWriter, status, code int, text string) {
	var body struct {
		JSONRPC string `json:"jsonrpc"`
		ID      any    `json:"id"`
		Error   struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	body.JSONRPC, body.Error.Code, body.Error.Message = "2.0", code, text
	data, err := json.Marshal(body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// extend gives the next write its time. A connection that cannot have
// deadlines, as in a test, goes without.
func extend(rc *http.ResponseController) {
	_ = rc.SetWriteDeadline(time.Now().Add(writeTimeout))
}

// recover turns a panic into an answer that tells nothing, and a log entry
// that tells all.
func (s *Server) recover(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	s.cfg.Log.Error("a request panicked", "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	refuse(w, http.StatusInternalServerError, codeInternal, "internal error")
}
