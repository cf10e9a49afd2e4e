package serve_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve"
)

// takesTasks is the _meta of a client that declares tasks and elicitation.
func takesTasks() map[string]any {
	return modernWith(map[string]any{"elicitation": map[string]any{}, "extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}})
}

// asTask makes a request about a task.
func asTask(method, id string, more ...any) map[string]any {
	params := map[string]any{"taskId": id, "_meta": takesTasks()}
	for i := 0; i+1 < len(more); i += 2 {
		params[more[i].(string)] = more[i+1]
	}
	return map[string]any{"jsonrpc": "2.0", "id": method, "method": method, "params": params}
}

// taskFixture is one whose calls become tasks after ten seconds.
func taskFixture(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t, config.Explicit, serve.Agent{Name: "slow", File: "slow.yaml", TaskAfter: 10 * time.Second, Patience: time.Hour})
	return f
}

// slow is a call of the agent that makes tasks.
func slow(request string, meta map[string]any) map[string]any {
	m := call(1, request, meta)
	m["params"].(map[string]any)["name"] = "slow"
	return m
}

func resultOf(t testing.TB, m map[string]any) map[string]any {
	t.Helper()
	r, ok := m["result"].(map[string]any)
	if !ok {
		t.Fatalf("no result: %v", m)
	}
	return r
}

func TestTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := taskFixture(t)
		c := newCaller("")
		start := time.Now()
		created := resultOf(t, f.send(t, t.Context(), c, slow("wait it", takesTasks())))
		id, _ := created["taskId"].(string)
		if took := time.Since(start); took != 10*time.Second || created["resultType"] != "task" || created["status"] != "working" ||
			len(id) < 22+len("tk_") || created["ttlMs"] != 2*time.Hour.Seconds()*1000 || created["pollIntervalMs"] != 1000.0 || created["result"] != nil {
			t.Errorf("after %v: %v", took, created)
		}
		get := func() map[string]any { return resultOf(t, f.send(t, t.Context(), c, asTask("tasks/get", id))) }
		if s := get(); s["status"] != "working" || s["resultType"] != "complete" || s["statusMessage"] == "" {
			t.Errorf("while it works: %v", s)
		}
		close(f.agent.release)
		synctest.Wait()
		s := get()
		result, _ := s["result"].(map[string]any)
		content, _ := json.Marshal(result["content"])
		if s["status"] != "completed" || result["resultType"] != "complete" || !strings.Contains(string(content), "Waited for it") {
			t.Errorf("when it is done: %v", s)
		}
		// And again: the result stays.
		if again := get(); fmt.Sprint(again) != fmt.Sprint(s) {
			t.Errorf("then %v, later %v", s, again)
		}
		// Cancelling it now changes nothing.
		f.send(t, t.Context(), c, asTask("tasks/cancel", id))
		if s := get(); s["status"] != "completed" {
			t.Errorf("after a late cancel: %v", s["status"])
		}
		time.Sleep(2 * time.Hour)
		if m := f.send(t, t.Context(), c, asTask("tasks/get", id)); m["error"] == nil {
			t.Errorf("after its time: %v", m)
		}
		f.stop(t)
	})
}

// TestQuickCallIsNoTask, nor that of a client that does not know tasks.
func TestQuickCallIsNoTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := taskFixture(t)
		time.AfterFunc(time.Minute, func() { close(f.agent.release) })
		for name, m := range map[string]map[string]any{
			"quick":    slow("echo a", takesTasks()),
			"no tasks": slow("wait it", modernMeta("")),
			"legacy":   slow("wait it", nil),
		} {
			if r := resultOf(t, f.send(t, t.Context(), newCaller(""), m)); r["content"] == nil || r["taskId"] != nil {
				t.Errorf("%s: %v", name, r)
			}
		}
		f.stop(t)
	})
}

func TestTaskIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := taskFixture(t)
		c := newCaller("")
		id := fmt.Sprint(resultOf(t, f.send(t, t.Context(), c, slow("wait it", takesTasks())))["taskId"])
		for range 2 {
			if r := resultOf(t, f.send(t, t.Context(), c, asTask("tasks/cancel", id))); r["resultType"] != "complete" || len(r) != 2 {
				t.Errorf("ack %v", r)
			}
		}
		synctest.Wait()
		if active, ended := f.agent.counts(); active != 0 || ended != 1 {
			t.Errorf("%d turns run, %d were stopped", active, ended)
		}
		if s := resultOf(t, f.send(t, t.Context(), c, asTask("tasks/get", id))); s["status"] != "cancelled" || s["result"] != nil {
			t.Errorf("%v", s)
		}
		f.stop(t)
	})
}

// TestC01Task: somebody else's task is the same as none, for every method.
func TestC01Task(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := taskFixture(t)
		id := fmt.Sprint(resultOf(t, f.send(t, t.Context(), newCaller(""), slow("wait it", takesTasks())))["taskId"])
		mallory := newCaller("")
		mallory.Caller.Principal = "mallory"
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			foreign, _ := json.Marshal(f.send(t, t.Context(), mallory, asTask(method, id)))
			unknown, _ := json.Marshal(f.send(t, t.Context(), mallory, asTask(method, "tk_AAAAAAAAAAAAAAAAAAAAAA")))
			if !strings.Contains(string(foreign), "-32602") || string(foreign) != string(unknown) {
				t.Errorf("%s: foreign %s, unknown %s", method, foreign, unknown)
			}
		}
		bare := asTask("tasks/get", id)
		bare["params"].(map[string]any)["_meta"] = modernMeta("")
		if m, _ := json.Marshal(f.send(t, t.Context(), newCaller(""), bare)); !strings.Contains(string(m), `"code":-32021`) || !strings.Contains(string(m), `"requiredCapabilities":{"extensions"`) {
			t.Errorf("without the extension: %s", m)
		}
		if active, _ := f.agent.counts(); active != 1 {
			t.Error("the turn has been stopped")
		}
		close(f.agent.release)
		f.stop(t)
	})
}

