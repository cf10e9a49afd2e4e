package duplex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handler is a function that handles requests.
type handler func(ctx context.Context, peer *turns.Peer, m *rpc.Message) any

func (h handler) Handle(ctx context.Context, m *rpc.Message) *rpc.Response {
	return rpc.Succeed(m.ID, h(ctx, turns.PeerOf(ctx), m))
}

// wire collects what is sent.
type wire struct {
	mu   sync.Mutex
	sent []string
	err  error
}

func (w *wire) send(message []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, string(message))
	return w.err
}

func (w *wire) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.sent, "\n")
}

// open makes a connection that the test closes.
func open(t *testing.T, h handler) (*Conn, *wire) {
	t.Helper()
	w := &wire{}
	c := New(Config{Handler: h, Send: w.send, Log: slog.New(slog.DiscardHandler), Peer: turns.Peer{Connection: "c", Session: &turns.Session{}}})
	t.Cleanup(func() {
		c.Close(errors.New("the test is over"))
		if err := c.Wait(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return c, w
}

func message(id any, method, params string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%v,"method":%q,"params":%s}`, id, method, params)
}

// untilStopped waits for the end of the request.
func untilStopped(ctx context.Context, peer *turns.Peer, _ *rpc.Message) any {
	peer.Entered()
	<-ctx.Done()
	return context.Cause(ctx).Error()
}

// TestCallsTakeTheirPlaceInOrder: the next message comes in when a call has its
// place, and not before, however long it takes to get there.
func TestCallsTakeTheirPlaceInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		c, _ := open(t, func(_ context.Context, peer *turns.Peer, m *rpc.Message) any {
			if len(m.ID) == 1 { // the earlier, the slower
				time.Sleep(time.Duration('9'-m.ID[0]) * time.Second)
			}
			mu.Lock()
			order = append(order, string(m.ID))
			mu.Unlock()
			peer.Entered()
			time.Sleep(time.Minute)
			return 1
		})
		for id := range 5 {
			c.Receive(t.Context(), message(id, "tools/call", "{}"))
		}
		<-c.Idle()
		if got := fmt.Sprint(order); got != "[0 1 2 3 4]" {
			t.Error(got)
		}
	})
}

// TestOtherRequestsDoNotWait for each other.
func TestOtherRequestsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, w := open(t, func(_ context.Context, _ *turns.Peer, m *rpc.Message) any {
			if m.Method == "slow" {
				time.Sleep(time.Hour)
			}
			return m.Method
		})
		c.Receive(t.Context(), message(1, "slow", "{}"))
		c.Receive(t.Context(), message(2, "ping", "{}"))
		synctest.Wait()
		if got := w.all(); got != `{"jsonrpc":"2.0","id":2,"result":"ping"}` {
			t.Error(got)
		}
		<-c.Idle()
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan error, 1)
		c, w := open(t, func(ctx context.Context, peer *turns.Peer, m *rpc.Message) any {
			defer func() { late <- peer.Notify([]byte("too late")) }()
			return untilStopped(ctx, peer, m)
		})
		c.Receive(t.Context(), message(1, "tools/call", "{}"))
		c.Receive(t.Context(), message(`"1"`, "tools/call", "{}"))
		for _, id := range []string{`"unknown"`, `{}`, `null`, `1`} {
			c.Receive(t.Context(), fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id))
		}
		synctest.Wait()
		if err := <-late; !errors.Is(err, errCancelled) {
			t.Errorf("a notification after the cancel: %v", err)
		}
		if got := w.all(); got != "" {
			t.Errorf("sent %q", got)
		}
		c.mu.Lock()
		_, first := c.pending["1"]
		_, second := c.pending[`"1"`]
		c.mu.Unlock()
		if first || !second {
			t.Errorf("pending: 1 %v, \"1\" %v", first, second)
		}
		c.Close(errors.New("over"))
		<-late
		<-c.Idle()
		if got := w.all(); got != `{"jsonrpc":"2.0","id":"1","result":"over"}` {
			t.Errorf("sent %q", got)
		}
	})
}

func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, w := open(t, untilStopped)
		c.Receive(t.Context(), message(0, "tools/call", "{}"))
		c.Receive(t.Context(), message(0, "ping", "{}"))
		if got := w.all(); !strings.Contains(got, `"id":0,"error":{"code":-32600,"message":"the id 0 belongs to a request`) {
			t.Error(got)
		}
		for id := 1; id < MaxPending; id++ {
			c.Receive(t.Context(), message(id, "tools/call", "{}"))
		}
		c.Receive(t.Context(), message(`"more"`, "tools/call", "{}"))
		if got := w.all(); !strings.Contains(got, `"id":"more","error":{"code":-32603,"message":"too many requests`) {
			t.Errorf("%.300s", got)
		}
	})
}

