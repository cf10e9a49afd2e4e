package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/house"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/streams"
	"github.com/adkmcp/adkmcp/internal/tools/process/processtest"
)

// manyAgent has tools from a child, from a server over HTTP, one of which holds a
// connection open to listen on, and from a document, and uses them all.
const manyAgent = `
name: many
instruction: Use all.
model:
  provider: scripted
  script:
    - steps:
        - call: [{odd: {}}, {who: {team: red}}, {ping: {}}, {get: {}}]
        - {reply: "{odd} / {who} / {ping} / {get}"}
tools:
  - mcp: {command: sh, args: [odd.sh, '{"content":[{"type":"text","text":"odd done"}]}', ""], env: {MARKER: %[2]s}}
  - mcp: {url: "%[1]s/mcp", headers: {X-Team: red}}
  - openapi: {document: api.json, server: "%[1]s"}
  - {name: get, description: Gets., http: {url: "%[1]s/get"}}
`

const pingDocument = `{"openapi": "3.1.0", "info": {"title": "Ping", "version": "1"},
"paths": {"/ping": {"get": {"operationId": "ping", "responses": {"200": {"description": "pong"}}}}}}`

// connections counts those of a server that are open.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]bool
	most int
}

func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.open[conn] = true
		c.most = max(c.most, len(c.open))
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
}

// none waits for the last one to close, which the other side has to notice.
func (c *connections) none(t *testing.T) {
	t.Helper()
	count := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.open)
	}
	for deadline := time.Now().Add(5 * time.Second); count() > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%d connections are left", count())
			return
		}
	}
}

// TestManyStarts: nothing is left of 100 starts and stops, not of the first one
// either.
func TestManyStarts(t *testing.T) {
	marker := fmt.Sprintf("again-%d-%d", os.Getpid(), time.Now().UnixNano())
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp) // where private folders are made
	b := &board{callers: 1, full: make(chan struct{}), listens: true}
	mux := http.NewServeMux()
	mux.Handle("/mcp", b)
	for _, word := range []string{"ping", "get"} {
		mux.HandleFunc("/"+word, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, word+" done") })
	}
	conns := &connections{open: map[net.Conn]bool{}}
	upstream := httptest.NewUnstartedServer(mux)
	upstream.Config.ConnState = conns.changed
	upstream.Start()
	defer upstream.Close()
	file := agentFile(t, fmt.Sprintf(manyAgent, upstream.URL, marker))
	for name, text := range map[string]string{"odd.sh": oddServer, "api.json": pingDocument} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	app := testApp(t, map[string]string{})
	before := goleak.IgnoreCurrent()
	left := func() []os.DirEntry {
		entries, err := os.ReadDir(temp)
		if err != nil {
			t.Fatal(err)
		}
		return entries
	}
	for i := range 100 {
		h, err := app.open(&streams.Log{Level: "warn", Format: "text"}, []string{file}, opening{bounds: house.DefaultBounds()})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := ask(t, h, "go"), "odd done / red / ping done / get done"; got != want {
			t.Errorf("answer %q, want %q", got, want)
		}
		if len(processtest.With(t, marker)) == 0 || len(left()) == 0 { // else the checks below would be of no use
			t.Error("the child or its folder is not there while it is used")
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if len(left()) > 0 || t.Failed() {
			t.Fatalf("start %d: left in the folder for temporary files: %v", i, left())
		}
	}
	processtest.NoneWith(t, marker)
	conns.none(t)
	goleak.VerifyNone(t, before)
	if conns.most < 2 || b.count(http.MethodDelete) != 100 {
		t.Errorf("at most %d connections at once; %d sessions were ended", conns.most, b.count(http.MethodDelete))
	}
}
