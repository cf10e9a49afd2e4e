package turns_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// slow is a runner whose turns take a while and say how often they ran.
type slow struct {
	takes time.Duration
	runs  atomic.Int32
	deaf  bool // does not listen to its context
	bad   bool
}

func (s *slow) Run(ctx context.Context, t agent.Turn) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		n := s.runs.Add(1)
		if t.Key.Handle == "panic" {
			panic("told to")
		}
		done := ctx.Done()
		if s.deaf {
			done = nil
		}
		select {
		case <-done:
			yield(&session.Event{Kind: session.TurnEnded, Problem: &session.Problem{Code: session.Cancelled, Message: context.Cause(ctx).Error()}}, nil)
			return
		case <-time.After(s.takes):
		}
		var p *session.Problem
		if s.bad {
			p = &session.Problem{Code: "blocked", Message: "no"}
		}
		_ = yield(&session.Event{Kind: session.ModelReply, Content: genai.NewContentFromText(fmt.Sprintf("run %d", n), genai.RoleModel)}, nil) &&
			yield(&session.Event{Kind: session.TurnEnded, Problem: p}, nil)
	}
}

func newRegistry() *turns.Registry {
	return turns.New(slog.New(slog.NewTextHandler(io.Discard, nil)), time.Now)
}

func request(r turns.Runner, handle, arguments string) turns.Request {
	return turns.Request{
		Runner:    r,
		Turn:      agent.Turn{Key: session.Key{Principal: "ann", Agent: "a", Handle: handle}},
		Arguments: arguments,
		Observe:   func(*session.Event) {},
	}
}

func attach(t *testing.T, r *turns.Registry, q turns.Request) *turns.Attachment {
	t.Helper()
	a, err := r.Attach(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func text(t *testing.T, a *turns.Attachment) string {
	t.Helper()
	<-a.Done()
	out := a.Outcome()
	switch {
	case out.Err != nil:
		return "error: " + out.Err.Error()
	case out.Answer.Problem != nil:
		return out.Answer.Problem.Code + ": " + out.Answer.Problem.Message
	}
	return out.Answer.Content.Parts[0].Text
}

func stop(t *testing.T, r *turns.Registry) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := r.Stop(ctx, 0, nil); err != nil {
		t.Error(err)
	}
}

func TestSameRequestAttaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := newRegistry(), &slow{takes: time.Minute}
		first := attach(t, r, request(s, "c", "x"))
		time.Sleep(turns.RepeatAfter)
		second := attach(t, r, request(s, "c", "x"))
		other := attach(t, r, request(s, "c", "y"))
		elsewhere := attach(t, r, request(s, "d", "x"))
		unknown := attach(t, r, request(s, "e", ""))
		unknown2 := attach(t, r, request(s, "e", ""))
		if a, b := text(t, first), text(t, second); a != b {
			t.Errorf("%q and %q, want the same turn", a, b)
		}
		for _, a := range []*turns.Attachment{other, elsewhere, unknown, unknown2} {
			if text(t, a) == text(t, first) {
				t.Error("another request got the same turn")
			}
		}
		if n := s.runs.Load(); n != 5 {
			t.Errorf("%d turns, want 5", n)
		}
		// Delivered, so the same request again is a new one.
		first.Leave(true)
		second.Leave(false)
		if again := attach(t, r, request(s, "c", "x")); text(t, again) != "run 6" {
			t.Errorf("got %q of a delivered turn", text(t, again))
		}
		stop(t, r)
	})
}

// TestAskedTwiceOnPurpose: the same request at the same time is two requests,
// unless the one who asked first has gone.
func TestAskedTwiceOnPurpose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := newRegistry(), &slow{takes: time.Minute}
		first := attach(t, r, request(s, "c", "x"))
		time.Sleep(turns.RepeatAfter - time.Nanosecond)
		second := attach(t, r, request(s, "c", "x"))
		second.Absent()
		third := attach(t, r, request(s, "c", "x"))
		if a, b, c := text(t, first), text(t, second), text(t, third); a == b || b != c {
			t.Errorf("got %q, %q and %q", a, b, c)
		}
		stop(t, r)
	})
}

func TestUndeliveredAnswerIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := newRegistry(), &slow{takes: time.Second}
		// The caller goes before the end and after it.
		for i, early := range []bool{true, false} {
			handle := fmt.Sprint("c", i)
			gone := attach(t, r, request(s, handle, "x"))
			if !early {
				<-gone.Done()
			}
			gone.Leave(false)
			time.Sleep(time.Minute)
			again := attach(t, r, request(s, handle, "x"))
			if got, want := text(t, again), fmt.Sprint("run ", i+1); got != want {
				t.Errorf("early %v: got %q, want %q", early, got, want)
			}
			again.Leave(true)
		}
		// Not for ever, not too many, and no failures.
		lost := attach(t, r, request(s, "old", "x"))
		lost.Leave(false)
		time.Sleep(turns.KeepFor + time.Minute)
		if got := text(t, attach(t, r, request(s, "old", "x"))); got != "run 4" {
			t.Errorf("after KeepFor: %q", got)
		}
		for i := range turns.MaxKept + 1 {
			attach(t, r, request(s, fmt.Sprint("many", i), "x")).Leave(false)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		before := s.runs.Load()
		text(t, attach(t, r, request(s, "many1", "x")))
		if s.runs.Load() != before {
			t.Error("the second oldest is not kept")
		}
		text(t, attach(t, r, request(s, "many0", "x")))
		if s.runs.Load() != before+1 {
			t.Error("more than MaxKept are kept")
		}
		bad := &slow{bad: true}
		attach(t, r, request(bad, "bad", "x")).Leave(false)
		time.Sleep(time.Second)
		text(t, attach(t, r, request(bad, "bad", "x")))
		if bad.runs.Load() != 2 {
			t.Error("a failure was kept")
		}
		stop(t, r)
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := newRegistry(), &slow{takes: time.Hour}
		a := attach(t, r, request(s, "c", "x"))
		time.Sleep(turns.RepeatAfter)
		start := time.Now()
		b := attach(t, r, request(s, "c", "x"))
		absent := attach(t, r, request(s, "c", "x"))
		absent.Absent()
		a.Cancel()
		a.Cancel() // counts once
		synctest.Wait()
		select {
		case <-b.Done():
			t.Fatal("cancelled although another caller waits")
		default:
		}
		b.Cancel()
		if got := text(t, b); got != "cancelled: "+turns.ErrCancelled.Error() {
			t.Errorf("got %q", got)
		}
		if time.Since(start) != 0 {
			t.Error("it took until", time.Since(start))
		}
		// A new request does not get the one that was stopped.
		again := attach(t, r, request(s, "c", "x"))
		synctest.Wait()
		if s.runs.Load() != 2 {
			t.Error("attached to a cancelled turn")
		}
		again.Cancel()
		stop(t, r)
	})
}

func TestTurnOutlivesItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := newRegistry(), &slow{takes: time.Second}
		ctx, cancel := context.WithCancel(t.Context())
		a, err := r.Attach(ctx, request(s, "c", "x"))
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if got := text(t, a); got != "run 1" {
			t.Errorf("got %q", got)
		}
		stop(t, r)
	})
}

func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		quick, long := &slow{takes: time.Second}, &slow{takes: time.Hour}
		b := attach(t, r, request(long, "b", "x"))
		time.Sleep(turns.RepeatAfter)
		a := attach(t, r, request(quick, "a", "x"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		refused := make(chan error, 1)
		go func() {
			time.Sleep(time.Second / 2)
			_, err := r.Attach(t.Context(), request(quick, "c", "x"))
			refused <- err
			_, err = r.Attach(t.Context(), request(long, "b", "x")) // to a running turn one can attach
			refused <- err
		}()
		if err := r.Stop(ctx, 10*time.Second, nil); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("took %v", took)
		}
		if got := text(t, a); got != "run 1" {
			t.Errorf("a turn that was quick enough: %q", got)
		}
		if got := text(t, b); got != "cancelled: "+turns.ErrStopping.Error() {
			t.Errorf("a turn that was not: %q", got)
		}
		if err := <-refused; !errors.Is(err, turns.ErrStopping) {
			t.Errorf("a new turn while stopping: %v", err)
		}
		if err := <-refused; err != nil {
			t.Errorf("attaching while stopping: %v", err)
		}
		if err := r.Stop(ctx, 0, nil); err != nil {
			t.Error("a second time:", err)
		}
	})
}

func TestStopGivesUpOnTheDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		attach(t, r, request(&slow{takes: time.Hour, deaf: true}, "c", "x"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Stop(ctx, 0, nil); err == nil || !strings.Contains(err.Error(), "1 turns") {
			t.Errorf("got %v", err)
		}
		time.Sleep(2 * time.Hour) // let it go
		stop(t, r)
	})
}

func TestWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := newRegistry(), &slow{takes: time.Second}
		key := session.Key{Principal: "ann", Agent: "a", Handle: "c"}
		var at []time.Duration
		start := time.Now()
		note := func(ctx context.Context) {
			if ctx.Err() != nil {
				t.Error("the context has ended")
			}
			at = append(at, time.Since(start))
		}
		r.WhenIdle(t.Context(), key, note)
		attach(t, r, request(s, "c", "x"))
		long := attach(t, r, request(&slow{takes: 3 * time.Second}, "c", "y"))
		r.WhenIdle(t.Context(), key, note)
		<-long.Done()
		stop(t, r)
		if want := []time.Duration{0, 4 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("done at %v, want %v", at, want)
		}
	})
}

func TestBoundsAndPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := newRegistry(), &slow{takes: time.Hour}
		if got := text(t, attach(t, r, request(s, "panic", "x"))); got != "error: "+turns.ErrPanic.Error() {
			t.Errorf("a panic: %q", got)
		}
		synctest.Wait()
		for i := range turns.MaxTurns {
			attach(t, r, request(s, fmt.Sprint(i), "x"))
		}
		if _, err := r.Attach(t.Context(), request(s, "one more", "x")); !errors.Is(err, turns.ErrBusy) {
			t.Errorf("one turn too many: %v", err)
		}
		time.Sleep(turns.RepeatAfter)
		for range turns.MaxAttached - 1 {
			attach(t, r, request(s, "7", "x"))
		}
		if _, err := r.Attach(t.Context(), request(s, "7", "x")); !errors.Is(err, turns.ErrBusy) {
			t.Errorf("one caller too many: %v", err)
		}
		stop(t, r)
	})
}

func TestEveryEventIsObservedBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		var kinds []session.Kind
		q := request(&slow{}, "c", "x")
		q.Observe = func(e *session.Event) { kinds = append(kinds, e.Kind) }
		a := attach(t, r, q)
		<-a.Done()
		if want := []session.Kind{session.ModelReply, session.TurnEnded}; !slices.Equal(kinds, want) {
			t.Errorf("%v, want %v", kinds, want)
		}
		stop(t, r)
	})
}
