package middleware

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

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

// remembering is a tool with a cache; each real call gives the next number.
func remembering(c config.Cache, give func(n int) *agent.Result) (tool agent.Tool, ran *int) {
	ran = new(int)
	o := options()
	o.Cache, o.Now = &c, time.Now
	return Wrap(&fake{&agent.Spec{Name: "t", Parameters: json.RawMessage(openSchema)}, func(context.Context, *agent.Call) (*agent.Result, error) {
		*ran++
		return give(*ran), nil
	}}, o), ran
}

func numbered(n int) *agent.Result { return agent.Text(fmt.Sprint(n)) }

func ask(t *testing.T, tool agent.Tool, principal, args string) any {
	t.Helper()
	call := roll(args)
	call.Caller.Principal = principal
	res, err := tool.Call(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	return res.Output
}

func std(d time.Duration) config.Duration { return config.Duration(d) }

func TestCacheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool, _ := remembering(config.Cache{TTL: std(time.Minute), Entries: 100, MaxBytes: 1 << 20}, numbered)
		for _, tc := range []struct {
			principal, args, want string
		}{
			{"ann", `{"a":1,"b":{"x":[1,2],"y":"é"}}`, "1"},
			{"ann", " { \"b\" : { \"y\":\"\\u00e9\", \"x\":[ 1,2 ] },\n\"a\":1 } ", "1"},
			{"ann", `{"a":1,"b":{"x":[2,1],"y":"é"}}`, "2"},
			{"ann", `{"a":1.0,"b":{"x":[1,2],"y":"é"}}`, "3"}, // as written
			{"bob", `{"a":1,"b":{"x":[1,2],"y":"é"}}`, "4"},
			{"ann", `{"a":12345678901234567890}`, "5"},
			{"ann", `{"a":12345678901234567891}`, "6"},
			{"ann", `{}`, "7"}, {"ann", ``, "7"}, {"ann", `null`, "7"},
			{"ann", `{"a":"1"}`, "8"},
			{"bob", `{"a":1,"b":{"x":[1,2],"y":"é"}}`, "4"},
		} {
			if got := ask(t, tool, tc.principal, tc.args); got != tc.want {
				t.Errorf("%s %s: %v, want %s", tc.principal, tc.args, got, tc.want)
			}
		}
	})
}

// Where headers of the caller's request change what a call gives, they are part of
// who calls.
func TestCacheByHeaders(t *testing.T) {
	o := options()
	o.Cache, o.CacheBy = &config.Cache{TTL: std(time.Minute), Entries: 100, MaxBytes: 1 << 20}, []string{"x-team", "X-Level"}
	ran := 0
	tool := Wrap(&fake{&agent.Spec{Name: "t", Parameters: json.RawMessage(openSchema)}, func(context.Context, *agent.Call) (*agent.Result, error) {
		ran++
		return numbered(ran), nil
	}}, o)
	for _, tc := range []struct {
		header http.Header
		want   string
	}{
		{nil, "1"}, {http.Header{"X-Team": {"red"}}, "2"}, {http.Header{"X-Level": {"red"}}, "3"}, {http.Header{"X-Team": {"red", ""}}, "4"},
		{http.Header{"X-Team": {"red"}, "X-Other": {"a"}}, "2"}, {nil, "1"},
	} {
		call := roll(`{}`)
		call.Caller = agent.Caller{Principal: "ann", Header: tc.header}
		res, err := tool.Call(t.Context(), call)
		if err != nil || res.Output != tc.want {
			t.Errorf("%v: %v, %v, want %s", tc.header, res, err, tc.want)
		}
	}
}

// A tool that sees the state gives what it gave in the same one, apart from temp:
// keys.
func TestCacheByState(t *testing.T) {
	for byState, want := range map[bool][]string{true: {"1", "1", "2", "3", "1"}, false: {"1", "1", "1", "1", "1"}} {
		o, ran := options(), 0
		o.Cache, o.CacheState = &config.Cache{TTL: std(time.Hour), Entries: 100, MaxBytes: 1 << 20}, byState
		tool := Wrap(&fake{&agent.Spec{Name: "t", Parameters: json.RawMessage(openSchema)}, func(context.Context, *agent.Call) (*agent.Result, error) {
			ran++
			return numbered(ran), nil
		}}, o)
		for i, state := range []map[string]any{{"a": 1, "b": true}, {"b": true, "a": 1, "temp:x": 7}, {"a": 2, "b": true}, nil, {"a": 1, "b": true}} {
			call := roll(`{}`)
			call.State = state
			if res, err := tool.Call(t.Context(), call); err != nil || res.Output != want[i] {
				t.Errorf("by state %v, call %d: %+v, %v", byState, i, res, err)
			}
			if i == 1 && len(call.State) != 3 {
				t.Errorf("the caller's state was written to: %v", call.State)
			}
		}
	}
}

