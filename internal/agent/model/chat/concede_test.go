package chat_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat/chattest"
	"github.com/adkmcp/adkmcp/internal/config"
)

// Members of requests that servers refuse in words of their own.
const (
	limited  = `"max_tokens":100`
	renamed  = `"max_completion_tokens":100`
	counting = `"stream_options"`
	thinking = `"reasoning_effort"`
	held     = `"response_format"`
	looking  = `"image_url"`
	null     = `"content":null`
	blank    = `"reasoning_content":" "`
)

// everything is a request that has all that a server may refuse, or almost.
func everything(schema bool) *model.Request {
	req := request(results(&genai.Part{Text: "see"}, data("image/png", png)), said(called("adk-1", "look")), results(result("adk-1", "look", "seen")))
	req.Tools = []*genai.FunctionDeclaration{tool("look", `{"type":"object"}`)}
	req.Tools[0].Description = strings.TrimSpace(strings.Repeat("word ", 400))
	if schema {
		req.Tools, req.OutputSchema = nil, json.RawMessage(`{"type":"object","properties":{"total":{"type":"integer"}}}`)
	}
	return req
}

// TestConcessions: what a server refuses is left out or said in another way, and
// stays so. The words are those of the services.
func TestConcessions(t *testing.T) {
	long := strings.Repeat("word ", 250)
	for name, c := range map[string]struct {
		manner    chattest.Manner
		status    int
		said      string
		gone, new []string
		once      bool // the next request tries again
		notice    string
	}{
		"OpenAI's limit": {status: 400, said: `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`,
			gone: []string{limited}, new: []string{renamed}},
		"OpenAI's limit, through OpenRouter": {status: 400, said: `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.\",\"param\":\"max_tokens\"}}","provider_name":"OpenAI"}}}`,
			gone: []string{limited}, new: []string{renamed}},
		"Mistral's strictness": {manner: chattest.Manner{Refuses: []string{"stream_options"}}, status: 422, said: `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options","include_usage"],"msg":"Extra inputs are not permitted","input":true}]},"type":"invalid_request_error","param":null,"code":null}`,
			gone: []string{counting}},
		"an organization that is not verified": {manner: chattest.Manner{NoStream: true, Whole: true}, status: 400, said: `{"error":{"message":"Your organization must be verified to stream this model. Please go to: https://platform.openai.com","type":"invalid_request_error","param":"stream","code":"unsupported_value"}}`,
			gone: []string{counting, `"stream":true`}, new: []string{`"stream":false`}},
		"Groq's effort":      {status: 400, said: "{\"error\":{\"message\":\"`reasoning_effort` must be one of `none` or `default`\",\"type\":\"invalid_request_error\"}}", gone: []string{thinking}, notice: "model.thinking"},
		"xAI's effort":       {status: 400, said: `{"code":"invalid-argument","error":"Model grok-4.20-0309-reasoning does not support parameter reasoningEffort."}`, gone: []string{thinking}, notice: "model.thinking"},
		"Ollama's effort":    {status: 400, said: `{"error":{"message":"\"llama3\" does not support thinking","type":"api_error"}}`, gone: []string{thinking}, notice: "model.thinking"},
		"Cerebras's effort":  {status: 400, said: `{"message":"1 validation error for ChatCompletionServerRequest\nreasoning_effort\n Input should be 'low', 'medium' or 'high'","type":"invalid_request_error","param":"validation_error","code":"wrong_api_format"}`, gone: []string{thinking}, notice: "model.thinking"},
		"DeepSeek's formats": {status: 400, said: `{"error":{"message":"This response_format type is unavailable now","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, gone: []string{held}, new: []string{"matches this JSON Schema", `\"total\"`}},
		"Groq's formats":     {status: 400, said: "{\"error\":{\"message\":\"This model does not support response format `json_schema`. See supported models\",\"type\":\"invalid_request_error\"}}", gone: []string{held}, new: []string{"matches this JSON Schema"}},
		"llama.cpp's grammar": {status: 400, said: `{"error":{"code":400,"message":"failed to parse grammar","type":"invalid_request_error"}}`,
			gone: []string{held}, new: []string{"matches this JSON Schema"}},
		"DeepSeek's thoughts": {status: 400, said: `{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`,
			new: []string{blank}},
		"Kimi's thoughts, in the stream": {said: `{"error":{"message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 2","type":"invalid_request_error"}}`, new: []string{blank}},
		"Gemini's signatures": {manner: chattest.Manner{Signatures: true}, status: 400, said: `[{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.","status":"INVALID_ARGUMENT"}}]`,
			new: []string{`"thought_signature":"skip_thought_signature_validator"`}},
		"OpenAI's descriptions, through a gateway": {status: 400, said: `{"error":{"message":"Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 1999 instead.","param":"tools[0].function.description","code":"string_above_max_length"}}`,
			gone: []string{long}, new: []string{"More on the tool look"}},
		"Gemma's template":                {manner: chattest.Manner{NoSystem: true}, status: 400, said: `{"object":"error","message":"System role not supported","type":"BadRequestError","param":null,"code":400}`, gone: []string{`"role":"system"`}, new: []string{"be brief"}},
		"Gemma's template, in llama.cpp":  {manner: chattest.Manner{NoSystem: true}, status: 500, said: `{"error":{"code":500,"message":"Jinja Exception: System role not supported","type":"server_error"}}`, gone: []string{`"role":"system"`}, new: []string{"be brief"}},
		"Gemma, at Google":                {manner: chattest.Manner{NoSystem: true}, status: 400, said: `[{"error":{"code":400,"message":"Developer instruction is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}]`, gone: []string{`"role":"system"`}, new: []string{"be brief"}},
		"o1-mini":                         {manner: chattest.Manner{NoSystem: true}, status: 400, said: `{"error":{"message":"Unsupported value: 'messages[0].role' does not support 'system' with this model.","param":"messages[0].role"}}`, gone: []string{`"role":"system"`}, new: []string{"be brief"}},
		"DeepSeek sees nothing":           {status: 400, said: "{\"error\":{\"message\":\"Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text` at line 1 column 679289\"}}", gone: []string{looking}, new: []string{"left out"}, notice: "refuses the images"},
		"Ollama sees nothing":             {status: 400, said: `{"error":{"message":"this model does not support image input","type":"api_error"}}`, gone: []string{looking}, new: []string{"left out"}, notice: "refuses the images"},
		"llama.cpp sees nothing":          {status: 500, said: `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`, gone: []string{looking}, new: []string{"left out"}, notice: "refuses the images"},
		"OpenRouter has nobody who sees":  {status: 404, said: `{"error":{"message":"No endpoints found that support image input","code":404}}`, gone: []string{looking}, new: []string{"left out"}, once: true, notice: "refuses the images"},
		"an image that cannot be read":    {status: 400, said: `{"error":{"message":"cannot identify image file","type":"BadRequestError"}}`, gone: []string{looking}, new: []string{"left out"}, once: true, notice: "refuses the images"},
		"content that must not be null":   {status: 400, said: `{"error":"Invalid 'content': 'content' field must be a string or an array of objects."}`, gone: []string{null}, new: []string{`"content":""`}},
		"content that must not be <nil>":  {status: 400, said: `{"error":{"message":"invalid message content type: <nil>"}}`, gone: []string{null}, new: []string{`"content":""`}},
		"content that pydantic must have": {status: 422, said: `{"detail":[{"type":"string_type","loc":["body","messages",2,"content"],"msg":"Input should be a valid string","input":null}]}`, gone: []string{null}, new: []string{`"content":""`}},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, c.manner, settled)
			refusal := chattest.Answer{Status: c.status, Body: c.said}
			if c.status == 0 {
				refusal = chattest.Answer{Events: []string{c.said}}
			}
			f.server.Tolerant = true
			f.server.Play(refusal)
			f.server.Play(chattest.Answer{Text: []string{"fine"}}, chattest.Answer{Text: []string{"fine"}})
			req := everything(slices.Contains(c.gone, held))
			o := ask(t.Context(), f, req)
			if o.told() != "fine" {
				t.Fatalf("%s", o.told())
			}
			all := f.server.Requests()
			first, last := string(all[0].Body), string(all[len(all)-1].Body)
			for _, s := range c.gone {
				if !strings.Contains(first, s) || strings.Contains(last, s) {
					t.Errorf("%s: first %s\nlast %s", s, first, last)
				}
			}
			for _, s := range c.new {
				if !strings.Contains(last, s) {
					t.Errorf("no %s in %s", s, last)
				}
			}
			if told := strings.Join(o.notices, "\n"); (c.notice == "") != (told == "") || !strings.Contains(told, c.notice) {
				t.Errorf("notices %q", told)
			}
			ask(t.Context(), f, req)
			all = f.server.Requests()
			if next := string(all[len(all)-1].Body); (next == first) != c.once || (next == last) == c.once {
				t.Errorf("afterwards %s", next)
			}
		})
	}
}

