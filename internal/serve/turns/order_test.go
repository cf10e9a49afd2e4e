package turns_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// runnerFunc is a runner that is a function.
type runnerFunc func(context.Context, agent.Turn) iter.Seq2[*session.Event, error]

func (f runnerFunc) Run(ctx context.Context, t agent.Turn) iter.Seq2[*session.Event, error] {
	return f(ctx, t)
}

// TestOrderOfArrival: turns of one conversation begin in the order in which they
// were asked for, and never overlap; one that is cancelled in line never begins.
func TestOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		var began []int
		active := 0
		var want []int
		var last, third *turns.Attachment
		for i := range 50 {
			q := request(runnerFunc(func(context.Context, agent.Turn) iter.Seq2[*session.Event, error] {
				return func(yield func(*session.Event, error) bool) {
					began = append(began, i)
					if active++; active > 1 {
						t.Error("two turns at once")
					}
					time.Sleep(time.Duration(50-i) * time.Millisecond)
					active--
					yield(&session.Event{Kind: session.TurnEnded}, nil)
				}
			}), "c", fmt.Sprint(i))
			last = attach(t, r, q)
			if i == 3 {
				third = last
			} else {
				want = append(want, i)
			}
		}
		third.Cancel()
		<-third.Done()
		if err := third.Outcome().Err; !errors.Is(err, turns.ErrCancelled) {
			t.Errorf("cancelled in line: %v", err)
		}
		<-last.Done()
		if !slices.Equal(began, want) {
			t.Errorf("began in the order %v", began)
		}
		stop(t, r)
	})
}

func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, start := newRegistry(), time.Now()
		attach(t, r, request(&slow{takes: time.Hour}, "c", "x"))
		q := request(&slow{}, "c", "y")
		q.Patience = time.Minute
		if got := text(t, attach(t, r, q)); got != "error: "+context.DeadlineExceeded.Error() || time.Since(start) != time.Minute {
			t.Errorf("%q after %v", got, time.Since(start))
		}
		stop(t, r)
	})
}

// TestOlderTurnStaysFindable beside an identical one that was asked for on purpose.
func TestOlderTurnStaysFindable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := newRegistry(), &slow{takes: 20 * time.Second}
		first := attach(t, r, request(s, "c", "x"))
		second := attach(t, r, request(s, "c", "x"))
		first.Absent()
		first.Leave(false)
		if got := text(t, attach(t, r, request(s, "c", "x"))); got != "run 1" {
			t.Errorf("the older turn gives %q", got)
		}
		if got := text(t, second); got != "run 2" {
			t.Errorf("the newer turn gives %q", got)
		}
		stop(t, r)
	})
}

// TestNoStaleAnswer: an answer that nobody got is not given once the
// conversation has gone on.
func TestNoStaleAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, over := range map[string]bool{"over": true, "running": false} {
			r, s := newRegistry(), &slow{takes: time.Second}
			lost := attach(t, r, request(s, "c", "x"))
			elsewhere := attach(t, r, request(s, "d", "x"))
			<-elsewhere.Done()
			elsewhere.Leave(false)
			if over {
				<-lost.Done()
			}
			lost.Leave(false)
			other := attach(t, r, request(s, "c", "y"))
			<-other.Done()
			other.Leave(true)
			if got := text(t, attach(t, r, request(s, "c", "x"))); got != "run 4" {
				t.Errorf("%s: %q", name, got)
			}
			before := s.runs.Load()
			if text(t, attach(t, r, request(s, "d", "x"))); s.runs.Load() != before {
				t.Errorf("%s: another conversation's answer has gone", name)
			}
			stop(t, r)
		}
	})
}

// TestUnheardFailureIsLogged, since no caller hears of it.
func TestUnheardFailureIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := turns.New(slog.New(slog.NewTextHandler(&log, nil)), time.Now)
		q := request(runnerFunc(func(context.Context, agent.Turn) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				time.Sleep(time.Second)
				yield(nil, errors.New("the disk is full"))
			}
		}), "c", "x")
		unheard := attach(t, r, q)
		unheard.Leave(false)
		<-unheard.Done()
		stop(t, r)
		if !strings.Contains(log.String(), "the disk is full") {
			t.Errorf("logged %q", log.String())
		}
	})
}
