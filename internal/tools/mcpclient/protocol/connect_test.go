package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
)

// TestConnect: what is spoken, and what was said to find that out.
func TestConnect(t *testing.T) {
	refuse := func(code int, data any) func(q *query) bool {
		return func(q *query) bool {
			if q.Method == methodDiscover {
				q.fail(code, "no", data)
			}
			return q.Method == methodDiscover
		}
	}
	supported := func(versions ...string) map[string]any { return map[string]any{"supported": versions} }
	for name, c := range map[string]struct {
		versions []string
		fixed    string
		greet    func(q *query) bool
		protocol string
		said     []string
		err      string
	}{
		"modern":                   {versions: []string{modern, legacy}, protocol: modern, said: []string{methodDiscover}},
		"modern, fixed":            {versions: []string{modern, legacy}, fixed: modern, protocol: modern, said: []string{methodDiscover}},
		"legacy":                   {versions: []string{legacy}, protocol: legacy, said: []string{methodDiscover, "initialize", methodInitialized}},
		"legacy, fixed":            {versions: []string{modern, legacy}, fixed: legacy, protocol: legacy, said: []string{"initialize", methodInitialized}},
		"old":                      {versions: []string{"2024-11-05"}, protocol: "2024-11-05", said: []string{methodDiscover, "initialize", methodInitialized}},
		"old, fixed":               {versions: []string{"2024-11-05"}, fixed: "2025-03-26", protocol: "2024-11-05", said: []string{"initialize", methodInitialized}},
		"unknown":                  {versions: []string{"1999-12-31"}, said: []string{methodDiscover, "initialize"}, err: `wants to speak protocol version "1999-12-31"`},
		"a handshake for modern":   {versions: []string{modern}, fixed: legacy, said: []string{"initialize"}, err: `wants to speak protocol version "2026-07-28"`},
		"modern, but not spoken":   {versions: []string{"2027-01-01", "2025-06-18"}, greet: refuse(rpc.CodeVersion, supported("2027-01-01", "2025-06-18")), protocol: "2025-06-18", said: []string{methodDiscover, "initialize", methodInitialized}},
		"another list":             {versions: []string{"2025-03-26"}, greet: refuse(-32602, supported("2025-03-26")), protocol: "2025-03-26", said: []string{methodDiscover, "initialize", methodInitialized}},
		"nothing in common":        {versions: []string{"2027-01-01"}, greet: refuse(rpc.CodeVersion, supported("2027-01-01")), said: []string{methodDiscover}, err: "no"},
		"a capability is missing":  {versions: []string{modern}, greet: refuse(rpc.CodeMissingCap, nil), said: []string{methodDiscover}, err: "no"},
		"not fixed after all":      {versions: []string{modern}, fixed: modern, greet: refuse(rpc.CodeNoMethod, nil), said: []string{methodDiscover}, err: "no"},
		"discovers something else": {versions: []string{legacy}, greet: empty, protocol: legacy, said: []string{methodDiscover, "initialize", methodInitialized}},
		"handshake refused": {versions: []string{modern}, said: []string{methodDiscover, "initialize", methodDiscover}, protocol: modern,
			greet: once(func(q *query) { q.fail(-32601, "no such method", nil) }, func(q *query) { q.fail(rpc.CodeVersion, "no", supported(modern)) })},
		"handshake refused for ever": {versions: []string{modern}, said: []string{methodDiscover, "initialize"}, err: "go away",
			greet: func(q *query) bool { q.fail(-32600, "go away", nil); return true }},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{versions: c.versions, greet: c.greet, streams: true}
			client, err := Connect(t.Context(), Options{Transport: f, Version: c.fixed, Log: quiet()})
			switch {
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("got the error %v", err)
			case c.err == "" && err != nil:
				t.Fatal(err)
			case c.err == "":
				defer client.Close()
				if s := client.Server(); s.Protocol != c.protocol || s.Name != "fake" || s.Version != "7" || s.Instructions != "Be kind." || s.Capabilities["tools"] == nil {
					t.Errorf("got %+v", s)
				}
			case f.open:
				t.Error("the transport is still open")
			}
			if diff := cmp.Diff(c.said, f.methods()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// empty answers a probe with nothing in it.
func empty(q *query) bool {
	if q.Method == methodDiscover {
		q.reply(struct{}{})
	}
	return q.Method == methodDiscover
}

// once answers one message after the other, and then none.
func once(answers ...func(q *query)) func(q *query) bool {
	return func(q *query) bool {
		if len(answers) == 0 {
			return false
		}
		answers[0](q)
		answers = answers[1:]
		return true
	}
}

// TestProbeOfSilence: an old server that keeps silent costs the time of the probe,
// and what it answers later is not taken for anything.
func TestProbeOfSilence(t *testing.T) {
	for _, streams := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			late := make(chan *query, 1)
			f := &fake{versions: []string{legacy}, streams: streams, greet: func(q *query) bool {
				if q.Method != methodDiscover {
					return false
				}
				late <- q
				<-q.ctx.Done()
				return true
			}, handle: func(q *query) { q.reply(map[string]any{}) }}
			began := time.Now()
			c := dial(t, f, Options{ProbeTimeout: 700 * time.Millisecond})
			if took := time.Since(began); took != 700*time.Millisecond {
				t.Errorf("took %v", took)
			}
			(<-late).reply(map[string]any{"supportedVersions": []string{modern}})
			if c.Server().Protocol != legacy || c.modern() {
				t.Errorf("speaks %s", c.Server().Protocol)
			}
			if _, err := c.Do(t.Context(), &Call{Method: "m"}); err != nil {
				t.Error(err)
			}
			if f.last(rpc.Cancelled) != nil {
				t.Error("the probe was cancelled with a message, before the handshake")
			}
		})
	}
}

