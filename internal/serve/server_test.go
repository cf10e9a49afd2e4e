package serve_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve"
)

func TestNewRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		options serve.Options
		want    []string
	}{
		"nothing":      {serve.Options{}, []string{"no agent"}},
		"the same":     {serve.Options{Agents: []serve.Agent{{Name: "a", File: "x.yaml"}, {Name: "a", File: "y.yaml"}}}, []string{`"a"`, "x.yaml", "y.yaml"}},
		"process HTTP": {serve.Options{HTTP: true, Agents: []serve.Agent{{Name: "a", File: "x.yaml", Conversation: config.PerProcess}}}, []string{"x.yaml", "stdio only"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := serve.New(tt.options)
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not name %s", err, want)
				}
			}
		})
	}
}

// list gives the tools of one agent as hosts get them.
func list(t *testing.T, o serve.Options) map[string]any {
	t.Helper()
	s, err := serve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	data := handle1(t.Context(), s.All(), []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	var m struct {
		Result struct{ Tools []map[string]any }
	}
	if err := json.Unmarshal(data, &m); err != nil || len(m.Result.Tools) != 1 {
		t.Fatalf("%v: %s", err, data)
	}
	return m.Result.Tools[0]
}

func TestAnnotations(t *testing.T) {
	yes, no := true, false
	safe := agent.Hints{ReadOnly: true, NonDestructive: true, Idempotent: true, ClosedWorld: true}
	for name, tt := range map[string]struct {
		hints                                       agent.Hints
		own                                         config.Annotations
		readOnly, destructive, idempotent, openWord bool
	}{
		"nothing known": {agent.Hints{}, config.Annotations{}, false, true, false, true},
		"safe":          {safe, config.Annotations{}, true, false, true, false},
		"adds":          {agent.Hints{NonDestructive: true}, config.Annotations{}, false, false, false, true},
		"overridden":    {safe, config.Annotations{ReadOnly: &no, Destructive: &yes, Idempotent: &no, OpenWorld: &yes}, false, true, false, true},
		"said to read":  {agent.Hints{}, config.Annotations{ReadOnly: &yes}, true, false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			tool := list(t, serve.Options{Agents: []serve.Agent{{Name: "a", Hints: tt.hints, Annotations: tt.own}}})
			got, _ := tool["annotations"].(map[string]any)
			for hint, want := range map[string]bool{"readOnlyHint": tt.readOnly, "destructiveHint": tt.destructive, "idempotentHint": tt.idempotent, "openWorldHint": tt.openWord} {
				if got[hint] != want {
					t.Errorf("%s is %v, want %v", hint, got[hint], want)
				}
			}
		})
	}
}

func TestDescription(t *testing.T) {
	for expiry, want := range map[time.Duration]string{time.Hour: "for 1h.", 90 * time.Minute: "for 1h30m.", 10 * time.Minute: "for 10m.", 90 * time.Second: "for 1m30s."} {
		tool := list(t, serve.Options{IdleExpiry: expiry, Agents: []serve.Agent{{Name: "a", Title: "An A"}}})
		description, _ := tool["description"].(string)
		if !strings.HasPrefix(description, "Run the a agent.\n") || !strings.HasSuffix(description, want) || tool["title"] != "An A" {
			t.Errorf("%v: %q, title %v", expiry, description, tool["title"])
		}
	}
}

// TestC08: what depends on who asks is for nobody else to keep.
func TestC08(t *testing.T) {
	f := newFixture(t, config.PerConnection)
	for _, method := range []string{"server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		m := f.send(t, t.Context(), newCaller(""), map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": map[string]any{"_meta": modernMeta("")}})
		r, ok := m["result"].(map[string]any)
		if method == "prompts/list" && !ok { // this agent has none
			continue
		}
		if r["cacheScope"] != "private" || r["ttlMs"] == nil {
			t.Errorf("%s: %v", method, m)
		}
	}
}

// TestA18: nothing but what is documented is served, and no listener beside it.
func TestA18(t *testing.T) {
	w := openHTTP(t, newFixture(t, config.PerConnection), nil)
	for _, path := range []string{"/", "/metrics", "/debug/pprof/", "/debug/vars", "/admin", "/sse", "/message", "/mcp/nobody"} {
		res, err := w.client.Get(w.url + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}
