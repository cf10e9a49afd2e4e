package config_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/load"
)

// tools loads an agent file with some tools and gives them; the environment
// holds KEY.
func tools(t *testing.T, yaml string) []config.Tool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(path, []byte("name: a\ninstruction: Do it.\ntools:\n"+yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) { return "secret of the test", name == "KEY" }
	agents, problems, err := load.Agents([]string{path}, load.Options{LookupEnv: lookup})
	if err != nil || len(problems) > 0 || len(agents) != 1 {
		t.Fatal(agents, problems, err)
	}
	return agents[0].Tools
}

func TestLevers(t *testing.T) {
	const second, minute = config.Duration(time.Second), config.Duration(time.Minute)
	type levers struct {
		Approval, When *config.Condition
		Retry          *config.Retry
		Cache          *config.Cache
		Rate           *config.RateLimit
		Idempotent     *bool
	}
	yes, no := true, false
	for _, test := range []struct {
		yaml string
		want levers
	}{
		{"timeout: 60s", levers{}},
		{"requires_approval: false", levers{}},
		{"requires_approval: true", levers{Approval: &config.Condition{Is: true}}},
		{"requires_approval: \"hints.read_only\"", levers{Approval: &config.Condition{Expr: "hints.read_only"}}},
		{"when: true", levers{}},
		{"when: FALSE", levers{When: &config.Condition{}}},
		{"when: state.a > 1", levers{When: &config.Condition{Expr: "state.a > 1"}}},
		{"retry: 5", levers{Retry: &config.Retry{Tries: 5, Delay: second / 2, MaxDelay: 10 * second}}},
		{"retry: {delay: 1s}", levers{Retry: &config.Retry{Tries: 3, Delay: second, MaxDelay: 10 * second}}},
		{"cache: false", levers{}},
		{"cache: true", levers{Cache: &config.Cache{TTL: 5 * minute, Entries: 128, MaxBytes: 4 << 20}}},
		{"cache: {}", levers{Cache: &config.Cache{TTL: 5 * minute, Entries: 128, MaxBytes: 4 << 20}}},
		{"cache: {entries: 1}", levers{Cache: &config.Cache{TTL: 5 * minute, Entries: 1, MaxBytes: 4 << 20}}},
		{"rate_limit: 60", levers{Rate: &config.RateLimit{PerMinute: 60, Exceeded: "wait", MaxWait: minute, Per: "caller"}}},
		{"rate_limit: {per_minute: 2, exceeded: error, per: tool}", levers{Rate: &config.RateLimit{PerMinute: 2, Exceeded: "error", MaxWait: minute, Per: "tool"}}},
		{"idempotent: true", levers{Idempotent: &yes}},
		{"idempotent: false", levers{Idempotent: &no}},
	} {
		tool := tools(t, "- {name: t, http: {url: \"https://example.com/\"}, "+test.yaml+"}\n")[0]
		got := levers{tool.RequiresApproval, tool.When, tool.Retry, tool.Cache, tool.RateLimit, tool.Idempotent}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s:\n%s", test.yaml, diff)
		}
	}
}

func TestMultipart(t *testing.T) {
	tool := tools(t, `
- name: t
  parameters: {x: {type: string}}
  http:
    method: POST
    url: https://example.com/
    body:
      multipart:
        first: "{x}, ${KEY}"
        second: {value: "{x}", filename: "${KEY}.txt", content_type: text/plain, base64: true}
`)[0]
	var got [][]string
	for _, p := range tool.HTTP.Body.Multipart {
		name := ""
		if p.Filename != nil {
			name = p.Filename.Plain()
		}
		got = append(got, []string{p.Name, p.Value.Plain(), name, p.ContentType})
	}
	want := [][]string{{"first", ", secret of the test", "", ""}, {"second", "", "secret of the test.txt", "text/plain"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !tool.HTTP.Body.Multipart[1].Base64 || tool.HTTP.Body.Multipart[0].Base64 {
		t.Error("base64 is at the wrong part")
	}
	if diff := cmp.Diff([]string{"secret of the test"}, tool.Secrets); diff != "" {
		t.Error("secrets:", diff)
	}
}

func TestNames(t *testing.T) {
	for i, want := range [][]string{
		{"mine"}, nil, nil, {"inner"}, {"outer"}, {"files_list", "files_read", "files_search"}, {"google_search"},
	} {
		tool := tools(t, `
- {name: mine, ask: {message: x}}
- mcp: {url: "https://example.com/"}
- openapi: https://example.com/api.json
- agent: {name: inner, instruction: Do it.}
- {name: outer, agent: {name: inner, instruction: Do it.}}
- {name: files, args: {root: .}}
- {name: google_search}
`)[i]
		if diff := cmp.Diff(want, tool.Names()); diff != "" {
			t.Error(diff)
		}
	}
}
