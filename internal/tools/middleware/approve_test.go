package middleware

import (
	"bytes"
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

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

const openSchema = `{"type":"object"}`

// gated is a tool that needs approval; it counts its calls.
func gated(schema string, o Options, calls *[]*agent.Call) agent.Tool {
	o.Approve = &config.Condition{Is: true}
	return Wrap(&fake{&agent.Spec{Name: "deploy", Parameters: json.RawMessage(schema), Hints: agent.Hints{ReadOnly: true, ClosedWorld: true}},
		func(_ context.Context, call *agent.Call) (*agent.Result, error) {
			*calls = append(*calls, call)
			return agent.Text("done"), nil
		}}, o)
}

func answered(args string, a *session.Answer) *agent.Call {
	call := roll(args)
	if a != nil {
		call.Answer, call.Asked = a, &session.Suspension{Kind: a.Kind}
	}
	return call
}

func TestApprove(t *testing.T) {
	const suspended = "suspended"
	for _, tc := range []struct {
		name   string
		answer *session.Answer
		want   string // of the result
		ran    bool
	}{
		{"first call", nil, suspended, false},
		{"approved", &session.Answer{Kind: "approval", Action: "accept"}, "done", true},
		{"declined", &session.Answer{Kind: "approval", Action: "decline"}, "not run: the person declined", false},
		{"declined with a reason", &session.Answer{Kind: "approval", Action: "decline", Reason: "too late"}, "not run: the person declined: too late", false},
		{"cancelled", &session.Answer{Kind: "approval", Action: "cancel"}, "not run: nobody approved it", false},
		{"cancelled with a reason", &session.Answer{Kind: "approval", Action: "cancel", Reason: "the host cannot ask"}, "not run: nobody approved it: the host cannot ask", false},
		{"no action", &session.Answer{Kind: "approval"}, "not run: nobody approved it", false},
		{"an action that nobody knows", &session.Answer{Kind: "approval", Action: "Accept"}, "not run: nobody approved it", false},
		{"an answer that says nothing of its question", &session.Answer{Action: "accept"}, suspended, false},
		{"the tool's own question", &session.Answer{Kind: "question", Action: "decline"}, "done", true},
		{"the payload alone approves nothing", &session.Answer{Kind: "approval", Payload: json.RawMessage(`{"action":"accept"}`)}, "not run: nobody approved it", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var calls []*agent.Call
			call := answered(`{"sides":6}`, tc.answer)
			res, err := gated(dieSchema, options(), &calls).Call(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			got := suspended
			if res.Suspend == nil {
				got = res.Output.(string)
			}
			if got != tc.want || (len(calls) == 1) != tc.ran || res.Suspend == nil && res.IsError == tc.ran {
				t.Errorf("got %q, %d calls, result %+v", got, len(calls), res)
			}
			if call.Answer != tc.answer {
				t.Error("the caller's own call was changed")
			}
		})
	}
}

func TestApproveAsks(t *testing.T) {
	var calls []*agent.Call
	res, err := gated(dieSchema, options(), &calls).Call(t.Context(), roll(` { "sides" : 6.50e1 } `))
	if err != nil {
		t.Fatal(err)
	}
	want := &session.Suspension{Kind: model.Approval, Message: "Agent dice wants to run deploy", Payload: json.RawMessage(`{"sides":6.50e1}`), Opaque: json.RawMessage(`{"by":"approve"}`)}
	if diff := cmp.Diff(want, res.Suspend); diff != "" {
		t.Error(diff)
	}
}

// An approval is no answer to what the tool itself may ask, and the answer to
// that reaches the tool.
func TestApprovedToolsAskToo(t *testing.T) {
	var calls []*agent.Call
	tool := gated(dieSchema, options(), &calls)
	for _, a := range []*session.Answer{{Kind: "approval", Action: "accept"}, {Kind: "question", Action: "accept", Payload: json.RawMessage(`{"x":1}`)}} {
		if _, err := tool.Call(t.Context(), answered(`{"sides":6}`, a)); err != nil {
			t.Fatal(err)
		}
	}
	if len(calls) != 2 || calls[0].Answer != nil || calls[0].Asked != nil || calls[1].Answer == nil || calls[1].Asked == nil || string(calls[1].Answer.Payload) != `{"x":1}` {
		t.Errorf("the tool saw %+v", calls)
	}
}

func TestNoApprovalNeeded(t *testing.T) {
	tool := Wrap(die(gives(agent.Text("4"), nil)), options())
	if res, err := tool.Call(t.Context(), roll(`{"sides":6}`)); err != nil || res.Output != "4" {
		t.Errorf("got %+v, %v", res, err)
	}
}

// Nobody is asked about a call that could not run.
func TestBadArgumentsReachNoPerson(t *testing.T) {
	var calls []*agent.Call
	for _, args := range []string{`{"sides":1}`, `{}`, `{`, `{"sides":6,"more":1}`} {
		res, err := gated(dieSchema, options(), &calls).Call(t.Context(), roll(args))
		if err != nil || res.Suspend != nil || !res.IsError || len(calls) > 0 {
			t.Errorf("%s: %+v, %v", args, res, err)
		}
	}
}

func TestApprovalKeepsHints(t *testing.T) {
	var calls []*agent.Call
	if h := gated(dieSchema, options(), &calls).Spec().Hints; h != (agent.Hints{ReadOnly: true, ClosedWorld: true}) {
		t.Errorf("hints %+v", h)
	}
}

func TestShownArguments(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, tc := range []struct{ name, args, want string }{
		{"none", `{}`, `{}`},
		{"compact", "{ \"b\" : [1, 2],\n\"a\":\"<é>\" }", `{"a":"<é>","b":[1,2]}`},
		{"numbers as written", `{"n":12345678901234567890.10}`, `{"n":12345678901234567890.10}`},
		{"a secret", `{"k":"x sk-0123456789"}`, `{"k":"x [redacted]"}`},
		{"a secret as a name", `{"sk-0123456789":1}`, `{"[redacted]":1}`},
		{"a secret in escapes", `{"k":"s\u006b-0123456789"}`, `{"k":"[redacted]"}`},
		{"a secret in JSON in JSON", `{"k":"{\"a\":\"q\\\"uote\\\"d\"}"}`, `{"k":"{\"a\":\"[redacted]\"}"}`},
		{"a secret number", `{"k":87654321}`, `{"k":"[redacted]"}`},
		{"direction of writing", "{\"k\":\"a\u202eb\u2066c\"}", `{"k":"a\u202eb\u2066c"}`},
		{"no width", "{\"k\":\"a\u200bb\ufeff\u00ad\"}", `{"k":"a\u200bb\ufeff\u00ad"}`},
		{"other planes", "{\"k\":\"\U0001f600\U000e0041\"}", "{\"k\":\"\U0001f600\\udb40\\udc41\"}"},
		{"control characters", `{"k":"a\u001b[2Jb\u0085\u007f\n"}`, `{"k":"a\u001b[2Jb\u0085\u007f\n"}`},
		{"a long text", `{"k":"` + long + `END","n":1}`,
			`{"k":"` + strings.Repeat("x", 1339) + `\n[... 2994 of 5003 bytes left out ...]\n` + strings.Repeat("x", 667) + `END","n":1}`},
		{"long texts", `{"a":"` + long + `","b":"` + long + `","c":"` + long + `"}`, ""},
		{"many entries", `{"l":[` + strings.Repeat(`"12345678",`, 999) + `"x"]}`,
			`{"l":[` + strings.Repeat(`"12345678",`, 128) + `"[... 872 of 1000 entries left out ...]"]}`},
		{"many small ones that fit", `{"l":[` + strings.Repeat(`1,`, 1900) + `1]}`, `{"l":[` + strings.Repeat(`1,`, 1900) + `1]}`},
		{"many names", "{" + names(1000) + "}", ""},
		{"deep", strings.Repeat(`{"a":[`, 300) + `"` + long + `"` + strings.Repeat(`]}`, 300), ""},
		{"deeper than can be shown", strings.Repeat(`{"a":[`, 2000) + strings.Repeat(`]}`, 2000), `{"arguments":"[... 16000 bytes left out ...]"}`},
		{"a long name", `{"` + long + `":1}`, `{"arguments":"[... 5006 bytes left out ...]"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := shownArguments(json.RawMessage(tc.args), newRedactor([]string{"sk-0123456789", `q"uote"d`, "87654321"}))
			if err != nil {
				t.Fatal(err)
			}
			if tc.want != "" && string(got) != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if !json.Valid(got) || len(got) > maxShownBytes || tc.want == "" && !bytes.Contains(got, []byte(" left out ...]")) {
				t.Errorf("%d bytes: %s", len(got), got)
			}
		})
	}
}

func names(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"name%d":%d`, i, i))
	}
	return strings.Join(all, ",")
}

