package httpserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

// refuse answers a request that the handler does not see, with a JSON-RPC error
// whose id is not known.
func refuse(w http.ResponseWriter, status, code int, text string) {
	fail(w, status, nil, &rpc.Error{Code: code, Message: text})
}

// fail answers the message with this id with a JSON-RPC error.
func fail(w http.ResponseWriter, status int, id json.RawMessage, e *rpc.Error) {
	writeJSON(w, status, rpc.Fail(id, e).Body)
}

// turnAway says that there is no room now, and when to come back.
func turnAway(w http.ResponseWriter, id json.RawMessage, why string) {
	w.Header().Set("Retry-After", retryAfter)
	fail(w, http.StatusServiceUnavailable, id, &rpc.Error{Code: rpc.CodeInternal, Message: why + ": try again later"})
}

// notAllowed answers a method that a path does not take.
func notAllowed(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	writeText(w, http.StatusMethodNotAllowed, "this path takes "+allow)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // it is JSON and says so, and nosniff stands beside it
	_, _ = io.WriteString(w, "\n")
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// extend gives the next write its time. A connection that cannot have
// deadlines, as in a test, goes without.
func extend(rc *http.ResponseController, d time.Duration) {
	_ = rc.SetWriteDeadline(time.Now().Add(d))
}

// relax takes the time back while nothing is written: on HTTP/2 a deadline that
// passes ends the stream even so.
func relax(rc *http.ResponseController) { _ = rc.SetWriteDeadline(time.Time{}) }

// recover turns a panic into an answer that tells nothing, and a log entry
// that tells all.
func (s *Server) recover(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	s.cfg.Log.Error("a request panicked", "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	refuse(w, http.StatusInternalServerError, rpc.CodeInternal, "internal error")
}

// gate lets so many in at once.
type gate chan struct{}

// enter reports whether there was room; whoever got in leaves.
func (g gate) enter() bool {
	select {
	case g <- struct{}{}:
		return true
	default:
		return false
	}
}

func (g gate) leave() { <-g }

func (g gate) full() bool { return len(g) == cap(g) }
