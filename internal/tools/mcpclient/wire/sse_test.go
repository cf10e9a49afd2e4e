package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// channel is a scripted server of HTTP+SSE. The stream begins with first, goes on
// with what is said, and ends when say is closed.
type channel struct {
	first string
	say   chan string
	post  http.HandlerFunc

	mu  sync.Mutex
	got []seen
}

func (c *channel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := ask(r)
	c.mu.Lock()
	c.got = append(c.got, see(r, m))
	c.mu.Unlock()
	if r.Method == http.MethodPost {
		c.post(w, r)
		return
	}
	answerEvents(w, c.first)
	for {
		select {
		case <-r.Context().Done():
			return
		case text, ok := <-c.say:
			if !ok {
				return
			}
			answerEvents(w, text)
		}
	}
}

const endpoint = "event: endpoint\r\ndata: /message?id=1\r\n\r\n"

func accept(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }

func TestSSE(t *testing.T) {
	c := &channel{first: ": hello\n\n" + endpoint, say: make(chan string), post: accept}
	url := serve(t, c.ServeHTTP)
	l := connect(t, NewSSE, HTTPOptions{URL: url, Authority: &authority{}})
	m := request("a", "tools/call", "2024-11-05")
	m.Header = http.Header{"Authorization": {"theirs"}, "X-Caller": {"me"}}
	if err := l.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	c.say <- ": keep-alive\n\n"
	c.say <- "event: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":\"a\",\"result\":{}}\n\n" + data("{") + endpoint
	c.say <- data(note(1))
	for _, want := range []string{": {\"jsonrpc\":\"2.0\",\n\"id\":\"a\",\"result\":{}}", ": " + note(1)} {
		if got := l.box.next(t); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	const token = "Bearer token-0"
	if diff := cmp.Diff([]seen{{"GET", "", "", "", token}, {"POST", "tools/call", "", "2024-11-05", token}}, c.got); diff != "" {
		t.Error(diff)
	}
	select {
	case <-l.Done():
		t.Error("the connection has ended")
	default:
	}
	close(c.say)
	select {
	case <-l.Done():
	case <-time.After(limit):
		t.Fatal("the end was not noticed")
	}
	secretless(t, l.Err(), url)
	var unsent *NotSentError
	if err := l.Send(t.Context(), m); !errors.As(err, &unsent) || !errors.Is(err, errStreamCut) {
		t.Errorf("after the end: %v", err)
	}
}

func TestSSEClose(t *testing.T) {
	waiting := make(chan struct{})
	c := &channel{first: endpoint, post: func(_ http.ResponseWriter, r *http.Request) {
		close(waiting)
		<-r.Context().Done()
	}}
	l := connect(t, NewSSE, HTTPOptions{URL: serve(t, c.ServeHTTP)})
	sent := make(chan error)
	go func() { sent <- l.Send(t.Context(), request("a", "tools/call", "")) }()
	<-waiting
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-sent; !errors.Is(err, errClosed) {
		t.Errorf("got %v", err)
	}
	select {
	case <-l.Done():
		t.Error("Close is no end by itself")
	default:
	}
}

func TestSSEOpen(t *testing.T) {
	login := errors.New("log in first")
	for name, tt := range map[string]struct {
		answer    http.HandlerFunc
		authority Authority
		check     func(error) bool
	}{
		"endpoint elsewhere": {func(w http.ResponseWriter, _ *http.Request) {
			answerEvents(w, "event: endpoint\ndata: http://127.0.0.1:1/message?secret\n\n")
		}, nil, is(errNoEndpoint)},
		"endpoint of another scheme": {func(w http.ResponseWriter, r *http.Request) {
			answerEvents(w, "event: endpoint\ndata: https://"+r.Host+"/secret\n\n")
		}, nil, is(errNoEndpoint)},
		"endpoint with a user": {func(w http.ResponseWriter, r *http.Request) {
			answerEvents(w, "event: endpoint\ndata: //"+r.Host+"@127.0.0.2/secret\n\n")
		}, nil, is(errNoEndpoint)},
		"no URL":    {func(w http.ResponseWriter, _ *http.Request) { answerEvents(w, "event: endpoint\ndata: ://\x7f\n\n") }, nil, is(errNoEndpoint)},
		"no stream": {func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, "{}") }, nil, is(errNoStream)},
		"ends":      {func(w http.ResponseWriter, _ *http.Request) { answerEvents(w, data(note(1))) }, nil, is(errStreamCut)},
		"cut":       {func(w http.ResponseWriter, _ *http.Request) { answerEvents(w, data(note(1))); hangUp(w) }, nil, is(io.ErrUnexpectedEOF)},
		"404":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, nil, isStatus(404)},
		"redirected": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}, nil, isStatus(307)},
		"too large": {func(w http.ResponseWriter, _ *http.Request) {
			answerEvents(w, "event: endpoint\ndata: /"+strings.Repeat("x", 10_000)+"\n\n")
		}, nil, is(errMessageSize)},
		"denied": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
			&authority{decide: func(int, *http.Response) (bool, error) { return false, login }}, is(login)},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, tt.answer)
			tr := NewSSE(HTTPOptions{URL: url, RoundTripper: http.DefaultTransport, Log: quiet(), Authority: tt.authority, MaxMessage: 5000})
			err := tr.Open(t.Context(), newBox())
			if !tt.check(err) {
				t.Errorf("got %v", err)
			}
			if tt.authority == nil {
				secretless(t, err, url)
			}
			if err := tr.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("silence ends with the context", func(t *testing.T) {
		for _, first := range []string{"", ": hello\n\n"} {
			gone := make(chan struct{})
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if first != "" {
					answerEvents(w, first)
				}
				<-r.Context().Done()
				close(gone)
			})
			tr := NewSSE(HTTPOptions{URL: url, RoundTripper: http.DefaultTransport, Log: quiet()})
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if err := tr.Open(ctx, newBox()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			<-gone
			if err := tr.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("the stream outlives the opening", func(t *testing.T) {
		c := &channel{first: endpoint, say: make(chan string), post: accept}
		tr := NewSSE(HTTPOptions{URL: serve(t, c.ServeHTTP), RoundTripper: http.DefaultTransport, Log: quiet()})
		b := newBox()
		ctx, cancel := context.WithCancel(t.Context())
		if err := tr.Open(ctx, b); err != nil {
			t.Fatal(err)
		}
		cancel()
		c.say <- data(note(1))
		if got := b.next(t); got != ": "+note(1) {
			t.Errorf("got %q", got)
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
}

func is(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }

func TestSSEPost(t *testing.T) {
	status := make(chan int, 1)
	c := &channel{first: endpoint, post: func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, <-status, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"full"}}`)
	}}
	url := serve(t, c.ServeHTTP)
	l := connect(t, NewSSE, HTTPOptions{URL: url})
	for _, code := range []int{200, 202, 204} {
		status <- code
		if err := l.Send(t.Context(), request("a", "tools/call", "")); err != nil {
			t.Error(code, err)
		}
	}
	status <- 503
	err := l.Send(t.Context(), request("a", "tools/call", ""))
	secretless(t, err, url)
	if !isStatus(503)(err) || !strings.HasSuffix(err.Error(), ": full") {
		t.Errorf("got %v", err)
	}
	status <- 404
	if err := l.Send(t.Context(), request("a", "tools/call", "")); !errors.Is(err, ErrSessionLost) {
		t.Errorf("got %v", err)
	}
	<-l.Done()
	if err := l.Err(); !errors.Is(err, ErrSessionLost) {
		t.Errorf("got %v", err)
	}
}
