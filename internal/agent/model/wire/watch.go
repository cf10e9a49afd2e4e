package wire

import (
	"context"
	"io"
	"sync/atomic"
	"time"
)

// watched is a body that ends with ErrStalled when nothing comes for a while
// after its first piece.
type watched struct {
	body    io.ReadCloser
	cancel  context.CancelCauseFunc // of the request
	idle    time.Duration
	timer   *time.Timer
	begun   bool
	stalled atomic.Bool
}

// Watch makes a body that fails with [ErrStalled] when nothing comes for idle after
// its first piece; it then cancels the request. Closing it ends the request too.
func Watch(body io.ReadCloser, idle time.Duration, cancel context.CancelCauseFunc) io.ReadCloser {
	w := &watched{body: body, cancel: cancel, idle: idle}
	w.timer = time.AfterFunc(idle, w.giveUp)
	w.timer.Stop()
	return w
}

func (w *watched) giveUp() {
	w.stalled.Store(true)
	w.cancel(ErrStalled)
}

// Read implements [io.Reader].
func (w *watched) Read(p []byte) (int, error) {
	if w.begun {
		w.timer.Reset(w.idle)
		defer w.timer.Stop()
	}
	n, err := w.body.Read(p)
	w.begun = true
	if err != nil && w.stalled.Load() {
		err = ErrStalled
	}
	return n, err
}

// Close implements [io.Closer].
func (w *watched) Close() error {
	err := w.body.Close()
	w.cancel(nil)
	return err
}
