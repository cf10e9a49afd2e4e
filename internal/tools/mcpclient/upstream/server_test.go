package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a server that tests make behave. Its connections count themselves.
type fake struct {
	mu     sync.Mutex
	dials  int
	closes int
	lists  []http.Header
	conns  []*fakeConn
	dial   func(ctx context.Context) error
	list   func(ctx context.Context, header http.Header) (*protocol.ToolList, error)
	do     func(ctx context.Context, c *fakeConn, call *protocol.Call) (*protocol.Result, error)
	info   protocol.Server
}

type fakeConn struct {
	f       *fake
	n       int
	done    chan struct{}
	once    sync.Once
	changed func(string)
}

func (c *fakeConn) Tools(ctx context.Context, header http.Header) (*protocol.ToolList, error) {
	c.f.mu.Lock()
	c.f.lists = append(c.f.lists, header)
	list := c.f.list
	c.f.mu.Unlock()
	if list != nil {
		return list(ctx, header)
	}
	return &protocol.ToolList{Tools: []protocol.Tool{{Name: "a"}}}, nil
}

func (c *fakeConn) Do(ctx context.Context, call *protocol.Call) (*protocol.Result, error) {
	if c.f.do != nil {
		return c.f.do(ctx, c, call)
	}
	return &protocol.Result{}, nil
}

func (c *fakeConn) Done() <-chan struct{} { return c.done }
func (c *fakeConn) Err() error            { return errors.New("exit code 3 with s3cret") }
func (c *fakeConn) crash()                { c.once.Do(func() { close(c.done) }) }
func (c *fakeConn) Close() error {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.closes++
	return nil
}

func (f *fake) connect(ctx context.Context, _ http.Header, changed func(string)) (Client, *protocol.Server, error) {
	f.mu.Lock()
	f.dials++
	c := &fakeConn{f: f, n: f.dials, done: make(chan struct{}), changed: changed}
	f.conns = append(f.conns, c)
	dial := f.dial
	f.mu.Unlock()
	if dial != nil {
		if err := dial(ctx); err != nil {
			return nil, nil, err
		}
	}
	return c, &f.info, nil
}

// newest is the newest connection.
func (f *fake) newest() *fakeConn {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conns[len(f.conns)-1]
}

func (f *fake) server() *Server {
	return New(Options{
		Dial: f.connect, StartTimeout: 30 * time.Second, IdleTimeout: 10 * time.Minute, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Redact: func(s string) string { return strings.ReplaceAll(s, "s3cret", "[redacted]") },
	})
}

func (f *fake) count(t *testing.T, dials, closes int) {
	t.Helper()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dials != dials || f.closes != closes {
		t.Errorf("%d connections made and %d closed, want %d and %d", f.dials, f.closes, dials, closes)
	}
}

// within runs a test in a bubble with a server that is closed at its end.
func within(t *testing.T, f *fake, test func(t *testing.T, s *Server)) {
	synctest.Test(t, func(t *testing.T) {
		s := f.server()
		defer s.Close()
		test(t, s)
	})
}

