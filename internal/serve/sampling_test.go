package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/scripted"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve"
)

// borrower is an agent without a model of its own and with a tool.
const borrower = `name: parrot
instruction: Be careful.
model: host
tools:
  - name: remove
    description: Removes something.
    parameters: {what: {type: string, description: What}}
    shell: {script: 'echo ran >> "$RUNS"; echo "removed $what"', env: {RUNS: %q}}
`

// talker is one without tools.
const talker = "name: parrot\ninstruction: Be careful.\nmodel: host\n"

var (
	samples      = map[string]any{"sampling": map[string]any{}}
	samplesTools = map[string]any{"sampling": map[string]any{"tools": map[string]any{}}}
)

// speaks is the result of a sampling.
func speaks(content any, stop string) map[string]any {
	return map[string]any{"role": "assistant", "model": "hosts-own", "stopReason": stop, "content": content}
}

func text(s string) map[string]any { return map[string]any{"type": "text", "text": s} }

// newest is the last message that a host's model is asked with, as JSON.
func newest(params map[string]any) string {
	messages, _ := params["messages"].([]any)
	if len(messages) == 0 {
		return ""
	}
	data, _ := json.Marshal(messages[len(messages)-1])
	return string(data)
}

// removes is a host's model that calls the tool and then says what it gave.
func removes(params map[string]any) any {
	last := newest(params)
	if !strings.Contains(last, "tool_result") {
		return speaks([]any{text("Removing."), map[string]any{"type": "tool_use", "id": "call_1", "name": "remove", "input": map[string]any{"what": "a secret file"}}}, "toolUse")
	}
	if !strings.Contains(last, `"toolUseId":"call_1"`) || !strings.Contains(last, "removed a secret file") {
		return speaks(text("I was not told: "+last), "endTurn")
	}
	return speaks(text("It said: removed a secret file"), "endTurn")
}

// TestSampling: an agent borrows the model of its caller's host on every transport
// and in both eras, with tools where the host has them.
func TestSampling(t *testing.T) {
	for name, c := range clients {
		for kind, tt := range map[string]struct {
			agent   string
			can     map[string]any
			host    person
			asked   int
			runs    int
			isError bool
			want    string
		}{
			"with tools":    {borrower, samplesTools, removes, 2, 1, false, "It said: removed a secret file"},
			"without tools": {talker, samples, func(p map[string]any) any { return speaks(text("You said: "+newest(p)), "endTurn") }, 1, 0, false, `"text":"remove it"`},
			"no sampling":   {borrower, elicitation, removes, 0, 0, true, "model: host needs a calling host that offers sampling"},
			"no tools":      {borrower, samples, removes, 0, 0, true, "the host's model cannot call tools (sampling.tools)"},
			"cut":           {talker, samples, func(map[string]any) any { return speaks(text("Once upon"), "maxTokens") }, 1, 0, true, "raise model.max_output_tokens"},
			"nonsense": {talker, samples, func(map[string]any) any {
				return speaks(map[string]any{"type": "tool_result", "toolUseId": "1", "content": []any{}}, "endTurn")
			}, 1, 0, true, "content of the type \"tool_result\""},
			"refused": {talker, samples, func(map[string]any) any { return refusal{-1, "User rejected sampling request"} }, 1, 0, true, "did not let its model answer: the client refused the request: User rejected"},
		} {
			if kind == "refused" && strings.HasSuffix(name, "2026-07-28") { // where it has no form
				continue
			}
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				if kind == "with tools" && strings.HasSuffix(name, "2025-06-18") { // which has none
					tt.asked, tt.runs, tt.isError, tt.want = 0, 0, true, "the host's model cannot call tools"
				}
				h := newHouse(t, tt.agent)
				asked := 0
				m := c(t, h.open(t, nil), tt.can, func(p map[string]any) any {
					asked++
					if p["systemPrompt"] != "Be careful." || p["maxTokens"] != 4096.0 {
						t.Errorf("asked %v", p)
					}
					return tt.host(p)
				})
				texts, isError, r := result(t, m)
				if isError != tt.isError || asked != tt.asked || h.ran() != tt.runs || !strings.Contains(strings.Join(texts, "\n"), tt.want) {
					t.Errorf("asked %d times, ran %d times, error %v: %q", asked, h.ran(), isError, texts)
				}
				if strings.HasSuffix(name, "2026-07-28") && r["resultType"] != "complete" {
					t.Errorf("%v", r)
				}
			})
		}
	}
}

