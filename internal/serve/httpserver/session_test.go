package httpserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve/turns"
)

// start opens a session over HTTP.
func (s *site) start(header ...string) string {
	s.t.Helper()
	res, body := s.send(http.MethodPost, strings.NewReader(initialize), append([]string{"Mcp-Protocol-Version", ""}, header...)...)
	if res.StatusCode != http.StatusOK {
		s.t.Fatal(res.StatusCode, body)
	}
	return res.Header.Get("Mcp-Session-Id")
}

// list asks for the tools in a session and gives the status and the body.
func (s *site) list(id string, header ...string) (int, string) {
	s.t.Helper()
	res, body := s.send(http.MethodPost, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`),
		append([]string{"Mcp-Protocol-Version", "2025-11-25", "Mcp-Session-Id", id}, header...)...)
	return res.StatusCode, body
}

// TestC01Sessions: somebody else's session is the same as one that never was.
func TestC01Sessions(t *testing.T) {
	s := open(t, func(c *Config) {
		c.Tokens = []Token{{"ann", config.NewSecret("ann-secret")}, {"bob", config.NewSecret("bob-secret")}}
	}).serve()
	ann, bob := []string{"Authorization", "Bearer ann-secret"}, []string{"Authorization", "Bearer bob-secret"}
	id := s.start(ann...)
	if status, body := s.list(id, ann...); status != 200 {
		t.Fatal(status, body)
	}
	unknown, unknownBody := s.list("s_"+base64.RawURLEncoding.EncodeToString(make([]byte, 48)), bob...)
	foreign, foreignBody := s.list(id, bob...)
	if foreign != 404 || foreign != unknown || foreignBody != unknownBody {
		t.Errorf("foreign: %d %s, unknown: %d %s", foreign, foreignBody, unknown, unknownBody)
	}
	if res, _ := s.send(http.MethodDelete, nil, append(bob, "Mcp-Protocol-Version", "", "Mcp-Session-Id", id)...); res.StatusCode != http.StatusNotFound {
		t.Errorf("DELETE by another: %d", res.StatusCode)
	}
	if status, _ := s.list(id, ann...); status != 200 {
		t.Error("the session has gone")
	}
	if res, _ := s.send(http.MethodDelete, nil, append(ann, "Mcp-Protocol-Version", "", "Mcp-Session-Id", id)...); res.StatusCode != http.StatusOK {
		t.Errorf("DELETE by its owner: %d", res.StatusCode)
	}
	if status, _ := s.list(id, ann...); status != 404 {
		t.Error("an ended session lives")
	}
	if got := <-s.ended; got != id {
		t.Errorf("%s ended, want %s", got, id)
	}
}

// TestC02Fixation: an id that the client brings is never adopted.
func TestC02Fixation(t *testing.T) {
	s := open(t, nil).serve()
	for _, chosen := range []string{"mine", "mcp-session-6ba7b810-9dad-11d1-80b4-00c04fd430c8", s.start()} {
		if id := s.start("Mcp-Session-Id", chosen); id == chosen || id == "" {
			t.Errorf("%q gave %q", chosen, id)
		}
	}
	for _, chosen := range []string{"mine", "mcp-session-6ba7b810-9dad-11d1-80b4-00c04fd430c8"} {
		if status, _ := s.list(chosen); status != 404 {
			t.Errorf("%q: %d", chosen, status)
		}
	}
}

// TestC02VersionByCase: a protocol version under a name in another case is none,
// for us as for the library, so it opens no way round the sessions.
func TestC02VersionByCase(t *testing.T) {
	s := open(t, nil).serve()
	meta := `"_meta":{"IO.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	for name, tt := range map[string]struct {
		session string
		status  int
	}{"none": {"", http.StatusBadRequest}, "made up": {"made-up", http.StatusNotFound}} {
		res, body := s.send(http.MethodPost, strings.NewReader(strings.Replace(toolCall, modernMeta, meta, 1)),
			"Mcp-Protocol-Version", "", "Mcp-Session-Id", tt.session)
		if res.StatusCode != tt.status || s.calls.Load() != 0 {
			t.Errorf("%s: %d %s, %d calls", name, res.StatusCode, body, s.calls.Load())
		}
	}
}

// TestValidate: the library's manager knows only the session that the request
// has entered.
func TestValidate(t *testing.T) {
	for entered, ids := range map[string]map[string]bool{"": {"": false, "s_x": false}, "s_x": {"": false, "s_x": true, "s_y": false}} {
		r := newPost(t, "")
		r = r.WithContext(turns.WithPeer(r.Context(), &turns.Peer{Connection: entered}))
		m := resolver{}.ResolveSessionIdManager(r)
		for id, want := range ids {
			if _, err := m.Validate(id); (err == nil) != want {
				t.Errorf("entered %q, %q: %v", entered, id, err)
			}
		}
	}
}

// TestC03Ids: random, without collisions or order.
func TestC03Ids(t *testing.T) {
	table, err := newSessions(rand.Reader, time.Now, func(context.Context, string) {})
	if err != nil {
		t.Fatal(err)
	}
	const n = 50_000
	ids := make([]string, n)
	rising := 0
	for i := range ids {
		ids[i], _ = table.create("ann", &endpoint{path: "/mcp"})
		if i > 0 && ids[i] > ids[i-1] {
			rising++
		}
	}
	if raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(ids[0], sessionPrefix)); err != nil || len(raw) < 16+16 {
		t.Errorf("%d bytes", len(raw))
	}
	if rising < n*48/100 || rising > n*52/100 {
		t.Errorf("%d of %d follow a smaller one", rising, n)
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != n {
		t.Error("two are the same")
	}
}

func TestSessionSeal(t *testing.T) {
	table, err := newSessions(rand.Reader, time.Now, func(context.Context, string) {})
	if err != nil {
		t.Fatal(err)
	}
	here, there := &endpoint{path: "/mcp"}, &endpoint{path: "/mcp/a"}
	id, err := table.create("ann", here)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.enter(id, "ann", here); err != nil {
		t.Error(err)
	}
	flipped := []byte(id)
	for i := range flipped {
		flipped[i] ^= 1
		if _, err := table.enter(string(flipped), "ann", here); err == nil && string(flipped) != id {
			t.Errorf("flipping byte %d is not noticed", i)
		}
		flipped[i] ^= 1
	}
	for name, enter := range map[string]func() error{
		"another caller": func() error { _, err := table.enter(id, "bob", here); return err },
		"another path":   func() error { _, err := table.enter(id, "ann", there); return err },
		"no id":          func() error { _, err := table.enter("", "ann", here); return err },
		"another process": func() error {
			other, _ := newSessions(rand.Reader, time.Now, nil)
			_, err := other.enter(id, "ann", here)
			return err
		},
	} {
		if enter() == nil {
			t.Errorf("%s got in", name)
		}
	}
}

// TestIdleSessionsEnd, but not one with a running call, and the library
// forgets them too.
func TestIdleSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, nil)
		e := s.server.endpoint(s.server.cfg.Endpoints[0]).(*endpoint)
		var ids []string
		for range 3 {
			w := newRecorder()
			e.post(w, newPost(t, initialize))
			ids = append(ids, w.header.Get("Mcp-Session-Id"))
		}
		leave, err := s.server.sessions.enter(ids[0], anonymous, e)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go s.server.sweep(ctx)
		time.Sleep(sessionIdle - time.Minute)
		used, err := s.server.sessions.enter(ids[1], anonymous, e)
		if err != nil {
			t.Fatal(err)
		}
		used(ctx)
		time.Sleep(3 * time.Minute)
		if got := drain(s.ended); !slices.Equal(got, ids[2:]) {
			t.Errorf("%v ended, want %v", got, ids[2:])
		}
		time.Sleep(sessionIdle)
		if got := drain(s.ended); !slices.Equal(got, ids[1:2]) {
			t.Errorf("%v ended, want %v", got, ids[1:2])
		}
		leave(ctx)
		time.Sleep(sessionIdle + time.Minute)
		if got := drain(s.ended); !slices.Equal(got, ids[:1]) || len(s.server.sessions.open) != 0 {
			t.Errorf("%v ended, %d left", got, len(s.server.sessions.open))
		}
		if got := drain(s.freed); !slices.Equal(got, []string{ids[2], ids[1], ids[0]}) {
			t.Errorf("the library has forgotten %v", got)
		}
		cancel()
	})
}