// settled sets what servers may refuse.
func settled(c *config.Model) {
	limit := 100
	c.MaxOutputTokens, c.Thinking = &limit, &config.Thinking{Effort: config.LowThinking}
}

// TestNoConcession: what a person has to see is not tried again.
func TestNoConcession(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		said   string
		code   model.Code
	}{
		"a limit that is too high":    {400, `{"error":{"message":"Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"}}`, model.InvalidRequest},
		"another such limit":          {400, `{"error":{"message":"max_tokens is too large: 20000. This model supports at most 16384 completion tokens","param":"max_tokens","code":"invalid_value"}}`, model.InvalidRequest},
		"no room for the limit":       {400, `{"object":"error","message":"'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 tokens","code":400}`, model.ContextOverflow},
		"an image that is withheld":   {400, `{"error":{"message":"the image was flagged","code":"content_filter"}}`, model.Blocked},
		"too many images at once":     {400, `{"error":{"message":"Please reduce the length of the messages: images count too"}}`, model.ContextOverflow},
		"a key":                       {401, `{"error":{"message":"stream_options: not with this key"}}`, model.Unauthorized},
		"a rate":                      {429, `{"error":{"message":"too many images"}}`, model.RateLimited},
		"a setting of the agent file": {400, `{"error":{"message":"Unsupported value: 'temperature' does not support 0.5 with this model.","param":"temperature"}}`, model.InvalidRequest},
		"no tools":                    {400, `{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools"}}`, model.InvalidRequest},
		"trouble with an image":       {500, `{"error":{"message":"CUDA error while decoding an image"}}`, model.Unavailable},
		"the server's own trouble":    {500, `{"error":{"message":"CUDA error: out of memory"}}`, model.Unavailable},
	} {
		f := start(t, chattest.Manner{}, settled)
		f.server.Play(chattest.Answer{Status: c.status, Body: c.said})
		o := ask(t.Context(), f, everything(false))
		if o.code() != c.code || len(f.server.Requests()) != 1 {
			t.Errorf("%s: %q %s, %d requests", name, o.code(), o.told(), len(f.server.Requests()))
		}
	}
}

