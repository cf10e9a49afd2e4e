package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
)

// stages answers tasks/get with one state after the other, the last one for ever.
func stages(created map[string]any, states ...map[string]any) func(q *query) {
	return func(q *query) {
		switch q.Method {
		case rpc.CallTool:
			q.reply(created)
		case "tasks/get":
			state := states[0]
			if len(states) > 1 {
				states = states[1:]
			}
			state["taskId"] = "t1"
			q.reply(state)
		case "tasks/result":
			q.reply(map[string]any{"content": []any{"of task " + q.param("taskId")}})
		default:
			q.reply(struct{}{})
		}
	}
}

// TestTask: a task of the extension is asked for at the server's pace.
func TestTask(t *testing.T) {
	for name, c := range map[string]struct {
		states []map[string]any
		took   time.Duration
		raw    string
		err    string
		told   []string
	}{
		"completed": {[]map[string]any{
			{"status": "working", "statusMessage": "half\nway", "pollIntervalMs": 5000}, {"status": "working", "statusMessage": "half\nway"},
			{"status": "completed", "statusMessage": "done", "result": map[string]any{"content": []any{}}},
		}, 2*time.Second + 5*time.Second + time.Second, `{"content":[]}`, "", []string{"begun", "half way", "done"}},
		"slow":      {[]map[string]any{{"status": "working", "pollIntervalMs": 1e9}, {"status": "completed"}}, 32 * time.Second, `{}`, "", []string{"begun"}},
		"fast":      {[]map[string]any{{"status": "working", "pollIntervalMs": 1}, {"status": "completed"}}, 2200 * time.Millisecond, `{}`, "", []string{"begun"}},
		"failed":    {[]map[string]any{{"status": "failed", "error": map[string]any{"code": -5, "message": "broken"}}}, 2 * time.Second, "", "broken", []string{"begun"}},
		"cancelled": {[]map[string]any{{"status": "cancelled", "statusMessage": "no time"}}, 2 * time.Second, "", "cancelled the task (no time)", []string{"begun", "no time"}},
		"strange":   {[]map[string]any{{"status": "resting"}}, 2 * time.Second, "", `status "resting"`, []string{"begun"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := serverOf(modern, true, stages(map[string]any{
					"resultType": "task", "taskId": "t1", "status": "working", "statusMessage": "begun", "pollIntervalMs": 2000, "result": "ignored", "requestState": "s",
				}, c.states...))
				client := dial(t, f, Options{})
				call := toolCall("t")
				var told []string
				call.Progress = func(text string) { told = append(told, text) }
				began := time.Now()
				res, err := client.Do(t.Context(), call)
				switch {
				case c.err == "" && (err != nil || string(res.Raw) != c.raw):
					t.Errorf("got %v, %v", res, err)
				case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
					t.Errorf("got %v", err)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("took %v", took)
				}
				if diff := cmp.Diff(c.told, told); diff != "" {
					t.Error(diff)
				}
				get := f.last("tasks/get")
				if get.param("taskId") != `"t1"` || get.out.Header.Get("Mcp-Name") != "t1" || get.Meta["progressToken"] != nil {
					t.Errorf("asked with %s, %v", get.Raw, get.out.Header)
				}
				if len(c.states) == 1 && get.param("requestState") != `"s"` {
					t.Errorf("asked without the state: %s", get.Raw)
				}
			})
		})
	}
}

// TestTaskAsks: each of a task's questions is answered once.
func TestTaskAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		question := func(m string) map[string]any {
			return map[string]any{"method": methodElicit, "params": map[string]any{"m": m}}
		}
		f := serverOf(modern, false, stages(map[string]any{"resultType": "task", "taskId": "t1", "status": "working"},
			map[string]any{"status": "input_required", "inputRequests": map[string]any{"a": question("1")}},
			map[string]any{"status": "input_required", "inputRequests": map[string]any{"a": question("1"), "b": question("2")}},
			map[string]any{"status": "input_required", "inputRequests": map[string]any{"b": question("2")}},
			map[string]any{"status": "completed"}))
		call := toolCall("t")
		var asked []string
		call.Ask = func(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
			asked = append(asked, string(params))
			return params, nil
		}
		if _, err := dial(t, f, Options{Elicitation: true}).Do(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{`{"m":"1"}`, `{"m":"2"}`}, asked); diff != "" {
			t.Error(diff)
		}
		if got := f.last("tasks/update").param("inputResponses"); got != `{"b":{"m":"2"}}` {
			t.Errorf("answered %s", got)
		}
	})
}

