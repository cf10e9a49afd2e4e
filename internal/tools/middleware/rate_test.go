package middleware

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

// Ten calls of 40 seconds, two at a time, take 200 seconds, and none of them
// is ended by a timeout of a minute.
func TestWaitingForASlotIsNotTheToolsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		o := options()
		o.Concurrency, o.Timeout, o.Now = 2, time.Minute, time.Now
		tool := Wrap(die(func(ctx context.Context, _ *agent.Call) (*agent.Result, error) {
			defer running.Add(-1)
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			select {
			case <-time.After(40 * time.Second):
				return agent.Text("4"), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}), o)
		began := time.Now()
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				if res, err := tool.Call(t.Context(), roll(`{"sides":6}`)); err != nil || res.Output != "4" {
					t.Errorf("got %+v, %v", res, err)
				}
			})
		}
		group.Wait()
		if took := time.Since(began); took != 200*time.Second || most.Load() != 2 {
			t.Errorf("%d ran at the same time, and all took %v", most.Load(), took)
		}
	})
}

func TestWaitingForASlotEndsWithTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.Concurrency, o.Timeout, o.Now = 1, time.Hour, time.Now
		calls := 0
		tool := Wrap(die(func(context.Context, *agent.Call) (*agent.Result, error) {
			calls++
			time.Sleep(time.Minute)
			return agent.Text("4"), nil
		}), o)
		var group sync.WaitGroup
		group.Go(func() { _, _ = tool.Call(t.Context(), roll(`{"sides":6}`)) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if res, err := tool.Call(ctx, roll(`{"sides":6}`)); !errors.Is(err, context.DeadlineExceeded) || calls != 1 {
			t.Errorf("got %+v, %v after %d calls", res, err, calls)
		}
		group.Wait()
		// The one that gave up holds nothing, nor does the one that ended.
		if res, err := tool.Call(t.Context(), roll(`{"sides":6}`)); err != nil || res.Output != "4" {
			t.Errorf("got %+v, %v", res, err)
		}
	})
}

// A panic of the tool gives its slot back.
func TestSlotsOutliveAPanic(t *testing.T) {
	o := options()
	o.Concurrency = 1
	tool := Wrap(die(func(context.Context, *agent.Call) (*agent.Result, error) { panic("boom") }), o)
	for range 3 {
		if res, err := tool.Call(t.Context(), roll(`{"sides":6}`)); err != nil || !res.IsError {
			t.Errorf("got %+v, %v", res, err)
		}
	}
}

// limitedRate is a tool with a rate limit; it notes when it ran.
func limitedRate(r config.RateLimit) (tool agent.Tool, ran func() []time.Duration) {
	var mu sync.Mutex
	var at []time.Duration
	began, o := time.Now(), options()
	o.RateLimit, o.Now, o.Timeout = &r, time.Now, time.Hour
	tool = Wrap(die(func(context.Context, *agent.Call) (*agent.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		at = append(at, time.Since(began))
		return agent.Text("4"), nil
	}), o)
	return tool, func() []time.Duration { mu.Lock(); defer mu.Unlock(); return at }
}

func rolledBy(principal string) *agent.Call {
	call := roll(`{"sides":6}`)
	call.Caller.Principal = principal
	return call
}

const tooMany = "roll_die is rate-limited (max 2 calls a minute). Try again shortly."

func TestRateError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool, _ := limitedRate(config.RateLimit{PerMinute: 2, Exceeded: "error", Per: "caller"})
		expect := func(principal string, want string) {
			t.Helper()
			res, err := tool.Call(t.Context(), rolledBy(principal))
			if err != nil || res.Output != want || res.NotRun != (want == tooMany) {
				t.Errorf("got %+v, %v", res, err)
			}
		}
		expect("ann", "4") // at 0s
		time.Sleep(10 * time.Second)
		expect("ann", "4") // at 10s
		expect("ann", tooMany)
		expect("bob", "4") // has a limit of his own
		time.Sleep(50*time.Second - time.Nanosecond)
		expect("ann", tooMany)
		time.Sleep(time.Nanosecond)
		expect("ann", "4") // at 60s, when the one at 0s is out of the window
		expect("ann", tooMany)
		time.Sleep(10 * time.Second)
		expect("ann", "4")
		expect("ann", tooMany)
	})
}

func TestRatePerTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool, _ := limitedRate(config.RateLimit{PerMinute: 2, Exceeded: "error", Per: "tool"})
		for i, want := range []string{"4", "4", tooMany} {
			if res, err := tool.Call(t.Context(), rolledBy(string(rune('a'+i)))); err != nil || res.Output != want {
				t.Errorf("got %+v, %v", res, err)
			}
		}
	})
}

