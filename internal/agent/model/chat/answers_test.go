package chat_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat/chattest"
	"github.com/adkmcp/adkmcp/internal/config"
)

// delta is an event of a stream; end is one that ends it.
func delta(members string) string { return `{"choices":[{"delta":{` + members + `}}]}` }

func end(reason string) string { return `{"choices":[{"delta":{},"finish_reason":"` + reason + `"}]}` }

// TestCalls puts tool calls together as servers send them.
func TestCalls(t *testing.T) {
	const both = ` a:f{"x":1} b:g{"y":2}`
	cases := []struct {
		name   string
		events []string
		want   string
	}{
		{"OpenAI: two at the same time in pieces", []string{
			delta(`"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]`),
			delta(`"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]`),
			delta(`"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]`),
			delta(`"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":""}}]`),
			delta(`"tool_calls":[{"index":1,"function":{"arguments":"{\"y\":2}"}}]`)}, both},
		{"pieces of two calls in turns", []string{
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}},{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\""}}]`),
			delta(`"tool_calls":[{"index":1,"function":{"arguments":":2}"}},{"index":0,"function":{"arguments":":1}"}}]`)}, both},
		{"whole calls, all of index 0", []string{
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]`),
			delta(`"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}]`)}, both},
		{"whole calls without an index, in one event", []string{
			delta(`"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}]`)}, both},
		{"the same id for two", []string{
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"index":1,"id":"a","function":{"name":"f","arguments":"{\"x\":2}"}}]`)}, ` a:f{"x":1} :f{"x":2}`},
		{"the same id and index for two, one after the other", []string{
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]`),
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":2}"}}]`)}, ` a:f{"x":1} :f{"x":2}`},
		{"no ids at all, the same name", []string{
			delta(`"tool_calls":[{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"f","arguments":"{}"}}]`)}, ` :f{} :f{}`},
		{"no ids, no arguments, one event each", []string{
			delta(`"tool_calls":[{"function":{"name":"f","arguments":""}}]`), delta(`"tool_calls":[{"function":{"name":"g"}}]`)}, ` :f{} :g{}`},
		{"ids and names in each piece", []string{
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]`),
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]`),
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}]`),
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]`)}, ` a:f{"x":1}`},
		{"empty names in later pieces, ids null", []string{
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]`),
			delta(`"tool_calls":[{"index":0,"id":null,"function":{"name":"","arguments":"}"}}]`),
			delta(`"tool_calls":[{"index":0,"id":"","function":{"name":null,"arguments":null}}]`)}, ` a:f{}`},
		{"pieces by id, without an index", []string{
			delta(`"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}},{"id":"b","function":{"name":"g","arguments":"{"}}]`),
			delta(`"tool_calls":[{"id":"a","function":{"arguments":"\"x\":1}"}},{"id":"b","function":{"arguments":"\"y\":2}"}}]`)}, both},
		{"arguments as objects and null", []string{
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":12345678901234567890}}},{"index":1,"id":"b","function":{"name":"g","arguments":null}}]`)},
			` a:f{"x":12345678901234567890} b:g{}`},
		{"function_call", []string{delta(`"function_call":{"name":"f","arguments":"{\"x\""}`), delta(`"function_call":{"arguments":":1}"}`)}, ` :f{"x":1}`},
		{"one JSON object", []string{`{"object":"chat.completion","choices":[{"message":{"content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","function":{"name":"g","arguments":{"y":2}}}]},"finish_reason":"tool_calls"}]}`}, both},
		{"an index as a text or a fraction", []string{
			delta(`"tool_calls":[{"index":"0","id":"a","function":{"name":"f","arguments":"{"}},{"index":"1","id":"b","function":{"name":"g","arguments":"{"}}]`),
			delta(`"tool_calls":[{"index":1.0,"function":{"arguments":"\"y\":2}"}},{"index":0.0,"function":{"arguments":"\"x\":1}"}}]`)}, both},
		{"tool_calls as an object", []string{delta(`"tool_calls":{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`)}, ` a:f{}`},
		{"tool_calls of nothing", []string{
			delta(`"tool_calls":[{"index":0}]`), delta(`"tool_calls":""`), delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":[]}}]`), delta(`"tool_calls":[{"index":1,"function":null}]`)}, ` a:f{}`},
		{"an empty object before the arguments", []string{
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]`),
			delta(`"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]`), delta(`"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]`)}, ` a:f{"x":1}`},
		{"an empty object before the arguments, with id and name", []string{
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{}}}]`),
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]`)}, ` a:f{"x":1}`},
		{"a name in two pieces", []string{
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"lo","arguments":""}}]`),
			delta(`"tool_calls":[{"index":0,"function":{"name":"ok","arguments":""}}]`), delta(`"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]`)}, ` a:look{}`},
		{"arguments encoded twice", []string{delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"\"{\\\"x\\\":1}\""}}]`)}, ` a:f{"x":1}`},
		{"an object within arguments, as a piece", []string{
			delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]`),
			delta(`"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]`), delta(`"tool_calls":[{"index":0,"function":{"arguments":"}"}}]`)}, ` a:f{"x":{}}`},
		{"members of other types", []string{
			delta(`"tool_calls":null,"content":{"a":1},"reasoning_details":{},"reasoning":false`),
			delta(`"tool_calls":[{"index":0,"id":7,"function":{"name":"f","arguments":"{}"}}]`)}, ` :f{}`},
	}
	for _, c := range cases {
		for _, finish := range []string{"tool_calls", "function_call", "stop", "eos"} {
			t.Run(c.name+", "+finish, func(t *testing.T) {
				f := start(t, chattest.Manner{}, nil)
				f.server.Play(chattest.Answer{Events: append(c.events, end(finish))})
				o := ask(t.Context(), f, request(user("go")))
				if got := o.told(); o.err != nil || got != c.want || o.reply.FinishReason != finish {
					t.Errorf("%q, want %q; %v", got, c.want, o.err)
				}
			})
		}
	}
}

