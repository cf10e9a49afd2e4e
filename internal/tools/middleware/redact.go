package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
)

// redact hides secrets in the output, the error and the progress of a call.
// Media pass as they are.
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
			if res == nil || res.Suspend != nil {
				return res, err
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

// result gives res itself where its output holds no secret.
func (r *redactor) result(res *agent.Result) (*agent.Result, error) {
	var clean any
	switch v := res.Output.(type) {
	case nil:
		return res, nil
	case string:
		text := r.text(v)
		if text == v {
			return res, nil
		}
		clean = text
	default:
		value, err := generic(v)
		if err != nil {
			return nil, err
		}
		changed := false
		if clean = r.value(value, &changed); !changed {
			return res, nil
		}
	}
	out := *res
	out.Output = clean
	return &out, nil
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
	text, err := outputText(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var out any
	err = dec.Decode(&out)
	return out, err
}
