package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
	"github.com/adkmcp/adkmcp/internal/tools/process"
	"github.com/adkmcp/adkmcp/internal/tools/process/processtest"
)

// lines gives what is logged line by line.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// until waits for a line with this text.
func (l lines) until(t *testing.T, text string) {
	t.Helper()
	patience := time.After(20 * time.Second)
	for {
		select {
		case line := <-l:
			if strings.Contains(line, text) {
				return
			}
		case <-patience:
			t.Fatalf("the log never said %q", text)
		}
	}
}

// startChild connects to this program as a server.
func startChild(t *testing.T, kind string, o Options) (*Client, lines) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log, dir := make(lines, 1000), t.TempDir()
	o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o.Transport = wire.NewStdio(process.Spec{Args: []string{exe, asChild, kind}, Dir: dir, Env: []string{"MARK=" + dir, "GORACE=atexit_sleep_ms=0"}},
		wire.StdioOptions{Name: kind, Log: o.Log})
	c, err := Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		processtest.NoneWith(t, dir)
	})
	return c, log
}

// TestChild: both eras with a server of the library, over real pipes.
func TestChild(t *testing.T) {
	for _, version := range []string{"", modern, legacy, "2025-06-18"} {
		t.Run("version "+version, func(t *testing.T) {
			c, log := startChild(t, "library", Options{Version: version, Elicitation: true, ProbeTimeout: 20 * time.Second})
			if want := cmpText(version, modern); c.Server().Protocol != want || c.Server().Name != "library" {
				t.Errorf("got %+v", c.Server())
			}
			list, err := c.Tools(t.Context(), nil)
			if err != nil || len(list.Tools) != 2 || len(list.Warnings) > 0 {
				t.Errorf("got %v, %v", list, err)
			}
			call := toolCall("ask")
			call.Ask = func(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
				if !strings.Contains(string(params), "Who?") {
					t.Errorf("asked %s", params)
				}
				return json.RawMessage(`{"action":"accept","content":{"name":"Anna"}}`), nil
			}
			if res, err := c.Do(t.Context(), call); err != nil || !strings.Contains(string(res.Raw), "acceptmap[name:Anna]") {
				t.Errorf("got %v, %v", res, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error, 1)
			go func() {
				_, err := c.Do(ctx, toolCall("wait"))
				failed <- err
			}()
			log.until(t, "waiting")
			cancel()
			if err := <-failed; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			log.until(t, "cancelled")
		})
	}
}

// TestRoughChild: bad manners cost nothing but what they must.
func TestRoughChild(t *testing.T) {
	c, _ := startChild(t, "rough", Options{ProbeTimeout: 100 * time.Millisecond})
	if c.Server().Protocol != "2024-11-05" {
		t.Errorf("got %+v", c.Server())
	}
	list, err := c.Tools(t.Context(), nil)
	if err != nil || len(list.Tools) != 2 || len(list.Warnings) != 5 {
		t.Errorf("got %v, %v", list, err)
	}
	if res, err := c.Do(t.Context(), toolCall("live")); err != nil || string(res.Raw) != "{}" {
		t.Errorf("got %v, %v", res, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Do(ctx, &Call{Method: "no/such"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	_, err = c.Do(t.Context(), toolCall("die"))
	var unknown *UnknownOutcomeError
	if !errors.As(err, &unknown) || !strings.Contains(err.Error(), "(exit code 3)") || !strings.Contains(err.Error(), "started\nout of memory") {
		t.Errorf("got %v", err)
	}
	if _, err = c.Do(t.Context(), toolCall("live")); !errors.As(err, new(*wire.NotSentError)) {
		t.Errorf("got %v", err)
	}
}

// TestChildrenInALoop: nothing is left of any of them.
func TestChildrenInALoop(t *testing.T) {
	for range 20 {
		c, _ := startChild(t, "rough", Options{Version: "2024-11-05"})
		if _, err := c.Do(t.Context(), toolCall("live")); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
