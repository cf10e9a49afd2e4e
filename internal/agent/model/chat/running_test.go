package chat

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/config"
)

// TestNotRunning names what to start where a server's usual port does not answer.
func TestNotRunning(t *testing.T) {
	refused := fmt.Errorf("post: %w", &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")})
	for url, want := range map[string]string{
		"http://127.0.0.1:11434/v1/":  "the model's server cannot be reached at http://127.0.0.1:11434/v1: is it running? (ollama serve): connection refused",
		"http://localhost:1234/v1":    "cannot be reached at http://localhost:1234/v1: is it running? (lms server start)",
		"http://[::1]:8080/v1":        "cannot be reached at http://[::1]:8080/v1: is it running?: connection refused",
		"http://192.168.1.7:11434/v1": "192.168.1.7:11434 cannot be reached: check the network",
	} {
		m, err := New(&config.Model{Name: "m", BaseURL: url}, Deps{Lookup: func(string) (string, bool) { return "", false }})
		if err != nil {
			t.Fatal(err)
		}
		var e *model.Error
		if err := m.explain(refused); !errors.As(err, &e) || e.Code != model.Unavailable || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
