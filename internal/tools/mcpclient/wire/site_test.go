package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// limit is how long a test waits for what must happen.
const limit = 20 * time.Second

// box is an Inbox that keeps what came, as "stream: message".
type box struct{ got chan string }

func newBox() *box { return &box{make(chan string, 10_000)} }

func (b *box) Receive(m *rpc.Message, of string) { b.got <- of + ": " + string(m.Raw) }

// all gives what has come so far.
func (b *box) all() []string {
	var list []string
	for {
		select {
		case s := <-b.got:
			list = append(list, s)
		default:
			return list
		}
	}
}

func (b *box) next(t testing.TB) string {
	t.Helper()
	select {
	case s := <-b.got:
		return s
	case <-time.After(limit):
		t.Fatal("no message came")
		return ""
	}
}

// lockedLog is a log that is read while it is written.
type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// link is a connection under test and what it says.
type link struct {
	Transport
	box *box
	log *lockedLog
}

// connect opens a connection, which ends with the test.
func connect(t testing.TB, make func(HTTPOptions) Transport, o HTTPOptions) *link {
	t.Helper()
	l := &link{box: newBox(), log: &lockedLog{}}
	o.Log = slog.New(slog.NewTextHandler(l.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if o.RoundTripper == nil {
		o.RoundTripper = webclient.NewTransport(webclient.Configured, webclient.Options{})
	}
	l.Transport = make(o)
	if err := l.Open(t.Context(), l.box); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// serve runs a scripted server until the test ends.
func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/mcp?key=secret"
}

// request makes a message of ours; without an id it is a notification.
func request(id, method, version string) *Outgoing {
	if id == "" {
		return &Outgoing{Body: fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q}`, method), Version: version}
	}
	return &Outgoing{ID: id, Version: version, Body: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":%q}`, id, method)}
}

// result is the response to the request with this id.
func result(id string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{}}`, id) }

// note is a notification.
func note(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"n":%d}}`, n)
}

// asked is what a scripted server was asked.
type asked struct {
	ID     string `json:"id"`
	Method string `json:"method"`
}

func ask(r *http.Request) (m asked) {
	_ = json.NewDecoder(r.Body).Decode(&m)
	return m
}

func answerJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// answerEvents sends each text as it stands, flushed.
func answerEvents(w http.ResponseWriter, texts ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, text := range texts {
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
	}
}

func data(message string) string { return "data: " + message + "\n\n" }

// hangUp ends the connection in the middle of an answer.
func hangUp(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// authority is one whose credential is the number of refusals.
type authority struct {
	mu      sync.Mutex
	refused int
	headers func(n int) (http.Header, error)
	decide  func(n int, res *http.Response) (bool, error)
}

func (a *authority) Headers(context.Context) (http.Header, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.headers != nil {
		return a.headers(a.refused)
	}
	return http.Header{"Authorization": {fmt.Sprint("Bearer token-", a.refused)}}, nil
}

func (a *authority) Challenged(_ context.Context, res *http.Response) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused++
	if a.decide != nil {
		return a.decide(a.refused, res)
	}
	return true, nil
}

// secretless checks that an error says where it happened and nothing more.
func secretless(t testing.TB, err error, url string) {
	t.Helper()
	at, _, _ := strings.Cut(url, "/mcp")
	if err == nil || !strings.HasPrefix(err.Error(), at+": ") || strings.Contains(err.Error(), "/mcp") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want an error that names %s only", err, at)
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
