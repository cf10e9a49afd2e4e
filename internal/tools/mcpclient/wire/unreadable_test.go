//go:build unix

package wire

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/tools/process"
)

// unreadables are what should be messages, and may be what a call waits for.
func unreadables() map[string]string {
	return map[string]string{
		"cut":            `{"jsonrpc":"2.0","id":"a","result":{"x":"` + strings.Repeat("x", 10_000),
		"mark at end":    `{"id":"a","result":{"x":` + strings.Repeat(" ", 10_000) + `NaN},"jsonrpc":"2.0"}`,
		"other version":  `{"jsonrpc":"1.0","id":"a","result":{}}`,
		"no content":     `{"jsonrpc":"2.0","id":"a"}`,
		"wrong method":   `{"jsonrpc":"2.0","id":"a","method":{}}`,
		"long batch":     "[" + strings.Repeat(`{"jsonrpc":"2.0","id":"a","result":{}},`, maxBatch) + result("a") + "]",
		"cut batch":      `[{"jsonrpc":"2.0","id":"a","result":{}}`,
		"in a batch":     `[7,{"jsonrpc":"2.0","id":"a"},7]`,
		"two in a line":  `{"jsonrpc":"2.0","id":"b","result":{}}{"jsonrpc":"2.0","id":"a","result":{}}`,
		"inf in a value": `{"jsonrpc":"2.0","id":"a","result":{"x":Infinity}}`,
	}
}

// banners are not, though they look similar.
func banners() []string {
	return []string{`Welcome`, `7`, `[]`, `{}`, `[INFO] got {"jsonrpc":"2.0"`, `sent {"jsonrpc":"2.0","id":1`,
		`{"level":"info","got":{"jsonrpc":"2.0"}}`, `{"level":"info","got":"{\"jsonrpc\":\"2.0\"}"}`, `{"x":` + strings.Repeat(" ", 5000) + `"jsonrpc"` + strings.Repeat("x", 5000)}
}

func TestUnreadable(t *testing.T) {
	for name, text := range unreadables() {
		if list, err := messages([]byte(text)); !errors.Is(err, errUnreadable) || len(list) > 0 {
			t.Errorf("%s: %d messages, %v", name, len(list), err)
		}
	}
	for _, text := range banners() {
		if _, err := messages([]byte(text)); !errors.Is(err, errNoMessage) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestUnreadableEnds: a call whose response cannot be read does not wait, whatever
// the transport.
func TestUnreadableEnds(t *testing.T) {
	for name, text := range unreadables() {
		t.Run("stdio, "+name, func(t *testing.T) {
			tr, _, _ := child(t, "cat <<'END'\n"+text+"\nEND\nexec cat >&2", 0)
			if got := ended(t, tr); !strings.Contains(got, `program "sh"`) || !errors.Is(tr.Err(), errUnreadable) {
				t.Error(got)
			}
		})
		t.Run("SSE, "+name, func(t *testing.T) {
			c := &channel{first: endpoint, say: make(chan string, 1), post: accept}
			url := serve(t, c.ServeHTTP)
			l := connect(t, NewSSE, HTTPOptions{URL: url})
			c.say <- data(text)
			select {
			case <-l.Done():
			case <-time.After(limit):
				t.Fatal("it does not end")
			}
			if secretless(t, l.Err(), url); !errors.Is(l.Err(), errUnreadable) {
				t.Error(l.Err())
			}
		})
		for kind, answer := range map[string]http.HandlerFunc{
			"JSON": func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, text) },
			"events": func(w http.ResponseWriter, r *http.Request) {
				answerEvents(w, "id: 1\n"+data(text))
				<-r.Context().Done()
			},
		} {
			t.Run(kind+", "+name, func(t *testing.T) {
				url := serve(t, answer)
				err := connect(t, NewHTTP, HTTPOptions{URL: url}).Send(t.Context(), request("a", "tools/call", "2025-11-25"))
				if secretless(t, err, url); !errors.Is(err, errUnreadable) {
					t.Error(err)
				}
			})
		}
	}
}

// TestDefaultMessage: without a bound there is one.
func TestDefaultMessage(t *testing.T) {
	tr := NewStdio(process.Spec{}, StdioOptions{Log: quiet()}).(*stdio)
	if tr.o.MaxMessage != 16<<20 {
		t.Error(tr.o.MaxMessage)
	}
}

// TestBatches: the messages of a batch come one by one, over every transport, and an
// error without an id comes, too.
func TestBatches(t *testing.T) {
	const nobody = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`
	batch := "[" + note(1) + ", " + result("a") + "," + note(2) + "]"
	want := []string{": " + note(1), ": " + result("a"), ": " + note(2), ": " + nobody}
	t.Run("stdio", func(t *testing.T) {
		_, in, _ := child(t, "cat <<'END'\n"+strings.Join(banners(), "\n")+"\n"+batch+"\n"+nobody+"\nEND\nexec cat", 0)
		for _, w := range want {
			if got := ": " + in.next(t); got != w {
				t.Errorf("got %s, want %s", got, w)
			}
		}
	})
	t.Run("SSE", func(t *testing.T) {
		c := &channel{first: endpoint, say: make(chan string, 2), post: accept}
		l := connect(t, NewSSE, HTTPOptions{URL: serve(t, c.ServeHTTP)})
		c.say <- data(batch)
		c.say <- data(nobody)
		for _, w := range want {
			if got := l.box.next(t); got != w {
				t.Errorf("got %s, want %s", got, w)
			}
		}
	})
	own := strings.Replace(nobody, "null", `"a"`, 1)
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   []string
	}{
		"JSON":            {func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, batch) }, []string{note(1), result("a"), note(2)}},
		"events":          {func(w http.ResponseWriter, _ *http.Request) { answerEvents(w, data(batch)) }, []string{note(1), result("a"), note(2)}},
		"an error":        {func(w http.ResponseWriter, _ *http.Request) { answerEvents(w, data(nobody)) }, []string{own}},
		"error in a list": {func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, "["+nobody+"]") }, []string{own}},
	} {
		t.Run(name, func(t *testing.T) {
			l := connect(t, NewHTTP, HTTPOptions{URL: serve(t, tt.answer)})
			if err := l.Send(t.Context(), request("a", "tools/call", "2025-03-26")); err != nil {
				t.Fatal(err)
			}
			for i := range tt.want {
				tt.want[i] = "a: " + tt.want[i]
			}
			if diff := cmp.Diff(tt.want, l.box.all()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