// TestTaskAsks: questions of a task come with tasks/get, their answers with
// tasks/update; what does not belong to them is ignored.
func TestTaskAsks(t *testing.T) {
	for name, tt := range map[string]struct {
		person person
		runs   int
		want   string
	}{
		"approves": {approves, 1, "removed a secret file"},
		"declines": {declines, 0, "the person declined"},
		"ignores":  {ignores, 0, "nobody answered within"},
	} {
		t.Run(name, func(t *testing.T) {
			// It asks when the call has become a task, and not before.
			h := newHouse(t, strings.Replace(careful, "- {say:", `- {call: [{wait: {}}]}
        - {say:`, 1)+`  - name: wait
    description: Waits until it may go on.
    shell: {script: 'until [ -e "$RUNS.go" ]; do sleep 0.02; done', env: {RUNS: %q}}
serve: {task_after: 1ms}
`)
			f := h.open(t, func(o *serve.Options) {
				if name == "ignores" {
					o.AskTimeout = 100 * time.Millisecond
				}
			})
			w := openHTTP(t, f, nil)
			post := func(m map[string]any) map[string]any {
				header := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", fmt.Sprint(m["method"])}
				params := m["params"].(map[string]any)
				for _, key := range []string{"name", "taskId"} {
					if v, ok := params[key].(string); ok {
						header = append(header, "Mcp-Name", v)
					}
				}
				return resultOf(t, w.mustPost("/mcp", m, header...).last())
			}
			r := post(call(1, "remove it", takesTasks()))
			if r["resultType"] != "task" {
				t.Fatal(r)
			}
			if err := os.WriteFile(h.runs+".go", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			id := fmt.Sprint(r["taskId"])
			var last map[string]any
			waitFor(t, "the end of the task", func() bool {
				last = post(asTask("tasks/get", id))
				if asked, ok := last["inputRequests"].(map[string]any); ok && last["status"] == "input_required" {
					responses := map[string]any{"unknown": map[string]any{"action": "accept"}}
					for key, q := range asked {
						if answer := tt.person(q.(map[string]any)["params"].(map[string]any)); answer != nil {
							responses[key] = answer
						}
					}
					post(asTask("tasks/update", id, "inputResponses", responses))
				}
				return last["status"] == "completed"
			})
			if text := fmt.Sprint(last["result"]); !strings.Contains(text, tt.want) || h.ran() != tt.runs {
				t.Errorf("ran %d times: %s", h.ran(), text)
			}
		})
	}
}

// TestListen: a client is told of its tasks and nothing else, under the id of its
// subscription, until they are over.
func TestListen(t *testing.T) {
	f := taskFixture(t)
	f.agent.started = make(chan string, 1)
	g := newFixture(t, config.Explicit, serve.Agent{Name: "slow", File: "slow.yaml", TaskAfter: time.Millisecond, Patience: time.Hour, Runner: f.agent})
	w := openHTTP(t, g, nil)
	r := resultOf(t, w.mustPost("/mcp", slow("wait it", takesTasks()), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "slow").last())
	id := fmt.Sprint(r["taskId"])
	listen := func(meta map[string]any, ids ...string) *stream {
		m := map[string]any{"jsonrpc": "2.0", "id": "sub", "method": "subscriptions/listen", "params": map[string]any{
			"notifications": map[string]any{"toolsListChanged": true, "taskIds": ids}, "_meta": meta}}
		return w.stream(t, m, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
	}
	tagged := func(m map[string]any, inside string) map[string]any {
		t.Helper()
		params, _ := m[inside].(map[string]any)
		meta, _ := params["_meta"].(map[string]any)
		if meta["io.modelcontextprotocol/subscriptionId"] != "sub" {
			t.Errorf("no subscription id: %v", m)
		}
		return params
	}
	// Nothing to tell: it ends at once.
	for _, none := range []*stream{listen(takesTasks(), "tk_unknown"), listen(modernMeta(""), id)} {
		ack := none.next()
		if granted := tagged(ack, "params")["notifications"]; ack["method"] != "notifications/subscriptions/acknowledged" || len(granted.(map[string]any)) != 0 {
			t.Errorf("acknowledged %v", ack)
		}
		if end := none.next(); end["id"] != "sub" || tagged(end, "result")["resultType"] != "complete" {
			t.Errorf("ended with %v", end)
		}
	}
	s := listen(takesTasks(), id, id, "tk_unknown")
	if ack := tagged(s.next(), "params"); fmt.Sprint(ack["notifications"]) != "map[taskIds:["+id+"]]" {
		t.Errorf("acknowledged %v", ack)
	}
	if state := s.next(); state["method"] != "notifications/tasks" || tagged(state, "params")["status"] != "working" {
		t.Errorf("first %v", state)
	}
	close(f.agent.release)
	if state := tagged(s.next(), "params"); state["status"] != "completed" || state["result"] == nil {
		t.Errorf("then %v", state)
	}
	if end := s.next(); end["id"] != "sub" || tagged(end, "result")["resultType"] != "complete" {
		t.Errorf("ended with %v", end)
	}
}

// TestOverdue: a caller whose time is over hears what the agent is at, and the
// same request gets the answer, once.
func TestOverdue(t *testing.T) {
	for _, policy := range []config.Conversation{config.PerConnection, config.Explicit} {
		for _, meta := range []map[string]any{nil, modernMeta("")} {
			t.Run(fmt.Sprint(policy, meta != nil), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t, policy, serve.Agent{Name: "slow", File: "slow.yaml", Conversation: policy, Wait: config.Wait{Limit: config.Duration(time.Minute)}})
					c := newCaller("k")
					start := time.Now()
					m := f.send(t, t.Context(), c, slow("wait it", meta))
					texts, isError, _ := result(t, m)
					h := handle(t, m)
					if took := time.Since(start); took != time.Minute || !isError || h == "" ||
						!strings.Contains(texts[0], "1m0s") || !strings.Contains(texts[0], "waiting for the model") || !strings.Contains(texts[0], h) {
						t.Errorf("after %v: %q", took, texts)
					}
					again := slow("wait it", meta)
					again["params"].(map[string]any)["arguments"].(map[string]any)["conversation"] = h
					time.AfterFunc(time.Second, func() { close(f.agent.release) })
					texts, isError, _ = result(t, f.send(t, t.Context(), c, again))
					if isError || texts[0] != "Waited for it" || len(f.agent.said) != 1 {
						t.Errorf("the second time: %q", texts)
					}
					// Once: a third time is a new turn.
					f.send(t, t.Context(), c, again)
					for _, said := range f.agent.said {
						if len(said) != 2 {
							t.Errorf("%d turns", len(said))
						}
					}
					f.stop(t)
				})
			})
		}
	}
}

