package parking

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newLot(t *testing.T) *Lot {
	l := New(slog.New(slog.DiscardHandler))
	t.Cleanup(l.Close)
	return l
}

// count is how many calls run.
func count(l *Lot) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.live)
}

func by(owner string) Caller { return Caller{Owner: owner, Progress: func(string) {}} }

// asking is work that asks so many times and gives the last answer.
func asking(times int) Work {
	return func(ctx context.Context, c *Call) (*agent.Result, error) {
		said := ""
		for range times {
			a, err := c.Ask(ctx, &session.Suspension{Kind: model.Question, Message: "which?"})
			if err != nil {
				return nil, err
			}
			said += a.Action
		}
		return agent.Text(said), nil
	}
}

// suspended makes sure that a call asks.
func suspended(t *testing.T, r *agent.Result, err error) json.RawMessage {
	t.Helper()
	if err != nil || r == nil || r.Suspend == nil || r.Suspend.Message != "which?" {
		t.Fatalf("got %+v, %v", r, err)
	}
	return r.Suspend.Opaque
}

func accept() *session.Answer { return &session.Answer{Action: model.Accept} }

func TestAskAndResume(t *testing.T) {
	l := newLot(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := l.Run(ctx, by("ann"), asking(2))
	first := suspended(t, r, err)
	cancel() // the turn has gone, the question waits
	if _, err := l.Resume(t.Context(), by("bob"), first, accept()); !errors.Is(err, ErrGone) {
		t.Errorf("another owner: %v", err)
	}
	r, err = l.Resume(t.Context(), by("ann"), first, accept())
	second := suspended(t, r, err)
	for _, opaque := range []string{string(first), `{}`, `7`, ``, `{"parked":"x"}`} {
		if _, err := l.Resume(t.Context(), by("ann"), json.RawMessage(opaque), accept()); !errors.Is(err, ErrGone) {
			t.Errorf("%s: %v", opaque, err)
		}
	}
	r, err = l.Resume(t.Context(), by("ann"), second, &session.Answer{Action: model.Decline})
	if err != nil || r.Output != model.Accept+model.Decline {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestContext: the work ends with whoever waits for it, and with nobody else.
func TestContext(t *testing.T) {
	l := newLot(t)
	why := errors.New("timeout")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	work := func(ctx context.Context, c *Call) (*agent.Result, error) {
		if _, err := c.Ask(ctx, &session.Suspension{Message: "which?"}); err != nil {
			return nil, err
		}
		cancel(why)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}
	r, err := l.Run(t.Context(), by("ann"), work)
	if _, err = l.Resume(ctx, by("ann"), suspended(t, r, err), accept()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if cause := <-ended; !errors.Is(cause, why) {
		t.Errorf("the cause is %v", cause)
	}
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLot(t)
		r, err := l.Run(t.Context(), by("ann"), asking(1))
		opaque := suspended(t, r, err)
		time.Sleep(MaxTime - time.Second)
		synctest.Wait()
		if count(l) != 1 {
			t.Fatal("the call has ended too soon")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if count(l) != 0 {
			t.Error("the call still runs")
		}
		if _, err := l.Resume(t.Context(), by("ann"), opaque, accept()); !errors.Is(err, ErrGone) {
			t.Errorf("got %v", err)
		}
	})
}

// TestFull: one question too many of a principal, or of all, is not put, and the
// call goes on.
func TestFull(t *testing.T) {
	l := newLot(t)
	ask := func(principal string) error {
		heard := 0
		_, err := l.Run(t.Context(), Caller{Owner: "o", Principal: principal, Progress: func(string) { heard++ }}, func(ctx context.Context, c *Call) (*agent.Result, error) {
			r, err := asking(1)(ctx, c)
			c.Progress("on")
			return r, err
		})
		if (err != nil) != (heard == 1) {
			t.Errorf("%s: %v, heard %d", principal, err, heard)
		}
		return err
	}
	for i := range MaxParked {
		principal := fmt.Sprint("p", i/MaxEach)
		if err := ask(principal); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if i%MaxEach == MaxEach-1 {
			if err := ask(principal); !errors.Is(err, ErrFull) {
				t.Errorf("%d of %s: %v", i, principal, err)
			}
		}
	}
	if err := ask("somebody else"); !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
}

func TestClose(t *testing.T) {
	l := newLot(t)
	r, err := l.Run(t.Context(), by("ann"), asking(1))
	opaque := suspended(t, r, err)
	l.Close()
	if count(l) != 0 {
		t.Error("a call still runs")
	}
	if _, err := l.Resume(t.Context(), by("ann"), opaque, accept()); !errors.Is(err, ErrGone) {
		t.Errorf("got %v", err)
	}
	if _, err := l.Run(t.Context(), by("ann"), asking(0)); err == nil {
		t.Error("a closed lot runs calls")
	}
}

// TestEndsWhileParked: a server that does not wait for the answer has its say.
func TestEndsWhileParked(t *testing.T) {
	l := newLot(t)
	r, err := l.Run(t.Context(), by("ann"), func(ctx context.Context, c *Call) (*agent.Result, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		_, err := c.Ask(ctx, &session.Suspension{Message: "which?"})
		return agent.Failure(err.Error()), nil
	})
	opaque := suspended(t, r, err)
	l.running.Wait()
	r, err = l.Resume(t.Context(), by("ann"), opaque, accept())
	if err != nil || r.Output != context.DeadlineExceeded.Error() {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestPanic(t *testing.T) {
	l := newLot(t)
	_, err := l.Run(t.Context(), by("ann"), func(context.Context, *Call) (*agent.Result, error) { panic("x") })
	if !errors.Is(err, errPanic) {
		t.Errorf("got %v", err)
	}
}
