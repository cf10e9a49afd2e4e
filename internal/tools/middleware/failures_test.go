package middleware

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
)

func TestFailures(t *testing.T) {
	for _, tc := range []struct {
		name string
		call Handler
		want string
		log  string
	}{
		{"error", gives(nil, errors.New("no such printer")), "no such printer", `level=WARN msg="tool failed" agent=dice tool=roll_die call=c1 error="no such printer"`},
		{"error with output", gives(agent.Text("half"), errors.New("paper jam")), "paper jam\nhalf", "level=WARN"},
		{"error with a value", gives(&agent.Result{Output: map[string]any{"a": 1}}, errors.New("paper jam")), "paper jam\n{\"a\":1}", "level=WARN"},
		{"a deadline of the tool's own", gives(nil, fmt.Errorf("ask the printer: %w", context.DeadlineExceeded)), "ask the printer: context deadline exceeded", "level=WARN"},
		{"panic", func(context.Context, *agent.Call) (*agent.Result, error) { panic("index out of range: sk-0123456789") },
			"roll_die stopped because of a fault in the program, not in the arguments; the log has the details",
			`level=ERROR msg="tool panicked" agent=dice tool=roll_die call=c1 panic="index out of range: [redacted]" stack="goroutine`},
		{"nothing", gives(nil, nil), "roll_die gave no result", ""},
		{"a result that is no JSON", gives(&agent.Result{Output: func() {}}, nil), "the tool's result cannot be written as JSON: json: unsupported type: func()", "level=WARN"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log bytes.Buffer
			o := options()
			o.Log, o.Secrets = logTo(&log, slog.LevelInfo), []string{"sk-0123456789"}
			res, err := Wrap(die(tc.call), o).Call(t.Context(), roll(`{"sides":6}`))
			if err != nil {
				t.Fatal(err)
			}
			if res.Output != tc.want || !res.IsError {
				t.Errorf("got %+v, want %q", res, tc.want)
			}
			if tc.log == "" && log.Len() > 0 || !strings.Contains(log.String(), tc.log) || strings.Contains(log.String(), "sk-0") || strings.Count(log.String(), "\n") > 1 {
				t.Errorf("the log is %q, want %q", log.String(), tc.log)
			}
		})
	}
}

func TestFailureTextIsBounded(t *testing.T) {
	res, err := Wrap(die(gives(nil, errors.New(strings.Repeat("ü", 100000)))), options()).Call(t.Context(), roll(`{"sides":6}`))
	if err != nil {
		t.Fatal(err)
	}
	if text := res.Output.(string); len(text) > maxErrorBytes || !utf8.ValidString(text) {
		t.Errorf("%d bytes", len(text))
	}
}

// A tool's own failure keeps its result as it is.
func TestFailureOfTheToolItself(t *testing.T) {
	want := agent.Failure("exit code 3")
	res, err := Wrap(die(gives(want, nil)), options()).Call(t.Context(), roll(`{"sides":6}`))
	if err != nil || res != want {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestTurnThatEnds(t *testing.T) {
	for _, tc := range []struct {
		name string
		tool func(context.Context) error
	}{
		{"the context's error", func(ctx context.Context) error { return ctx.Err() }},
		{"wrapped", func(ctx context.Context) error { return fmt.Errorf("read: %w", ctx.Err()) }},
		{"another error", func(context.Context) error { return fs.ErrClosed }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			tool := Wrap(die(func(ctx context.Context, _ *agent.Call) (*agent.Result, error) {
				cancel()
				<-ctx.Done()
				return agent.Text("half"), tc.tool(ctx)
			}), options())
			res, err := tool.Call(ctx, roll(`{"sides":6}`))
			if !errors.Is(err, context.Canceled) || res != nil {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
	t.Run("what was done is done", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		tool := Wrap(die(func(context.Context, *agent.Call) (*agent.Result, error) { cancel(); return agent.Text("4"), nil }), options())
		if res, err := tool.Call(ctx, roll(`{"sides":6}`)); err != nil || res.Output != "4" {
			t.Errorf("got %+v, %v", res, err)
		}
	})
}

func TestTimeout(t *testing.T) {
	blob := []*genai.Blob{{MIMEType: "image/png", Data: []byte("x")}}
	for _, tc := range []struct {
		name string
		call func(ctx context.Context) (*agent.Result, error)
		want *agent.Result
	}{
		{"error alone", func(ctx context.Context) (*agent.Result, error) { return nil, ctx.Err() }, agent.Failure("timed out after 60s")},
		{"error with output", func(ctx context.Context) (*agent.Result, error) { return agent.Text("hi"), ctx.Err() }, agent.Failure("timed out after 60s\nhi")},
		{"error with media", func(context.Context) (*agent.Result, error) {
			return &agent.Result{Output: "half", Media: blob}, context.DeadlineExceeded
		}, &agent.Result{Output: "timed out after 60s\nhalf", IsError: true, Media: blob}},
		{"the tool's own words", func(context.Context) (*agent.Result, error) { return agent.Failure("stopped, output so far: hi"), nil },
			agent.Failure("stopped, output so far: hi")},
		{"error of the tool's own making", func(context.Context) (*agent.Result, error) { return nil, fs.ErrClosed }, agent.Failure("timed out after 60s")},
		{"success after all", func(context.Context) (*agent.Result, error) { return agent.Text("4"), nil }, agent.Text("4")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				tool := Wrap(die(func(ctx context.Context, _ *agent.Call) (*agent.Result, error) {
					<-ctx.Done()
					return tc.call(ctx)
				}), options())
				res, err := tool.Call(t.Context(), roll(`{"sides":6}`))
				if err != nil {
					t.Fatal(err)
				}
				if res.Output != tc.want.Output || res.IsError != tc.want.IsError || len(res.Media) != len(tc.want.Media) {
					t.Errorf("got %+v, want %+v", res, tc.want)
				}
				if took := time.Since(start); took != time.Minute {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

// The deadline of the turn is not the tool's.
func TestTimeoutOfTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		tool := Wrap(die(func(ctx context.Context, _ *agent.Call) (*agent.Result, error) {
			<-ctx.Done()
			return agent.Text("half"), ctx.Err()
		}), options())
		res, err := tool.Call(ctx, roll(`{"sides":6}`))
		if !errors.Is(err, context.DeadlineExceeded) || res != nil {
			t.Errorf("got %+v, %v", res, err)
		}
	})
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Minute: "60s", 1500 * time.Millisecond: "1.5s", time.Hour: "3600s"} {
		if got := seconds(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
}
