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

// rate lets so many calls of a tool begin within any minute as r says, nil being any
// number, and n run at the same time, 0 being any number.
//
// A call first gets its place in the minute, in the order of coming, and then waits
// for those that run. It has the place until a minute after it began: so whatever it
// waits for, no more than so many begin within one. A call that comes again with an
// answer for the tool has had its place, and the tries of one call have one together.
func rate(r *config.RateLimit, n int, now func() time.Time) Middleware {
	return func(spec *agent.Spec, next Handler) Handler {
		if r == nil && n <= 0 {
			return next
		}
		limits, running := newLimits(r, now), newSlots(n)
		return func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
			var w *window // nil: the call needs no place
			if r != nil && !answersTool(call) {
				var err error
				if w, err = limits.enter(ctx, call); err != nil {
					return nil, fmt.Errorf("waiting because of the tool's rate limit: %w", err)
				}
				if w == nil {
					return agent.NotRun(fmt.Sprintf("%s is rate-limited (max %d calls a minute). Try again shortly.", spec.Name, r.PerMinute)), nil
				}
			}
			if err := running.take(ctx); err != nil {
				limits.giveBack(w)
				return nil, fmt.Errorf("waiting for earlier calls of the tool: %w", err)
			}
			defer running.free()
			limits.begin(w)
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
	longest time.Duration // that a call waits
	shared  bool          // one window for all callers
	now     func() time.Time
	mu      sync.Mutex
	callers map[string]*window
}

// newLimits gives nil for no limits.
func newLimits(r *config.RateLimit, now func() time.Time) *limits {
	if r == nil {
		return nil
	}
	l := &limits{max: r.PerMinute, longest: r.MaxWait.Std(), shared: r.Per == "tool", now: now, callers: make(map[string]*window)}
	if r.Exceeded == "error" {
		l.longest = 0
	}
	return l
}

// window has the places of one caller's calls, at most max: those of calls that began
// within the last minute, and those of calls that have a place and are yet to begin.
type window struct {
	begun []time.Time // in order
	held  int
	// queue are those who wait for a place. The first one is told when it should
	// look again.
	queue []waiter
}

type waiter chan struct{}

// enter gives a call a place, when it has one. There is no window where the call
// would wait for too long.
func (l *limits) enter(ctx context.Context, call *agent.Call) (*window, error) {
	caller := ""
	if !l.shared {
		caller = "of " + call.Caller.Principal
	}
	w, me, wait := l.join(caller)
	if me == nil {
		return w, nil
	}
	placed := false
	defer func() {
		if !placed {
			l.leave(w, me)
		}
	}()
	until := l.now().Add(l.longest)
	if wait > 0 {
		call.Progress(fmt.Sprintf("waiting %s because of the tool's rate limit", seconds(roundUp(wait, time.Second))))
	}
	for {
		var pause time.Duration
		if placed, pause = l.advance(w, me); placed {
			return w, nil
		}
		left := until.Sub(l.now())
		if left <= 0 {
			return nil, nil //nolint:nilnil // no place is an answer
		}
		if err := me.sleep(ctx, min(pause, left)); err != nil {
			return nil, err
		}
	}
}

// join gives a call a place at once, or lets it wait, or says with no window that it
// would wait too long.
func (l *limits) join(caller string) (w *window, me waiter, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	w = l.window(caller, now)
	w.forget(now)
	switch wait = w.wait(now, l.max); {
	case wait <= 0 && len(w.queue) == 0:
		w.held++
		return w, nil, 0
	case wait > l.longest:
		return nil, nil, wait
	}
	me = make(waiter, 1)
	w.queue = append(w.queue, me)
	return w, me, wait
}

// wait is how long the next call to come waits at least: as long as it will, if those
// who have a place begin now.
func (w *window) wait(now time.Time, max int) time.Duration {
	// Of any max+1 in a row the first and the last begin a minute apart.
	known, n, minutes := len(w.begun)+w.held, len(w.begun)+w.held+len(w.queue), time.Duration(0)
	for n >= known && n >= max {
		n, minutes = n-max, minutes+1
	}
	at := now
	if n < len(w.begun) {
		at = w.begun[n]
	}
	return at.Add(minutes * minute).Sub(now)
}

// advance gives the first in line a place if there is one, and otherwise says when
// to look again; being told to comes earlier.
func (l *limits) advance(w *window, me waiter) (placed bool, pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	w.forget(now)
	switch {
	case w.queue[0] != me:
		return false, l.longest
	case len(w.begun)+w.held < l.max:
		w.held++
		w.queue = w.queue[1:]
		w.wake()
		return true, 0
	case len(w.begun) == 0:
		return false, l.longest
	}
	return false, w.begun[0].Add(minute).Sub(now)
}

// leave takes who waits no longer out of the line; those behind move up.
func (l *limits) leave(w *window, me waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.queue = slices.DeleteFunc(w.queue, func(other waiter) bool { return other == me })
	w.wake()
}

// begin starts the minute of a call that has a place; none is no window.
func (l *limits) begin(w *window) { l.unhold(w, true) }

// giveBack frees the place of a call that does not begin; none is no window.
func (l *limits) giveBack(w *window) { l.unhold(w, false) }

func (l *limits) unhold(w *window, begins bool) {
	if w == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w.held--
	if begins {
		w.begun = append(w.begun, l.now())
	}
	w.wake()
}

// wake tells the first in line to look again.
func (w *window) wake() {
	if len(w.queue) > 0 {
		select {
		case w.queue[0] <- struct{}{}:
		default: // it has been told and has not looked yet
		}
	}
}

// forget frees the places of calls that began a minute ago or earlier.
func (w *window) forget(now time.Time) {
	for len(w.begun) > 0 && now.Sub(w.begun[0]) >= minute {
		w.begun = w.begun[1:] // append moves what is left when it needs room
	}
}

// sleep waits for a time, or until it is told to look, or gives the context's error.
func (w waiter) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// window gives that of a caller, or the shared one where there are too many.
func (l *limits) window(caller string, now time.Time) *window {
	if w := l.callers[caller]; w != nil {
		return w
	}
	if len(l.callers) >= maxCallers {
		for name, w := range l.callers {
			if w.forget(now); len(w.begun)+w.held+len(w.queue) == 0 {
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

// roundUp gives the next multiple of unit.
func roundUp(d, unit time.Duration) time.Duration { return (d + unit - 1).Truncate(unit) }

// sleep waits, or gives the context's error.
func sleep(ctx context.Context, d time.Duration) error { return waiter(nil).sleep(ctx, d) }

// slots holds one element per running call; nil is for any number of them.
type slots chan struct{}

func newSlots(n int) slots {
	if n <= 0 {
		return nil
	}
	return make(slots, n)
}

// take waits for a slot for as long as the context allows.
func (s slots) take(ctx context.Context) error {
	if s == nil {
		return nil
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s slots) free() {
	if s != nil {
		<-s
	}
}
