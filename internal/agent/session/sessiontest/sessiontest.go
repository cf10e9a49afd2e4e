// Package sessiontest is the contract that every conversation store keeps.
//
// Start with [Run].
package sessiontest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// Run checks a store against the contract of [session.Store]. open gives an
// empty store that holds at least a hundred conversations of 64 KiB each; Run
// closes it.
func Run(t *testing.T, open func(t *testing.T) session.Store) {
	for name, check := range map[string]func(*testing.T, session.Store){
		"append and load":         appendAndLoad,
		"unknown conversations":   unknown,
		"version conflict":        conflict,
		"one lease at a time":     oneLease,
		"waiting can be given up": giveUp,
		"delete":                  remove,
		"shared state":            shared,
		"numbers keep digits":     numbers,
		"close ends waiting":      closing,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			defer s.Close()
			check(t, s)
		})
	}
}

func keyOf(principal, agent, handle string) session.Key {
	return session.Key{Principal: principal, Agent: agent, Handle: handle}
}

var key = session.Key{Principal: "ann", Agent: "a", Handle: "h"}

// Lease opens a conversation or fails the test.
func Lease(t *testing.T, s session.Store, k session.Key, m session.Mode) session.Lease {
	t.Helper()
	l, err := s.Open(t.Context(), k, m)
	if err != nil {
		t.Fatalf("open %+v: %v", k, err)
	}
	return l
}

// Message is an event that holds text.
func Message(text string) *session.Event {
	return &session.Event{Kind: session.UserMessage, Time: time.Unix(0, 0).UTC(), Author: "user",
		Content: &genai.Content{Role: "user", Parts: []*genai.Part{{Text: text}}}}
}

// Say appends text to a lease or fails the test.
func Say(t *testing.T, l session.Lease, text string) {
	t.Helper()
	if err := l.Append(t.Context(), l.Version(), Message(text)); err != nil {
		t.Fatalf("append: %v", err)
	}
}

// Texts gives the texts of a conversation after a sequence number.
func Texts(t *testing.T, l session.Lease, after int64) string {
	t.Helper()
	s := ""
	for e, err := range l.Load(t.Context(), after) {
		if err != nil {
			t.Fatalf("load: %v", err)
		}
		if after++; e.Seq != after || e.V != session.Version {
			t.Errorf("event has sequence %d version %d, want %d and %d", e.Seq, e.V, after, session.Version)
		}
		s += e.Content.Parts[0].Text + ";"
	}
	return s
}

func appendAndLoad(t *testing.T, s session.Store) {
	l := Lease(t, s, key, session.Create)
	if err := l.Append(t.Context(), 0, Message("a"), Message("b")); err != nil {
		t.Fatal(err)
	}
	Say(t, l, "c")
	l.Release()
	l.Release() // a second time does nothing
	l = Lease(t, s, key, session.MustExist)
	defer l.Release()
	if got := Texts(t, l, 0) + Texts(t, l, 2) + Texts(t, l, 3); got != "a;b;c;c;" || l.Version() != 3 {
		t.Errorf("loaded %q at version %d", got, l.Version())
	}
}

func unknown(t *testing.T, s session.Store) {
	l := Lease(t, s, key, session.Create)
	Say(t, l, "a")
	l.Release()
	for _, k := range []session.Key{keyOf("bob", "a", "h"), keyOf("ann", "b", "h"), keyOf("ann", "a", "x")} {
		if _, err := s.Open(t.Context(), k, session.MustExist); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("open %+v: %v", k, err)
		}
	}
}

func conflict(t *testing.T, s session.Store) {
	l := Lease(t, s, key, session.Create)
	defer l.Release()
	Say(t, l, "a")
	if err := l.Append(t.Context(), 0, Message("b")); !errors.Is(err, session.ErrConflict) {
		t.Errorf("append at an old version: %v", err)
	}
	if got := Texts(t, l, 0); got != "a;" {
		t.Errorf("holds %q", got)
	}
}

func oneLease(t *testing.T, s session.Store) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	holders := 0
	for range 10 {
		wg.Go(func() {
			for range 10 {
				l, err := s.Open(t.Context(), key, session.Create)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if holders++; holders > 1 {
					t.Error("two hold the lease")
				}
				mu.Unlock()
				if err := l.Append(t.Context(), l.Version(), Message("x")); err != nil {
					t.Error(err)
				}
				mu.Lock()
				holders--
				mu.Unlock()
				l.Release()
			}
		})
	}
	wg.Wait()
	l := Lease(t, s, key, session.MustExist)
	defer l.Release()
	if l.Version() != 100 {
		t.Errorf("version %d, want 100", l.Version())
	}
}

func giveUp(t *testing.T, s session.Store) {
	l := Lease(t, s, key, session.Create)
	Say(t, l, "a")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := s.Open(ctx, key, session.MustExist); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
	l.Release()
	Lease(t, s, key, session.MustExist).Release()
}

func remove(t *testing.T, s session.Store) {
	l := Lease(t, s, key, session.Create)
	Say(t, l, "a")
	if err := s.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(t.Context(), l.Version(), Message("b")); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("append to a deleted conversation: %v", err)
	}
	l.Release()
	if _, err := s.Open(t.Context(), key, session.MustExist); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("open a deleted conversation: %v", err)
	}
	if err := s.Delete(t.Context(), key); err != nil {
		t.Errorf("delete what is not there: %v", err)
	}
	l = Lease(t, s, key, session.Create)
	defer l.Release()
	if l.Version() != 0 {
		t.Errorf("the new conversation begins at version %d", l.Version())
	}
}

func shared(t *testing.T, s session.Store) {
	l := Lease(t, s, key, session.Create)
	e := Message("a")
	e.StateDelta = map[string]any{"app:x": "1", "user:y": "2", "own": "3", "temp:z": "4"}
	if err := l.Append(t.Context(), 0, e); err != nil {
		t.Fatal(err)
	}
	l.Release()
	for k, want := range map[session.Key]string{
		keyOf("ann", "a", "other"): "map[app:x:1 user:y:2]",
		keyOf("bob", "a", "h"):     "map[app:x:1]",
		keyOf("ann", "b", "h"):     "map[]",
	} {
		l := Lease(t, s, k, session.Create)
		got, err := l.Shared(t.Context())
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%+v sees %v (%v), want %s", k, got, err, want)
		}
		l.Release()
	}
}

func numbers(t *testing.T, s session.Store) {
	l := Lease(t, s, key, session.Create)
	defer l.Release()
	e := Message("a")
	e.Call = &session.Call{ID: "1", Name: "f", Args: json.RawMessage(`{"n":12345678901234567890,"x":1.10}`)}
	if err := l.Append(t.Context(), 0, e); err != nil {
		t.Fatal(err)
	}
	for e, err := range l.Load(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if string(e.Call.Args) != `{"n":12345678901234567890,"x":1.10}` {
			t.Errorf("arguments came back as %s", e.Call.Args)
		}
	}
}

func closing(t *testing.T, s session.Store) {
	l := Lease(t, s, key, session.Create)
	defer l.Release()
	done := make(chan error)
	go func() {
		_, err := s.Open(t.Context(), key, session.Create)
		done <- err
	}()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, session.ErrClosed) {
		t.Errorf("waiting ended with %v", err)
	}
	if _, err := s.Open(t.Context(), key, session.Create); !errors.Is(err, session.ErrClosed) {
		t.Errorf("open after close: %v", err)
	}
}