// A secret in the arguments shows up in no suspension, wherever it stands and
// however much is cut.
func TestApprovalShowsNoSecret(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	o := options()
	o.Secrets = []string{secret}
	var calls []*agent.Call
	tool := gated(openSchema, o, &calls)
	for pad := 0; pad < 9000; pad += 37 {
		args, err := json.Marshal(map[string]any{
			"text": strings.Repeat("x", pad) + secret + strings.Repeat("y", 3000), "list": []string{secret}, secret: 1, "json": `{"k":"` + secret + `"}`,
		})
		if err != nil {
			t.Fatal(err)
		}
		res, err := tool.Call(t.Context(), roll(string(args)))
		if err != nil || res.Suspend == nil {
			t.Fatalf("got %+v, %v", res, err)
		}
		if text := res.Suspend.Message + string(res.Suspend.Payload); strings.Contains(text, secret[:6]) || !json.Valid(res.Suspend.Payload) {
			t.Fatalf("padding %d: %s", pad, text)
		}
	}
	res, err := tool.Call(t.Context(), answered(`{"k":"`+secret+`"}`, &session.Answer{Kind: "approval", Action: "accept"}))
	if err != nil || res.Output != "done" || string(calls[0].Args) != `{"k":"`+secret+`"}` {
		t.Errorf("the tool itself must see its arguments: %+v, %v", calls, err)
	}
	// Whoever declined may have quoted it.
	res, err = tool.Call(t.Context(), answered(`{}`, &session.Answer{Kind: "approval", Action: "decline", Reason: "not with " + secret}))
	if err != nil || res.Output != "not run: the person declined: not with [redacted]" {
		t.Errorf("got %+v, %v", res, err)
	}
}