// TestSamplingTakesTooLong: a host's model that gives no answer ends the turn, not
// the server.
func TestSamplingTakesTooLong(t *testing.T) {
	for name, c := range clients {
		if strings.HasSuffix(name, "2026-07-28") { // where it calls again or not
			continue
		}
		f := newHouse(t, talker).open(t, func(o *serve.Options) { o.AskTimeout = 50 * time.Millisecond })
		texts, isError, _ := result(t, c(t, f, samples, ignores))
		if !isError || !strings.Contains(texts[0], "nobody answered within 50ms") {
			t.Errorf("%s: %q", name, texts)
		}
	}
}

// TestSamplingByPolicy: what the operator says of approvals is not about models.
func TestSamplingByPolicy(t *testing.T) {
	for _, policy := range []serve.Approve{serve.Ask, serve.Deny, serve.Allow} {
		h := newHouse(t, borrower)
		f := h.open(t, func(o *serve.Options) { o.Approve = policy })
		if texts, isError, _ := result(t, clients["stdio 2026-07-28"](t, f, samplesTools, removes)); isError || h.ran() != 1 {
			t.Errorf("%s: %q", policy, texts)
		}
	}
}

// TestSamplingState: what a client carries does not grow with the conversation,
// nor does it show it; a client that calls again without an answer gets an error.
func TestSamplingState(t *testing.T) {
	const secret = "a secret that is in the conversation"
	w := openHTTP(t, newHouse(t, talker).open(t, nil), nil)
	request := call(1, strings.Repeat(secret, 5000), modernWith(samples))
	r := resultOf(t, w.mustPost("/mcp", request, modernHeader()...).last())
	state, _ := r["requestState"].(string)
	if len(state) == 0 || len(state) > 1000 {
		t.Errorf("the state has %d bytes", len(state))
	}
	again := retry(request, r, func(p map[string]any) any {
		if !strings.Contains(newest(p), secret) {
			t.Errorf("asked %v", p)
		}
		return speaks(text("Yes."), "endTurn")
	})
	none := clone(again)
	delete(none["params"].(map[string]any), "inputResponses")
	if texts, isError, _ := result(t, w.mustPost("/mcp", none, modernHeader()...).last()); !isError || !strings.Contains(texts[0], "it called again without an answer") {
		t.Errorf("%q", texts)
	}
	if texts, isError, _ := result(t, w.mustPost("/mcp", again, modernHeader()...).last()); !isError || !strings.Contains(texts[0], "answered already") {
		t.Errorf("%q", texts)
	}
}

// TestSamplingCancelled: a call that is cancelled while its host's model is asked
// does nothing more.
func TestSamplingCancelled(t *testing.T) {
	h := newHouse(t, borrower)
	host := openStdio(t, h.open(t, nil))
	host.write(initializeWith("2025-11-25", samplesTools))
	host.read()
	host.write(call("c", "remove it", nil))
	asked := host.read()
	if asked["method"] != "sampling/createMessage" {
		t.Fatal(asked)
	}
	host.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": "c"}})
	if m := host.read(); m["method"] != "notifications/cancelled" || m["params"].(map[string]any)["requestId"] != asked["id"] {
		t.Errorf("the question is not withdrawn: %v", m)
	}
	host.write(map[string]any{"jsonrpc": "2.0", "id": "p", "method": "ping"})
	if m := host.read(); m["id"] != "p" {
		t.Errorf("after the cancel: %v", m)
	}
	host.write(map[string]any{"jsonrpc": "2.0", "id": asked["id"], "result": removes(asked["params"].(map[string]any))})
	host.write(call("d", "remove it", nil))
	m := exchange(func(map[string]any) any { return speaks(text("No need."), "endTurn") }, host.read, func(m any) { host.write(m) })
	if texts, isError, _ := result(t, m); m["id"] != "d" || isError || h.ran() != 0 {
		t.Errorf("ran %d times: %v %q", h.ran(), m["id"], texts)
	}
}