// TestStubborn: a server that refuses whatever it gets is asked a few times, and its
// words come out.
func TestStubborn(t *testing.T) {
	f := start(t, chattest.Manner{}, settled)
	f.server.Tolerant = true
	const all = `{"error":{"message":"stream_options, max_tokens, reasoning_effort, reasoning_content, description, images and the system role not supported, content must not be null"}}`
	for range 30 {
		f.server.Play(chattest.Answer{Status: 400, Body: all})
	}
	o := ask(t.Context(), f, everything(false))
	if n := len(f.server.Requests()); o.code() != model.InvalidRequest || !strings.Contains(o.told(), "description, images") || n < 2 || n > 12 {
		t.Errorf("%d requests, %q %s", n, o.code(), o.told())
	}
}

// TestShownOnce: what was shown is not asked for again.
func TestShownOnce(t *testing.T) {
	f := start(t, chattest.Manner{}, nil)
	f.server.Play(chattest.Answer{Events: []string{delta(`"content":"a"`), `{"error":{"message":"stream_options is not supported","type":"invalid_request_error"}}`}})
	if o := ask(t.Context(), f, request(user("go"))); o.code() != model.InvalidRequest || len(f.server.Requests()) != 1 {
		t.Errorf("%q %s", o.code(), o.told())
	}
}

