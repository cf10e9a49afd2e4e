package httpserver

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve/guard"
)

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
		c.Tokens = []Token{{Principal: "ann", Secret: config.NewSecret("ann-secret")}, {Principal: "bob", Secret: config.NewSecret("bob-secret")}}
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

// newTable makes sessions without a server.
func newTable(t *testing.T, now func() time.Time, ended func(context.Context, string)) *sessions {
	t.Helper()
	ids, err := newSeal(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return newSessions(ids, &Config{Now: now, Ended: ended, Log: slog.New(slog.DiscardHandler)})
}

// create makes a session that nobody is inside of.
func create(t *testing.T, table *sessions, principal string) string {
	t.Helper()
	s, err := table.create(t.Context(), principal, "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	table.leave(t.Context(), s)
	return s.id
}

// TestC03Ids: random, without collisions or order.
func TestC03Ids(t *testing.T) {
	seal, err := newSeal(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	const n = 50_000
	ids := make([]string, n)
	rising := 0
	for i := range ids {
		ids[i], _ = seal.make("ann", "/mcp")
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

func TestSeal(t *testing.T) {
	seal, err := newSeal(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id, err := seal.make("ann", "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	if !seal.fits(id, "ann", "/mcp") {
		t.Error("its own id does not fit")
	}
	flipped := []byte(id)
	for i := range flipped {
		flipped[i] ^= 1
		if seal.fits(string(flipped), "ann", "/mcp") {
			t.Errorf("flipping byte %d is not noticed", i)
		}
		flipped[i] ^= 1
	}
	other, err := newSeal(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, fits := range map[string]bool{
		"another caller":  seal.fits(id, "bob", "/mcp"),
		"another path":    seal.fits(id, "ann", "/mcp/a"),
		"no id":           seal.fits("", "ann", "/mcp"),
		"no prefix":       seal.fits(strings.TrimPrefix(id, sessionPrefix), "ann", "/mcp"),
		"another process": other.fits(id, "ann", "/mcp"),
	} {
		if fits {
			t.Errorf("%s got in", name)
		}
	}
}

// FuzzSealFits: nothing fits but what was made.
func FuzzSealFits(f *testing.F) {
	seal, err := newSeal(rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	id, err := seal.make("ann", "/mcp")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(id, "bob")
	f.Add(id[:len(id)-1], "ann")
	f.Add(id+"A", "ann")
	f.Fuzz(func(t *testing.T, text, principal string) {
		if seal.fits(text, principal, "/mcp") && (text != id || principal != "ann") {
			t.Errorf("%q fits %q", text, principal)
		}
	})
}

// TestIdleSessionsEnd, but not one with a running call.
func TestIdleSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, nil)
		table := s.server.sessions
		var ids []string
		for range 3 {
			ids = append(ids, create(t, table, guard.Anonymous))
		}
		busy, err := table.enter(ids[0], guard.Anonymous, "/mcp")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go s.server.sweep(ctx)
		time.Sleep(sessionIdle - time.Minute)
		used, err := table.enter(ids[1], guard.Anonymous, "/mcp")
		if err != nil {
			t.Fatal(err)
		}
		table.leave(ctx, used)
		time.Sleep(3 * time.Minute)
		if got := drain(s.ended); !slices.Equal(got, ids[2:]) {
			t.Errorf("%v ended, want %v", got, ids[2:])
		}
		time.Sleep(sessionIdle)
		if got := drain(s.ended); !slices.Equal(got, ids[1:2]) {
			t.Errorf("%v ended, want %v", got, ids[1:2])
		}
		table.leave(ctx, busy)
		time.Sleep(sessionIdle + time.Minute)
		if got := drain(s.ended); !slices.Equal(got, ids[:1]) || len(table.open) != 0 {
			t.Errorf("%v ended, %d left", got, len(table.open))
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
		s := open(t, func(c *Config) { c.IdleTTL, c.Now = ttl, func() time.Time { return now } })
		create(t, s.server.sessions, "ann")
		now = now.Add(want - time.Second)
		s.server.sessions.expire(t.Context())
		early := len(drain(s.ended))
		now = now.Add(time.Second)
		s.server.sessions.expire(t.Context())
		if late := len(drain(s.ended)); early != 0 || late != 1 {
			t.Errorf("%v: %d ended before %v, %d after", ttl, early, want, late)
		}
	}
}

// TestA14SessionCap: past it the one that is idle longest goes; if all have
// calls, the newcomer has to wait. Other callers do not matter.
func TestA14SessionCap(t *testing.T) {
	now := time.Now()
	var ended []string
	table := newTable(t, func() time.Time { now = now.Add(time.Second); return now }, func(_ context.Context, id string) { ended = append(ended, id) })
	var ids []string
	for range maxSessions {
		create(t, table, "bob")
		ids = append(ids, create(t, table, "ann"))
	}
	if len(ended) != 0 {
		t.Errorf("%d ended", len(ended))
	}
	if _, err := table.enter(ids[0], "ann", "/mcp"); err != nil {
		t.Fatal(err)
	}
	last := create(t, table, "ann")
	if !slices.Equal(ended, ids[1:2]) {
		t.Errorf("%v had to go, want %s", ended, ids[1])
	}
	for _, id := range append(ids[2:], last) {
		if _, err := table.enter(id, "ann", "/mcp"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := table.create(t.Context(), "ann", "/mcp"); !errors.Is(err, errTooManySessions) {
		t.Errorf("beside running calls: %v", err)
	}
	if _, err := table.create(t.Context(), "bob", "/mcp"); err != nil {
		t.Error(err)
	}
}

// TestA14NoSession: what a client hears then.
func TestA14NoSession(t *testing.T) {
	s := open(t, nil).serve()
	for range maxSessions {
		if _, err := s.server.sessions.create(t.Context(), guard.Anonymous, "/mcp"); err != nil { // and stays inside
			t.Fatal(err)
		}
	}
	res, body := s.post(initialize, "Content-Type", "application/json")
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || !strings.Contains(body, `"id":1,"error"`) {
		t.Errorf("%d %v %s", res.StatusCode, res.Header, body)
	}
	s.expect(200) // others go on
}

// TestSessionEndsAfterItsCalls: whoever ends it, Ended is told after the last
// call, and the calls are told to end.
func TestSessionEndsAfterItsCalls(t *testing.T) {
	var ended []string
	table := newTable(t, time.Now, func(_ context.Context, id string) { ended = append(ended, id) })
	id := create(t, table, "ann")
	one, err := table.enter(id, "ann", "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	c := table.begin(one, []byte("1"), cancel)
	if _, err := table.enter(id, "ann", "/mcp"); err != nil {
		t.Fatal(err)
	}
	table.terminate(one)
	if !errors.Is(context.Cause(ctx), errSessionEnded) || table.cancelled(c) {
		t.Errorf("the call's cause: %v", context.Cause(ctx))
	}
	late, cancelLate := context.WithCancelCause(t.Context())
	table.end(one, table.begin(one, []byte("2"), cancelLate))
	if late.Err() == nil {
		t.Error("a call began in a session that is over")
	}
	if _, err := table.enter(id, "ann", "/mcp"); err == nil {
		t.Error("got into a session that is over")
	}
	table.end(one, c)
	table.leave(t.Context(), one)
	if len(ended) != 0 {
		t.Error("ended under a call")
	}
	table.leave(t.Context(), one)
	table.endAll(t.Context())
	if !slices.Equal(ended, []string{id}) {
		t.Errorf("ended %v", ended)
	}
}

// TestRefusedInitialize leaves no session.
func TestRefusedInitialize(t *testing.T) {
	s := open(t, nil).serve()
	res, body := s.post(strings.Replace(initialize, `"c"`, `"refuse"`, 1), "Content-Type", "application/json")
	if res.StatusCode != http.StatusOK || res.Header.Get("Mcp-Session-Id") != "" || !strings.Contains(body, "refused") {
		t.Errorf("%d %v %s", res.StatusCode, res.Header, body)
	}
	next(t, s.ended)
	if n := len(s.server.sessions.open); n != 0 {
		t.Errorf("%d sessions", n)
	}
}
