package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/mcpclient/wire"
)

// legacy is a server that knows only the older HTTP+SSE.
func legacy(t *testing.T) string {
	t.Helper()
	answers := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet && r.URL.Path == "/sse":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprint(w, "event: endpoint\ndata: /messages\n\n")
			w.(http.Flusher).Flush()
			for {
				select {
				case answer := <-answers:
					_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", answer)
					w.(http.Flusher).Flush()
				case <-r.Context().Done():
					return
				}
			}
		case r.Method == http.MethodPost && r.URL.Path == "/messages":
			var m struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.NewDecoder(r.Body).Decode(&m)
			w.WriteHeader(http.StatusAccepted)
			if m.Method == "initialize" {
				answers <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"old","version":"1"}}}`, m.ID)
			}
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/sse"
}

// TestTransports: auto falls back to SSE where the server knows only that.
func TestTransports(t *testing.T) {
	url := legacy(t)
	for transport, want := range map[string]error{"auto": nil, "sse": nil, "http": wire.ErrLegacySSE} {
		t.Run(transport, func(t *testing.T) {
			dial := NewDial(&config.MCPServer{URL: url, Transport: transport, Protocol: "2024-11-05"}, DialOptions{Log: slog.New(slog.DiscardHandler)})
			c, server, err := dial(t.Context(), nil, func(string) {})
			if !errors.Is(err, want) {
				t.Fatalf("got %v, want %v", err, want)
			}
			if err != nil {
				return
			}
			if server.Name != "old" {
				t.Errorf("got %+v", server)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	inside := filepath.Join(dir, "cache", "module")
	if err := os.MkdirAll(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inside, "f"), nil, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(inside, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := remove(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}

func TestFileURI(t *testing.T) {
	if got := fileURI("/a b/ü"); got != "file:///a%20b/%C3%BC" {
		t.Errorf("got %s", got)
	}
}