// TestAnswers reads text, thoughts and ends as servers send them.
func TestAnswers(t *testing.T) {
	cases := []struct {
		name    string
		events  []string
		code    model.Code
		want    string // the reply, or in the error
		partial string
	}{
		{"text, no role, no [DONE]", []string{delta(`"content":"a"`), delta(`"content":null`), delta(`"content":"b"`), end("stop")}, "", "ab", "ab"},
		{"parts", []string{delta(`"content":[{"type":"text","text":"a"},{"type":"other"}]`), end("stop")}, "", "a", "a"},
		{"thinking parts", []string{delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]`), end("stop")}, "", "(hm)a", "[hm]a"},
		{"reasoning_content", []string{delta(`"reasoning_content":"h","content":""`), delta(`"reasoning_content":"m"`), delta(`"content":"a","reasoning_content":null`), end("stop")}, "", "(hm)a", "[h][m]a"},
		{"reasoning", []string{delta(`"reasoning":"hm"`), delta(`"content":"a"`), end("stop")}, "", "(hm)a", "[hm]a"},
		{"both", []string{delta(`"reasoning":"hm","reasoning_content":"hm"`), delta(`"content":"a"`), end("stop")}, "", "(hm)a", "[hm]a"},
		{"<think> is text", []string{delta(`"content":"<think>hm</think>a"`), end("stop")}, "", "<think>hm</think>a", "<think>hm</think>a"},
		{"thoughts alone", []string{delta(`"reasoning":"hm"`), end("stop")}, "", "(hm)", "[hm]"},
		{"another choice is passed over", []string{`{"choices":[{"index":1,"delta":{"content":"x"}},{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`}, "", "a", "a"},
		{"an event of another kind", []string{`{"type":"ping"}`, delta(`"content":"a"`), end("stop")}, "", "a", "a"},
		{"text with the end, in one JSON object", []string{`{"choices":[{"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}`}, "", "a", "a"},
		{"no finish_reason, [DONE] all the same", []string{delta(`"content":"a"`)}, model.StreamCut, "finish reason", "a"},
		{"finish_reason that is null or empty", []string{`{"choices":[{"delta":{"content":"a"},"finish_reason":null}]}`, end("")}, model.StreamCut, "finish reason", "a"},
		{"nothing but [DONE]", nil, model.Unavailable, "no content", ""},
		{"length", []string{delta(`"content":"a"`), end("length")}, model.MaxTokens, "a", "a"},
		{"length in a call", []string{delta(`"content":"a","tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x"}}]`), end("length")}, model.MaxTokens, "a", "a"},
		{"length in thoughts", []string{delta(`"reasoning":"hm"`), end("length")}, model.MaxTokens, "model.thinking", "[hm]"},
		{"filtered", []string{delta(`"content":"a"`), end("content_filter")}, model.Blocked, "content_filter", "a"},
		{"refused by the model", []string{delta(`"refusal":"I "`), delta(`"refusal":"won't"`), end("stop")}, model.Blocked, "I won't", ""},
		{"ended by an error", []string{delta(`"content":"a"`), end("error")}, model.Unavailable, "error", "a"},
		{"DeepSeek's own end", []string{end("insufficient_system_resource")}, model.Unavailable, "insufficient_system_resource", ""},
		{"a call without a name", []string{delta(`"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]`), end("tool_calls")}, model.Malformed, "names no tool", ""},
		{"a list as arguments", []string{delta(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":[1]}}]`), end("tool_calls")}, model.Malformed, `"f"`, ""},
		{"no JSON", []string{delta(`"content":"a"`), "{oops"}, model.StreamCut, "could not be read", "a"},
		{"an error in the stream", []string{delta(`"content":"a"`), `{"error":{"message":"engine died","type":"server_error"}}`}, model.Unavailable, "engine died", "a"},
		{"OpenRouter's error in the stream", []string{delta(`"content":"a"`), `{"id":"x","error":{"code":429,"message":"slow down"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`}, model.RateLimited, "slow down", "a"},
		{"vLLM's error in the stream", []string{`{"object":"error","message":"bad grammar","type":"BadRequestError","code":400}`}, model.InvalidRequest, "bad grammar", ""},
		{"Groq's unreadable call in the stream", []string{`{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","status_code":400}}`}, model.Malformed, "could not read what the model wrote", ""},
		{"an error in the stream as text", []string{`{"error":"model crashed"}`}, model.Unavailable, "model crashed", ""},
		{"an error in the stream by its name", []string{`{"error":{"message":"no","code":"insufficient_quota"}}`}, model.Unauthorized, "billing", ""},
		{"a history that is too long, in the stream", []string{`{"error":{"message":"x","code":"context_length_exceeded"}}`}, model.ContextOverflow, "too long", ""},
		{"a delta that is a text", []string{`{"choices":[{"delta":""}]}`, delta(`"content":"a"`), `{"choices":[{"index":null,"delta":"","finish_reason":"stop"}]}`}, "", "a", "a"},
		{"content as an object, and false", []string{delta(`"content":false`), delta(`"content":{"type":"text","text":"a"}`), end("stop")}, "", "a", "a"},
		{"a single choice", []string{`{"choices":{"index":"0","delta":{"content":"a"},"finish_reason":"stop"}}`}, "", "a", "a"},
		{"an empty error", []string{`{"error":null,"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`}, "", "a", "a"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, chattest.Manner{NoDone: strings.Contains(c.name, "no [DONE]")}, nil)
			events := c.events
			if events == nil {
				events = []string{}
			}
			f.server.Play(chattest.Answer{Events: events})
			o := ask(t.Context(), f, request(user("go")))
			if got := o.told(); o.code() != c.code || !strings.Contains(got, c.want) || o.err == nil && got != c.want || o.partial != c.partial {
				t.Errorf("%q %q, streamed %q", o.code(), got, o.partial)
			}
			if (c.code == model.MaxTokens) && o.reply != nil && len(o.reply.Content.Parts) != 1 {
				t.Errorf("a call was kept: %s", o.told())
			}
		})
	}
}

// TestUsage counts tokens as servers do.
func TestUsage(t *testing.T) {
	cases := []struct {
		name   string
		events []string
		want   *model.Usage
	}{
		{"in a last chunk", []string{`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":9,"total_tokens":19,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":2}}}`},
			&model.Usage{Input: 10, Cached: 3, Output: 7, Thoughts: 2, Total: 19}},
		{"thoughts apart, as xAI counts them", []string{`{"choices":[],"usage":{"prompt_tokens":10120,"completion_tokens":1499,"total_tokens":14428,"prompt_tokens_details":{"cached_tokens":128},"completion_tokens_details":{"reasoning_tokens":2809}}}`},
			&model.Usage{Input: 10120, Cached: 128, Output: 1499, Thoughts: 2809, Total: 14428}},
		{"in every chunk", []string{`{"choices":[{"delta":{}}],"usage":{"prompt_tokens":10,"completion_tokens":1}}`, `{"choices":[{"delta":{}}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`},
			&model.Usage{Input: 10, Output: 2, Total: 12}},
		{"null and details of null", []string{`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"prompt_tokens_details":null}}`, `{"choices":[{"delta":{}}],"usage":null}`},
			&model.Usage{Input: 1, Output: 2, Total: 3}},
		{"DeepSeek's cache, in fractions", []string{`{"choices":[],"usage":{"prompt_tokens":10.0,"completion_tokens":2,"prompt_cache_hit_tokens":4}}`}, &model.Usage{Input: 10, Cached: 4, Output: 2, Total: 12}},
		{"none", nil, nil},
		{"of another form", []string{`{"choices":[],"usage":"free"}`, `{"choices":[],"usage":{}}`}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, chattest.Manner{}, nil)
			f.server.Play(chattest.Answer{Events: append([]string{delta(`"content":"a"`), end("stop")}, c.events...)})
			o := ask(t.Context(), f, request(user("go")))
			if o.err != nil {
				t.Fatal(o.err)
			}
			if diff := cmp.Diff(c.want, o.reply.Usage); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestConnectionLostAfterTheEnd keeps an answer that lacks nothing but [DONE].
func TestConnectionLostAfterTheEnd(t *testing.T) {
	f := start(t, chattest.Manner{}, nil)
	f.server.Play(chattest.Answer{Events: []string{delta(`"content":"a"`), end("stop")}, Cut: true})
	if o := ask(t.Context(), f, request(user("go"))); o.err != nil || o.told() != "a" {
		t.Errorf("%+v", o)
	}
}

// TestRefusals says what servers mean by their errors.
func TestRefusals(t *testing.T) {
	cases := []struct {
		name   string
		status int
		body   string
		code   model.Code
		says   string
	}{
		{"an object", 400, `{"error":{"message":"bad temperature","type":"invalid_request_error","code":null}}`, model.InvalidRequest, "bad temperature"},
		{"a text", 400, `{"error":"bad temperature"}`, model.InvalidRequest, "bad temperature"},
		{"FastAPI's detail", 422, `{"detail":"bad temperature"}`, model.InvalidRequest, "bad temperature"},
		{"FastAPI's list of details", 422, `{"detail":[{"loc":["body","messages"],"msg":"field required"}]}`, model.InvalidRequest, "field required"},
		{"members at the top", 400, `{"object":"error","message":"bad temperature","type":"BadRequestError","code":400}`, model.InvalidRequest, "bad temperature"},
		{"a list", 404, `[{"error":{"code":404,"message":"no such model","status":"NOT_FOUND"}}]`, model.NotFound, "no such model"},
		{"the status counts more than a name", 404, `{"error":{"message":"model \"qwen3\" not found","type":"api_error"}}`, model.NotFound, "not found"},
		{"and more than a code", 401, `{"error":{"message":"no","type":"invalid_request_error","code":"invalid_api_key"}}`, model.Unauthorized, "model.api_key"},
		{"quota", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, model.Unauthorized, "billing"},
		{"Kimi's quota", 429, `{"error":{"message":"You exceeded your current quota","type":"exceeded_current_quota_error"}}`, model.Unauthorized, "billing"},
		{"flagged before OpenRouter", 403, `{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged","metadata":{"reasons":["violence"],"flagged_input":"x","provider_name":"OpenAI"}}}`, model.Blocked, "flagged"},
		{"no credit", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`, model.Unauthorized, "Insufficient Balance"},
		{"a rate limit", 429, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`, model.RateLimited, "slow down"},
		{"llama.cpp loads", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, model.Unavailable, "Loading model"},
		{"llama.cpp's template refuses", 500, `{"error":{"code":500,"message":"Jinja Exception: Conversation roles must alternate","type":"server_error"}}`, model.InvalidRequest, "must alternate"},
		{"withheld", 400, `{"error":{"message":"filtered","code":"content_filter"}}`, model.Blocked, "withheld"},
		{"an error with status 200", 200, `{"error":{"message":"overloaded","code":529}}`, model.Unavailable, "overloaded"},
		{"a gateway's own words alone", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"object\":\"error\",\"message\":\"bad temperature\"}","provider_name":"Mistral"}}}`, model.InvalidRequest, "Provider returned error: bad temperature"},
		{"a gateway that passes on a text", 429, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"qwen is temporarily rate-limited upstream"}}}`, model.RateLimited, "rate-limited upstream"},
		{"a gateway that passes on nothing", 502, `{"error":{"message":"Provider returned error","code":502,"metadata":null}}`, model.Unavailable, "Provider returned error"},
		{"what is too long behind a gateway", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 213462 tokens > 200000 maximum\"}}"}}}`, model.ContextOverflow, "too long"},
		{"too long for Gemini", 400, `[{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}]`, model.ContextOverflow, "1048575"},
		{"too long for xAI", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, model.ContextOverflow, "131072"},
		{"too long for Kimi", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)","type":"invalid_request_error"}}`, model.ContextOverflow, "262144"},
		{"too long for MiniMax", 400, `{"error":{"message":"invalid params, context window exceeds limit"}}`, model.ContextOverflow, "exceeds limit"},
		{"too long for Qwen", 400, `{"error":{"message":"Range of input length should be [1, 30000]"}}`, model.ContextOverflow, "30000"},
		{"too long for Bedrock", 400, `{"error":{"message":"Input is too long for requested model."}}`, model.ContextOverflow, "too long"},
		{"a call that Groq could not read", 400, `{"error":{"message":"Failed to call a function. Please adjust your prompt.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=look>"}}`, model.Malformed, "could not read what the model wrote"},
		{"a null", 500, `null`, model.Unavailable, "500"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, chattest.Manner{}, nil)
			f.server.Play(chattest.Answer{Status: c.status, Body: c.body})
			o := ask(t.Context(), f, request(user("go")))
			if o.code() != c.code || !strings.Contains(o.told(), c.says) {
				t.Errorf("%q %s", o.code(), o.told())
			}
		})
	}
	t.Run("something else answers", func(t *testing.T) {
		elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"status":"ok"}`)
		}))
		defer elsewhere.Close()
		f := start(t, chattest.Manner{}, func(c *config.Model) { c.BaseURL = elsewhere.URL })
		if o := ask(t.Context(), f, request(user("go"))); o.code() != model.Misconfigured || !strings.Contains(o.told(), "model.base_url") {
			t.Errorf("%q %s", o.code(), o.told())
		}
	})
	t.Run("Ollama has not got the model", func(t *testing.T) {
		f := startAt(t, manner(t, "Ollama"), "http://ollama.test:11434/v1", nil)
		f.server.Play(chattest.Answer{Status: http.StatusNotFound, Body: `{"error":{"message":"model 'qwen3' not found","type":"api_error","param":null,"code":null}}`})
		o := ask(t.Context(), f, request(user("go")))
		if o.code() != model.NotFound || !strings.Contains(o.told(), "ollama pull qwen3") {
			t.Errorf("%q %s", o.code(), o.told())
		}
	})
	t.Run("nobody listens on this computer", func(t *testing.T) {
		f := start(t, chattest.Manner{}, nil)
		f.server.Close()
		o := ask(t.Context(), f, request(user("go")))
		if o.code() != model.Unavailable || !strings.Contains(o.told(), "cannot be reached at "+f.server.URL+": is it running?") {
			t.Errorf("%q %s", o.code(), o.told())
		}
	})
	t.Run("nobody listens elsewhere", func(t *testing.T) {
		f := startAt(t, chattest.Manner{}, "http://models.test/v1", func(c *config.Model) { c.APIKey = config.Secret{} })
		f.server.Close()
		o := ask(t.Context(), f, request(user("go")))
		if o.code() != model.Unavailable || !strings.Contains(o.told(), "model.base_url") {
			t.Errorf("%q %s", o.code(), o.told())
		}
	})
}