// Who approves of a call has it run, and what it gives is for that call alone.
func TestCacheAndApproval(t *testing.T) {
	o, ran := options(), 0
	o.Cache = &config.Cache{TTL: std(time.Hour), Entries: 9, MaxBytes: 1024}
	o.Approve = &config.Condition{Expr: `state.locked == true`}
	tool := Wrap(&fake{&agent.Spec{Name: "t", Parameters: json.RawMessage(openSchema)}, func(context.Context, *agent.Call) (*agent.Result, error) {
		ran++
		return numbered(ran), nil
	}}, o)
	yes := &session.Answer{Kind: "approval", Action: "accept"}
	for i, tc := range []struct {
		answer *session.Answer
		want   string
	}{{yes, "1"}, {yes, "2"}, {nil, "3"}, {yes, "4"}, {nil, "3"}} {
		if res, err := tool.Call(t.Context(), answered(`{}`, tc.answer)); err != nil || res.Output != tc.want {
			t.Errorf("call %d: %+v, %v", i, res, err)
		}
	}
}

func TestCacheAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool, ran := remembering(config.Cache{TTL: std(time.Minute), Entries: 1, MaxBytes: 1 << 20}, numbered)
		ask(t, tool, "", `{}`)
		time.Sleep(time.Minute - time.Nanosecond)
		if got := ask(t, tool, "", `{}`); got != "1" {
			t.Errorf("a nanosecond before the end: %v", got)
		}
		time.Sleep(time.Nanosecond) // being used makes nothing younger
		if got := ask(t, tool, "", `{}`); got != "2" || *ran != 2 {
			t.Errorf("at the end: %v", got)
		}
	})
}

func TestCacheEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool, ran := remembering(config.Cache{TTL: std(time.Minute), Entries: 3, MaxBytes: 1 << 20}, numbered)
		for _, n := range []int{1, 2, 3, 1, 4} { // 2 is the one not used for longest
			ask(t, tool, "", fmt.Sprintf(`{"n":%d}`, n))
		}
		*ran = 10
		for _, n := range []int{1, 3, 4} {
			if got := ask(t, tool, "", fmt.Sprintf(`{"n":%d}`, n)); got == "11" {
				t.Errorf("%d is gone", n)
			}
		}
		if got := ask(t, tool, "", `{"n":2}`); got != "11" {
			t.Errorf("2 is still there: %v", got)
		}
	})
}

