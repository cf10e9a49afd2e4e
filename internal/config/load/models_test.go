package load_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/load"
)

// TestInheritedModel: agents that share a model, fallbacks included, keep their
// settings apart.
func TestInheritedModel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte(`name: outer
instruction: Do it.
model: {provider: openai, name: gpt-4o, fallback: [{provider: anthropic, name: claude-sonnet-4-5}]}
generate_content_config: {temperature: 0.9}
tools:
  - agent: {name: inner, description: d, instruction: Think., generate_content_config: {temperature: 0.1, max_output_tokens: 77}}
  - agent: {name: plain, description: d, instruction: Think.}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	agents, problems, err := load.Agents([]string{file}, load.Options{LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
	settings := func(m *config.Model) [2]float64 {
		var s [2]float64
		if m.Temperature != nil {
			s[0] = *m.Temperature
		}
		if m.MaxOutputTokens != nil {
			s[1] = float64(*m.MaxOutputTokens)
		}
		return s
	}
	outer := agents[0]
	inner, plain := outer.Tools[0].Agent.Agent, outer.Tools[1].Agent.Agent
	got := map[string][2]float64{}
	for _, a := range []*config.Agent{outer, inner, plain} {
		got[a.Name] = settings(&a.Model)
		got[a.Name+", fallback"] = settings(&a.Model.Fallback[0])
	}
	want := map[string][2]float64{
		"outer": {0.9, 0}, "outer, fallback": {0.9, 0}, "inner": {0.1, 77}, "inner, fallback": {0.1, 77}, "plain": {}, "plain, fallback": {},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestUnasked: where a recording plays, what only the models want may be missing.
func TestUnasked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte(`name: a
instruction: Do it.
model: {name: gpt-4o, api_key: "${KEY}", fallback: [{name: gpt-4.1, api_key: "${OTHER}"}]}
tools:
  - hosted_mcp: {server_label: wiki, server_url: https://example.com/mcp, authorization: "${TOKEN}"}
    when: state.x == 1
  - {name: say, description: Say., parameters: {}, shell: [echo, "${WORD}"]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	lookup := func(string) (string, bool) { return "", false }
	_, problems, err := load.Agents([]string{file}, load.Options{LookupEnv: lookup, Unasked: true})
	errors := 0
	for _, p := range problems {
		if p.Severity == "error" && p.Path != "tools[1].shell[1]" {
			t.Error(p)
		}
		if p.Severity == "error" {
			errors++
		}
	}
	if err != nil || errors != 1 {
		t.Errorf("%v, %d errors: the variable of a tool is wanted all the same", err, errors)
	}
}
