package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
)

// toolCall is a call of a tool.
func toolCall(name string) *Call {
	return &Call{Method: rpc.CallTool, Params: map[string]any{"name": name, "arguments": map[string]any{"n": 1}}}
}

// TestProgress: all of it comes before the result, in its order and in lines.
func TestProgress(t *testing.T) {
	everywhere(t, func(t *testing.T, version string, streams bool) {
		f := serverOf(version, streams, func(q *query) {
			token := q.Meta["progressToken"]
			for i := range 50 {
				q.notify("notifications/progress", map[string]any{"progressToken": token, "progress": i, "total": 50})
			}
			for _, params := range []map[string]any{
				{"message": "two\n lines ", "progress": 50}, {"progress": 0.5}, {}, {"progress": "wrong"},
			} {
				params["progressToken"] = token
				q.notify("notifications/progress", params)
			}
			q.notify("notifications/progress", map[string]any{"progressToken": "of another", "progress": 99})
			q.notify("notifications/progress", map[string]any{"progressToken": 7, "progress": 99})
			q.reply(map[string]any{"content": []any{}})
		})
		c := dial(t, f, Options{})
		var got, want []string
		call := toolCall("t")
		call.Meta = map[string]any{"traceparent": "00-1"}
		call.Progress = func(text string) { got = append(got, text) }
		res, err := c.Do(t.Context(), call)
		if err != nil || string(res.Raw) != `{"content":[]}` {
			t.Fatal(res, err)
		}
		for i := range 50 {
			want = append(want, fmt.Sprintf("%d of 50", i))
		}
		if diff := cmp.Diff(append(want, "two lines", "0.5"), got); diff != "" {
			t.Error(diff)
		}
		q := f.last(rpc.CallTool)
		if string(q.Meta["traceparent"]) != `"00-1"` || !strings.HasPrefix(string(q.Meta["progressToken"]), `"adkmcp-`) || q.param("arguments") != `{"n":1}` {
			t.Errorf("sent %s", q.Raw)
		}
	})
}

