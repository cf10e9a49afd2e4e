package stdio

import (
	"context"
	"io"
	"sync"
)

// writer is the only way out.
type writer struct {
	failed context.CancelCauseFunc

	mu  sync.Mutex
	out io.Writer
}

// line writes a message, with its line end, at once. When the host does not
// take it any more there is nobody left to serve.
func (w *writer) line(message []byte) error {
	line := make([]byte, 0, len(message)+1)
	line = append(append(line, message...), '\n')
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.out.Write(line); err != nil {
		w.failed(err)
		return err
	}
	return nil
}
