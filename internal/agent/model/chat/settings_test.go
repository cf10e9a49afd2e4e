package chat_test

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat/chattest"
	"github.com/adkmcp/adkmcp/internal/config"
)

func nothing(string) (string, bool) { return "", false }

// TestSettings looks at the members of a request.
func TestSettings(t *testing.T) {
	half, limit, seed := 0.5, 100, 7
	cases := []struct {
		name   string
		url    string
		change func(*config.Model)
		want   map[string]string // besides model, messages and stream
	}{
		{"none", "", func(*config.Model) {}, nil},
		{"all", "", func(c *config.Model) {
			c.Temperature, c.TopP, c.MaxOutputTokens, c.Stop, c.Seed = &half, &half, &limit, []string{"END"}, &seed
			c.PresencePenalty, c.FrequencyPenalty, c.Thinking = &half, &half, &config.Thinking{Effort: config.LowThinking}
		}, map[string]string{"temperature": "0.5", "top_p": "0.5", "max_tokens": "100", "stop": `["END"]`, "seed": "7",
			"presence_penalty": "0.5", "frequency_penalty": "0.5", "reasoning_effort": `"low"`}},
		{"OpenAI's own", "http://api.openai.com/v1", func(c *config.Model) { c.MaxOutputTokens = &limit }, map[string]string{"max_completion_tokens": "100"}},
		{"Azure's", "http://mine.openai.azure.com/v1", func(c *config.Model) { c.MaxOutputTokens = &limit }, map[string]string{"max_completion_tokens": "100"}},
		{"the limit of extra_body, by either name", "http://api.openai.com/v1", func(c *config.Model) {
			c.MaxOutputTokens, c.ExtraBody = &limit, json.RawMessage(`{"max_completion_tokens":50}`)
		}, map[string]string{"max_completion_tokens": "50"}},
		{"the limit of extra_body, elsewhere", "", func(c *config.Model) {
			c.MaxOutputTokens, c.ExtraBody = &limit, json.RawMessage(`{"max_completion_tokens":50}`)
		}, map[string]string{"max_completion_tokens": "50"}},
		{"the older name in extra_body", "http://api.openai.com/v1", func(c *config.Model) { c.ExtraBody = json.RawMessage(`{"max_tokens":50}`) }, map[string]string{"max_tokens": "50"}},
		{"no limit after all", "http://api.openai.com/v1", func(c *config.Model) {
			c.MaxOutputTokens, c.ExtraBody = &limit, json.RawMessage(`{"max_tokens":null}`)
		}, nil},
		{"extra_body goes on top", "", func(c *config.Model) {
			c.Temperature, c.Seed = &half, &seed
			c.ExtraBody = json.RawMessage(`{"top_k":40,"temperature":0.25,"seed":null,"options":{"num_ctx":12345678901234567890}}`)
		}, map[string]string{"temperature": "0.25", "top_k": "40", "options": `{"num_ctx":12345678901234567890}`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := startAt(t, chattest.Manner{}, c.url, c.change)
			f.server.Extra = []string{"top_k", "options"}
			f.server.Play(chattest.Answer{Text: []string{"fine"}})
			o := ask(t.Context(), f, request(user("go")))
			noRefusals(t, f)
			if o.err != nil {
				t.Fatal(o.err)
			}
			r, _ := newest(t, f)
			var sent map[string]json.RawMessage
			if err := json.Unmarshal(r.Body, &sent); err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for name, value := range sent {
				got[name] = string(value)
			}
			want := map[string]string{"model": `"qwen3"`, "messages": `[{"role":"system","content":"be brief"},{"role":"user","content":"go"}]`,
				"stream": "true", "stream_options": `{"include_usage":true}`}
			maps.Copy(want, c.want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("Mistral's own", func(t *testing.T) {
		f := startAt(t, manner(t, "Mistral"), "http://api.mistral.ai/v1", func(c *config.Model) { c.Seed, c.MaxOutputTokens = &seed, &limit })
		f.server.Play(chattest.Answer{Text: []string{"fine"}})
		o := ask(t.Context(), f, request(user("go")))
		noRefusals(t, f)
		r, _ := newest(t, f)
		if body := string(r.Body); o.err != nil || o.reply.Usage == nil || !strings.Contains(body, `"random_seed":7`) || !strings.Contains(body, `"max_tokens":100`) {
			t.Errorf("%v, sent %s", o.err, body)
		}
	})
	t.Run("a server that knows no stream_options", func(t *testing.T) {
		f := start(t, chattest.Manner{}, func(c *config.Model) { c.ExtraBody = json.RawMessage(`{"stream_options":null}`) })
		ask(t.Context(), f, request(user("go"))) // which the fake wants
		if r, _ := newest(t, f); strings.Contains(string(r.Body), "stream_options") {
			t.Errorf("sent %s", r.Body)
		}
	})
}

// TestIdentity looks at the headers.
func TestIdentity(t *testing.T) {
	cases := []struct {
		name   string
		change func(*config.Model)
		want   string // Authorization
		who    string
	}{
		{"a key with a line break at its end", func(c *config.Model) { c.APIKey = config.NewSecret(key + "\n") }, "Bearer " + key, "check model.api_key"},
		{"none", func(c *config.Model) { c.APIKey = config.Secret{} }, "", "model.api_key, which is not set"},
		{"a header in its place", func(c *config.Model) {
			c.Headers = map[string]config.Secret{"authorization": config.NewSecret("Bearer another"), "X-Team": config.NewSecret("blue")}
		}, "Bearer another", "model.api_key"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, chattest.Manner{}, c.change)
			if err := f.Check(); err != nil {
				t.Fatal(err)
			}
			f.server.Key = ""
			f.server.Play(chattest.Answer{Text: []string{"fine"}}, chattest.Answer{Status: 403, Body: "not you, " + c.want})
			if o := ask(t.Context(), f, request(user("go"))); o.err != nil {
				t.Fatal(o.err)
			}
			r, _ := newest(t, f)
			if got := r.Header.Get("Authorization"); got != c.want || strings.Contains(c.name, "header") != (r.Header.Get("X-Team") == "blue") {
				t.Errorf("headers %v", r.Header)
			}
			o := ask(t.Context(), f, request(user("go")))
			if o.code() != model.Unauthorized || !strings.Contains(o.told(), c.who) || c.want != "" && strings.Contains(o.told(), strings.TrimPrefix(c.want, "Bearer ")) {
				t.Errorf("%s", o.told())
			}
		})
	}
	t.Run("a key of two lines", func(t *testing.T) {
		f := start(t, chattest.Manner{}, func(c *config.Model) { c.APIKey = config.NewSecret("PRIVATE\nPRIVATE") })
		for _, err := range []error{f.Check(), ask(t.Context(), f, request(user("go"))).err} {
			var e *model.Error
			if !errors.As(err, &e) || e.Code != model.Misconfigured || !strings.Contains(err.Error(), "model.api_key holds a line break") || strings.Contains(err.Error(), "PRIVATE") {
				t.Errorf("%v", err)
			}
		}
	})
}

// TestNewRefuses has settings that no server takes.
func TestNewRefuses(t *testing.T) {
	top := 40
	cases := []struct {
		says string
		cfg  config.Model
	}{
		{"model.base_url: openai-compatible needs the address", config.Model{}},
		{"model.base_url: it must be a URL", config.Model{BaseURL: "localhost:8080"}},
		{"model.api_key or model.headers", config.Model{BaseURL: "http://me:secret@host/v1"}},
		{"without ? and #", config.Model{BaseURL: "http://host/v1?key=x"}},
		{"leave out /chat/completions", config.Model{BaseURL: "http://host/v1/chat/completions/"}},
		{"model.thinking", config.Model{BaseURL: "http://host/v1", Thinking: &config.Thinking{Budget: 100}}},
		{"model.top_k", config.Model{BaseURL: "http://host/v1", TopK: &top}},
		{"model.extra_body", config.Model{BaseURL: "http://host/v1", ExtraBody: json.RawMessage(`[]`)}},
	}
	for _, name := range []string{"model", "messages", "tools", "stream"} {
		cases = append(cases, struct {
			says string
			cfg  config.Model
		}{"model.extra_body: " + name, config.Model{BaseURL: "http://host/v1", ExtraBody: json.RawMessage(`{"` + name + `":null}`)}})
	}
	for _, c := range cases {
		m, err := chat.New(&c.cfg, chat.Deps{Lookup: nothing})
		if m != nil || err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want %q", err, c.says)
		}
	}
}