// TestSamplingAtOnce: calls that are served together are each asked with their own
// conversation and get their own answer.
func TestSamplingAtOnce(t *testing.T) {
	const calls = 30
	echo := func(p map[string]any) any {
		_, secret, _ := strings.Cut(newest(p), "secret-")
		secret, _, _ = strings.Cut(secret, `"`)
		return speaks(text("It is secret-"+secret+"."), "endTurn")
	}
	for version, meta := range map[string]map[string]any{"2025-11-25": nil, "2026-07-28": modernWith(samples)} {
		host := openStdio(t, newHouse(t, talker+"serve: {conversation: explicit}\n").open(t, nil))
		if meta == nil {
			host.write(initializeWith(version, samples))
			host.read()
		}
		requests := make(map[string]map[string]any, calls)
		for i := range calls {
			id := fmt.Sprint("r", i)
			requests[id] = call(id, fmt.Sprintf("secret-%d", i), meta)
			host.write(requests[id])
		}
		for answered := 0; answered < calls; {
			m := host.read()
			if m["method"] == "sampling/createMessage" {
				host.write(map[string]any{"jsonrpc": "2.0", "id": m["id"], "result": echo(m["params"].(map[string]any))})
				continue
			}
			id := strings.TrimSuffix(fmt.Sprint(m["id"]), "+")
			if r := resultOf(t, m); r["resultType"] == "input_required" {
				host.write(retry(requests[id], r, echo))
				continue
			}
			answered++
			want := "It is secret-" + strings.TrimPrefix(id, "r") + "."
			if texts, isError, _ := result(t, m); isError || texts[0] != want {
				t.Errorf("%s: call %s got %q", version, id, texts)
			}
		}
	}
}

// TestSamplingProgress: nobody is told that a person is being asked.
func TestSamplingProgress(t *testing.T) {
	host := openStdio(t, newHouse(t, talker).open(t, nil))
	host.write(initializeWith("2025-11-25", samples))
	host.read()
	host.write(call(1, "hello", map[string]any{"progressToken": "p"}))
	var told []string
	m := exchange(func(map[string]any) any {
		for len(told) < 2 {
			n := host.read()
			told = append(told, fmt.Sprint(n["params"].(map[string]any)["message"]))
		}
		return speaks(text("Hi."), "endTurn")
	}, func() map[string]any {
		m := host.read()
		for m["method"] == "notifications/progress" {
			told = append(told, fmt.Sprint(m["params"].(map[string]any)["message"]))
			m = host.read()
		}
		return m
	}, func(m any) { host.write(m) })
	result(t, m)
	if all := strings.Join(told, "|"); !strings.Contains(all, "asks the model of the calling host") || strings.Contains(all, "person") || strings.Contains(all, "waiting for an answer") {
		t.Errorf("told %q", all)
	}
}

