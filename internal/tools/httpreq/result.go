package httpreq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// headBytes is how much of the body of a failure the model sees.
const headBytes = 2 << 10

// failed says why there is no answer. It is an error only when the turn itself
// is over or the client is closed, which no model can do anything about.
func (t *tool) failed(ctx context.Context, err error) (*agent.Result, error) {
	switch {
	case errors.Is(err, webclient.ErrClosed):
		return nil, err
	case errors.Is(err, context.DeadlineExceeded) && t.timeout > 0:
		return t.hide(agent.Failure(fmt.Sprintf("%s %s: timed out; there was no complete answer within the time limit (timeout: %s)",
			t.method, t.origin(), t.timeout))), nil
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, err
	}
	return t.hide(agent.Failure(fmt.Sprintf("%s %s", t.method, err))), nil
}

func (t *tool) origin() string { return t.url.scheme + "://" + t.url.host }

// hide replaces secrets in what the model reads.
func (t *tool) hide(r *agent.Result) *agent.Result {
	switch out := r.Output.(type) {
	case string:
		r.Output = t.redact.Replace(out)
	case json.RawMessage:
		text := t.redact.Replace(string(out))
		switch {
		case text == string(out):
		case json.Valid([]byte(text)):
			r.Output = json.RawMessage(text)
		default: // the secret was a number
			r.Output = text
		}
	}
	return r
}

// result says what the model reads of an answer.
func (t *tool) result(ctx context.Context, r *webclient.Response) *agent.Result {
	if r.Status < 200 || r.Status > 299 {
		return t.failure(r)
	}
	switch r.Kind {
	case webclient.Empty:
		text := r.StatusLine() + ": the answer is empty."
		if location := r.Header.Get("Location"); location != "" {
			text += " Location: " + shorten(location, headBytes)
		}
		return agent.Text(text)
	case webclient.Media:
		if r.Truncated {
			return agent.Failure(describe(r) + " It is too large to be shown.")
		}
		return &agent.Result{Output: describe(r), Media: []*genai.Blob{{MIMEType: r.MIME, Data: r.Body}}}
	case webclient.Text:
		return t.textResult(ctx, r)
	default:
		return agent.Text(describe(r) + " It cannot be shown as text.")
	}
}

// describe names what an answer is without showing it.
func describe(r *webclient.Response) string {
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

func (t *tool) textResult(ctx context.Context, r *webclient.Response) *agent.Result {
	if r.Truncated {
		note := "Note: the answer was cut, this is only its beginning."
		if t.filter != nil {
			note += " The result filter was not applied."
		}
		return agent.Text(note + "\n\n" + r.Text)
	}
	if t.filter == nil {
		return agent.Text(r.Text)
	}
	outputs, err := t.filter.Apply(ctx, r.Text)
	switch {
	case errors.Is(err, webclient.ErrNotJSON):
		return agent.Text("Note: the answer is not valid JSON, so the result filter was not applied.\n\n" + r.Text)
	case err != nil:
		return agent.Text(fmt.Sprintf("Note: %s. This is the whole answer.\n\n%s", err, r.Text))
	}
	return filtered(outputs)
}

// filtered gives the outputs of a filter: one as it is, a string as text unless
// it is empty, and several as a list.
func filtered(outputs []json.RawMessage) *agent.Result {
	switch len(outputs) {
	case 0:
		return agent.Text("The result filter found nothing in the answer.")
	case 1:
		var s string
		if outputs[0][0] == '"' && json.Unmarshal(outputs[0], &s) == nil && s != "" {
			return agent.Text(s)
		}
		return &agent.Result{Output: outputs[0]}
	}
	list := []byte{'['}
	for i, out := range outputs {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, out...)
	}
	return &agent.Result{Output: json.RawMessage(append(list, ']'))}
}

// failure gives the status, what helps with it, and the head of the body.
func (t *tool) failure(r *webclient.Response) *agent.Result {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: the server answered %s.", t.method, t.origin(), r.StatusLine())
	if after := r.Header.Get("Retry-After"); after != "" {
		fmt.Fprintf(&b, " Retry-After: %s.", shorten(after, 40))
	}
	if r.CredentialsDropped && (r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden) {
		fmt.Fprintf(&b, " It had been redirected to %s, where its credentials are not sent; the tool's url should lead there at once.",
			webclient.Origin(r.URL))
	}
	switch r.Kind {
	case webclient.Empty:
	case webclient.Text:
		b.WriteString("\n\n" + shorten(r.Text, headBytes))
	default:
		b.WriteString(" " + describe(r))
	}
	return agent.Failure(b.String())
}

func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head := s[:most]
	for !utf8.ValidString(head) {
		head = head[:len(head)-1]
	}
	return fmt.Sprintf("%s… (shortened, %d bytes in all)", head, len(s))
}
