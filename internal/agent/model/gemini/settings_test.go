package gemini

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
	"github.com/adkmcp/adkmcp/internal/config"
)

// TestSettings looks at the request that goes out.
func TestSettings(t *testing.T) {
	const (
		gem    = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse"
		method = "publishers/google/models/gemini-3-flash:streamGenerateContent?alt=sse"
	)
	cases := []struct {
		name string
		cfg  config.Model
		env  string // NAME=value, separated by blanks
		url  string
		key  string
		says string // the problem instead
	}{
		{"nothing set", config.Model{}, "", "", "", "set GEMINI_API_KEY or GOOGLE_API_KEY in the environment"},
		{"an empty key", config.Model{}, "GEMINI_API_KEY=", "", "", "set GEMINI_API_KEY or GOOGLE_API_KEY"},
		{"GEMINI_API_KEY", config.Model{}, "GEMINI_API_KEY=one", gem, "one", ""},
		{"GOOGLE_API_KEY wins", config.Model{}, "GEMINI_API_KEY=one GOOGLE_API_KEY=two", gem, "two", ""},
		{"api_key wins", config.Model{APIKey: config.NewSecret("three")}, "GOOGLE_API_KEY=two", gem, "three", ""},
		{"base_url with a path", config.Model{BaseURL: "http://gateway/g"}, "GEMINI_API_KEY=one GOOGLE_GEMINI_BASE_URL=http://other", "http://gateway/g/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse", "one", ""},
		{"GOOGLE_GEMINI_BASE_URL", config.Model{}, "GEMINI_API_KEY=one GOOGLE_GEMINI_BASE_URL=http://other GOOGLE_VERTEX_BASE_URL=http://no", "http://other/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse", "one", ""},
		{"a key is needed behind a URL too", config.Model{BaseURL: "http://gateway"}, "", "", "", "set GEMINI_API_KEY"},
		{"Vertex AI switched off", config.Model{}, "GOOGLE_GENAI_USE_VERTEXAI=0 GEMINI_API_KEY=one GOOGLE_CLOUD_PROJECT=p", gem, "one", ""},
		{"Vertex AI without anything", config.Model{}, "GOOGLE_GENAI_USE_VERTEXAI=true", "", "", "set GOOGLE_CLOUD_PROJECT"},
		{"the newer switch wins", config.Model{}, "GOOGLE_GENAI_USE_ENTERPRISE=0 GOOGLE_GENAI_USE_VERTEXAI=1 GEMINI_API_KEY=one", gem, "one", ""},
		{"Vertex AI with a key", config.Model{}, "GOOGLE_GENAI_USE_ENTERPRISE=True GOOGLE_API_KEY=two", "https://aiplatform.googleapis.com/v1beta1/" + method, "two", ""},
		{"Vertex AI, the file's key wins over a project", config.Model{APIKey: config.NewSecret("three")}, "GOOGLE_GENAI_USE_VERTEXAI=1 GOOGLE_CLOUD_PROJECT=p GOOGLE_CLOUD_LOCATION=europe-west1", "https://aiplatform.googleapis.com/v1beta1/" + method, "three", ""},
		{"Vertex AI behind a URL", config.Model{BaseURL: "http://gateway/v"}, "GOOGLE_GENAI_USE_VERTEXAI=1", "http://gateway/v/v1beta1/" + method, "", ""},
		{"Vertex AI behind a URL with a project", config.Model{}, "GOOGLE_GENAI_USE_VERTEXAI=1 GOOGLE_CLOUD_PROJECT=p GOOGLE_CLOUD_LOCATION=eu GOOGLE_VERTEX_BASE_URL=http://gateway", "http://gateway/v1beta1/" + method, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			env := map[string]string{}
			for _, entry := range strings.Fields(c.env) {
				name, value, _ := strings.Cut(entry, "=")
				env[name] = value
			}
			c.cfg.Name, c.cfg.Headers = "gemini-3-flash", map[string]config.Secret{"x-team": config.NewSecret("blue")}
			m, err := New(&c.cfg, nil, Deps{Lookup: func(n string) (string, bool) { v, ok := env[n]; return v, ok }})
			if err != nil {
				t.Fatal(err)
			}
			if c.says != "" {
				for _, err := range []error{m.Check(), second(generate(t.Context(), m))} {
					var e *model.Error
					if !errors.As(err, &e) || e.Code != model.Misconfigured || !strings.Contains(e.Message, c.says) || !strings.Contains(e.Message, "under env") {
						t.Errorf("problem %v", err)
					}
				}
				return
			}
			if err := m.Check(); err != nil {
				t.Fatal(err)
			}
			var sent *http.Request
			m.client.made, err = newClient(t.Context(), &m.settings, roundTrip(func(r *http.Request) (*http.Response, error) {
				sent = r
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(ending))}, nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			if _, reply, err := generate(t.Context(), m); err != nil || reply == nil {
				t.Fatal(err)
			}
			if sent.URL.String() != c.url || sent.Header.Get("X-Goog-Api-Key") != c.key || sent.Header.Get("X-Team") != "blue" {
				t.Errorf("%s with key %q and headers %v", sent.URL, sent.Header.Get("X-Goog-Api-Key"), sent.Header)
			}
		})
	}
}