func list(t *testing.T, s *Server, header http.Header) *List {
	t.Helper()
	l, err := s.List(t.Context(), header)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestOneAttemptForAll: who gives up waiting does not spoil it for the others.
func TestOneAttemptForAll(t *testing.T) {
	var ready chan struct{}
	f := &fake{dial: func(ctx context.Context) error {
		select {
		case <-ready:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	synctest.Test(t, func(t *testing.T) {
		ready = make(chan struct{})
		s := f.server()
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 11)
		go func() {
			_, err := s.List(ctx, nil)
			errs <- err
		}()
		synctest.Wait()
		for range 10 {
			go func() {
				_, err := s.Do(t.Context(), &protocol.Call{}, false)
				errs <- err
			}()
		}
		synctest.Wait()
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(ready)
		for range 10 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		f.count(t, 1, 0)
	})
	f.count0(t, 1, 1)
}

// count0 is count outside of a bubble.
func (f *fake) count0(t *testing.T, dials, closes int) {
	t.Helper()
	if f.dials != dials || f.closes != closes {
		t.Errorf("%d connections made and %d closed, want %d and %d", f.dials, f.closes, dials, closes)
	}
}

func TestIdle(t *testing.T) {
	f := &fake{}
	within(t, f, func(t *testing.T, s *Server) {
		first := list(t, s, nil)
		time.Sleep(9 * time.Minute)
		if list(t, s, nil) != first { // counts as use
			t.Error("another list")
		}
		time.Sleep(9 * time.Minute)
		f.count(t, 1, 0)
		f.do = func(ctx context.Context, _ *fakeConn, _ *protocol.Call) (*protocol.Result, error) {
			time.Sleep(time.Hour)
			return &protocol.Result{}, ctx.Err()
		}
		if _, err := s.Do(t.Context(), &protocol.Call{}, false); err != nil {
			t.Error(err)
		}
		f.count(t, 1, 0)
		time.Sleep(10*time.Minute + time.Second)
		f.count(t, 1, 1)
		if list(t, s, nil) == first {
			t.Error("the list of another connection")
		}
		f.count(t, 2, 1)
	})
}

// TestBackOff: a server that cannot be reached is tried again later and later, and
// meanwhile the failure is given at once.
func TestBackOff(t *testing.T) {
	f := &fake{dial: func(context.Context) error { return errors.New("no s3cret way") }}
	within(t, f, func(t *testing.T, s *Server) {
		var last error
		for i, pause := range []int{1, 2, 4, 8, 16, 30, 30} {
			began := time.Now()
			_, err := s.List(t.Context(), nil)
			var failure *Failure
			if !errors.As(err, &failure) || err.Error() != "no [redacted] way" || last != nil && errors.Is(err, last) {
				t.Fatalf("got %v", err)
			}
			last = err
			time.Sleep(time.Duration(pause)*time.Second - time.Millisecond)
			if _, err := s.Do(t.Context(), &protocol.Call{}, true); !errors.Is(err, last) {
				t.Errorf("%d: got %v meanwhile", i, err)
			}
			if took := time.Since(began); took >= time.Duration(pause)*time.Second {
				t.Errorf("took %v", took)
			}
			f.count(t, i+1, 0)
			time.Sleep(time.Millisecond)
		}
		f.dial = nil
		list(t, s, nil)
	})
}

func TestCrash(t *testing.T) {
	f := &fake{}
	within(t, f, func(t *testing.T, s *Server) {
		list(t, s, nil)
		f.newest().crash()
		f.count(t, 1, 1)
		list(t, s, nil) // at once, the first time
		f.newest().crash()
		f.count(t, 2, 2)
		if _, err := s.List(t.Context(), nil); err == nil || err.Error() != "exit code 3 with [redacted]" {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Second)
		list(t, s, nil)
		f.newest().crash()
		synctest.Wait()
		time.Sleep(time.Second)
		if _, err := s.List(t.Context(), nil); err == nil {
			t.Error("not left alone for two seconds")
		}
		time.Sleep(time.Second)
		list(t, s, nil)
		time.Sleep(time.Minute) // that is health
		f.newest().crash()
		synctest.Wait()
		list(t, s, nil)
		f.count(t, 5, 4)
	})
}

func TestStartTimeout(t *testing.T) {
	hang := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	f := &fake{dial: hang}
	within(t, f, func(t *testing.T, s *Server) {
		began := time.Now()
		_, err := s.List(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), "within 30s; raise its start_timeout") || time.Since(began) != 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
	f = &fake{
		dial: func(context.Context) error { time.Sleep(20 * time.Second); return nil },
		list: func(ctx context.Context, _ http.Header) (*protocol.ToolList, error) { return nil, hang(ctx) },
	}
	within(t, f, func(t *testing.T, s *Server) {
		began := time.Now()
		_, err := s.List(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), "cannot be listed: it was not ready within 30s") || time.Since(began) != 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// TestReplay: a call is made again only where that is safe.
func TestReplay(t *testing.T) {
	unknown := &protocol.UnknownOutcomeError{Err: errors.New("cut")}
	for name, tt := range map[string]struct {
		fails      []error // of the calls in turn
		repeatable bool
		calls      int
		ok         bool
		dials      int
	}{
		"fine":                   {nil, false, 1, true, 1},
		"lost session":           {[]error{wire.ErrSessionLost}, false, 2, true, 2},
		"wrapped":                {[]error{fmt.Errorf("x: %w", wire.ErrSessionLost)}, false, 2, true, 2},
		"lost twice":             {[]error{wire.ErrSessionLost, wire.ErrSessionLost}, true, 2, false, 2},
		"not sent":               {[]error{&wire.NotSentError{Err: errors.New("refused")}}, false, 2, true, 2},
		"unknown":                {[]error{unknown}, false, 1, false, 1},
		"unknown, repeatable":    {[]error{unknown}, true, 2, true, 1},
		"unknown twice":          {[]error{unknown, unknown}, true, 2, false, 1},
		"lost, then unknown":     {[]error{wire.ErrSessionLost, unknown}, false, 2, false, 2},
		"an error of the server": {[]error{&protocol.Error{Code: -1, Message: "no"}}, true, 1, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			f := &fake{do: func(context.Context, *fakeConn, *protocol.Call) (*protocol.Result, error) {
				calls++
				if calls <= len(tt.fails) {
					return nil, tt.fails[calls-1]
				}
				return &protocol.Result{}, nil
			}}
			within(t, f, func(t *testing.T, s *Server) {
				res, err := s.Do(t.Context(), &protocol.Call{}, tt.repeatable)
				if (err == nil) != tt.ok || (res != nil) != tt.ok || calls != tt.calls {
					t.Errorf("%v, %v after %d calls", res, err, calls)
				}
				if f.dials != tt.dials {
					t.Errorf("%d connections", f.dials)
				}
			})
		})
	}
}

// TestUnsteady: a server that answers but loses each session is left alone too.
func TestUnsteady(t *testing.T) {
	f := &fake{list: func(context.Context, http.Header) (*protocol.ToolList, error) { return nil, wire.ErrSessionLost }}
	within(t, f, func(t *testing.T, s *Server) {
		for range 3 {
			if _, err := s.List(t.Context(), nil); err == nil {
				t.Error("listed")
			}
		}
		f.count(t, 2, 2)
	})
}

// TestDyingInTheMiddle: the crash of a child is noticed by the next call, although
// others still hold the old connection.
func TestDyingInTheMiddle(t *testing.T) {
	f := &fake{}
	f.do = func(ctx context.Context, c *fakeConn, call *protocol.Call) (*protocol.Result, error) {
		if c.n == 1 {
			c.crash()
			return nil, &protocol.UnknownOutcomeError{Err: errors.New("gone")}
		}
		return &protocol.Result{}, nil
	}
	within(t, f, func(t *testing.T, s *Server) {
		if _, err := s.Do(t.Context(), &protocol.Call{}, true); err != nil {
			t.Error(err)
		}
		f.count(t, 2, 1)
	})
}

func TestCloseEndsEverything(t *testing.T) {
	f := &fake{list: func(ctx context.Context, _ http.Header) (*protocol.ToolList, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	synctest.Test(t, func(t *testing.T) {
		s := f.server()
		s.Start(t.Context())
		synctest.Wait()
		s.Close()
		s.Close()
		f.count(t, 1, 1)
		if _, err := s.List(t.Context(), nil); !errors.Is(err, errClosed) {
			t.Errorf("got %v", err)
		}
		if _, err := s.Do(t.Context(), &protocol.Call{}, false); !errors.Is(err, errClosed) {
			t.Errorf("got %v", err)
		}
		s.Start(t.Context())
	})
	hang := &fake{dial: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	synctest.Test(t, func(t *testing.T) {
		s := hang.server()
		s.Start(t.Context())
		synctest.Wait()
		s.Close()
		hang.count(t, 1, 0)
	})
}
