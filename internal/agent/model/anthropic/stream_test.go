package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/anthropic"
	a "github.com/adkmcp/adkmcp/internal/agent/model/anthropic/anthropictest"
	"github.com/adkmcp/adkmcp/internal/config"
)

func TestUsage(t *testing.T) {
	f := start(t, a.Play(a.Say("fine"), a.Reply{Status: 200, Raw: []string{`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`}}), nil)
	o := ask(t.Context(), f, request(user("hi")))
	if diff := cmp.Diff(&model.Usage{Input: 1110, Cached: 100, Output: 5, Thoughts: 2, Total: 1117}, o.reply.Usage); diff != "" {
		t.Error(diff)
	}
	if o = ask(t.Context(), f, request(user("hi"))); o.err != nil || o.reply.Usage != nil {
		t.Errorf("%+v", o)
	}
}

// raw events of a stream.
const (
	begin   = `{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}`
	textAt  = `{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`
	textIs  = `{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":%q}}`
	endTurn = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}`
	stop    = `{"type":"message_stop"}`
)

func TestStreams(t *testing.T) {
	ended := func(reason string, events ...string) []string {
		return append(append([]string{begin}, events...), strings.Replace(endTurn, "end_turn", reason, 1), stop)
	}
	text := []string{fmt.Sprintf(textAt, 0), fmt.Sprintf(textIs, 0, "hel"), fmt.Sprintf(textIs, 0, "lo")}
	call := `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"look","input":%s}}`
	whole := `{"type":"message","role":"assistant","content":[{"type":"text","text":"hel"},{"type":"text","text":"lo"},{"type":"tool_use","id":"x","name":"look","input":{"n":1.50}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}`
	cases := []struct {
		name   string
		reply  a.Reply
		code   model.Code
		says   string
		text   string // of the reply
		args   string // of its call
		reason string
	}{
		{name: "unknown blocks are passed over", reply: a.Reply{Raw: ended("end_turn", append([]string{
			`{"type":"content_block_start","index":5,"content_block":{"type":"server_tool_use","id":"x","name":"y","input":{}}}`,
			`{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":"{"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"stray"}}`, `{"type":"news"}`,
		}, append(text, `{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"char_location"}}}`)...)...)}, text: "hello", reason: "end_turn"},
		{name: "arguments with the block's beginning", reply: a.Reply{Raw: ended("tool_use", fmt.Sprintf(call, `{"n":12345678901234567890}`))}, args: `{"n":12345678901234567890}`, reason: "tool_use"},
		{name: "no arguments", reply: a.Reply{Raw: ended("tool_use", fmt.Sprintf(call, `{}`), `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`)}, args: `{}`, reason: "tool_use"},
		{name: "a server that does not stream", reply: a.Reply{Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: whole}, text: "hello", args: `{"n":1.50}`, reason: "tool_use"},
		{name: "JSON of another service", reply: a.Reply{Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: `{"object":"chat.completion"}`}, code: model.Misconfigured, says: "model.base_url"},
		{name: "an error with status 200", reply: a.Reply{Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}, code: model.Unavailable, says: "Overloaded"},
		{name: "overloaded in the middle", reply: a.Reply{Raw: append([]string{begin}, append(text, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)...)}, code: model.Unavailable, says: "(529): Overloaded"},
		{name: "a rate limit in the middle", reply: a.Reply{Raw: []string{begin, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`}}, code: model.RateLimited, says: "429"},
		{name: "an error of a new type", reply: a.Reply{Raw: []string{begin, `{"type":"error","error":{"type":"flare_error","message":"sun"}}`}}, code: model.Unavailable, says: "sun"},
		{name: "an error without words", reply: a.Reply{Raw: []string{`{"type":"error"}`}}, code: model.Unavailable},
		{name: "no reason", reply: a.Reply{Raw: append(append([]string{begin}, text...), stop)}, code: model.StreamCut, says: "finish marker"},
		{name: "no stop", reply: a.Reply{Raw: append(append([]string{begin}, text...), endTurn)}, code: model.StreamCut, says: "finish marker"},
		{name: "no events", reply: a.Reply{Raw: []string{}}, code: model.Unavailable, says: "no content"},
		{name: "no JSON", reply: a.Reply{Raw: []string{begin, "{nonsense"}}, code: model.StreamCut, says: "could not be read"},
		{name: "something behind the end", reply: a.Reply{Raw: append(ended("end_turn", text...), fmt.Sprintf(textIs, 0, "more"), "[DONE]", "{nonsense")}, text: "hello", reason: "end_turn"},
		{name: "a stop text", reply: a.Reply{Raw: ended("stop_sequence", text...)}, text: "hello", reason: "stop_sequence"},
		{name: "a pause", reply: a.Reply{Raw: ended("pause_turn", text...)}, text: "hello", reason: "pause_turn"},
		{name: "a connection that drops behind the end", reply: a.Reply{Raw: ended("end_turn", text...), Cut: true}, text: "hello", reason: "end_turn"},
		{name: "half an event behind the end", reply: a.Reply{Raw: ended("end_turn", text...), Half: true}, text: "hello", reason: "end_turn"},
		{name: "a stray line behind the end", reply: a.Reply{Status: 200, Header: map[string]string{"Content-Type": "text/event-stream"},
			Body: "data: " + strings.Join(ended("end_turn", text...), "\n\ndata: ") + "\n\ngarbage\n"}, text: "hello", reason: "end_turn"},
		{name: "a gateway's word for done", reply: a.Reply{Raw: ended("STOP", text...)}, text: "hello", reason: "STOP"},
		{name: "a gateway's word for the limit", reply: a.Reply{Raw: ended("length", text...)}, code: model.MaxTokens, text: "hello", reason: "length"},
		{name: "a gateway's word for a filter", reply: a.Reply{Raw: ended("content_filter", text...)}, code: model.Blocked, says: "content_filter"},
		{name: "an error of the service's own", reply: a.Reply{Raw: ended("network_error", text...)}, code: model.Unavailable, says: "network_error"},
		{name: "a reason that is not known", reply: a.Reply{Raw: ended("sunset", append(text, fmt.Sprintf(call, `{}`))...)}, code: model.StreamCut, says: "may not be the whole", text: "hello", reason: "sunset"},
		{name: "and a call alone", reply: a.Reply{Raw: ended("sunset", fmt.Sprintf(call, `{}`))}, code: model.StreamCut, says: "not run"},
		{name: "and nothing said", reply: a.Reply{Raw: ended("sunset")}, code: model.Empty, says: "sunset"},
		{name: "a refusal", reply: a.Reply{Raw: []string{begin, text[0], text[1], `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","explanation":"not that"}}}`, stop}}, code: model.Blocked, says: "(refusal): not that"},
		{name: "the window is full", reply: a.Reply{Raw: ended("model_context_window_exceeded")}, code: model.ContextOverflow, says: "too long"},
		{name: "and something said", reply: a.Reply{Raw: ended("model_context_window_exceeded", text...)}, code: model.ContextOverflow, text: "hello", reason: "model_context_window_exceeded"},
		{name: "a call that was cut", reply: a.Reply{Raw: ended("max_tokens", append(text, fmt.Sprintf(call, `{}`), `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"n\":"}}`)...)}, code: model.MaxTokens, text: "hello", reason: "max_tokens"},
		{name: "thoughts that used everything up", reply: a.Stream("max_tokens", a.Thought("hm", "sig")), code: model.MaxTokens, says: "model.thinking"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, a.Play(c.reply), nil)
			o := ask(t.Context(), f, request(user("hi")))
			noRefusals(t, f)
			code, message := o.code(), fmt.Sprint(o.err)
			if o.reply != nil && o.reply.Problem != nil {
				code, message = o.reply.Problem.Code, o.reply.Problem.Message
			}
			if code != c.code || !strings.Contains(message, c.says) || (o.reply == nil) != (c.reason == "") {
				t.Fatalf("code %q, %s, %+v", code, message, o.reply)
			}
			if o.reply == nil {
				return
			}
			said, args := "", ""
			for _, p := range o.reply.Content.Parts {
				said += p.Text
				if p.FunctionCall != nil {
					raw, _ := json.Marshal(p.FunctionCall.Args)
					args = string(raw)
				}
			}
			if said != c.text || args != c.args || o.reply.FinishReason != c.reason || o.partial != c.text {
				t.Errorf("text %q, arguments %s, reason %q, streamed %q", said, args, o.reply.FinishReason, o.partial)
			}
			if logged := strings.Contains(f.logged.String(), "server_tool_use"); logged != strings.HasPrefix(c.name, "unknown") {
				t.Errorf("logged %s", f.logged)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	cases := []struct {
		status        int
		kind, message string
		code          model.Code
		says          string
	}{
		{400, "invalid_request_error", "messages.0: bad", model.InvalidRequest, "messages.0: bad"},
		{400, "invalid_request_error", "prompt is too long: 207310 tokens > 200000 maximum", model.ContextOverflow, "too long"},
		{400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000", model.ContextOverflow, "too long"},
		{400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.", model.Unauthorized, "billing"},
		{400, "invalid_request_error", "You have reached your specified API usage limits. You will regain access on 2026-04-01 at 00:00 UTC.", model.Unauthorized, "billing"},
		{400, "invalid_request_error", "Output blocked by content filtering policy", model.Blocked, "withheld"},
		{402, "billing_error", "Payment required", model.Unauthorized, "billing"},
		{401, "authentication_error", "invalid x-api-key", model.Unauthorized, "check ANTHROPIC_API_KEY"},
		{403, "permission_error", "not this one", model.Unauthorized, "not this one"},
		{404, "not_found_error", "model: x", model.NotFound, "model.name"},
		{413, "request_too_large", "too large", model.ContextOverflow, "too large"},
		{504, "timeout_error", "too slow", model.Unavailable, "too slow"},
		{529, "overloaded_error", "Overloaded", model.Unavailable, "529"},
	}
	for _, c := range cases {
		f := start(t, a.Play(a.Fail(c.status, c.kind, c.message)), nil)
		o := ask(t.Context(), f, request(user("hi")))
		var e *model.Error
		if !errors.As(o.err, &e) || e.Code != c.code || e.Status != c.status || e.Reason != c.kind || !strings.Contains(e.Error(), c.says) {
			t.Errorf("%s: %+v", c.message, o.err)
		}
	}
}

func TestKeys(t *testing.T) {
	secret := config.NewSecret
	cases := []struct {
		name string
		cfg  config.Model
		env  map[string]string
		says string // a problem; empty for none
		path string // behind the service's address
	}{
		{"of the environment", config.Model{}, map[string]string{"ANTHROPIC_API_KEY": " " + key + "\r\n"}, "", ""},
		{"a token", config.Model{}, map[string]string{"ANTHROPIC_AUTH_TOKEN": key}, "", ""},
		{"of the agent file", config.Model{APIKey: secret(key)}, map[string]string{"ANTHROPIC_API_KEY": "other"}, "", "/"},
		{"a header", config.Model{Headers: map[string]config.Secret{"authorization": secret("Bearer " + key)}}, nil, "", "/v1"},
		{"a header in place of a token", config.Model{Headers: map[string]config.Secret{"authorization": secret("Bearer " + key)}}, map[string]string{"ANTHROPIC_AUTH_TOKEN": "other"}, "", "/v1/"},
		{"none", config.Model{}, nil, "no API key for Anthropic: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN in the environment", ""},
		{"a line break within", config.Model{}, map[string]string{"ANTHROPIC_API_KEY": "PRIVATE\nPRIVATE"}, "the key of ANTHROPIC_API_KEY holds a line break", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, a.Play(a.Say("fine")), nil)
			if c.env == nil {
				c.env = map[string]string{}
			}
			c.env["ANTHROPIC_BASE_URL"] = f.service.URL + c.path
			c.cfg.Name = "claude-haiku-4-5"
			m, err := anthropic.New(&c.cfg, anthropic.Deps{Lookup: environment(c.env)})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			o := ask(t.Context(), m, &model.Request{Contents: []*genai.Content{user("hi")}})
			if c.says == "" {
				if o.err != nil || m.Check() != nil {
					t.Error(o.err, m.Check())
				}
				return
			}
			for _, err := range []error{m.Check(), o.err} {
				var e *model.Error
				if !errors.As(err, &e) || e.Code != model.Misconfigured || !strings.Contains(e.Message, c.says) || strings.Contains(e.Message, "PRIVATE") {
					t.Errorf("problem %v", err)
				}
			}
			if len(f.service.Requests()) > 0 {
				t.Error("a call was made")
			}
		})
	}
}

// TestAddresses are those that lead nowhere, or that would show a secret.
func TestAddresses(t *testing.T) {
	for address, says := range map[string]string{
		"localhost:80": "it must be a URL", "https://bob:SECRET@host/v1": "credentials", "https://host/v1?key=SECRET": "? and #", "https://host/#SECRET": "? and #",
		"https://host/v1/messages": "leave out /v1/messages", "https://host/v1/messages/": "leave out /v1/messages",
	} {
		_, file := anthropic.New(&config.Model{BaseURL: address}, anthropic.Deps{Lookup: environment(nil)})
		_, variable := anthropic.New(&config.Model{}, anthropic.Deps{Lookup: environment(map[string]string{"ANTHROPIC_BASE_URL": address})})
		for from, err := range map[string]error{"model.base_url: ": file, "ANTHROPIC_BASE_URL: ": variable} {
			if err == nil || !strings.HasPrefix(err.Error(), from) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%s: %v", address, err)
			}
		}
	}
}

func TestHeadersAndSecrets(t *testing.T) {
	const token = "team-secret-token"
	f := start(t, a.Play(a.Fail(400, "invalid_request_error", "you sent "+key+" and "+token)), func(c *config.Model) {
		c.Name = "claude-opus-5-5"
		c.Headers = map[string]config.Secret{"X-Team": config.NewSecret("Basic " + token), "anthropic-beta": config.NewSecret("context-1m-2025-08-07")}
	})
	o := ask(t.Context(), f, request(user("hi")))
	if o.err == nil || strings.Contains(o.err.Error(), key) || strings.Contains(o.err.Error(), token) {
		t.Errorf("%v", o.err)
	}
	h := last(t, f).Header
	if h.Get("X-Team") != "Basic "+token || h.Get("Anthropic-Beta") != "context-1m-2025-08-07,thinking-binding-controls-2026-08-01" {
		t.Errorf("%v", h)
	}
	if strings.Contains(f.logged.String(), key) {
		t.Error("the log holds the key")
	}
}