// TestLegacyTask: a call is made a task when we say so, and its result is fetched.
func TestLegacyTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		created := map[string]any{"task": map[string]any{"taskId": "t1", "status": "working", "pollInterval": 3000}}
		f := serverOf(legacy, true, stages(created, map[string]any{"status": "working"}, map[string]any{"status": "completed"}))
		c := dial(t, f, Options{})
		call := toolCall("t")
		call.Task = true
		began := time.Now()
		res, err := c.Do(t.Context(), call)
		if err != nil || string(res.Raw) != `{"content":["of task \"t1\""]}` || time.Since(began) != 4*time.Second {
			t.Errorf("got %v, %v after %v", res, err, time.Since(began))
		}
		if q := f.last(rpc.CallTool); q.param("task") != "{}" || call.Params["task"] != nil {
			t.Errorf("called with %s", q.Raw)
		}
		call.Task = false
		if res, err = c.Do(t.Context(), call); err != nil || !strings.Contains(string(res.Raw), `"task"`) || f.last(rpc.CallTool).param("task") != "" {
			t.Errorf("no task was wanted: %v, %v", res, err)
		}
		call.Task = true
		f.handle = func(q *query) { q.reply(map[string]any{"content": []any{}}) }
		if res, err = c.Do(t.Context(), call); err != nil || string(res.Raw) != `{"content":[]}` {
			t.Errorf("the server made no task of it: %v, %v", res, err)
		}
	})
}

// TestLegacyTaskAsks: the questions come while the result is waited for.
func TestLegacyTaskAsks(t *testing.T) {
	f := serverOf(legacy, true, nil)
	f.handle = func(q *query) {
		switch q.Method {
		case "tasks/result":
			q.ask(9, methodElicit, map[string]any{})
			q.reply(raw(map[string]string{"answer": string(f.answer(t.Context()).Result)}))
		default:
			q.reply(map[string]any{"task": map[string]any{"taskId": "t1", "status": "input_required"}})
		}
	}
	call := toolCall("t")
	call.Task = true
	call.Ask = func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return raw("yes"), nil }
	if res, err := dial(t, f, Options{Elicitation: true}).Do(t.Context(), call); err != nil || string(res.Raw) != `{"answer":"\"yes\""}` {
		t.Errorf("got %v, %v", res, err)
	}
}

// TestTaskEnds: the server is told to stop a task that nobody waits for, and a
// connection that ends leaves its outcome open.
func TestTaskEnds(t *testing.T) {
	for _, version := range []string{legacy, modern} {
		synctest.Test(t, func(t *testing.T) {
			created := map[string]any{"resultType": "task", "taskId": "t1", "status": "working", "task": map[string]any{"taskId": "t1", "status": "working"}}
			f := serverOf(version, false, stages(created, map[string]any{"status": "working"}))
			c := dial(t, f, Options{})
			call := toolCall("t")
			call.Task = true
			ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
			defer cancel()
			if _, err := c.Do(ctx, call); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			synctest.Wait()
			if q := f.last("tasks/cancel"); q == nil || q.param("taskId") != `"t1"` {
				t.Errorf("the server was told %v", q)
			}
			time.AfterFunc(2500*time.Millisecond, func() { f.die(errors.New("exit code 3")) })
			var unknown *UnknownOutcomeError
			if _, err := c.Do(t.Context(), call); !errors.As(err, &unknown) || err.Error() != "exit code 3" {
				t.Errorf("got %v", err)
			}
		})
	}
	w := wired{serverOf(modern, true, stages(map[string]any{"resultType": "task", "taskId": "t1", "status": "working"})), map[string]error{}}
	synctest.Test(t, func(t *testing.T) {
		c := dialTo(t, w)
		for _, err := range []error{errNothing, &wire.NotSentError{Err: errNothing}, wire.ErrSessionLost} {
			w.errs["tasks/get"] = err
			var unknown *UnknownOutcomeError
			if _, err := c.Do(t.Context(), toolCall("t")); !errors.As(err, &unknown) || errors.As(err, new(*wire.NotSentError)) {
				t.Errorf("got %v", err)
			}
		}
	})
}
