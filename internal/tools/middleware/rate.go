package middleware

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
)

// rate lets so many calls of a tool run within any minute as r says; nil is any
// number. A call that has to wait takes its turn in the order of coming. The tries
// of one call count as one.
func rate(r *config.RateLimit, now func() time.Time) Middleware {
	return func(spec *agent.Spec, next Handler) Handler {
		if r == nil {
			return next
		}
		limits := &limits{max: r.PerMinute, now: now, callers: make(map[string]*window)}
		longest := r.MaxWait.Std()
		if r.Exceeded == "error" {
			longest = 0
		}
		return func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
			caller := ""
			if r.Per != "tool" {
				caller = "of " + call.Caller.Principal
			}
			booked, at, wait := limits.book(caller, longest)
			if booked == nil {
				return agent.NotRun(fmt.Sprintf("%s is rate-limited (max %d calls a minute). Try again shortly.", spec.Name, r.PerMinute)), nil
			}
			if wait > 0 {
				call.Progress(fmt.Sprintf("waiting %s because of the tool's rate limit", seconds(roundUp(wait, time.Second))))
				if err := sleep(ctx, wait); err != nil {
					limits.cancel(booked, at)
					return nil, fmt.Errorf("waiting because of the tool's rate limit: %w", err)
				}
			}
			return next(ctx, call)
		}
	}
}

// maxCallers bounds the callers that have a limit of their own. Those beyond share
// one.
const maxCallers = 1000

// minute is the width of the window.
const minute = time.Minute

// limits are the windows of one tool.
type limits struct {
	max     int
	now     func() time.Time
	mu      sync.Mutex
	callers map[string]*window
}

// window has the times at which calls of one caller run, past and to come, in
// order. Of any max+1 in a row the first and the last lie a minute apart.
type window struct{ times []time.Time }

// book finds the first time at which a call may run, and takes it. There is no
// window where that is longer away than the call may wait.
func (l *limits) book(caller string, longest time.Duration) (w *window, at time.Time, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	w = l.window(caller, now)
	for len(w.times) > 0 && now.Sub(w.times[0]) >= minute {
		w.times = w.times[1:] // append moves what is left when it needs room
	}
	at = now
	if n := len(w.times); n > 0 {
		at = later(at, w.times[n-1])
		if n >= l.max {
			at = later(at, w.times[n-l.max].Add(minute))
		}
	}
	if wait = at.Sub(now); wait > longest {
		return nil, at, wait
	}
	w.times = append(w.times, at)
	return w, at, wait
}

// cancel gives a time back.
func (l *limits) cancel(w *window, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(w.times, at.Equal); i >= 0 {
		w.times = slices.Delete(w.times, i, i+1)
	}
}

// window gives that of a caller, or the shared one where there are too many.
func (l *limits) window(caller string, now time.Time) *window {
	if w := l.callers[caller]; w != nil {
		return w
	}
	if len(l.callers) >= maxCallers {
		for name, w := range l.callers {
			if n := len(w.times); n == 0 || now.Sub(w.times[n-1]) >= minute {
				delete(l.callers, name)
			}
		}
	}
	if len(l.callers) >= maxCallers {
		caller = ""
	}
	w := l.callers[caller]
	if w == nil {
		w = &window{}
		l.callers[caller] = w
	}
	return w
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// roundUp gives the next multiple of unit.
func roundUp(d, unit time.Duration) time.Duration { return (d + unit - 1).Truncate(unit) }

// sleep waits, or gives the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// slots lets n calls of a tool run at the same time; 0 means any number. The
// others wait for as long as their context allows.
func slots(n int) Middleware {
	return func(_ *agent.Spec, next Handler) Handler {
		if n <= 0 {
			return next
		}
		taken := make(chan struct{}, n) // holds one element per running call
		return func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
			select {
			case taken <- struct{}{}:
				defer func() { <-taken }()
				return next(ctx, call)
			case <-ctx.Done():
				return nil, fmt.Errorf("waiting for earlier calls of the tool: %w", ctx.Err())
			}
		}
	}
}
