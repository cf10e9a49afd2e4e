package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

func TestRedact(t *testing.T) {
	secrets := []string{"sk-0123456789", "sk-0123456789-long", `pa"ss wörd&<1>`, "12345678", "short", "kürze1"}
	type shape struct {
		Token string `json:"token"`
		Note  string `json:"note"`
	}
	for _, tc := range []struct {
		name      string
		out, want any
	}{
		{"text", "key=sk-0123456789!", "key=[redacted]!"},
		{"twice", "sk-0123456789sk-0123456789", "[redacted][redacted]"},
		{"the longer of two", "sk-0123456789-long", "[redacted]"},
		{"innocent", "sk-01234 short", "sk-01234 short"},
		{"six characters", "kürze1", "[redacted]"},
		{"inside JSON as text", `{"p":"pa\"ss wörd&<1>"}`, `{"p":"[redacted]"}`},
		{"in a query", "https://h/?p=pa%22ss+w%C3%B6rd%26%3C1%3E", "https://h/?p=[redacted]"},
		{"in a path", "https://h/pa%22ss%20w%C3%B6rd&%3C1%3E", "https://h/[redacted]"},
		{"nothing", nil, nil},
		{"map", map[string]any{"a": []any{"x sk-0123456789", json.Number("1.50")}, "sk-0123456789": true},
			map[string]any{"a": []any{"x [redacted]", json.Number("1.50")}, "[redacted]": true}},
		{"number", map[string]any{"n": 12345678}, map[string]any{"n": "[redacted]"}},
		{"struct", shape{"sk-0123456789", "n"}, map[string]any{"token": "[redacted]", "note": "n"}},
		{"raw JSON with escapes", json.RawMessage(`{"a":"s\u006b-0123456789","b":1.0}`), map[string]any{"a": "[redacted]", "b": json.Number("1.0")}},
		{"innocent struct", shape{"t", "n"}, shape{"t", "n"}},
		{"innocent raw JSON", json.RawMessage(`{"b": 1.0}`), json.RawMessage(`{"b": 1.0}`)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options()
			o.Secrets = secrets
			before := fmt.Sprintf("%#v", tc.out)
			res, err := Wrap(die(gives(&agent.Result{Output: tc.out}, nil)), o).Call(t.Context(), roll(`{"sides":6}`))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, res.Output); diff != "" {
				t.Error(diff)
			}
			if after := fmt.Sprintf("%#v", tc.out); after != before {
				t.Errorf("the tool's own value was changed to %s", after)
			}
		})
	}
}

func TestRedactErrors(t *testing.T) {
	r := newRedactor([]string{"sk-0123456789"})
	cause := &fs.PathError{Op: "open", Path: "/sk-0123456789", Err: fs.ErrNotExist}
	err := r.error(cause)
	if got := fmt.Sprintf("%v %+v %q", err, err, err); strings.Contains(got, "sk-0") {
		t.Error(got)
	}
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		t.Error("the cause cannot be told")
	}
	if wrapped := new(fs.PathError); errors.As(err, &wrapped) {
		t.Error("the cause with the secret can be had")
	}
	if replaced := new(redactedError); errors.As(r.error(errors.New("x")), &replaced) {
		t.Error("an innocent error was replaced")
	}
}

func TestRedactProgressAndFailures(t *testing.T) {
	o := options()
	o.Secrets = []string{"sk-0123456789"}
	var progress []string
	call := roll(`{"sides":6}`)
	call.Progress = func(text string) { progress = append(progress, text) }
	tool := Wrap(die(func(_ context.Context, call *agent.Call) (*agent.Result, error) {
		call.Progress("asking with sk-0123456789")
		return agent.Text("so far sk-0123456789"), errors.New("refused sk-0123456789")
	}), o)
	res, err := tool.Call(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	if res.Output != "refused [redacted]\nso far [redacted]" {
		t.Errorf("got %q", res.Output)
	}
	if diff := cmp.Diff([]string{"asking with [redacted]"}, progress); diff != "" {
		t.Error(diff)
	}
}

// The error of a turn that ends passes failures by and has no secrets either.
func TestRedactCancelled(t *testing.T) {
	o := options()
	o.Secrets = []string{"sk-0123456789"}
	ctx, cancel := context.WithCancel(t.Context())
	tool := Wrap(die(func(ctx context.Context, _ *agent.Call) (*agent.Result, error) {
		cancel()
		return nil, fmt.Errorf("GET https://h/?k=sk-0123456789: %w", ctx.Err())
	}), o)
	_, err := tool.Call(ctx, roll(`{"sides":6}`))
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "sk-0") || !strings.Contains(err.Error(), "[redacted]") {
		t.Errorf("got %v", err)
	}
}

// What a person would see of a suspension has no secrets either.
func TestRedactSuspensions(t *testing.T) {
	o := options()
	o.Secrets = []string{"sk-0123456789"}
	for _, tc := range []struct{ name, message, payload, wantMessage, wantPayload string }{
		{"both", "use sk-0123456789?", `{"schema":{"enum":["s\u006b-0123456789",1.50]}}`, "use [redacted]?", `{"schema":{"enum":["[redacted]",1.50]}}`},
		{"message", "use sk-0123456789?", ``, "use [redacted]?", ``},
		{"payload", "use it?", `{"sk-0123456789":"<x>"}`, "use it?", `{"[redacted]":"<x>"}`},
		{"neither", "use it?", `{ "a": 1.0}`, "use it?", `{ "a": 1.0}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			given := &session.Suspension{CallID: "c1", Kind: "question", Message: tc.message, Payload: json.RawMessage(tc.payload)}
			before := *given
			res, err := Wrap(die(gives(&agent.Result{Suspend: given}, nil)), o).Call(t.Context(), roll(`{"sides":6}`))
			if err != nil {
				t.Fatal(err)
			}
			want := &session.Suspension{CallID: "c1", Kind: "question", Message: tc.wantMessage, Payload: json.RawMessage(tc.wantPayload)}
			if diff := cmp.Diff(want, res.Suspend); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(&before, given); diff != "" {
				t.Errorf("the tool's own value was changed: %s", diff)
			}
		})
	}
	broken := &agent.Result{Suspend: &session.Suspension{Message: "?", Payload: json.RawMessage(`{"sk-0123456789`)}}
	res, err := Wrap(die(gives(broken, nil)), o).Call(t.Context(), roll(`{"sides":6}`))
	if err != nil || res.Suspend != nil || !res.IsError {
		t.Errorf("a payload that is no JSON gives %+v, %v", res, err)
	}
}
