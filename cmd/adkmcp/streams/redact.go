package streams

import (
	"io"
	"sync/atomic"

	"github.com/adkmcp/adkmcp/internal/config"
)

// Redactor keeps the secrets of the loaded agents out of everything that is
// printed. They become known after the log has been opened.
type Redactor struct {
	secrets atomic.Pointer[config.Redactor]
}

// Add makes secrets known.
func (r *Redactor) Add(secrets []string) { r.secrets.Store(config.NewRedactor(secrets)) }

// Writer gives a writer that hides secrets in everything it is given. A secret
// must not be spread over two writes; loggers and encoders write whole lines.
func (r *Redactor) Writer(w io.Writer) io.Writer { return &redactingWriter{w, r} }

type redactingWriter struct {
	w io.Writer
	r *Redactor
}

func (w *redactingWriter) Write(p []byte) (int, error) {
	if s := w.r.secrets.Load(); s != nil {
		if _, err := io.WriteString(w.w, s.Text(string(p))); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return w.w.Write(p)
}

// Text takes the secrets out of a text.
func (r *Redactor) Text(s string) string { return r.secrets.Load().Text(s) }
