package webclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adkmcp/adkmcp/internal/config"
)

// headBytes is how much of the body of a failure the model sees.
const headBytes = 2 << 10

// Outcome is what the model reads of a request.
type Outcome struct {
	Output any // a string or a [json.RawMessage]
	// MIME and Data are an image or a sound that goes along, or empty.
	MIME string
	Data []byte
	// Failed marks what went wrong, Transient what may go better the next time.
	Failed, Transient bool
}

func text(s string) *Outcome { return &Outcome{Output: s} }

// Wording is how [Client.Ask] puts things.
type Wording struct {
	Timeout config.Duration // the tool's own, for messages; 0 for none
	Filter  *Filter         // applied to answers in JSON; nil for none
	Secrets *Secrets        // hidden in whatever the model reads; nil for none
}

// Ask sends a request and puts what came of it into words for the model. A status
// that means failure, and whatever goes wrong on the way, is such an outcome. It is
// an error only when ctx was cancelled or the client is closed, which no model can
// do anything about.
func (c *Client) Ask(ctx context.Context, r *Request, w Wording) (*Outcome, error) {
	res, err := c.Do(ctx, r)
	if err != nil {
		return w.failed(ctx, r, err)
	}
	return w.hide(w.answer(ctx, r, res)), nil
}

// failed says why there is no answer.
func (w Wording) failed(ctx context.Context, r *Request, err error) (*Outcome, error) {
	var refused *RefusedError
	switch {
	case errors.Is(err, ErrClosed):
		return nil, err
	case errors.Is(err, context.DeadlineExceeded) && w.Timeout > 0:
		return w.hide(&Outcome{Failed: true, Transient: true, Output: fmt.Sprintf(
			"%s %s: timed out; there was no complete answer within the time limit (timeout: %s)", r.Method, Origin(r.URL), w.Timeout)}), nil
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, err
	}
	return w.hide(&Outcome{Failed: true, Transient: !errors.As(err, &refused), Output: fmt.Sprintf("%s %s", r.Method, err)}), nil
}

// hide replaces secrets in what the model reads.
func (w Wording) hide(o *Outcome) *Outcome {
	switch out := o.Output.(type) {
	case string:
		o.Output = w.Secrets.Hide(out)
	case json.RawMessage:
		text := w.Secrets.Hide(string(out))
		switch {
		case text == string(out):
		case json.Valid([]byte(text)):
			o.Output = json.RawMessage(text)
		default: // the secret was a number
			o.Output = text
		}
	}
	return o
}

// answer says what the model reads of an answer.
func (w Wording) answer(ctx context.Context, q *Request, r *Response) *Outcome {
	if r.Status < 200 || r.Status > 299 {
		return refusal(q, r)
	}
	switch r.Kind {
	case Empty:
		said := r.StatusLine() + ": the answer is empty."
		if location := r.Header.Get("Location"); location != "" {
			said += " Location: " + head(location, headBytes)
		}
		return text(said)
	case Media:
		if r.Truncated {
			return &Outcome{Failed: true, Output: describe(r) + " It is too large to be shown."}
		}
		return &Outcome{Output: describe(r), MIME: r.MIME, Data: r.Body}
	case Text:
		return w.read(ctx, r)
	default:
		return text(describe(r) + " It cannot be shown as text.")
	}
}

// describe names what an answer is without showing it.
func describe(r *Response) string {
	more := ""
	if r.Truncated && r.Size == int64(len(r.Body)) {
		more = "more than "
	}
	kind := r.MIME
	if kind == "" {
		kind = "of an unknown type"
	}
	return fmt.Sprintf("The answer is %s, %s%d bytes.", kind, more, r.Size)
}

// read gives the text of an answer, or what the filter makes of it.
func (w Wording) read(ctx context.Context, r *Response) *Outcome {
	if r.Truncated {
		note := "Note: the answer was cut, this is only its beginning."
		if w.Filter != nil {
			note += " The result filter was not applied."
		}
		return text(note + "\n\n" + r.Text)
	}
	if w.Filter == nil {
		return text(r.Text)
	}
	outputs, err := w.Filter.Apply(ctx, r.Text)
	switch {
	case errors.Is(err, ErrNotJSON):
		return text("Note: the answer is not valid JSON, so the result filter was not applied.\n\n" + r.Text)
	case err != nil:
		return text(fmt.Sprintf("Note: %s. This is the whole answer.\n\n%s", err, r.Text))
	}
	return filtered(outputs)
}

// filtered gives the outputs of a filter: one as it is, a string as text unless
// it is empty, and several as a list.
func filtered(outputs []json.RawMessage) *Outcome {
	switch len(outputs) {
	case 0:
		return text("The result filter found nothing in the answer.")
	case 1:
		var s string
		if outputs[0][0] == '"' && json.Unmarshal(outputs[0], &s) == nil && s != "" {
			return text(s)
		}
		return &Outcome{Output: outputs[0]}
	}
	list := []byte{'['}
	for i, out := range outputs {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, out...)
	}
	return &Outcome{Output: json.RawMessage(append(list, ']'))}
}

// passing are the statuses of a failure that may be over soon (RFC 9110, RFC 6585).
var passing = []int{
	http.StatusRequestTimeout, http.StatusTooManyRequests,
	http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// refusal gives the status, what helps with it, and the head of the body.
func refusal(q *Request, r *Response) *Outcome {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: the server answered %s.", q.Method, Origin(q.URL), r.StatusLine())
	if after := r.Header.Get("Retry-After"); after != "" {
		fmt.Fprintf(&b, " Retry-After: %s.", head(after, 40))
	}
	if r.CredentialsDropped && (r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden) {
		fmt.Fprintf(&b, " It had been redirected to %s, where its credentials are not sent; the tool's url should lead there at once.",
			Origin(r.URL))
	}
	switch r.Kind {
	case Empty:
	case Text:
		b.WriteString("\n\n" + head(r.Text, headBytes))
	default:
		b.WriteString(" " + describe(r))
	}
	return &Outcome{Failed: true, Transient: slices.Contains(passing, r.Status), Output: b.String()}
}

// head is the beginning of a text, with a note where there is more.
func head(s string, most int) string {
	if len(s) <= most {
		return s
	}
	cut := s[:most]
	for !utf8.ValidString(cut) {
		cut = cut[:len(cut)-1]
	}
	return fmt.Sprintf("%s… (shortened, %d bytes in all)", cut, len(s))
}