// The debug log says that a call waits and shows nothing of it.
func TestApprovalInTheLog(t *testing.T) {
	var log bytes.Buffer
	o := options()
	o.Log = logTo(&log, slog.LevelDebug)
	var calls []*agent.Call
	if _, err := gated(openSchema, o, &calls).Call(t.Context(), roll(`{"k":"PRIVATE"}`)); err != nil {
		t.Fatal(err)
	}
	if text := log.String(); !strings.Contains(text, "suspended=approval") || strings.Contains(text, "PRIVATE") {
		t.Error(text)
	}
}

// Calls that wait for a person hold no slot, whether the chain or the tool
// itself asks; and asking for approval waits for no slot.
func TestSuspendedCallsHoldNoSlot(t *testing.T) {
	for kind, approval := range map[string]bool{model.Approval: true, model.Question: false} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options()
				o.Concurrency, o.Approve, o.Now = 1, &config.Condition{Is: approval}, time.Now
				tool := Wrap(die(func(_ context.Context, call *agent.Call) (*agent.Result, error) {
					if !approval && call.Answer == nil {
						return &agent.Result{Suspend: &session.Suspension{Kind: model.Question}}, nil
					}
					time.Sleep(time.Second)
					return agent.Text("4"), nil
				}), o)
				began := time.Now()
				ask := func(after time.Duration) {
					res, err := tool.Call(t.Context(), roll(`{"sides":6}`))
					if err != nil || res.Suspend == nil || time.Since(began) != after {
						t.Errorf("got %+v, %v after %v", res, err, time.Since(began))
					}
				}
				var group sync.WaitGroup
				for range 50 {
					group.Go(func() { ask(0) })
				}
				group.Wait()
				group.Go(func() {
					res, err := tool.Call(t.Context(), answered(`{"sides":6}`, &session.Answer{Kind: kind, Action: "accept"}))
					if err != nil || res.Output != "4" || time.Since(began) != time.Second {
						t.Errorf("got %+v, %v after %v", res, err, time.Since(began))
					}
				})
				if synctest.Wait(); approval { // one runs now
					ask(0)
				}
				group.Wait()
			})
		})
	}
}

