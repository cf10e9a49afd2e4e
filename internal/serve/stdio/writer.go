package stdio

import (
	"context"
	"io"
	"sync"
)

// writer is the only way out. The library makes exactly one Write for a
// message; progress comes in through line. A response to a cancelled request
// is left out: MCP forbids it since 2026-07-28 and advises against it before
// (basic/patterns/cancellation).
type writer struct {
	out      io.Writer
	requests *table
	failed   context.CancelCauseFunc

	mu sync.Mutex
}

// Write writes one message with its line end.
func (w *writer) Write(message []byte) (int, error) {
	if id := idOf(message); id != nil && !w.requests.answered(id) {
		return len(message), nil
	}
	return len(message), w.write(message)
}

// line writes a message that has no line end yet.
func (w *writer) line(message []byte) error {
	return w.write(append(message, '\n'))
}

// write writes a whole message at once. When the host does not take it any
// more there is nobody left to serve.
func (w *writer) write(message []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.out.Write(message); err != nil {
		w.failed(err)
		return err
	}
	return nil
}