// Seven calls at once, two a minute: two run each minute, and the last one would
// wait too long.
func TestRateWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool, ran := limitedRate(config.RateLimit{PerMinute: 2, Exceeded: "wait", MaxWait: std(2 * time.Minute), Per: "caller"})
		var group sync.WaitGroup
		said := make(chan string, 10)
		for i := range 7 {
			group.Go(func() {
				time.Sleep(time.Duration(i)) // in order
				call := rolledBy("ann")
				call.Progress = func(text string) { said <- text }
				res, err := tool.Call(t.Context(), call)
				if want := "4"; err != nil || (res.Output == want) != (i < 6) || i >= 6 && res.Output != tooMany {
					t.Errorf("call %d: %+v, %v", i, res, err)
				}
			})
		}
		group.Wait()
		close(said)
		second := func(s, ns int) time.Duration { return time.Duration(s)*time.Second + time.Duration(ns) }
		if diff := cmp.Diff([]time.Duration{0, 1, second(60, 0), second(60, 1), second(120, 0), second(120, 1)}, ran()); diff != "" {
			t.Error(diff)
		}
		var texts []string
		for text := range said {
			texts = append(texts, text)
		}
		want := []string{"waiting 60s because of the tool's rate limit", "waiting 60s because of the tool's rate limit",
			"waiting 120s because of the tool's rate limit", "waiting 120s because of the tool's rate limit"}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Error(diff)
		}
	})
}

// Exactly max_wait is waited for, a nanosecond more is not.
func TestRateMaxWait(t *testing.T) {
	for max, want := range map[time.Duration]string{50 * time.Second: "4", 50*time.Second - 1: "roll_die is rate-limited (max 1 calls a minute). Try again shortly."} {
		synctest.Test(t, func(t *testing.T) {
			tool, _ := limitedRate(config.RateLimit{PerMinute: 1, Exceeded: "wait", MaxWait: std(max), Per: "caller"})
			if _, err := tool.Call(t.Context(), rolledBy("ann")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			if res, err := tool.Call(t.Context(), rolledBy("ann")); err != nil || res.Output != want {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
}

// Who gives up while waiting leaves the turn to the next.
func TestRateWaitEndsWithTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool, ran := limitedRate(config.RateLimit{PerMinute: 1, Exceeded: "wait", MaxWait: std(time.Hour), Per: "caller"})
		if _, err := tool.Call(t.Context(), rolledBy("ann")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if res, err := tool.Call(ctx, rolledBy("ann")); !errors.Is(err, context.DeadlineExceeded) || res != nil {
			t.Errorf("got %+v, %v", res, err)
		}
		if _, err := tool.Call(t.Context(), rolledBy("ann")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]time.Duration{0, time.Minute}, ran()); diff != "" {
			t.Error(diff)
		}
	})
}

// A place is spent by what runs: not by what a person has yet to approve or declines,
// and not by what the cache knows.
func TestRateCountsWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.Now, o.Approve = time.Now, &config.Condition{Is: true}
		o.RateLimit = &config.RateLimit{PerMinute: 1, Exceeded: "error", Per: "caller"}
		tool := Wrap(die(gives(agent.Text("4"), nil)), o)
		yes := &session.Answer{Kind: "approval", Action: "accept"}
		for _, answer := range []*session.Answer{nil, {Kind: "approval", Action: "decline"}, yes} {
			res, err := tool.Call(t.Context(), answered(`{"sides":6}`, answer))
			if err != nil || answer == yes && res.Output != "4" {
				t.Errorf("got %+v, %v", res, err)
			}
		}
		if res, err := tool.Call(t.Context(), answered(`{"sides":7}`, yes)); err != nil || !res.NotRun {
			t.Errorf("got %+v, %v", res, err)
		}
		o.Approve, o.Cache = nil, &config.Cache{TTL: std(time.Hour), Entries: 9, MaxBytes: 1024}
		tool = Wrap(die(gives(agent.Text("4"), nil)), o)
		for range 2 {
			if res, err := tool.Call(t.Context(), roll(`{"sides":6}`)); err != nil || res.NotRun {
				t.Errorf("got %+v, %v", res, err)
			}
		}
	})
}

// A call that asked something itself has had its place when the answer comes. One
// that has only been approved has not.
func TestRateAndAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool, _ := limitedRate(config.RateLimit{PerMinute: 1, Exceeded: "error", Per: "caller"})
		for _, tc := range []struct {
			answer *session.Answer
			ran    bool
		}{
			{&session.Answer{Kind: "question", Action: "accept"}, true}, {&session.Answer{Kind: "approval", Action: "accept"}, true},
			{&session.Answer{Kind: "question", Action: "accept"}, true}, {nil, false}, {&session.Answer{Kind: "approval", Action: "accept"}, false},
		} {
			if res, err := tool.Call(t.Context(), answered(`{"sides":6}`, tc.answer)); err != nil || res.NotRun == tc.ran {
				t.Errorf("%+v: got %+v, %v", tc.answer, res, err)
			}
		}
	})
}

