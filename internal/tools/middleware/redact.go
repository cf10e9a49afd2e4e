package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

// redact hides secrets in the output, the error and the progress of a call, and
// in what a suspension would show to a person. Media pass as they are.
func redact(secrets *redactor) Middleware {
	return func(_ *agent.Spec, next Handler) Handler {
		if secrets == nil {
			return next
		}
		return func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
			quiet := *call
			quiet.Progress = func(text string) { call.Progress(secrets.text(text)) }
			res, err := next(ctx, &quiet)
			if err != nil {
				err = secrets.error(err)
			}
			if res == nil {
				return nil, err
			}
			clean, tooBad := secrets.result(res)
			if tooBad != nil {
				return nil, tooBad
			}
			return clean, err
		}
	}
}

// redactor hides secrets in what tools give. A nil one has none to hide.
type redactor struct{ *config.Redactor }

func newRedactor(values []string) *redactor {
	if r := config.NewRedactor(values); r != nil {
		return &redactor{r}
	}
	return nil
}

func (r *redactor) text(s string) string {
	if r == nil {
		return s
	}
	return r.Text(s)
}

// error gives err itself where its text holds no secret.
func (r *redactor) error(err error) error {
	text := err.Error()
	if clean := r.text(text); clean != text {
		return &redactedError{text: clean, err: err}
	}
	return err
}

// redactedError has another text than the error that it stands for.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }

// Is lets errors.Is see the cause. There is no Unwrap: it would hand out the
// text with the secret.
func (e *redactedError) Is(target error) bool { return errors.Is(e.err, target) }

// result gives res itself where neither its output nor its suspension holds a
// secret.
func (r *redactor) result(res *agent.Result) (*agent.Result, error) {
	output, inOutput, err := r.output(res.Output)
	if err != nil {
		return nil, err
	}
	suspend, inSuspend, err := r.suspension(res.Suspend)
	if err != nil {
		return nil, err
	}
	if !inOutput && !inSuspend {
		return res, nil
	}
	out := *res
	out.Output, out.Suspend = output, suspend
	return &out, nil
}

// output gives an output without secrets, and whether it held one.
func (r *redactor) output(v any) (clean any, changed bool, err error) {
	switch v := v.(type) {
	case nil:
		return nil, false, nil
	case string:
		text := r.text(v)
		return text, text != v, nil
	}
	value, err := generic(v)
	if err != nil {
		return nil, false, err
	}
	if clean = r.value(value, &changed); !changed {
		clean = v
	}
	return clean, changed, nil
}

// suspension gives a suspension without secrets, and whether it held one.
func (r *redactor) suspension(q *session.Suspension) (clean *session.Suspension, changed bool, err error) {
	if q == nil {
		return nil, false, nil
	}
	out := *q
	out.Message = r.text(q.Message)
	changed = out.Message != q.Message
	if len(q.Payload) == 0 {
		return &out, changed, nil
	}
	payload, inPayload, err := r.output(q.Payload)
	if err != nil || !inPayload {
		return &out, changed, err
	}
	text, err := jsonText(payload)
	out.Payload = json.RawMessage(text)
	return &out, true, err
}

// value gives a JSON value without secrets. A number that holds one, be it by
// chance, becomes text.
func (r *redactor) value(v any, changed *bool) any {
	clean := func(s string) string {
		text := r.text(s)
		*changed = *changed || text != s
		return text
	}
	switch v := v.(type) {
	case string:
		return clean(v)
	case json.Number:
		if text := clean(v.String()); text != v.String() {
			return text
		}
	case []any:
		for i := range v {
			v[i] = r.value(v[i], changed)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[clean(k)] = r.value(e, changed)
		}
		return out
	}
	return v
}

// generic gives a copy of v as maps, lists and numbers as written.
func generic(v any) (any, error) {
	text, err := jsonText(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var out any
	err = dec.Decode(&out)
	return out, err
}
