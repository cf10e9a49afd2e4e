package middleware

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
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