func TestAsk(t *testing.T) {
	type outcome struct {
		result json.RawMessage
		err    error
	}
	for name, tt := range map[string]struct {
		replies []string
		want    string
	}{
		"a result":      {[]string{`{"jsonrpc":"2.0","id":"adkmcp-1","result":{"a":1}}`}, `{"a":1} <nil>`},
		"an error":      {[]string{`{"jsonrpc":"2.0","id":"adkmcp-1","error":{"code":-32601,"message":"what?"}}`}, ` the client refused the request: what? (-32601)`},
		"an odd error":  {[]string{`{"jsonrpc":"2.0","id":"adkmcp-1","error":5}`}, ` the client refused the request`},
		"others before": {[]string{`{"jsonrpc":"2.0","id":"adkmcp-7","result":0}`, `{"jsonrpc":"2.0","id":1,"result":0}`, `{"jsonrpc":"2.0","id":"adkmcp-1","result":2}`}, `2 <nil>`},
		"twice":         {[]string{`{"jsonrpc":"2.0","id":"adkmcp-1","result":1}`, `{"jsonrpc":"2.0","id":"adkmcp-1","result":2}`}, `1 <nil>`},
		"nothing":       {nil, ` the time is over`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := make(chan outcome, 1)
				c, w := open(t, func(ctx context.Context, peer *turns.Peer, _ *rpc.Message) any {
					peer.Entered()
					ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the time is over"))
					defer cancel()
					result, err := peer.Ask(ctx, "elicitation/create", map[string]string{"message": "Well?"})
					got <- outcome{result, err}
					return 1
				})
				c.Receive(t.Context(), message(1, "tools/call", "{}"))
				synctest.Wait()
				if sent := w.all(); sent != `{"jsonrpc":"2.0","id":"adkmcp-1","method":"elicitation/create","params":{"message":"Well?"}}` {
					t.Error(sent)
				}
				for _, reply := range tt.replies {
					c.Receive(t.Context(), []byte(reply))
				}
				o := <-got
				if text := fmt.Sprintf("%s %v", o.result, o.err); text != tt.want {
					t.Errorf("got %q, want %q", text, tt.want)
				}
				<-c.Idle()
				if len(c.asked) != 0 {
					t.Error("the question stays open")
				}
			})
		})
	}
}

// TestModernStandsForItself: nothing of the connection reaches a request of MCP
// 2026-07-28.
func TestModernStandsForItself(t *testing.T) {
	for version, want := range map[string]string{"2026-07-28": "c= session=false ask=false", "2025-11-25": "c=c session=true ask=true"} {
		c, w := open(t, func(_ context.Context, peer *turns.Peer, _ *rpc.Message) any {
			return fmt.Sprintf("c=%s session=%v ask=%v", peer.Connection, peer.Session != nil, peer.Ask != nil)
		})
		c.Receive(t.Context(), message(1, "ping", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"`+version+`"}}`))
		<-c.Idle()
		if got := w.all(); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

// TestNothingAfterTheEnd: what comes in after Close gets no answer.
func TestNothingAfterTheEnd(t *testing.T) {
	c, w := open(t, untilStopped)
	c.Close(errors.New("over"))
	c.Receive(t.Context(), message(1, "tools/call", "{}"))
	if got := w.all(); got != "" {
		t.Error(got)
	}
}

type raw func(ctx context.Context) *rpc.Response

func (r raw) Handle(ctx context.Context, _ *rpc.Message) *rpc.Response {
	turns.PeerOf(ctx).Entered()
	<-ctx.Done()
	return r(ctx)
}

// TestUnsent: whoever made a response that is not sent hears of it.
func TestUnsent(t *testing.T) {
	lost := make(chan struct{})
	w := &wire{}
	c := New(Config{Send: w.send, Log: slog.New(slog.DiscardHandler), Handler: raw(func(context.Context) *rpc.Response {
		return &rpc.Response{Body: []byte("{}"), Lost: func() { close(lost) }}
	})})
	c.Receive(t.Context(), message(1, "tools/call", "{}"))
	c.Receive(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`))
	<-lost
	c.Close(errors.New("over"))
	if err := c.Wait(t.Context()); err != nil || w.all() != "" {
		t.Errorf("%v, sent %q", err, w.all())
	}
}