func TestKeyOfAFile(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg  config.Model
		env  map[string]string
		key  string // empty: a problem
		from string
	}{
		"a line break at the end":    {config.Model{}, map[string]string{"GEMINI_API_KEY": " one\r\n"}, "one", "GEMINI_API_KEY"},
		"in the agent file":          {config.Model{APIKey: config.NewSecret("one\n")}, nil, "one", "model.api_key"},
		"blank, and another":         {config.Model{}, map[string]string{"GOOGLE_API_KEY": "\n", "GEMINI_API_KEY": "one"}, "one", "GEMINI_API_KEY"},
		"a line break in the middle": {config.Model{}, map[string]string{"GEMINI_API_KEY": "PRIVATE\nPRIVATE"}, "", "GEMINI_API_KEY"},
		"NUL":                        {config.Model{APIKey: config.NewSecret("PRIVATE\x00PRIVATE")}, nil, "", "model.api_key"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.cfg.Name = "gemini-3-flash"
			m, err := New(&tc.cfg, nil, Deps{Lookup: func(n string) (string, bool) { v, ok := tc.env[n]; return v, ok }})
			if err != nil {
				t.Fatal(err)
			}
			if tc.key != "" {
				if s := &m.settings; m.Check() != nil || s.key != tc.key || s.keySource != tc.from {
					t.Errorf("key %q of %s, %v", s.key, s.keySource, m.Check())
				}
				return
			}
			for _, err := range []error{m.Check(), second(generate(t.Context(), m))} {
				var e *model.Error
				if !errors.As(err, &e) || e.Code != model.Misconfigured || !strings.Contains(err.Error(), tc.from+" holds a line break") || strings.Contains(err.Error(), "PRIVATE") {
					t.Errorf("problem %v", err)
				}
			}
		})
	}
}

func second(_ string, _ *model.Reply, err error) error { return err }

func TestVertexProject(t *testing.T) {
	env := map[string]string{"GOOGLE_GENAI_USE_VERTEXAI": "1", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_REGION": "europe-west1", "GOOGLE_API_KEY": "two",
		"GOOGLE_APPLICATION_CREDENTIALS": "/nowhere/at/all.json"}
	m, err := New(&config.Model{Name: "gemini-3-flash"}, nil, Deps{Lookup: func(n string) (string, bool) { v, ok := env[n]; return v, ok }})
	if err != nil || m.Check() != nil {
		t.Fatal(err, m.Check())
	}
	if s := &m.settings; s.key != "" || s.location != "europe-west1" || !s.usesADC() {
		t.Errorf("%+v", s)
	}
	var e *model.Error
	if err := second(generate(t.Context(), m)); !errors.As(err, &e) || e.Code != model.Misconfigured || !strings.Contains(e.Message, "gcloud auth application-default login") {
		t.Errorf("%v", err)
	}
	if _, err := m.client.get(t.Context(), &m.settings); err == nil || m.client.made != nil {
		t.Error("a failure is not remembered")
	}
}

