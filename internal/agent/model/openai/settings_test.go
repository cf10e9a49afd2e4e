package openai_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/openai"
	o "github.com/adkmcp/adkmcp/internal/agent/model/openai/openaitest"
	"github.com/adkmcp/adkmcp/internal/config"
)

func TestKeys(t *testing.T) {
	secret := config.NewSecret
	for _, c := range []struct {
		name    string
		change  func(*config.Model)
		vars    map[string]string
		problem string // of Check
		header  map[string]string
	}{
		{"the variable", func(*config.Model) {}, map[string]string{"OPENAI_API_KEY": " " + key + "\n", "OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "proj-1"}, "",
			map[string]string{"Authorization": "Bearer " + key, "Openai-Organization": "org-1", "Openai-Project": "proj-1"}},
		{"the agent file's", func(c *config.Model) { c.APIKey = secret(key) }, map[string]string{"OPENAI_API_KEY": "another"}, "", map[string]string{"Authorization": "Bearer " + key}},
		{"a header", func(c *config.Model) {
			c.Headers = map[string]config.Secret{"authorization": secret("Bearer " + key), "X-Mine": secret("1")}
		}, nil, "", map[string]string{"Authorization": "Bearer " + key, "X-Mine": "1"}},
		{"none", func(*config.Model) {}, nil, "set OPENAI_API_KEY", nil},
		{"a blank one", func(*config.Model) {}, map[string]string{"OPENAI_API_KEY": " \n"}, "set OPENAI_API_KEY", nil},
		{"a broken one", func(*config.Model) {}, map[string]string{"OPENAI_API_KEY": "sk-a\nb"}, "OPENAI_API_KEY holds a line break", nil},
		{"a broken project", func(*config.Model) {}, map[string]string{"OPENAI_API_KEY": key, "OPENAI_PROJECT_ID": "a\nb"}, "OPENAI_PROJECT_ID holds a line break", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.vars == nil {
				c.vars = map[string]string{}
			}
			f := start(t, o.Play(o.Say("ok")), options{change: c.change, vars: c.vars})
			out := ask(t.Context(), f, request(user("hi")))
			err := f.Check()
			if c.problem != "" {
				var e *model.Error
				if !errors.As(err, &e) || e.Code != model.Misconfigured || !strings.Contains(e.Message, c.problem) || out.code() != model.Misconfigured || len(f.service.Requests()) != 0 {
					t.Errorf("check %v, call %v", err, out.err)
				}
				return
			}
			if err != nil || out.err != nil {
				t.Fatal(err, out.err)
			}
			for name, want := range c.header {
				if got := f.service.Requests()[0].Header.Get(name); got != want {
					t.Errorf("%s is %q", name, got)
				}
			}
		})
	}
}

func TestWrongKeys(t *testing.T) {
	for who, change := range map[string]func(*config.Model){
		"OPENAI_API_KEY": func(*config.Model) {},
		"model.api_key":  func(c *config.Model) { c.APIKey = config.NewSecret("sk-WrongKeyOfTheTest") },
		"the headers of the model": func(c *config.Model) {
			c.Headers = map[string]config.Secret{"Authorization": config.NewSecret("Bearer sk-WrongKeyOfTheTest")}
		},
	} {
		f := start(t, o.Play(), options{change: change, vars: map[string]string{"OPENAI_API_KEY": "sk-WrongKeyOfTheTest"}})
		out := ask(t.Context(), f, request(user("hi")))
		if out.code() != model.Unauthorized || !strings.Contains(out.err.Error(), who) || strings.Contains(out.err.Error(), "WrongKey") {
			t.Errorf("%s: %v", who, out.err)
		}
	}
}

func TestNew(t *testing.T) {
	deps := openai.Deps{Lookup: environment(map[string]string{"OPENAI_BASE_URL": "not a url"}), Log: slog.New(slog.DiscardHandler)}
	few := 15
	for want, cfg := range map[string]*config.Model{
		"model.base_url: put the credentials into": {Name: "m", BaseURL: "https://bob:secret@host/v1"},
		"model.base_url: it must end with":         {Name: "m", BaseURL: "https://host/v1?key=1"},
		"model.base_url: leave out /responses":     {Name: "m", BaseURL: "https://host/v1/responses"},
		"model.max_output_tokens: 15 is less":      {Name: "m", BaseURL: "https://host/v1", MaxOutputTokens: &few},
		"OPENAI_BASE_URL":                          {Name: "m"},
		"model.base_url":                           {Name: "m", BaseURL: "ftp://host/"},
		"model.extra_body.input":                   {Name: "m", BaseURL: "https://host", ExtraBody: json.RawMessage(`{"input":[]}`)},
		"model.extra_body.stream":                  {Name: "m", BaseURL: "https://host", ExtraBody: json.RawMessage(`{"stream":false}`)},
		"model.extra_body: json: cannot un":        {Name: "m", BaseURL: "https://host", ExtraBody: json.RawMessage(`[]`)},
	} {
		if _, err := openai.New(cfg, nil, deps); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestBaseURL has the variable, with a slash at its end.
func TestBaseURL(t *testing.T) {
	f := start(t, o.Play(o.Say("ok")))
	m, err := openai.New(&config.Model{Name: "gpt-5"}, nil, openai.Deps{
		Lookup: environment(map[string]string{"OPENAI_BASE_URL": f.service.URL + "/", "OPENAI_API_KEY": key}), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if out := ask(t.Context(), m, request(user("hi"))); out.err != nil || len(f.service.Requests()) != 1 {
		t.Errorf("%+v", out)
	}
	if kind := f.service.Requests()[0].Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("content type %q on %s", kind, http.MethodPost)
	}
}
