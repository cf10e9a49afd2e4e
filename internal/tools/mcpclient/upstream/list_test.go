package upstream

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/protocol"
)

func user(name string) http.Header { return http.Header{"X-User": {name}} }

func TestListsByHeader(t *testing.T) {
	f := &fake{}
	within(t, f, func(t *testing.T, s *Server) {
		if s.Peek(nil) != nil {
			t.Error("a list before there is one")
		}
		ann := list(t, s, user("ann"))
		if list(t, s, user("bob")) == ann || list(t, s, user("ann")) != ann || s.Peek(user("ann")) != ann || s.Peek(nil) != nil {
			t.Error("the lists of callers are mixed up")
		}
		if len(f.lists) != 2 || f.lists[0].Get("X-User") != "ann" || f.lists[1].Get("X-User") != "bob" {
			t.Errorf("asked with %v", f.lists)
		}
		for i := range maxLists {
			list(t, s, user("ann"))
			list(t, s, user(strconv.Itoa(i)))
		}
		if n := len(s.conn.lists.entries); n != maxLists {
			t.Errorf("%d lists are kept", n)
		}
		if s.Peek(user("ann")) != ann || s.Peek(user("bob")) != nil {
			t.Error("not the one that was used least recently has gone")
		}
		f.count(t, 1, 0)
	})
}

func TestListsAreRefreshed(t *testing.T) {
	f := &fake{}
	ttl := time.Duration(0)
	f.list = func(context.Context, http.Header) (*protocol.ToolList, error) {
		return &protocol.ToolList{TTL: ttl}, nil
	}
	within(t, f, func(t *testing.T, s *Server) {
		first := list(t, s, nil)
		f.newest().changed("resources")
		if list(t, s, nil) != first {
			t.Error("asked again for nothing")
		}
		f.newest().changed("tools")
		ttl = time.Minute
		second := list(t, s, nil)
		if second == first {
			t.Error("not asked again")
		}
		time.Sleep(time.Minute - 1)
		if list(t, s, nil) != second {
			t.Error("asked again too soon")
		}
		time.Sleep(time.Nanosecond)
		if list(t, s, nil) == second {
			t.Error("not asked again after its time")
		}
	})
}

// TestChangedMeanwhile: a list that was on its way when the server said that it has
// changed is good for those who wait, but not for later.
func TestChangedMeanwhile(t *testing.T) {
	f := &fake{}
	f.list = func(context.Context, http.Header) (*protocol.ToolList, error) {
		if len(f.lists) == 1 {
			f.newest().changed("tools")
		}
		return &protocol.ToolList{}, nil
	}
	within(t, f, func(t *testing.T, s *Server) {
		if first := list(t, s, nil); list(t, s, nil) == first {
			t.Error("a list that has changed is kept")
		}
	})
}

// TestListFails: the failure of one caller's list is nobody else's, and is given at
// once until it is time to ask again.
func TestListFails(t *testing.T) {
	f := &fake{}
	f.list = func(_ context.Context, h http.Header) (*protocol.ToolList, error) {
		if h.Get("X-User") == "eve" {
			return nil, errors.New("403 s3cret")
		}
		return &protocol.ToolList{}, nil
	}
	within(t, f, func(t *testing.T, s *Server) {
		_, first := s.List(t.Context(), user("eve"))
		_, again := s.List(t.Context(), user("eve"))
		if first == nil || !errors.Is(again, first) || first.Error() != "its tools cannot be listed: 403 [redacted]" {
			t.Errorf("got %v, %v", first, again)
		}
		list(t, s, user("ann"))
		time.Sleep(time.Second)
		if _, err := s.List(t.Context(), user("eve")); err == nil || errors.Is(err, first) {
			t.Errorf("got %v", err)
		}
		if len(f.lists) != 3 || s.Peek(user("eve")) != nil {
			t.Errorf("asked %d times", len(f.lists))
		}
	})
}

// TestOneQuestionForAll: callers with the same headers share one tools/list.
func TestOneQuestionForAll(t *testing.T) {
	f := &fake{list: func(context.Context, http.Header) (*protocol.ToolList, error) {
		time.Sleep(time.Second)
		return &protocol.ToolList{}, nil
	}}
	within(t, f, func(t *testing.T, s *Server) {
		for range 10 {
			go func() {
				if _, err := s.List(t.Context(), nil); err != nil {
					t.Error(err)
				}
			}()
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(f.lists) != 1 {
			t.Errorf("asked %d times", len(f.lists))
		}
	})
}