func drain(c chan string) (all []string) {
	for {
		select {
		case s := <-c:
			all = append(all, s)
		default:
			return all
		}
	}
}

// TestIdleTTL: a session lives as long as its conversations.
func TestIdleTTL(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{0: sessionIdle, time.Minute: sessionIdle, 3 * time.Hour: 3 * time.Hour} {
		now := time.Now()
		s := open(t, func(c *Config) { c.IdleTTL, c.Now = ttl, func() time.Time { return now } }).server
		if _, err := s.sessions.create("ann", &endpoint{path: "/mcp"}); err != nil {
			t.Fatal(err)
		}
		now = now.Add(want - time.Second)
		early := len(s.sessions.idle())
		now = now.Add(time.Second)
		if late := len(s.sessions.idle()); early != 0 || late != 1 {
			t.Errorf("%v: %d idle before %v, %d after", ttl, early, want, late)
		}
	}
}

// TestSessionCap: past it the one that is idle longest goes; if all have calls,
// the newcomer has to wait. Other callers do not matter.
func TestSessionCap(t *testing.T) {
	now := time.Now()
	table, err := newSessions(rand.Reader, func() time.Time { now = now.Add(time.Second); return now }, func(context.Context, string) {})
	if err != nil {
		t.Fatal(err)
	}
	e := &endpoint{path: "/mcp"}
	var ids []string
	for range maxSessions {
		if _, err := table.create("bob", e); err != nil {
			t.Fatal(err)
		}
		if old, err := table.room("ann"); old != nil || err != nil {
			t.Fatal(old, err)
		}
		id, _ := table.create("ann", e)
		ids = append(ids, id)
	}
	if _, err := table.enter(ids[0], "ann", e); err != nil {
		t.Fatal(err)
	}
	old, err := table.room("ann")
	if err != nil || old == nil || old.id != ids[1] {
		t.Errorf("%v, %v has to go", old, err)
	}
	for _, id := range ids[1:] {
		if _, err := table.enter(id, "ann", e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := table.room("ann"); err == nil {
		t.Error("there is room beside running calls")
	}
}

// TestSessionEndsAfterItsCalls: whoever ends it, Ended is told after the last
// call.
func TestSessionEndsAfterItsCalls(t *testing.T) {
	var ended []string
	table, err := newSessions(rand.Reader, time.Now, func(_ context.Context, id string) { ended = append(ended, id) })
	if err != nil {
		t.Fatal(err)
	}
	e := &endpoint{path: "/mcp"}
	id, _ := table.create("ann", e)
	one, _ := table.enter(id, "ann", e)
	two, _ := table.enter(id, "ann", e)
	table.terminate(id)
	if _, err := table.enter(id, "ann", e); err == nil {
		t.Error("got into a session that is over")
	}
	one(t.Context())
	if len(ended) != 0 {
		t.Error("ended under a call")
	}
	two(t.Context())
	table.endAll(t.Context())
	if !slices.Equal(ended, []string{id}) {
		t.Errorf("ended %v", ended)
	}
}

// recorder is a response writer without a connection.
type recorder struct {
	bytes.Buffer
	header http.Header
	status int
}

func newRecorder() *recorder { return &recorder{header: make(http.Header)} }

func (r *recorder) Header() http.Header    { return r.header }
func (r *recorder) WriteHeader(status int) { r.status = status }

func newPost(t *testing.T, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(context.WithValue(t.Context(), principalKey{}, anonymous), http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	return r
}