// TestKnownServices: at its own address a service refuses nothing at all.
func TestKnownServices(t *testing.T) {
	for name, url := range map[string]string{
		"OpenAI": "http://api.openai.com/v1", "Mistral": "http://api.mistral.ai/v1",
		"Gemini": "http://generativelanguage.googleapis.com/v1", "DeepSeek": "http://api.deepseek.com/v1",
	} {
		for _, schema := range []bool{false, true} {
			seed := 7
			f := startAt(t, manner(t, name), url, func(c *config.Model) { settled(c); c.Seed = &seed })
			f.server.Play(chattest.Answer{Text: []string{"fine"}})
			o := ask(t.Context(), f, everything(schema))
			noRefusals(t, f)
			if o.err != nil || schema && !strings.Contains(string(f.server.Requests()[0].Body), `total`) {
				t.Errorf("%s: %v", name, o.err)
			}
		}
	}
	f := startAt(t, manner(t, "OpenAI"), "http://mine.openai.azure.com/v1", settled)
	f.server.Play(chattest.Answer{Text: []string{"fine"}})
	ask(t.Context(), f, everything(false))
	noRefusals(t, f)
}

// TestOwnMembers: what extra_body sets is for its writer to get right.
func TestOwnMembers(t *testing.T) {
	for said, extra := range map[string]string{
		`max_tokens is not supported, use max_completion_tokens`: `{"max_tokens":50}`,
		`reasoning_effort is not supported`:                      `{"reasoning_effort":"max"}`,
		`response_format is not supported`:                       `{"response_format":{"type":"json_object"}}`,
	} {
		f := start(t, chattest.Manner{}, func(c *config.Model) { settled(c); c.ExtraBody = json.RawMessage(extra) })
		f.server.Tolerant = true
		f.server.Play(chattest.Answer{Status: 400, Body: `{"error":{"message":"` + said + `"}}`})
		if o := ask(t.Context(), f, everything(true)); o.code() != model.InvalidRequest || !strings.Contains(o.told(), said) || len(f.server.Requests()) != 1 {
			t.Errorf("%s: %q %s", extra, o.code(), o.told())
		}
	}
}

// TestThoughtsRefused: a server that gives thoughts and does not take them back gets
// none.
func TestThoughtsRefused(t *testing.T) {
	f := start(t, chattest.Manner{Reasoning: "reasoning_content"}, nil)
	f.server.Play(chattest.Answer{Thought: "hm", Text: []string{"a"}},
		chattest.Answer{Status: 422, Body: `{"detail":[{"type":"extra_forbidden","loc":["body","messages",2,"assistant","reasoning_content"],"msg":"Extra inputs are not permitted"}]}`},
		chattest.Answer{Text: []string{"fine"}})
	req := request(user("go"))
	req.Contents = append(req.Contents, ask(t.Context(), f, req).reply.Content, user("on"))
	if o := ask(t.Context(), f, req); o.told() != "fine" {
		t.Fatal(o.told())
	}
	if _, short := newest(t, f); !slices.Equal(short, []string{"system be brief", "user go", "assistant a", "user on"}) {
		t.Errorf("%q", short)
	}
}

// TestSignatures: a call of Gemini's own keeps its signature, the first of another
// model's gets one that says there is none.
func TestSignatures(t *testing.T) {
	f := startAt(t, manner(t, "Gemini"), "http://generativelanguage.googleapis.com/v1", nil)
	f.server.Play(chattest.Answer{Calls: []chattest.Call{{Name: "f", Args: `{}`}, {Name: "g", Args: `{}`}}}, chattest.Answer{Text: []string{"fine"}})
	req := request(user("go"), said(called("a", "f"), called("b", "g")), results(result("a", "f", "1"), result("b", "g", "2")))
	first := ask(t.Context(), f, req)
	if first.err != nil {
		t.Fatal(first.err)
	}
	req.Contents = append(req.Contents, first.reply.Content)
	if o := ask(t.Context(), f, req); o.err != nil {
		t.Error(o.err)
	}
	noRefusals(t, f)
	r, _ := newest(t, f)
	var got []string
	for _, m := range r.Messages {
		for _, c := range m.ToolCalls {
			if got = append(got, ""); c.Extra != nil {
				got[len(got)-1] = c.Extra.Google.Signature
			}
		}
	}
	if !slices.Equal(got, []string{"skip_thought_signature_validator", "", "signed", ""}) {
		t.Errorf("%q", got)
	}
}
