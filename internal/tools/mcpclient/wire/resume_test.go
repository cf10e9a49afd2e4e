package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

// play opens a connection to a script, inside a bubble.
func play(t *testing.T, o HTTPOptions, steps ...step) (*script, Transport, *box) {
	t.Helper()
	s := &script{steps: steps, began: time.Now()}
	o.URL, o.RoundTripper, o.Log = "http://server/mcp", s, quiet()
	b := newBox()
	tr := NewHTTP(o)
	if err := tr.Open(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return s, tr, b
}

var errDial = errors.New("connection refused")

// TestResume: a stream of up to 2025-11-25 that is cut before the response goes on
// with a GET, after the time that the server has asked for.
func TestResume(t *testing.T) {
	const priming = "id: p\nretry: 500\ndata: \n\n"
	answered := data(result("a"))
	notFound := step{status: 404, kind: "text/plain", texts: []string{"no such event"}}
	for name, tt := range map[string]struct {
		version string
		steps   []step
		want    []string // METHOD time last-event-id
		err     string   // empty for none
	}{
		"polling": {"2025-11-25", []step{stream(priming), stream("id: q\n" + answered)}, []string{"POST 0s", "GET 500ms p"}, ""},
		"the response leaves the stream open": {"2025-11-25", []step{stream(priming), {texts: []string{answered}, open: true}},
			[]string{"POST 0s", "GET 500ms p"}, ""},
		"default wait":                {"2025-03-26", []step{stream("id: 1\n" + data(note(1))), stream(answered)}, []string{"POST 0s", "GET 1s 1"}, ""},
		"without session and version": {"", []step{stream("id: 1\n\n"), stream(answered)}, []string{"POST 0s", "GET 1s 1"}, ""},
		"goes on from the last": {"2025-11-25", []step{stream(priming, "id: 2\n"+data(note(2))), stream("id: 3\nretry: 2000\n"+data(note(3)), "id: 4\ndata: cut"), stream(answered)},
			[]string{"POST 0s", "GET 500ms 2", "GET 2.5s 3"}, ""},
		"many times, with something new": {"2025-11-25", []step{
			stream(priming), stream("id: 1\n\n"), stream("id: 2\n\n"), stream("id: 3\n\n"), stream("id: 4\n\n"), stream("id: 5\n\n"), stream("id: 6\n\n"), stream(answered)},
			[]string{"POST 0s", "GET 500ms p", "GET 1s 1", "GET 1.5s 2", "GET 2s 3", "GET 2.5s 4", "GET 3s 5", "GET 3.5s 6"}, ""},
		"a restart": {"2025-11-25", []step{stream(priming), {err: errDial}, {status: 503, kind: "text/plain"}, stream(answered)},
			[]string{"POST 0s", "GET 500ms p", "GET 1s p", "GET 1.5s p"}, ""},
		"nothing new": {"2025-11-25", []step{stream(priming), stream()},
			[]string{"POST 0s", "GET 500ms p", "GET 1s p", "GET 1.5s p", "GET 2s p", "GET 2.5s p"}, "could not be taken up again"},
		"hurry":        {"2025-11-25", []step{stream("id: p\nretry: 0\n\n"), stream(answered)}, []string{"POST 0s", "GET 1s p"}, ""},
		"more hurry":   {"2025-11-25", []step{stream("id: p\nretry: 1\n\n"), stream(answered)}, []string{"POST 0s", "GET 100ms p"}, ""},
		"an age":       {"2025-11-25", []step{stream("id: p\nretry: 2000000000\n\n"), stream(answered)}, []string{"POST 0s", "GET 1m0s p"}, ""},
		"gone":         {"2025-11-25", []step{stream(priming), notFound}, []string{"POST 0s", "GET 500ms p"}, "404 Not Found"},
		"not a stream": {"2025-11-25", []step{stream(priming), {kind: "application/json", texts: []string{"{}"}}}, []string{"POST 0s", "GET 500ms p"}, "could not be taken up again"},
		"no id":        {"2025-11-25", []step{stream("retry: 500\n" + data(note(1)))}, []string{"POST 0s"}, "before it was complete"},
		"modern":       {"2026-07-28", []step{stream(priming)}, []string{"POST 0s"}, "before it was complete"},
		"too large":    {"2025-11-25", []step{stream(priming, "data: "+strings.Repeat("x", 10_000)+"\n\n")}, []string{"POST 0s"}, "too large"},
		"too large later": {"2025-11-25", []step{stream(priming), stream("data: " + strings.Repeat("x", 10_000) + "\n\n")},
			[]string{"POST 0s", "GET 500ms p"}, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, tr, b := play(t, HTTPOptions{MaxMessage: 5000}, tt.steps...)
				err := tr.Send(t.Context(), request("a", "tools/call", tt.version))
				if diff := cmp.Diff(tt.want, s.seen()); diff != "" {
					t.Error(diff)
				}
				if err == nil != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				var status *StatusError
				var unsent *NotSentError
				if errors.As(err, &status) || errors.As(err, &unsent) || errors.Is(err, ErrSessionLost) {
					t.Errorf("%T says too much", err) // it is not known whether the request was run
				}
				if all := b.all(); err == nil && (len(all) == 0 || all[len(all)-1] != "a: "+result("a")) {
					t.Errorf("got %q", all)
				}
				if err := tr.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, tr, _ := play(t, HTTPOptions{}, stream(priming), stream())
			ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
			defer cancel()
			if err := tr.Send(ctx, request("a", "tools/call", "")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			if took := time.Since(began); took != 700*time.Millisecond {
				t.Errorf("took %v", took)
			}
		})
	})
}

