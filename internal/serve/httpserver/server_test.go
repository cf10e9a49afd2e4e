package httpserver

import (
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config"
)

func TestLoopbackRule(t *testing.T) {
	token := []Token{{Principal: "ann", Secret: config.NewSecret("x")}}
	for _, tt := range []struct {
		addr     string
		tokens   []Token
		insecure bool
		want     string // of the error, or the address
	}{
		{":8080", nil, false, "127.0.0.1:8080"},
		{"127.0.0.2:1", nil, false, "127.0.0.2:1"},
		{"localhost:1", nil, false, "localhost:1"},
		{"[::1]:1", nil, false, "[::1]:1"},
		{"0.0.0.0:1", nil, false, "--auth-token"},
		{"[::]:1", nil, false, "--insecure-no-auth"},
		{"192.168.1.2:1", nil, false, "--auth-token"},
		{"localhost.example:1", nil, false, "--auth-token"},
		{"0.0.0.0:1", token, false, "0.0.0.0:1"},
		{"0.0.0.0:1", nil, true, "0.0.0.0:1"},
		{"8080", nil, false, "HOST:PORT"},
	} {
		s, err := New(Config{Addr: tt.addr, Tokens: tt.tokens, InsecureNoAuth: tt.insecure, Random: strings.NewReader(strings.Repeat("r", 32))})
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = s.cfg.Addr
		}
		if (err == nil) != (got == tt.want) || !strings.Contains(got, tt.want) {
			t.Errorf("%s with %d tokens: %q, want %q", tt.addr, len(tt.tokens), got, tt.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for want, c := range map[string]Config{
		"same token":          {Addr: ":1", Tokens: []Token{{Principal: "ann", Secret: config.NewSecret("x")}, {Principal: "bob", Secret: config.NewSecret("x")}}},
		"--allow-origin evil": {Addr: ":1", AllowOrigins: []string{"evil"}},
		"random":              {Addr: ":1"},
	} {
		if c.Random == nil {
			c.Random = strings.NewReader("")
		}
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