// TestSamplingTask: a call that has become a task asks the model through the task.
func TestSamplingTask(t *testing.T) {
	h := newHouse(t, strings.Replace(borrower, "script: '", `script: 'until [ -e "$RUNS.go" ]; do sleep 0.02; done; `, 1)+"serve: {task_after: 1ms}\n")
	w := openHTTP(t, h.open(t, nil), nil)
	can := map[string]any{"sampling": samplesTools["sampling"], "extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}}
	post := func(m map[string]any, name string) map[string]any {
		return resultOf(t, w.mustPost("/mcp", m, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", fmt.Sprint(m["method"]), "Mcp-Name", name).last())
	}
	request := call(1, "remove it", modernWith(can))
	r := post(request, "parrot")
	for r["resultType"] == "input_required" {
		r = post(retry(request, r, removes), "parrot")
	}
	if r["resultType"] != "task" {
		t.Fatal(r)
	}
	if err := os.WriteFile(h.runs+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprint(r["taskId"])
	waitFor(t, "the end of the task", func() bool {
		r = post(asTask("tasks/get", id), id)
		asked, _ := r["inputRequests"].(map[string]any)
		for key, q := range asked {
			q := q.(map[string]any)
			if q["method"] != "sampling/createMessage" {
				t.Errorf("asked %v", q)
			}
			post(asTask("tasks/update", id, "inputResponses", map[string]any{key: removes(q["params"].(map[string]any))}), id)
		}
		return r["status"] == "completed"
	})
	if text := fmt.Sprint(r["result"]); !strings.Contains(text, "It said: removed a secret file") || h.ran() != 1 {
		t.Errorf("ran %d times: %s", h.ran(), text)
	}
}

// asking is a tool that asks something and gives what was answered.
type asking struct {
	spec     agent.Spec
	question session.Suspension
}

func (a *asking) Spec() *agent.Spec { return &a.spec }

func (a *asking) Call(_ context.Context, c *agent.Call) (*agent.Result, error) {
	if c.Answer == nil {
		return &agent.Result{Suspend: &a.question}, nil
	}
	return agent.Text(c.Answer.Action + " " + string(c.Answer.Payload)), nil
}

// TestMixedQuestions: calls of one step that ask different things each get their
// own answer, also when a client answers one at a time.
func TestMixedQuestions(t *testing.T) {
	tools := agent.Static{
		&asking{agent.Spec{Name: "person"}, session.Suspension{Kind: model.Question, Message: "Well?", Payload: json.RawMessage(`{"schema":{"type":"object","properties":{}}}`)}},
		&asking{agent.Spec{Name: "borrow"}, session.Suspension{Kind: model.Sampling, Message: "m", Payload: json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":1}`)}},
	}
	can := map[string]any{"sampling": map[string]any{}, "elicitation": map[string]any{}}
	replies := func(p map[string]any) any {
		if p["messages"] != nil {
			return speaks(text("sampled"), "endTurn")
		}
		return map[string]any{"action": "accept", "content": map[string]any{"said": "elicited"}}
	}
	for name, c := range clients {
		modern := strings.HasSuffix(name, "2026-07-28")
		for _, one := range []bool{false, true} {
			if one && !modern {
				continue
			}
			f := newHouse(t, talker).open(t, func(o *serve.Options) { o.Agents[0].Runner = mixed(t, tools) })
			free := true
			m := c(t, f, can, func(p map[string]any) any {
				if one && !free {
					free = true
					return nil
				}
				free = false
				return replies(p)
			})
			texts, isError, _ := result(t, m)
			if isError || !strings.Contains(texts[0], `accept {"said":"elicited"} and accept {`) || !strings.Contains(texts[0], `"sampled"`) {
				t.Errorf("%s, one at a time %v: %q", name, one, texts)
			}
		}
	}
}

// mixed is the runner of a scripted agent with these tools.
func mixed(t *testing.T, tools agent.Static) *agent.Runner {
	t.Helper()
	call := func(name string) config.ScriptCall {
		return config.ScriptCall{Tool: name, Args: json.RawMessage("{}")}
	}
	script, err := scripted.New([]config.Rule{{Steps: []config.Step{{Call: []config.ScriptCall{call("person"), call("borrow")}}, {Reply: "{person} and {borrow}"}}}})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	cfg := &config.Agent{Name: "parrot"}
	cfg.Limits.MaxModelCalls, cfg.Limits.MaxTotalTokens, cfg.Limits.Timeout = 10, 1000, config.Duration(time.Minute)
	store := session.NewMemory(session.MemoryOptions{Now: time.Now, IdleTTL: time.Hour, MaxConversations: 10, MaxBytes: 1 << 20})
	return agent.NewRunner(cfg, agent.Parts{Model: script, Tools: tools, Store: store, Now: time.Now, Log: quiet(),
		NewID: func() string { n++; return fmt.Sprint("id", n) }})
}

// TestSamplingWithoutAStream: a host that takes no event stream cannot be asked.
func TestSamplingWithoutAStream(t *testing.T) {
	w := openHTTP(t, newHouse(t, talker).open(t, nil), nil)
	s := w.mustPost("/mcp", initializeWith("2025-11-25", samples)).header.Get("Mcp-Session-Id")
	data, _ := json.Marshal(call(1, "hello", nil))
	req := newRequest(t, http.MethodPost, w.url+"/mcp", data)
	req.Header.Set("Content-Type", "application/json")
	r, err := w.do(req, "Accept", "application/json", "Mcp-Session-Id", s)
	if err != nil {
		t.Fatal(err)
	}
	if texts, isError, _ := result(t, r.last()); !isError || !strings.Contains(texts[0], "does not come as an event stream") {
		t.Errorf("%q", texts)
	}
}