// A failure is one even if the tool wanted to ask as well.
func TestFailedToolsAskNobody(t *testing.T) {
	o := options()
	o.Secrets = []string{"sk-0123456789"}
	suspend := &agent.Result{Output: "sk-0123456789", Suspend: &session.Suspension{Kind: model.Question}}
	res, err := Wrap(die(gives(suspend, errors.New("paper jam"))), o).Call(t.Context(), roll(`{"sides":6}`))
	if err != nil || res.Suspend != nil || !res.IsError || res.Output != "paper jam\n[redacted]" {
		t.Errorf("got %+v, %v", res, err)
	}
	if suspend.Suspend == nil {
		t.Error("the tool's own result was changed")
	}
}

func FuzzShownArguments(f *testing.F) {
	for _, args := range []string{`{}`, `{"a":["` + strings.Repeat("x", 5000) + `"]}`, `{"":{"":null}}`, `{"a":1e400,"b":"\ud800"}`, `{"k":"hunter2hunter2"}`} {
		f.Add([]byte(args))
	}
	secrets := newRedactor([]string{"hunter2hunter2"})
	f.Fuzz(func(t *testing.T, args []byte) {
		if !json.Valid(args) {
			return // no input of ours
		}
		got, err := shownArguments(args, secrets)
		if err != nil || !json.Valid(got) || len(got) > maxShownBytes || bytes.Contains(got, []byte("hunter2hunter2")) {
			t.Errorf("%s, %v", got, err)
		}
	})
}

// conditional is a tool with an approval condition; it counts its calls.
func conditional(expr string, calls *[]*agent.Call) agent.Tool {
	o := options()
	o.Approve = &config.Condition{Expr: expr}
	return Wrap(&fake{&agent.Spec{
		Name: "pay", Hints: agent.Hints{NonDestructive: true, Idempotent: true}, Annotations: map[string]any{"title": "Pay"},
		Parameters: json.RawMessage(`{"type":"object","properties":{"currency":{"default":"EUR"}}}`),
	}, func(_ context.Context, call *agent.Call) (*agent.Result, error) {
		*calls = append(*calls, call)
		return agent.Text("done"), nil
	}}, o)
}