// TestListen: the stream for what belongs to no request is opened once in a
// session, and again when it is cut.
func TestListen(t *testing.T) {
	accepted, hello := step{status: 202}, step{kind: "application/json", texts: []string{result("a")}}
	begin := []step{hello, accepted}
	for name, tt := range map[string]struct {
		steps []step
		after time.Duration
		want  []string
		box   []string
	}{
		"open": {[]step{{texts: []string{"id: 1\n" + data(note(1))}, open: true}}, time.Hour, []string{"GET 0s"}, []string{": " + note(1)}},
		"cut": {[]step{stream("id: 1\nretry: 500\n" + data(note(1))), stream("id: 2\n" + data(note(2)) + data(result("x"))), {open: true}}, time.Hour,
			[]string{"GET 0s", "GET 500ms 1", "GET 1s 2"}, []string{": " + note(1), ": " + note(2), ": " + result("x")}},
		"back-off": {[]step{{err: errDial}}, 2 * time.Minute,
			[]string{"GET 0s", "GET 1s", "GET 3s", "GET 7s", "GET 15s", "GET 31s", "GET 1m1s", "GET 1m31s"}, nil},
		"silent cuts": {[]step{stream(": hello\n\n")}, 20 * time.Second, []string{"GET 0s", "GET 1s", "GET 3s", "GET 7s", "GET 15s"}, nil},
		"busy":        {[]step{{status: 503}, {open: true}}, time.Hour, []string{"GET 0s", "GET 1s"}, nil},
		"none":        {[]step{{status: 405}}, time.Hour, []string{"GET 0s"}, nil},
		"lost":        {[]step{stream("id: 1\n\n"), {status: 404}}, time.Hour, []string{"GET 0s", "GET 1s 1"}, nil},
		"denied":      {[]step{{status: 401}}, time.Hour, []string{"GET 0s"}, nil},
		"not events":  {[]step{{kind: "application/json", texts: []string{"{}"}}}, time.Hour, []string{"GET 0s"}, nil},
		"too large":   {[]step{stream(data(strings.Repeat("x", 10_000)))}, time.Hour, []string{"GET 0s"}, nil},
		"unreadable":  {[]step{{texts: []string{data("{"), "event: ping\n" + data(note(1)), data(note(2))}, open: true}}, time.Hour, []string{"GET 0s"}, []string{": " + note(2)}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, tr, b := play(t, HTTPOptions{Listen: true, MaxMessage: 5000}, append(append([]step{}, begin...), tt.steps...)...)
				for _, m := range []*Outgoing{request("a", rpc.Initialize, ""), request("", initialized, "2025-11-25")} {
					if err := tr.Send(t.Context(), m); err != nil {
						t.Fatal(err)
					}
				}
				<-b.got // the response
				time.Sleep(tt.after)
				if diff := cmp.Diff(tt.want, s.seen()[2:]); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(tt.box, b.all()); diff != "" {
					t.Error(diff)
				}
				if err := tr.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
	quiet := func(name string, listen bool, want string, messages ...*Outgoing) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, tr, _ := play(t, HTTPOptions{Listen: listen}, hello, accepted, step{open: true})
				if len(messages) > 2 { // each session has its stream
					s.steps = []step{hello, accepted, {open: true}, hello, accepted, {open: true}}
				}
				for _, m := range messages {
					if err := tr.Send(t.Context(), m); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				time.Sleep(time.Hour)
				var methods []string
				for _, line := range s.seen() {
					methods = append(methods, strings.Fields(line)[0])
				}
				if got := fmt.Sprint(methods); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				if err := tr.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
	first, second := request("a", rpc.Initialize, ""), request("", initialized, "2025-11-25")
	quiet("not wanted", false, "[POST POST]", first, second)
	quiet("modern", true, "[POST POST]", first, request("", initialized, "2026-07-28"))
	quiet("a second session", true, "[POST POST GET POST POST GET]", first, second, first, second)
}

// TestRealResume goes over a real connection.
func TestRealResume(t *testing.T) {
	var got []seen
	var last string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		m := ask(r)
		got = append(got, see(r, m))
		switch {
		case m.Method == rpc.Initialize:
			w.Header().Set("Mcp-Session-Id", "s")
			answerJSON(w, 200, result(m.ID))
		case r.Method == http.MethodPost:
			answerEvents(w, "id: 1\nretry: 100\ndata: \n\n", data(note(1)))
			hangUp(w)
		case r.Method == http.MethodGet:
			last = r.Header.Get("Last-Event-ID")
			answerEvents(w, data(result("b")))
			<-r.Context().Done()
		}
	})
	l := connect(t, NewHTTP, HTTPOptions{URL: url, Authority: &authority{}})
	for _, m := range []*Outgoing{request("a", rpc.Initialize, ""), request("b", "tools/call", "2025-11-25")} {
		if err := l.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"a: " + result("a"), "b: " + note(1), "b: " + result("b")}, l.box.all()); diff != "" {
		t.Error(diff)
	}
	want := []seen{{"POST", "initialize", "", "", "Bearer token-0"}, {"POST", "tools/call", "s", "2025-11-25", "Bearer token-0"}, {"GET", "", "s", "2025-11-25", "Bearer token-0"}}
	if diff := cmp.Diff(want, got); diff != "" || last != "1" {
		t.Error(last, diff)
	}
}