// Who gives up makes those behind move up.
func TestRateLineMovesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool, ran := limitedRate(config.RateLimit{PerMinute: 1, Exceeded: "wait", MaxWait: std(time.Hour), Per: "caller"})
		var group sync.WaitGroup
		for i, patience := range []time.Duration{time.Hour, 20 * time.Second, 30 * time.Second, time.Hour, time.Hour} {
			group.Go(func() {
				time.Sleep(time.Duration(i)) // in order
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				if _, err := tool.Call(ctx, rolledBy("ann")); (err == nil) != (patience == time.Hour) {
					t.Errorf("call %d: %v", i, err)
				}
			})
		}
		group.Wait()
		if diff := cmp.Diff([]time.Duration{0, time.Minute, 2 * time.Minute}, ran()); diff != "" {
			t.Error(diff)
		}
	})
}

// A call's minute counts from when it begins, however long it waited for others,
// and who waits for the minute keeps nobody else from running.
func TestRateAndConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		at, began, o := map[string][]int{}, time.Now(), options()
		o.RateLimit, o.Concurrency = &config.RateLimit{PerMinute: 1, Exceeded: "wait", MaxWait: std(time.Hour), Per: "caller"}, 1
		o.Now, o.Timeout = time.Now, time.Hour
		tool := Wrap(die(func(_ context.Context, call *agent.Call) (*agent.Result, error) {
			mu.Lock()
			at[call.Caller.Principal] = append(at[call.Caller.Principal], int(time.Since(began).Seconds()))
			mu.Unlock()
			if call.Caller.Principal == "bob" {
				time.Sleep(59 * time.Second)
			}
			return agent.Text("4"), nil
		}), o)
		var group sync.WaitGroup
		for i, who := range []string{"bob", "ann", "ann", "cy", "di"} {
			group.Go(func() {
				time.Sleep(time.Duration(i)) // in order
				if who == "di" {
					time.Sleep(70 * time.Second)
				}
				if res, err := tool.Call(t.Context(), rolledBy(who)); err != nil || res.IsError {
					t.Errorf("%s: %+v, %v", who, res, err)
				}
			})
		}
		group.Wait()
		if diff := cmp.Diff(map[string][]int{"bob": {0}, "ann": {59, 119}, "cy": {59}, "di": {70}}, at); diff != "" {
			t.Error(diff)
		}
	})
}

// Who gives up while others run has taken no place, and whoever cannot get one in
// time is told so when the time is over.
func TestRatePlacesOfCallsThatDoNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.RateLimit, o.Concurrency = &config.RateLimit{PerMinute: 1, Exceeded: "wait", MaxWait: std(time.Minute), Per: "caller"}, 1
		o.Now, o.Timeout = time.Now, time.Hour
		tool := Wrap(die(func(_ context.Context, call *agent.Call) (*agent.Result, error) {
			if call.Caller.Principal == "bob" {
				time.Sleep(5 * time.Minute)
			}
			return agent.Text("4"), nil
		}), o)
		began := time.Now()
		var group sync.WaitGroup
		group.Go(func() { _, _ = tool.Call(t.Context(), rolledBy("bob")) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		group.Go(func() {
			if res, err := tool.Call(ctx, rolledBy("ann")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %+v, %v", res, err)
			}
		})
		synctest.Wait()
		res, err := tool.Call(t.Context(), rolledBy("ann"))
		if took := time.Since(began); err != nil || !res.NotRun || took != time.Minute {
			t.Errorf("got %+v, %v after %v", res, err, took)
		}
		time.Sleep(time.Minute)
		if res, err := tool.Call(t.Context(), rolledBy("ann")); err != nil || res.Output != "4" {
			t.Errorf("got %+v, %v", res, err)
		}
		group.Wait()
	})
}

// However many callers there are, the table has a bound; those that are idle make
// room, and those beyond share a limit.
func TestRateCallersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limits{max: 1, now: time.Now, callers: map[string]*window{}}
		free := func(caller string) bool {
			w, _, _ := l.join(caller)
			l.begin(w)
			return w != nil
		}
		for i := range maxCallers {
			if !free(strconv.Itoa(i)) {
				t.Fatal(i)
			}
		}
		if !free("x") || free("y") || free("0") || len(l.callers) > maxCallers+1 {
			t.Errorf("%d callers", len(l.callers))
		}
		time.Sleep(time.Minute)
		if !free("y") || !free("z") || len(l.callers) > 3 {
			t.Errorf("%d callers", len(l.callers))
		}
	})
}