func TestNewRefuses(t *testing.T) {
	on, half := true, 0.5
	cases := []struct {
		says     string
		cfg      config.Model
		generate *genai.GenerateContentConfig
	}{
		{"model.base_url: it must be a URL", config.Model{BaseURL: "localhost:8080"}, nil},
		{"system_instruction: use the agent's instruction", config.Model{}, &genai.GenerateContentConfig{SystemInstruction: &genai.Content{}}},
		{"tools: use the agent's tools", config.Model{}, &genai.GenerateContentConfig{Tools: []*genai.Tool{{}}}},
		{"candidate_count", config.Model{}, &genai.GenerateContentConfig{CandidateCount: 2}},
		{"http_options.timeout: use model.timeout", config.Model{}, &genai.GenerateContentConfig{HTTPOptions: &genai.HTTPOptions{Timeout: new(time.Duration)}}},
		{"http_options.retry_options: use model.retries", config.Model{}, &genai.GenerateContentConfig{HTTPOptions: &genai.HTTPOptions{RetryOptions: &genai.HTTPRetryOptions{}}}},
		{"model.presence_penalty: gemini-2.5-flash takes none", config.Model{Name: "gemini-2.5-flash", PresencePenalty: &half}, nil},
		{"generate_content_config.frequency_penalty: gemini-4-argon takes none", config.Model{Name: "gemini-4-argon"}, &genai.GenerateContentConfig{FrequencyPenalty: single(half)}},
		{"model.stop: Gemini takes no more than 5 texts, these are 6", config.Model{Stop: []string{"a", "b", "c", "d", "e", "f"}}, nil},
		{"model.thinking: gemini-2.0-flash does not think", config.Model{Name: "gemini-2.0-flash", Thinking: &config.Thinking{Budget: 1000}}, nil},
		{"model.thinking: gemini-4-argon takes no number", config.Model{Name: "gemini-4-argon", Thinking: &config.Thinking{Budget: 1000}}, nil},
		{"model.thinking: models/gemini-2.5-pro takes 128 to 32768 tokens, not 100", config.Model{Name: "models/gemini-2.5-pro", Thinking: &config.Thinking{Budget: 100}}, nil},
		{"stream_function_call_arguments", config.Model{}, &genai.GenerateContentConfig{ToolConfig: &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{StreamFunctionCallArguments: &on}}}},
	}
	for _, c := range cases {
		_, err := New(&c.cfg, c.generate, Deps{Lookup: func(string) (string, bool) { return "", false }})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("error %v, want %q", err, c.says)
		}
	}
}

// TestPenalties: none is none, and the older models take them.
func TestPenalties(t *testing.T) {
	for _, c := range []struct {
		name, vertex string
		penalty      float64
		sent         bool
	}{
		{"gemini-3-flash", "0", 0, false}, {"gemini-2.0-flash", "0", 0.5, true}, {"gemini-2.5-flash", "1", 0.5, true}, {"my-deployment", "1", 0.5, true},
	} {
		env := map[string]string{"GOOGLE_GENAI_USE_VERTEXAI": c.vertex}
		m, err := New(&config.Model{Name: c.name, PresencePenalty: &c.penalty}, nil, Deps{Lookup: func(n string) (string, bool) { v, ok := env[n]; return v, ok }})
		if err != nil || (m.generate.PresencePenalty != nil) != c.sent {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestSecretsAreTakenOut(t *testing.T) {
	m, err := New(&config.Model{
		APIKey:  config.NewSecret("key-of-mine"),
		Headers: map[string]config.Secret{"Authorization": config.NewSecret("Bearer token-of-mine"), "X": config.NewSecret("x")},
	}, nil, Deps{Lookup: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	got := m.settings.redact("key-of-mine, Bearer token-of-mine, token-of-mine, x")
	if got != "[redacted], [redacted], [redacted], x" {
		t.Errorf("%q", got)
	}
	refused := m.explain(&wire.Refusal{Status: 500, Body: []byte("you sent token-of-mine"), RetryAfter: time.Second}, true)
	if strings.Contains(fmt.Sprint(refused), "token-of-mine") {
		t.Errorf("%v", refused)
	}
}

func TestProxyComesFromTheAgentsEnvironment(t *testing.T) {
	env := map[string]string{"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "inside.example"}
	s := readSettings(&config.Model{}, func(n string) (string, bool) { v, ok := env[n]; return v, ok })
	transport := wire.NewTransport(s.lookup)
	for target, want := range map[string]string{"https://generativelanguage.googleapis.com/": "http://proxy:3128", "https://inside.example/": "<nil>", "http://127.0.0.1:1/": "<nil>"} {
		r, err := http.NewRequest(http.MethodPost, target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if proxy, err := transport.Proxy(r); err != nil || fmt.Sprint(proxy) != want {
			t.Errorf("%s: %v %v", target, proxy, err)
		}
	}
}