func TestCacheBytes(t *testing.T) {
	const max = 1024
	for _, tc := range []struct {
		name string
		size int // of the output beside the key {}
		want int // calls
	}{{"at the bound", max - 2, 1}, {"over it", max - 1, 2}} {
		synctest.Test(t, func(t *testing.T) {
			tool, ran := remembering(config.Cache{TTL: std(time.Minute), Entries: 9, MaxBytes: max}, func(int) *agent.Result { return agent.Text(strings.Repeat("x", tc.size)) })
			ask(t, tool, "", `{}`)
			ask(t, tool, "", `{}`)
			if *ran != tc.want {
				t.Errorf("%s: ran %d times", tc.name, *ran)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // two fit, three do not
		tool, ran := remembering(config.Cache{TTL: std(time.Minute), Entries: 9, MaxBytes: max}, func(int) *agent.Result {
			return &agent.Result{Output: "x", Media: []*genai.Blob{{Data: make([]byte, 400)}}}
		})
		for _, n := range []int{1, 2, 3, 2, 3} {
			ask(t, tool, "", fmt.Sprintf(`{"n":%d}`, n))
		}
		if *ran != 3 {
			t.Errorf("ran %d times", *ran)
		}
		if ask(t, tool, "", `{"n":1}`); *ran != 4 {
			t.Errorf("1 is still there")
		}
	})
}

func TestWhatIsNotKept(t *testing.T) {
	for name, res := range map[string]*agent.Result{
		"a failure":       agent.Failure("no"),
		"a call not made": agent.NotRun("no"),
		"a question":      {Suspend: &session.Suspension{Kind: "question"}},
		"state":           {Output: "x", StateDelta: map[string]any{"k": 1}},
		"a file":          {Output: "x", Artifacts: []session.Artifact{{ID: "a"}}},
		"too many media":  {Output: "x", Media: []*genai.Blob{{Data: make([]byte, 2048)}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			tool, ran := remembering(config.Cache{TTL: std(time.Minute), Entries: 9, MaxBytes: 1024}, func(int) *agent.Result { return res })
			ask(t, tool, "", `{}`)
			ask(t, tool, "", `{}`)
			if *ran != 2 {
				t.Errorf("%s is kept", name)
			}
		})
	}
}

// What a person has answered is for that call alone, and never answered by an
// earlier one.
func TestCacheAndAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool, ran := remembering(config.Cache{TTL: std(time.Minute), Entries: 9, MaxBytes: 1024}, numbered)
		for want := 1; want <= 2; want++ {
			res, err := tool.Call(t.Context(), answered(`{}`, &session.Answer{Kind: "question"}))
			if err != nil || res.Output != fmt.Sprint(want) {
				t.Errorf("got %+v, %v", res, err)
			}
		}
		if got := ask(t, tool, "", `{}`); got != "3" || *ran != 3 {
			t.Errorf("got %v", got)
		}
		if res, err := tool.Call(t.Context(), answered(`{}`, &session.Answer{Kind: "question"})); err != nil || res.Output != "4" {
			t.Errorf("got %+v, %v", res, err)
		}
	})
}

func TestErrorsAreNotKept(t *testing.T) {
	o, ran := options(), 0
	o.Cache = &config.Cache{TTL: std(time.Hour), Entries: 9, MaxBytes: 1024}
	tool := Wrap(die(func(context.Context, *agent.Call) (*agent.Result, error) {
		ran++
		return agent.Text("half"), errors.New("broken")
	}), o)
	for range 2 {
		if res, err := tool.Call(t.Context(), roll(`{"sides":6}`)); err != nil || !res.IsError {
			t.Errorf("got %+v, %v", res, err)
		}
	}
	if ran != 2 {
		t.Errorf("ran %d times", ran)
	}
}

// What is kept is cut and cleaned each time, and changes in no caller's hands.
func TestCachedResultsPassTheChain(t *testing.T) {
	o := options()
	o.Cache, o.MaxResultBytes, o.Secrets = &config.Cache{TTL: std(time.Hour), Entries: 9, MaxBytes: 1 << 20}, 50, []string{"sk-0123456789"}
	tool := Wrap(die(gives(&agent.Result{Output: map[string]any{"k": "sk-0123456789" + strings.Repeat("x", 100)}}, nil)), o)
	var first any
	for i := range 2 {
		res, err := tool.Call(t.Context(), roll(`{"sides":6}`))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = res.Output
		}
		if text, _ := res.Output.(string); res.Output != first || len(text) > 50 || strings.Contains(text, "sk-") {
			t.Errorf("got %v", res.Output)
		}
	}
}

func TestConcurrentCalls(t *testing.T) {
	o := options()
	o.Now = time.Now
	o.Cache = &config.Cache{TTL: std(time.Hour), Entries: 3, MaxBytes: 1024}
	o.RateLimit = &config.RateLimit{PerMinute: 1000, Per: "caller"}
	tool := Wrap(&fake{&agent.Spec{Name: "t", Parameters: json.RawMessage(openSchema)}, func(_ context.Context, call *agent.Call) (*agent.Result, error) {
		return agent.Text(string(call.Args)), nil
	}}, o)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for n := range 100 {
				args := fmt.Sprintf(`{"n":%d}`, (i+n)%5)
				if res, err := tool.Call(t.Context(), roll(args)); err != nil || res.Output != args {
					t.Errorf("got %+v, %v", res, err)
				}
			}
		})
	}
	group.Wait()
}