// wired answers a method with an error of the transport.
type wired struct {
	*fake
	errs map[string]error
}

func (w wired) Send(ctx context.Context, m *wire.Outgoing) error {
	var envelope struct{ Method string }
	_ = json.Unmarshal(m.Body, &envelope)
	if err := w.errs[envelope.Method]; err != nil {
		return err
	}
	return w.fake.Send(ctx, m)
}

func TestConnectOverHTTP(t *testing.T) {
	lost, login := errors.New("no route to host"), &wire.NotSentError{Err: errors.New("log in first")}
	for name, c := range map[string]struct {
		probe, handshake, want error
	}{
		"400":                   {probe: &wire.StatusError{Code: 400}},
		"405":                   {probe: &wire.StatusError{Code: 405}},
		"500":                   {probe: &wire.StatusError{Code: 500}},
		"perhaps SSE":           {probe: fmt.Errorf("x: %w", wire.ErrLegacySSE)},
		"SSE":                   {probe: wire.ErrLegacySSE, handshake: wire.ErrLegacySSE, want: wire.ErrLegacySSE},
		"no answer":             {probe: errNothing},
		"no answer to anything": {probe: errNothing, handshake: lost, want: lost},
		"not sent":              {probe: login, want: login},
	} {
		t.Run(name, func(t *testing.T) {
			w := wired{&fake{versions: []string{legacy}, streams: true}, map[string]error{methodDiscover: c.probe, "initialize": c.handshake}}
			client, err := Connect(t.Context(), Options{Transport: w, Log: quiet()})
			if !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
			var unknown *UnknownOutcomeError
			if errors.As(err, &unknown) {
				t.Error("connecting has no outcome")
			}
			if err == nil {
				_ = client.Close()
			}
		})
	}
}

func TestProbeKillsServer(t *testing.T) {
	f := &fake{versions: []string{legacy}}
	f.greet = func(*query) bool { f.die(errors.New("exit code 1")); return true }
	_, err := Connect(t.Context(), Options{Transport: f, Log: quiet()})
	if err == nil || !strings.Contains(err.Error(), "exit code 1") || !strings.Contains(err.Error(), "set its protocol to 2025-11-25") {
		t.Errorf("got %v", err)
	}
}

func TestConnectGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{versions: []string{legacy}, greet: func(q *query) bool { <-q.ctx.Done(); return true }}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := Connect(ctx, Options{Transport: f, Log: quiet()})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if diff := cmp.Diff([]string{methodDiscover, "initialize"}, f.methods()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestWhatIsSaidOfUs: capabilities in the form of each version, and where they go.
func TestWhatIsSaidOfUs(t *testing.T) {
	all := Options{Roots: []string{"file:///a"}, Elicitation: true, Sampling: true, ClientVersion: "1.2"}
	for _, c := range []struct {
		version string
		o       Options
		want    string
	}{
		{"2024-11-05", all, `{"roots":{},"sampling":{}}`},
		{"2025-03-26", all, `{"roots":{},"sampling":{}}`},
		{"2025-06-18", all, `{"elicitation":{},"roots":{},"sampling":{}}`},
		{"2025-11-25", all, `{"elicitation":{"form":{}},"roots":{},"sampling":{}}`},
		{"2025-11-25", Options{}, `{}`},
		{modern, all, `{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}},"roots":{},"sampling":{}}`},
		{modern, Options{}, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`},
	} {
		f := serverOf(c.version, true, func(q *query) { q.reply(struct{}{}) })
		c.o.Version, c.o.Header = c.version, http.Header{"X-Here": {"1"}}
		client := dial(t, f, c.o)
		if _, err := client.Do(t.Context(), &Call{Method: "m"}); err != nil {
			t.Fatal(err)
		}
		got, info := f.sent[0].param("capabilities"), f.sent[0].param("clientInfo")
		last := f.last("m")
		if rpc.IsModern(c.version) {
			got, info = string(last.Meta[rpc.MetaCapabilities]), string(last.Meta[rpc.MetaClientInfo])
			if last.Version() != modern {
				t.Errorf("the request says version %q", last.Version())
			}
		} else if last.Params != nil && last.Meta != nil {
			t.Errorf("a request has the _meta %s", last.Meta)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.version, got, c.want)
		}
		if want := fmt.Sprintf(`{"name":"adkmcp","version":%q}`, cmpText(c.o.ClientVersion, "dev")); info != want {
			t.Errorf("%s: got %s", c.version, info)
		}
		if last.out.Version != c.version || f.sent[0].out.Header.Get("X-Here") != "1" || last.out.Header.Get("X-Here") != "" {
			t.Errorf("%s: sent %+v", c.version, last.out)
		}
	}
}

// TestChanges: changes are told in both eras, where the newer has to be asked and
// asked again.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		news := make(chan string, 10)
		listened := 0
		f := serverOf(modern, true, nil)
		f.capabilities = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{}}`
		f.handle = func(q *query) {
			if q.Method != rpc.Listen || q.param("notifications") != `{"promptsListChanged":true,"toolsListChanged":true}` {
				t.Errorf("asked for %s %s", q.Method, q.Params)
			}
			listened++
			q.notify("notifications/subscriptions/acknowledged", map[string]any{})
			if listened == 1 {
				q.notify("notifications/tools/list_changed", nil)
				return // cut
			}
			<-q.ctx.Done()
		}
		c := dial(t, f, Options{Changed: func(what string) { news <- what }})
		synctest.Wait()
		if got := <-news; got != "tools" || len(news) > 0 {
			t.Errorf("got %q and %d more", got, len(news))
		}
		time.Sleep(minBackoff)
		synctest.Wait()
		if a, b := <-news, <-news; a != "tools" || b != "prompts" || listened != 2 {
			t.Errorf("after a break: %q, %q, listened %d times", a, b, listened)
		}
		_ = c.Close()
	})
	f := serverOf(legacy, false, func(q *query) {
		for _, what := range []string{"tools", "resources", "prompts"} {
			q.notify("notifications/"+what+"/list_changed", nil)
		}
		q.notify("notifications/message", map[string]any{"level": "info", "data": "something"})
		q.reply(struct{}{})
	})
	var got []string
	var log strings.Builder
	c := dial(t, f, Options{Changed: func(what string) { got = append(got, what) },
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if _, err := c.Do(t.Context(), &Call{Method: "m"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"tools", "resources", "prompts"}, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(log.String(), "something") {
		t.Errorf("the log has %s", log.String())
	}
}