// TestHostLimits: with auto, a host that is known to give up gets its answer
// before it does.
func TestHostLimits(t *testing.T) {
	for client, want := range map[string]time.Duration{
		"codex-mcp-client": 295 * time.Second, "Cline": 55 * time.Second, "claude-ai": 235 * time.Second,
		"claude-code": 0, "Visual Studio Code": 0, "": 0,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, config.PerConnection, serve.Agent{Name: "slow", File: "slow.yaml", Wait: config.Wait{Auto: true}})
			time.AfterFunc(time.Hour, func() { close(f.agent.release) })
			meta := modernMeta("")
			meta["io.modelcontextprotocol/clientInfo"] = map[string]any{"name": client, "version": "1"}
			start := time.Now()
			_, isError, _ := result(t, f.send(t, t.Context(), newCaller("k"), slow("wait it", meta)))
			took := time.Since(start)
			if want == 0 && (isError || took != time.Hour) || want > 0 && (!isError || took != want) {
				t.Errorf("%q: after %v, error %v", client, took, isError)
			}
			time.Sleep(time.Hour)
			f.stop(t)
		})
	}
}

// TestLogMessages: a client that wants log messages gets what progress says, and
// one that does not gets none.
func TestLogMessages(t *testing.T) {
	f := newFixture(t, config.PerConnection)
	host := openStdio(t, f)
	host.write(initialize())
	host.read()
	count := func(id any, meta map[string]any) (n int) {
		host.write(call(id, "tool box", meta))
		for {
			m := host.read()
			if m["method"] == nil {
				return n
			}
			params := m["params"].(map[string]any)
			if m["method"] != "notifications/message" || params["level"] != "info" || params["data"] == "" {
				t.Errorf("%v", m)
			}
			n++
		}
	}
	setLevel := func(level string) {
		host.write(map[string]any{"jsonrpc": "2.0", "id": "l", "method": "logging/setLevel", "params": map[string]any{"level": level}})
		if m := host.read(); (m["error"] != nil) != (level == "loud") {
			t.Errorf("%s: %v", level, m)
		}
	}
	if n := count(1, nil); n != 0 {
		t.Errorf("%d messages unasked", n)
	}
	setLevel("debug")
	setLevel("loud")
	if n := count(2, nil); n == 0 {
		t.Error("no messages at debug")
	}
	setLevel("error")
	if n := count(3, nil); n != 0 {
		t.Errorf("%d messages at error", n)
	}
	modern := modernMeta("")
	if n := count(4, modern); n != 0 {
		t.Errorf("%d messages unasked on 2026-07-28", n)
	}
	modern["io.modelcontextprotocol/logLevel"] = "info"
	if n := count(5, modern); n == 0 {
		t.Error("no messages at info on 2026-07-28")
	}
}