func TestApprovalConditions(t *testing.T) {
	const doubt = "Agent dice wants to run pay. Whether that needs an approval could not be decided: "
	for _, tc := range []struct{ expr, args, want string }{ // want is the question, or nothing
		{`args.amount > 100`, `{"amount":100}`, ""},
		{`args.amount > 100`, `{"amount":100.5}`, "Agent dice wants to run pay"},
		{`args.amount > 100`, `{"amount":1e3}`, "Agent dice wants to run pay"},
		{`args.amount > 100`, `{}`, doubt + "it cannot be decided for these values, at column 13 (not set: args.amount)"},
		{`args.amount > 100`, `{"amount":"SECRET"}`, doubt + "it cannot be decided for these values, at column 13"},
		{`args.amount > 100`, `{"amount":12345678901234567890}`, doubt + "args: a number has more digits than can be compared"},
		{`args.currency == "EUR"`, `{}`, "Agent dice wants to run pay"}, // which is what the tool will see
		{`args.currency == "EUR"`, `{"currency":"USD"}`, ""},
		{`tool == "pay" and annotations.title == "Pay"`, `{}`, "Agent dice wants to run pay"},
		{`hints.destructive or hints.read_only or not hints.idempotent or not hints.open_world`, `{}`, ""},
		{`state.plan == "pro"`, `{}`, ""},
		{`state.plan == "free"`, `{}`, "Agent dice wants to run pay"},
		{`this is none`, `{}`, doubt + "at column 6: unexpected Identifier(\"is\")"}, // which the file's check finds before
	} {
		t.Run(tc.expr, func(t *testing.T) {
			var calls []*agent.Call
			call := roll(tc.args)
			call.State = map[string]any{"plan": "free"}
			res, err := conditional(tc.expr, &calls).Call(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			asked := ""
			if res.Suspend != nil {
				asked = res.Suspend.Message
			}
			if asked != tc.want || (len(calls) == 1) != (tc.want == "") {
				t.Errorf("asked %q, %d calls", asked, len(calls))
			}
		})
	}
}

// The condition is not looked at again when the answer comes.
func TestAnswersToConditionalApprovals(t *testing.T) {
	for action, runs := range map[string]bool{"accept": true, "decline": false, "cancel": false, "": false} {
		var calls []*agent.Call
		tool := conditional(`args.amount > 100`, &calls)
		res, err := tool.Call(t.Context(), answered(`{"amount":500}`, &session.Answer{Kind: "approval", Action: action}))
		if err != nil || res.Suspend != nil || (len(calls) == 1) != runs || res.NotRun == runs {
			t.Errorf("%q: %+v, %v", action, res, err)
		}
	}
}

func TestConstantConditions(t *testing.T) {
	for is, asks := range map[bool]bool{true: true, false: false} {
		o := options()
		o.Approve = &config.Condition{Is: is}
		res, err := Wrap(die(gives(agent.Text("4"), nil)), o).Call(t.Context(), roll(`{"sides":6}`))
		if err != nil || (res.Suspend != nil) != asks {
			t.Errorf("%v: %+v, %v", is, res, err)
		}
	}
}

// A tool may ask for approvals itself, such as an agent whose own tools need one.
// Its question and the answer pass through the approval of the tool.
func TestInnerApprovals(t *testing.T) {
	inner := &session.Suspension{Kind: model.Approval, Message: "inner", Payload: json.RawMessage(`{}`), Opaque: json.RawMessage(`{"handle":"h"}`)}
	var calls []*agent.Call
	o := options()
	o.Approve = &config.Condition{Is: true}
	tool := Wrap(&fake{&agent.Spec{Name: "clerk", Parameters: json.RawMessage(openSchema)}, func(_ context.Context, call *agent.Call) (*agent.Result, error) {
		calls = append(calls, call)
		if call.Answer == nil {
			return &agent.Result{Suspend: inner}, nil
		}
		return agent.Text(call.Answer.Action), nil
	}}, o)
	call := func(asked *session.Suspension, a *session.Answer) *agent.Result {
		t.Helper()
		c := roll(`{}`)
		c.Asked, c.Answer = asked, a
		res, err := tool.Call(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	outer := call(nil, nil).Suspend
	if outer == nil || outer.Message == "inner" || len(calls) > 0 {
		t.Fatalf("asked %+v", outer)
	}
	if got := call(outer, &session.Answer{Kind: model.Approval, Action: model.Accept}).Suspend; got != inner {
		t.Fatalf("asked %+v", got)
	}
	for _, action := range []string{model.Decline, model.Accept, model.Cancel} {
		if got := call(inner, &session.Answer{Kind: model.Approval, Action: action}); got.Output != action {
			t.Errorf("the tool did not see %q: %+v", action, got)
		}
	}
	// A question without a mark is taken for the outer one, which runs nothing with
	// an answer.
	unmarked := &session.Suspension{Kind: model.Approval}
	if got := call(unmarked, &session.Answer{Kind: model.Approval, Action: model.Decline}); got.Output != "not run: the person declined" {
		t.Errorf("got %+v", got)
	}
}