// TestErrors: what each end of a call means.
func TestErrors(t *testing.T) {
	everywhere(t, func(t *testing.T, version string, streams bool) {
		f := serverOf(version, streams, func(q *query) { q.fail(-32602, "unknown tool", map[string]any{"a": 1}) })
		c := dial(t, f, Options{})
		_, err := c.Do(t.Context(), toolCall("t"))
		var refused *Error
		if !errors.As(err, &refused) || refused.Code != -32602 || refused.Message != "unknown tool" || string(refused.Data) != `{"a":1}` {
			t.Errorf("got %#v", err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		var not *wire.NotSentError
		if _, err := c.Do(t.Context(), toolCall("t")); !errors.As(err, &not) || !errors.Is(err, errClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
	for name, c := range map[string]struct {
		err     error
		unknown bool
	}{
		"lost session": {fmt.Errorf("x: %w", wire.ErrSessionLost), false},
		"not sent":     {&wire.NotSentError{Err: errors.New("refused")}, false},
		"404":          {&wire.StatusError{Code: http.StatusNotFound}, false},
		"502":          {&wire.StatusError{Code: http.StatusBadGateway}, true},
		"cut":          {errNothing, true},
	} {
		w := wired{serverOf(legacy, true, nil), map[string]error{rpc.CallTool: c.err}}
		client := dialTo(t, w)
		_, err := client.Do(t.Context(), toolCall("t"))
		var unknown *UnknownOutcomeError
		if !errors.Is(err, c.err) || errors.As(err, &unknown) != c.unknown {
			t.Errorf("%s: got %#v", name, err)
		}
	}
}

// dialTo connects over any transport.
func dialTo(t *testing.T, tr wire.Transport) *Client {
	t.Helper()
	c, err := Connect(t.Context(), Options{Transport: tr, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestDeath: a connection that ends during a call leaves its outcome open; what had
// come before counts.
func TestDeath(t *testing.T) {
	f := serverOf(legacy, false, nil)
	f.handle = func(q *query) {
		if q.param("name") == `"answers"` {
			q.reply(struct{}{})
		}
		f.die(errors.New("exit code 3"))
	}
	c := dial(t, f, Options{})
	_, err := c.Do(t.Context(), toolCall("dies"))
	var unknown *UnknownOutcomeError
	if !errors.As(err, &unknown) || err.Error() != "exit code 3" {
		t.Errorf("got %v", err)
	}
	select {
	case <-c.Done():
	default:
		t.Error("the client does not show the end")
	}
	if c.Err() == nil || c.Err().Error() != "exit code 3" {
		t.Errorf("the client says %v", c.Err())
	}
	var not *wire.NotSentError
	if _, err := c.Do(t.Context(), toolCall("dies")); !errors.As(err, &not) || err.Error() != "exit code 3" {
		t.Errorf("afterwards: %v", err)
	}
	for range 50 { // whatever is seen first
		f := serverOf(legacy, false, nil)
		f.handle = func(q *query) { q.reply(struct{}{}); f.die(errors.New("gone")) }
		if _, err := dial(t, f, Options{}).Do(t.Context(), toolCall("t")); err != nil {
			t.Errorf("the answer was there: %v", err)
		}
	}
}

func TestCloseEndsCalls(t *testing.T) {
	everywhere(t, func(t *testing.T, version string, streams bool) {
		running := make(chan struct{})
		f := serverOf(version, streams, func(q *query) { close(running); <-q.ctx.Done() })
		c := dial(t, f, Options{})
		failed := make(chan error, 1)
		go func() {
			_, err := c.Do(context.WithoutCancel(t.Context()), toolCall("t"))
			failed <- err
		}()
		<-running
		_ = c.Close()
		var unknown *UnknownOutcomeError
		if err := <-failed; !errors.As(err, &unknown) {
			t.Errorf("got %v", err)
		}
	})
}

// TestCancel: the server is told by a message, or by the end of the stream.
func TestCancel(t *testing.T) {
	everywhere(t, func(t *testing.T, version string, streams bool) {
		synctest.Test(t, func(t *testing.T) {
			served := make(chan struct{})
			f := serverOf(version, streams, func(q *query) {
				defer close(served)
				<-q.ctx.Done()
			})
			c := dial(t, f, Options{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			_, err := c.Do(ctx, toolCall("t"))
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
				t.Errorf("got %v after %v", err, time.Since(began))
			}
			<-served
			synctest.Wait()
			note := f.last(rpc.Cancelled)
			if want := version == legacy || !streams; (note != nil) != want {
				t.Fatalf("a message went out: %v, want %v", note != nil, want)
			}
			if id := f.last(rpc.CallTool).ID; note != nil && string(note.CancelledID()) != string(id) {
				t.Errorf("cancelled %s instead of %s", note.CancelledID(), id)
			}
			f.last(rpc.CallTool).reply(struct{}{}) // too late for anybody
		})
	})
}

// TestPing: a ping is answered whatever its id, and is not the answer to a call.
func TestPing(t *testing.T) {
	f := serverOf(legacy, false, nil)
	f.handle = func(q *query) {
		for _, id := range []any{1, 2, 3, "adkmcp-3", q.ID} {
			q.ask(id, "ping", nil)
			if m := f.answer(t.Context()); string(m.Result) != "{}" || rpc.Key(m.ID) != rpc.Key(raw(id)) {
				t.Errorf("the answer to %v is %s", id, m.Raw)
			}
		}
		q.ask("x", "no/such", nil)
		if m := f.answer(t.Context()); code(m) != rpc.CodeNoMethod {
			t.Errorf("got %s", m.Raw)
		}
		q.ask("y", methodRoots, nil)
		if m := f.answer(t.Context()); string(m.Result) != `{"roots":[{"uri":"file:///work"}]}` {
			t.Errorf("got %s", m.Raw)
		}
		q.ask("z", methodSample, nil) // which was not offered
		if m := f.answer(t.Context()); code(m) != rpc.CodeNoMethod {
			t.Errorf("got %s", m.Raw)
		}
		q.give(json.RawMessage(`{"jsonrpc":"2.0","id":"adkmcp-999","result":1}`))
		q.give(json.RawMessage(`{"jsonrpc":"2.0","id":1,"result":1}`))
		q.reply("right")
		q.reply("twice")
	}
	c := dial(t, f, Options{Roots: []string{"file:///work"}})
	if res, err := c.Do(t.Context(), toolCall("t")); err != nil || string(res.Raw) != `"right"` {
		t.Errorf("got %v, %v", res, err)
	}
	if _, err := dial(t, serverOf(modern, true, func(q *query) {
		q.ask(1, "ping", nil)
		q.reply(struct{}{})
	}), Options{}).Do(t.Context(), toolCall("t")); err != nil {
		t.Error(err)
	}
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func code(m *rpc.Message) int {
	var e rpc.Error
	_ = json.Unmarshal(m.Error, &e)
	return e.Code
}

// TestElicitation: the question goes to the call that it belongs to, and its
// answer back with the call's headers.
func TestElicitation(t *testing.T) {
	for _, streams := range []bool{false, true} {
		f := serverOf(legacy, streams, nil)
		f.handle = func(q *query) {
			q.ask(1, methodElicit, map[string]any{"message": q.param("name")})
			q.reply(raw(string(f.answer(t.Context()).Raw)))
		}
		c := dial(t, f, Options{Elicitation: true})
		call := toolCall("who")
		call.Header = http.Header{"X-Caller": {"anna"}}
		for name, w := range map[string]struct {
			ask  func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
			want string
		}{
			"answered": {func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
				return raw(map[string]any{"action": "accept", "content": map[string]any{"m": method, "p": params}}), nil
			}, `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"m":"elicitation/create","p":{"message":"\"who\""}}}}`},
			"failed": {func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				return nil, errors.New("secret")
			}, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the request could not be answered"}}`},
			"refused": {func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				return nil, &Error{Code: -1, Message: "not today"}
			}, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"not today"}}`},
			"nobody": {nil, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"nobody can be asked during this call"}}`},
		} {
			call.Ask = w.ask
			res, err := c.Do(t.Context(), call)
			if err != nil {
				t.Fatal(name, err)
			}
			var got string
			if _ = json.Unmarshal(res.Raw, &got); got != w.want {
				t.Errorf("%s: got %s", name, got)
			}
			if h := f.last("").out.Header.Get("X-Caller"); w.ask != nil && h != "anna" {
				t.Errorf("%s: answered with the header %q", name, h)
			}
		}
	}
}

// TestWhoIsAsked: with several calls, only a stream tells whose a question is.
func TestWhoIsAsked(t *testing.T) {
	for _, streams := range []bool{false, true} {
		var both, asked sync.WaitGroup
		both.Add(2)
		asked.Add(2)
		f := serverOf(legacy, streams, nil)
		f.handle = func(q *query) {
			both.Done()
			both.Wait()
			q.ask(q.param("name"), methodElicit, map[string]any{})
			asked.Done()
			asked.Wait()
			var m *rpc.Message
			for m = f.answer(t.Context()); rpc.Key(m.ID) != rpc.Key(raw(q.param("name"))); m = f.answer(t.Context()) {
				f.came <- m
			}
			q.reply(raw(string(m.Raw)))
		}
		c := dial(t, f, Options{Elicitation: true})
		var calls sync.WaitGroup
		for _, name := range []string{"a", "b"} {
			calls.Go(func() {
				call := toolCall(name)
				call.Ask = func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
					return raw("from " + name), nil
				}
				res, err := c.Do(t.Context(), call)
				switch {
				case err != nil:
					t.Error(err)
				case streams && !strings.Contains(string(res.Raw), "from "+name):
					t.Errorf("the answer for %s is %s", name, res.Raw)
				case !streams && !strings.Contains(string(res.Raw), "several calls are running"):
					t.Errorf("the answer for %s is %s", name, res.Raw)
				}
			})
		}
		calls.Wait()
	}
}

// TestLateQuestion: where no stream says whose a question is, nobody is asked for
// somebody else once a connection has served two.
func TestLateQuestion(t *testing.T) {
	for _, streams := range []bool{false, true} {
		f := serverOf(legacy, streams, nil)
		f.handle = func(q *query) {
			q.ask(1, methodElicit, map[string]any{})
			q.reply(raw(string(f.answer(t.Context()).Raw)))
		}
		c := dial(t, f, Options{Elicitation: true})
		for i, owner := range []string{"ann", "ann", "bob", "ann"} {
			call := toolCall("t")
			call.Owner = owner
			call.Ask = func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				return raw("from " + owner), nil
			}
			res, err := c.Do(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			want := "from " + owner
			if !streams && i > 1 {
				want = "the connection serves several people"
			}
			if !strings.Contains(string(res.Raw), want) {
				t.Errorf("%d, streams %v: got %s", i, streams, res.Raw)
			}
		}
	}
}

// TestErrorWithoutID: a server that could not read the id of what it refuses ends
// the only call that there is.
func TestErrorWithoutID(t *testing.T) {
	f := serverOf(legacy, false, nil)
	f.handle = func(q *query) {
		q.give(json.RawMessage(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`))
	}
	_, err := dial(t, f, Options{}).Do(t.Context(), toolCall("t"))
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != -32700 {
		t.Errorf("got %v", err)
	}
}

// TestAskEnds: whoever is asked is let go when the call ends or the server has
// changed its mind, and only so many are asked at once.
func TestAskEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan string, 100)
		ask := func(ctx context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			asked <- string(params)
			return raw("late"), nil
		}
		f := serverOf(legacy, false, nil)
		f.handle = func(q *query) {
			for i := range maxAsks + 1 {
				q.ask(i, methodSample, i)
			}
			if m := f.answer(t.Context()); !strings.Contains(string(m.Error), "busy") {
				t.Errorf("got %s", m.Raw)
			}
			synctest.Wait() // until all are asked
			q.notify(rpc.Cancelled, map[string]any{"requestId": 3})
			if got := <-asked; got != "3" {
				t.Errorf("question %s was taken back", got)
			}
			q.reply(struct{}{})
		}
		c := dial(t, f, Options{Sampling: true})
		call := toolCall("t")
		call.Ask = ask
		if _, err := c.Do(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		if len(asked) != maxAsks-1 {
			t.Errorf("%d were let go", len(asked))
		}
		synctest.Wait()
		if len(f.came) > 1 { // the notification of the handshake
			t.Errorf("%d answers went out", len(f.came))
		}
	})
}

// TestInputRequired: questions in a result are answered, and the call is made
// again with them and the server's state.
func TestInputRequired(t *testing.T) {
	everywhere(t, func(t *testing.T, version string, streams bool) {
		if version == legacy {
			return
		}
		var ids []string
		f := serverOf(version, streams, func(q *query) {
			ids = append(ids, string(q.ID))
			switch q.param("requestState") {
			case "":
				q.reply(map[string]any{"resultType": "input_required", "requestState": "one", "inputRequests": map[string]any{
					"b": map[string]any{"method": methodSample, "params": map[string]any{"x": 1}},
					"a": map[string]any{"method": methodElicit, "params": map[string]any{"y": 2}},
					"c": map[string]any{"method": methodRoots},
				}})
			case `"one"`:
				if got, want := q.param("inputResponses"), `{"a":"elicitation/create{\"y\":2}","b":"sampling/createMessage{\"x\":1}","c":{"roots":[{"uri":"file:///r"}]}}`; got != want {
					t.Errorf("answered %s", got)
				}
				q.reply(map[string]any{"resultType": "input_required", "requestState": "two"})
			default:
				q.reply(map[string]any{"value": []string{q.param("requestState"), q.param("inputResponses"), q.param("arguments")}})
			}
		})
		c := dial(t, f, Options{Elicitation: true, Sampling: true, Roots: []string{"file:///r"}})
		call := toolCall("t")
		var asked []string
		call.Ask = func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			asked = append(asked, method)
			return raw(method + string(params)), nil
		}
		res, err := c.Do(t.Context(), call)
		if err != nil || string(res.Raw) != `{"value":["\"two\"","","{\"n\":1}"]}` {
			t.Fatal(res, err)
		}
		if diff := cmp.Diff([]string{methodElicit, methodSample}, asked); diff != "" {
			t.Error(diff)
		}
		if ids[0] == ids[1] || ids[1] == ids[2] || call.Params["requestState"] != nil {
			t.Errorf("ids %v, params %v", ids, call.Params)
		}
	})
}

func TestInputRefused(t *testing.T) {
	elicit := map[string]any{"a": map[string]any{"method": methodElicit}}
	for name, c := range map[string]struct {
		result map[string]any
		o      Options
		ask    bool
		err    string
		rounds int
	}{
		"not offered":  {map[string]any{"resultType": "input_required", "inputRequests": elicit}, Options{}, true, `wants "elicitation/create" of us`, 1},
		"nobody":       {map[string]any{"resultType": "input_required", "inputRequests": elicit}, Options{Elicitation: true}, false, `nobody can be asked`, 1},
		"for ever":     {map[string]any{"resultType": "input_required", "inputRequests": elicit}, Options{Elicitation: true}, true, `more input after 10 rounds`, 11},
		"unknown type": {map[string]any{"resultType": "weird"}, Options{}, true, `of type "weird"`, 1},
		"no type":      {map[string]any{"resultType": 5}, Options{}, true, `cannot be read`, 1},
	} {
		f := serverOf(modern, true, func(q *query) { q.reply(c.result) })
		call := toolCall("t")
		if c.ask {
			call.Ask = func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, nil }
		}
		_, err := dial(t, f, c.o).Do(t.Context(), call)
		if err == nil || !strings.Contains(err.Error(), c.err) || len(f.methods()) != c.rounds+1 {
			t.Errorf("%s: got %v after %d rounds", name, err, len(f.methods())-1)
		}
	}
}

// TestInputAndDeath: whoever is asked is let go when the connection ends.
func TestInputAndDeath(t *testing.T) {
	f := serverOf(modern, false, func(q *query) {
		q.reply(map[string]any{"resultType": "input_required", "inputRequests": map[string]any{"a": map[string]any{"method": methodElicit}}})
	})
	call := toolCall("t")
	call.Ask = func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		f.die(errors.New("exit code 3"))
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if _, err := dial(t, f, Options{Elicitation: true}).Do(t.Context(), call); err == nil || err.Error() != "exit code 3" {
		t.Errorf("got %v", err)
	}
}
