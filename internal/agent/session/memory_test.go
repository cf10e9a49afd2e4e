package session_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/agent/session/sessiontest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemoryKeepsTheContract(t *testing.T) {
	sessiontest.Run(t, func(*testing.T) session.Store {
		return session.NewMemory(session.MemoryOptions{IdleTTL: time.Hour, MaxConversations: 100, MaxBytes: 1 << 20, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	})
}

func TestLineIsFirstInFirstOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session.NewMemory(session.MemoryOptions{IdleTTL: time.Hour, MaxConversations: 9, MaxBytes: 1 << 20, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		l := sessiontest.Lease(t, s, handle("h"), session.Create)
		for i := range 5 {
			go func() {
				l := sessiontest.Lease(t, s, handle("h"), session.Create)
				sessiontest.Say(t, l, fmt.Sprint(i))
				l.Release()
			}()
			synctest.Wait() // until it stands in line
		}
		l.Release()
		synctest.Wait()
		l = sessiontest.Lease(t, s, handle("h"), session.MustExist)
		defer l.Release()
		if got := sessiontest.Texts(t, l, 0); got != "0;1;2;3;4;" {
			t.Errorf("order %q", got)
		}
	})
}

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func small(log *bytes.Buffer) (*session.Memory, *clock) {
	c := &clock{time.Unix(0, 0)}
	return session.NewMemory(session.MemoryOptions{IdleTTL: time.Hour, MaxConversations: 3, MaxBytes: 2000, Now: c.Now, Log: slog.New(slog.NewTextHandler(log, nil))}), c
}

func handle(h string) session.Key { return session.Key{Principal: "ann", Agent: "a", Handle: h} }

func start(t *testing.T, s session.Store, h string) {
	l := sessiontest.Lease(t, s, handle(h), session.Create)
	sessiontest.Say(t, l, "hello")
	l.Release()
}

func exists(t *testing.T, s session.Store, h string) bool {
	l, err := s.Open(t.Context(), handle(h), session.MustExist)
	if err == nil {
		l.Release()
	}
	return err == nil
}

func TestIdleConversationsExpire(t *testing.T) {
	var log bytes.Buffer
	s, c := small(&log)
	start(t, s, "old")
	c.now = c.now.Add(40 * time.Minute)
	start(t, s, "young")
	c.now = c.now.Add(40 * time.Minute)
	if exists(t, s, "old") || !exists(t, s, "young") {
		t.Error("want old gone and young kept")
	}
	if !strings.Contains(log.String(), "reason=idle") {
		t.Errorf("the eviction is not logged: %s", &log)
	}
	l := sessiontest.Lease(t, s, handle("young"), session.MustExist)
	c.now = c.now.Add(2 * time.Hour)
	start(t, s, "other")
	sessiontest.Say(t, l, "a turn in progress is never evicted")
	l.Release()
}

func TestTooManyConversations(t *testing.T) {
	var log bytes.Buffer
	s, _ := small(&log)
	start(t, s, "1")
	l := sessiontest.Lease(t, s, handle("1"), session.MustExist) // in use: stays
	for i := 2; i <= 5; i++ {
		start(t, s, fmt.Sprint(i))
	}
	l.Release()
	if s.Len() != 3 || !exists(t, s, "1") || exists(t, s, "3") || !exists(t, s, "5") {
		t.Errorf("%d conversations kept, the wrong ones", s.Len())
	}
	if !strings.Contains(log.String(), "too many conversations") {
		t.Errorf("the eviction is not logged: %s", &log)
	}
}

func TestNobodyDrivesOutAnother(t *testing.T) {
	s, _ := small(&bytes.Buffer{})
	start(t, s, "ann's")
	for i := range 10 {
		k := session.Key{Principal: "bob", Agent: "a", Handle: fmt.Sprint(i)}
		l := sessiontest.Lease(t, s, k, session.Create)
		sessiontest.Say(t, l, "hello")
		l.Release()
	}
	if !exists(t, s, "ann's") || s.Len() != 3 {
		t.Errorf("ann's conversation is gone, %d are kept", s.Len())
	}
}

func TestFullConversation(t *testing.T) {
	s, _ := small(&bytes.Buffer{})
	l := sessiontest.Lease(t, s, handle("h"), session.Create)
	defer l.Release()
	sessiontest.Say(t, l, strings.Repeat("x", 1000))
	if err := l.Append(t.Context(), 1, sessiontest.Message(strings.Repeat("x", 1000))); !errors.Is(err, session.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
	if err := l.Append(t.Context(), 1, &session.Event{Kind: session.TurnEnded, Text: strings.Repeat("x", 1000)}); err != nil {
		t.Errorf("a full conversation cannot be closed: %v", err)
	}
}

func TestFullSharedState(t *testing.T) {
	s, _ := small(&bytes.Buffer{})
	l := sessiontest.Lease(t, s, handle("h"), session.Create)
	defer l.Release()
	first, second := sessiontest.Message("a"), sessiontest.Message("b")
	first.StateDelta = map[string]any{"app:x": "1"}
	second.StateDelta = map[string]any{"app:y": strings.Repeat("x", 3000)}
	if err := l.Append(t.Context(), 0, first, second); !errors.Is(err, session.ErrTooLarge) && !errors.Is(err, session.ErrStateFull) {
		t.Errorf("error %v", err)
	}
	if got, err := l.Shared(t.Context()); err != nil || len(got) > 0 || l.Version() != 0 {
		t.Errorf("half of it was kept: %v %v at version %d", got, err, l.Version())
	}
	for i := range 3 { // as much as fits, one by one
		e := sessiontest.Message("a")
		e.StateDelta = map[string]any{fmt.Sprint("user:", i): strings.Repeat("x", 900)}
		lease := sessiontest.Lease(t, s, handle(fmt.Sprint(i)), session.Create)
		if err := lease.Append(t.Context(), 0, e); (i == 2) != errors.Is(err, session.ErrStateFull) {
			t.Errorf("%d: %v", i, err)
		}
		lease.Release()
	}
}

func TestOpenedAndNeverUsed(t *testing.T) {
	s, _ := small(&bytes.Buffer{})
	for i := range 10 {
		sessiontest.Lease(t, s, handle(fmt.Sprint(i)), session.Create).Release()
	}
	if s.Len() != 0 {
		t.Errorf("%d empty conversations kept", s.Len())
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, in := range []string{`{`, `{"v":2,"seq":1,"kind":"user"}`, `{"v":1,"kind":"user"}`, `{"v":1,"seq":1}`} {
		if e, err := session.Decode([]byte(in)); err == nil {
			t.Errorf("%s decodes to %+v", in, e)
		}
	}
}
