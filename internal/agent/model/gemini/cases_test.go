package gemini_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	g "github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
	"github.com/adkmcp/adkmcp/internal/config"
)

// The numbers are those of the project's list of replies of the API. Those
// cases that are about tools are in runner_test.go as well.

func TestParallelCalls(t *testing.T) {
	t.Run("01 text, then three parallel calls in three chunks, a signature only on the first", func(t *testing.T) {
		script := g.Play(
			g.Stream(g.Chunk(g.Text("Let me ")), g.Chunk(g.Text("look.")),
				g.Chunk(g.Call("look", `{"at":1}`, "sig-\x00\xff-1")), g.Chunk(g.Call("look", `{"at":2}`, "")), g.Final("STOP", g.Call("find", `{"z":"ü","a":[1,2.50]}`, ""))),
			g.Say("done"))
		f := start(t, script)
		f2 := request(user("go"))
		first := ask(t.Context(), f, f2)
		if first.err != nil || first.partial != "Let me look." {
			t.Fatalf("%+v", first)
		}
		parts := first.reply.Content.Parts
		if len(parts) != 4 || parts[0].Text != "Let me look." || string(parts[1].ThoughtSignature) != "sig-\x00\xff-1" || parts[2].ThoughtSignature != nil {
			t.Fatalf("parts %v", parts)
		}
		for i, p := range parts[1:] { // the runner names what the service did not
			if p.FunctionCall.ID != "" {
				t.Errorf("call %d has id %q, the service gave none", i, p.FunctionCall.ID)
			}
			p.FunctionCall.ID = fmt.Sprint("adk-", i+1)
		}
		out := map[string]any{"output": "ok"}
		second := ask(t.Context(), f, request(user("go"), first.reply.Content, responses(first.reply, out, out, out)))
		noRefusals(t, f)
		if second.err != nil || text(second.reply.Content) != "done" {
			t.Fatalf("%+v", second)
		}
		body := string(f.service.Requests()[1].Body)
		if strings.Contains(body, "adk-") {
			t.Errorf("an id of ours was sent: %s", body)
		}
		want := `{"role":"model","parts":[{"text":"Let me look."},{"functionCall":{"args":{"at":1},"name":"look"},"thoughtSignature":"c2lnLQD/LTE="},` +
			`{"functionCall":{"args":{"at":2},"name":"look"}},{"functionCall":{"args":{"a":[1,2.50],"z":"ü"},"name":"find"}}]}`
		if !strings.Contains(body, want) {
			t.Errorf("sent %s\nwant in it %s", body, want)
		}
		if first.reply.Content.Parts[1].FunctionCall.ID != "adk-1" {
			t.Error("sending changed the conversation")
		}
	})

	t.Run("01 ids of the service's own come back", func(t *testing.T) {
		withID := `{"functionCall":{"id":"srv-1","name":"look","args":{}},"thoughtSignature":"c2ln"}`
		f := start(t, g.Play(g.Stream(g.Final("STOP", withID)), g.Say("done")))
		first := ask(t.Context(), f, request(user("go")))
		second := ask(t.Context(), f, request(user("go"), first.reply.Content, responses(first.reply, map[string]any{"output": ""})))
		noRefusals(t, f)
		if second.err != nil || strings.Count(string(f.service.Requests()[1].Body), "srv-1") != 2 {
			t.Errorf("%v: %s", second.err, f.service.Requests()[1].Body)
		}
	})

	t.Run("02 an error, an unknown name and an image", func(t *testing.T) {
		for _, name := range []string{"gemini-3-flash", "gemini-2.5-flash", "gemini-flash-latest"} {
			f := startWith(t, g.Play(
				g.Stream(g.Final("STOP", g.Call("a", `{}`, "s"), g.Call("b", `{}`, ""), g.Call("c", `{}`, ""))), g.Say("done"),
			), func(c *config.Model) { c.Name = name }, nil)
			first := ask(t.Context(), f, request(user("go")))
			answers := responses(first.reply, map[string]any{"error": "failed"}, map[string]any{"error": "there is no tool b"}, map[string]any{"output": "a picture"})
			picture := func(kind string) *genai.FunctionResponsePart {
				return &genai.FunctionResponsePart{InlineData: &genai.FunctionResponseBlob{MIMEType: kind, Data: []byte(pixels)}}
			}
			answers.Parts[2].FunctionResponse.Parts = []*genai.FunctionResponsePart{picture("image/png"), picture("audio/wav"), picture("font/woff")}
			before, _ := json.Marshal(answers)
			second := ask(t.Context(), f, request(user("go"), first.reply.Content, answers))
			noRefusals(t, f)
			if second.err != nil || text(second.reply.Content) != "done" {
				t.Fatalf("%s: %+v", name, second)
			}
			sent := f.service.Requests()[1].Contents[2]
			count := map[string]int{}
			for _, p := range sent.Parts {
				switch {
				case p.FunctionResponse != nil:
					count["response"]++
					for _, media := range p.FunctionResponse.Parts {
						count[media.InlineData.MIMEType]++
					}
				case p.InlineData != nil:
					count["beside "+p.InlineData.MIMEType]++
				}
			}
			want := map[string]int{"response": 3, "image/png": 1, "beside audio/wav": 1}
			if name == "gemini-2.5-flash" {
				want = map[string]int{"response": 3, "beside image/png": 1, "beside audio/wav": 1}
			}
			if diff := cmp.Diff(want, count); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			output := sent.Parts[2].FunctionResponse.Response["output"]
			if output != "a picture\n[left out, since you cannot read it: 14 bytes of type \"font/woff\"]" {
				t.Errorf("%s: output %q", name, output)
			}
			if after, _ := json.Marshal(answers); string(before) != string(after) {
				t.Errorf("sending changed the conversation: %s", after)
			}
		}
	})

	t.Run("03 cancelled while tools run, then a second request", func(t *testing.T) {
		// What the runner leaves in the history: responses that say so.
		f := start(t, g.Play(g.Stream(g.Final("STOP", g.Call("a", `{}`, "s"), g.Call("b", `{}`, ""))), g.Say("hello again")))
		first := ask(t.Context(), f, request(user("go")))
		cancelled := map[string]any{"error": "not run: the turn ended before"}
		second := ask(t.Context(), f, request(user("go"), first.reply.Content, responses(first.reply, cancelled, cancelled), user("and now?")))
		noRefusals(t, f)
		if second.err != nil || text(second.reply.Content) != "hello again" {
			t.Errorf("%+v", second)
		}
	})
}

func TestAnswersThatAreNone(t *testing.T) {
	stop := func(reason string, parts ...string) []g.Reply { return []g.Reply{g.Stream(g.Final(reason, parts...))} }
	malformed := g.Stream(g.Chunk(g.Text("broken ta")), g.Final("MALFORMED_FUNCTION_CALL"))
	cases := []struct {
		name     string
		replies  []g.Reply
		requests int
		code     model.Code // of the error; empty for an answer
		says     []string   // in the error
	}{
		{"04 MALFORMED_FUNCTION_CALL again and again", []g.Reply{malformed, malformed, malformed}, 3, model.Malformed, []string{"MALFORMED_FUNCTION_CALL", "3 attempts"}},
		{"04 MALFORMED_FUNCTION_CALL twice, then an answer", []g.Reply{malformed, malformed, g.Say("good")}, 3, "", nil},
		{"04 UNEXPECTED_TOOL_CALL", slices.Repeat(stop("UNEXPECTED_TOOL_CALL"), 3), 3, model.Malformed, []string{"UNEXPECTED_TOOL_CALL"}},
		{"04 TOO_MANY_TOOL_CALLS", slices.Repeat(stop("TOO_MANY_TOOL_CALLS"), 3), 3, model.Malformed, []string{"TOO_MANY_TOOL_CALLS"}},
		{"05 STOP without parts, twice", slices.Repeat(stop("STOP"), 2), 2, model.Empty, []string{"empty"}},
		{"05 STOP without parts, then an answer", []g.Reply{g.Stream(g.Final("STOP")), g.Say("good")}, 2, "", nil},
		{"05 STOP with an empty part", slices.Repeat(stop("STOP", g.Text("")), 2), 2, model.Empty, []string{"empty"}},
		{"05 STOP with a signature alone", slices.Repeat(stop("STOP", g.Signature("s")), 2), 2, model.Empty, []string{"empty"}},
		{"06 blocked prompt", []g.Reply{g.Stream(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":4}}`)}, 1, model.Blocked, []string{"PROHIBITED_CONTENT"}},
		{"07 MAX_TOKENS with thoughts only", stop("MAX_TOKENS", g.Thought("hm")), 1, model.MaxTokens, []string{"MAX_TOKENS", "generate_content_config.max_output_tokens", "thinking_budget"}},
		{"07 MAX_TOKENS with a call only", stop("MAX_TOKENS", g.Call("a", `{}`, "s")), 1, model.MaxTokens, []string{"generate_content_config.max_output_tokens"}},
		{"14 empty 200 body", slices.Repeat([]g.Reply{{Status: 200}}, 4), 4, model.Unavailable, []string{"no content", "4 attempts"}},
		{"14 empty event stream", []g.Reply{g.Stream(), g.Stream(), g.Say("good")}, 3, "", nil},
		{"OTHER", stop("OTHER", g.Text("half")), 1, model.Blocked, []string{"OTHER"}},
		{"text with MALFORMED_RESPONSE", slices.Repeat(stop("MALFORMED_RESPONSE", g.Text("half")), 3), 3, model.Malformed, []string{"MALFORMED_RESPONSE"}},
		{"text with MISSING_THOUGHT_SIGNATURE", stop("MISSING_THOUGHT_SIGNATURE", g.Text("half")), 1, model.InvalidRequest, []string{"MISSING_THOUGHT_SIGNATURE"}},
		{"text with MODEL_ARMOR", stop("MODEL_ARMOR", g.Text("half")), 1, model.Blocked, []string{"MODEL_ARMOR"}},
		{"a call with MODEL_ARMOR", stop("MODEL_ARMOR", g.Call("a", `{}`, "s")), 1, model.Blocked, []string{"MODEL_ARMOR"}},
		{"a gateway's word for the limit, with a call", stop("length", g.Call("a", `{}`, "s")), 1, model.MaxTokens, []string{"length"}},
		{"a gateway's word for a filter", stop("content_filter", g.Text("half")), 1, model.Blocked, []string{"content_filter"}},
		{"a gateway's word for an error", slices.Repeat(stop("network_error", g.Text("half")), 4), 4, model.Unavailable, []string{"network_error"}},
		{"a call with a reason that is not known", slices.Repeat(stop("SOLAR_FLARE", g.Call("a", `{}`, "s")), 2), 2, model.StreamCut, []string{"SOLAR_FLARE"}},
		{"a reason that is not known", slices.Repeat(stop("SOLAR_FLARE"), 2), 2, model.Empty, []string{"SOLAR_FLARE"}},
		{"a reason that is not known, with thoughts only", slices.Repeat(stop("SOLAR_FLARE", g.Thought("hm")), 2), 2, model.Empty, []string{"SOLAR_FLARE"}},
	}
	for _, reason := range []string{
		"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_OTHER", "NO_IMAGE",
	} {
		c := cases[0]
		c.name, c.replies, c.requests, c.code, c.says = "09 "+reason, stop(reason, g.Text("half an answer")), 1, model.Blocked, []string{reason}
		cases = append(cases, c)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, g.Play(c.replies...))
			o := ask(t.Context(), retrying(f, 3), request(user("hi")))
			if n := len(f.service.Requests()); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			if o.code() != c.code {
				t.Errorf("error %v, want code %q", o.err, c.code)
			}
			for _, words := range c.says {
				if o.err == nil || !strings.Contains(o.err.Error(), words) {
					t.Errorf("error %q does not say %q", o.err, words)
				}
			}
			if c.code == "" && (o.reply == nil || text(o.reply.Content) != "good") || c.code != "" && o.reply != nil {
				t.Errorf("reply %+v", o.reply)
			}
		})
	}
}

func TestCutAnswers(t *testing.T) {
	t.Run("08 MAX_TOKENS after some text", func(t *testing.T) {
		f := start(t, g.Play(g.Stream(g.Chunk(g.Text("half an ")), g.Final("MAX_TOKENS", g.Text("answer")))))
		o := ask(t.Context(), retrying(f, 3), request(user("hi")))
		if o.err != nil || text(o.reply.Content) != "half an answer" || o.reply.FinishReason != "MAX_TOKENS" {
			t.Fatalf("%+v", o)
		}
		if p := o.reply.Problem; p == nil || p.Code != model.MaxTokens || !strings.Contains(p.Message, "cut") {
			t.Errorf("problem %v", p)
		}
		if u := o.reply.Usage; u == nil || *u != (model.Usage{Input: 10, Output: 5, Thoughts: 2, Total: 17}) {
			t.Errorf("usage %+v: it is the last chunk's, not a sum", u)
		}
	})
	t.Run("08 an unknown reason after some text", func(t *testing.T) {
		f := start(t, g.Play(g.Stream(g.Final("SOLAR_FLARE", g.Text("text")))))
		o := ask(t.Context(), retrying(f, 3), request(user("hi")))
		if o.err != nil || text(o.reply.Content) != "text" || o.reply.FinishReason != "SOLAR_FLARE" {
			t.Fatalf("%+v", o)
		}
		if p := o.reply.Problem; p == nil || p.Code != model.StreamCut || !strings.Contains(p.Message, "for a reason that is not known (SOLAR_FLARE), what there is of it may not be the whole") {
			t.Errorf("problem %v", p)
		}
	})
	t.Run("a gateway's words for being done and for the limit", func(t *testing.T) {
		f := start(t, g.Play(g.Stream(g.Final("stop", g.Text("text"))), g.Stream(g.Final("length", g.Text("text")))))
		if o := ask(t.Context(), f, request(user("hi"))); o.err != nil || text(o.reply.Content) != "text" || o.reply.Problem != nil {
			t.Errorf("%+v", o)
		}
		if o := ask(t.Context(), f, request(user("hi"))); o.err != nil || text(o.reply.Content) != "text" || o.reply.Problem == nil || o.reply.Problem.Code != model.MaxTokens {
			t.Errorf("%+v", o)
		}
	})
	t.Run("an error behind the finish reason", func(t *testing.T) {
		whole := g.Chunk(g.Text("whole ")) + "\n\ndata: " + g.Final("STOP", g.Text("answer"))
		dropped := g.Stream(whole)
		dropped.Cut = true
		for _, r := range []g.Reply{dropped, g.Stream(whole, `{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`), {Status: 200, Body: "data: " + whole + "\n\ngarbage\n"}} {
			f := start(t, g.Play(r))
			if o := ask(t.Context(), retrying(f, 3), request(user("hi"))); o.err != nil || text(o.reply.Content) != "whole answer" || o.reply.Usage.Total != 17 || o.notices != nil {
				t.Errorf("%+v", o)
			}
		}
	})
	t.Run("a gateway's word for calls", func(t *testing.T) {
		f := start(t, g.Play(g.Stream(g.Final("TOOL_CALLS", g.Call("a", `{}`, "s")))))
		o := ask(t.Context(), retrying(f, 3), request(user("hi")))
		if o.err != nil || o.reply.Problem != nil || len(o.reply.Content.Parts) != 1 || o.reply.Content.Parts[0].FunctionCall == nil {
			t.Fatalf("%+v", o)
		}
	})

	cut := g.Stream(g.Chunk(g.Text("half an ")))
	cut.Cut = true
	midError := `{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`
	cases := []struct {
		name     string
		broken   g.Reply
		requests int
		code     model.Code
		notice   string
	}{
		{"13 connection cut", cut, 2, model.StreamCut, "the answer broke off"},
		{"13 no finish reason", g.Stream(g.Chunk(g.Text("half an "))), 2, model.StreamCut, "the answer broke off"},
		{"13 half an event at the end", g.Reply{Status: 200, Body: "data: " + g.Chunk(g.Text("half an ")) + "\n\ndata: {\"candidates\":[{\"cont"}, 2, model.StreamCut, "the answer broke off"},
		{"13 an event that is not JSON", g.Reply{Status: 200, Body: "data: " + g.Chunk(g.Text("half an ")) + "\n\ndata: <oops>\n\n"}, 2, model.StreamCut, "the answer broke off"},
		{"13 an error within the stream", g.Stream(g.Chunk(g.Text("half an ")), midError), 4, model.Unavailable, "the model's service is unavailable"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, g.Play(c.broken, g.Say("whole answer")))
			o := ask(t.Context(), retrying(f, 3), request(user("hi")))
			if o.err != nil || text(o.reply.Content) != "whole answer" || o.partial != "half an whole answer" {
				t.Fatalf("%+v", o)
			}
			if len(o.notices) != 1 || !strings.HasPrefix(o.notices[0], c.notice) || !strings.HasSuffix(o.notices[0], "; the answer starts again") {
				t.Errorf("notices %q", o.notices)
			}
			f = start(t, g.Play(slices.Repeat([]g.Reply{c.broken}, 5)...))
			o = ask(t.Context(), retrying(f, 3), request(user("hi")))
			if n := len(f.service.Requests()); o.code() != c.code || n != c.requests {
				t.Errorf("%v after %d requests", o.err, n)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Run("10 429 with RetryInfo", func(t *testing.T) {
		info := `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"2s"}`
		f := start(t, g.Play(g.Fail(429, "RESOURCE_EXHAUSTED", "quota", info)))
		failure := ask(t.Context(), f, request(user("hi")))
		if failure.code() != model.RateLimited {
			t.Fatal(failure.err)
		}
		for _, deadline := range []time.Duration{time.Minute, time.Second} {
			synctest.Test(t, func(t *testing.T) { // the wait itself, on a clock of its own
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				o := ask(ctx, retrying(&once{err: failure.err}, 3), request())
				switch waited := time.Since(begin); {
				case deadline == time.Minute:
					if o.err != nil || waited < 2*time.Second || !slices.Equal(o.notices, []string{"rate limited; trying again in 2s (attempt 2 of 4)"}) {
						t.Errorf("after %v: %+v", waited, o)
					}
				case waited != 0 || o.code() != model.RateLimited || !strings.Contains(o.err.Error(), "no time left to wait for 2s"):
					t.Errorf("after %v: %v", waited, o.err)
				}
			})
		}
	})
	t.Run("10 429 with a Retry-After header", func(t *testing.T) {
		r := g.Fail(429, "RESOURCE_EXHAUSTED", "quota")
		r.Header["Retry-After"] = "7"
		var e *model.Error
		if o := ask(t.Context(), start(t, g.Play(r)), request(user("hi"))); !errors.As(o.err, &e) || e.RetryAfter != 7*time.Second || e.Status != 429 {
			t.Errorf("%+v", e)
		}
	})
	t.Run("11 503 twice, then success", func(t *testing.T) {
		down := g.Fail(503, "UNAVAILABLE", "The model is overloaded.")
		f := start(t, g.Play(down, down, g.Say("good")))
		o := ask(t.Context(), retrying(f, 3), request(user("hi")))
		if o.err != nil || text(o.reply.Content) != "good" || len(o.notices) != 2 {
			t.Errorf("%+v", o)
		}
	})

	page := g.Reply{Status: 200, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>Please log in to the Wi-Fi</html>"}
	bare := g.Reply{Status: 200, Body: "{\n  \"error\": {\"code\": 400, \"message\": \"bad\", \"status\": \"INVALID_ARGUMENT\"}\n}\n"}
	long := g.Fail(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).")
	cases := []struct {
		name  string
		reply g.Reply
		code  model.Code
		says  []string
	}{
		{"12 400", g.Fail(400, "INVALID_ARGUMENT", "temperature is too high"), model.InvalidRequest, []string{"400", "generate_content_config", "temperature is too high"}},
		{"12 401", g.Fail(401, "UNAUTHENTICATED", "who are you"), model.Unauthorized, []string{"401", "GEMINI_API_KEY"}},
		{"12 403", g.Fail(403, "PERMISSION_DENIED", "Consumer 'api_key:"+key+"' has been suspended."), model.Unauthorized, []string{"403", "GEMINI_API_KEY", "api_key:[redacted]"}},
		{"12 404", g.Fail(404, "NOT_FOUND", "models/gemini-3-flash is not found"), model.NotFound, []string{"404", `"gemini-3-flash"`, "model.name"}},
		{"12 404 that is a page", g.Reply{Status: 404, Body: "<html>nothing here</html>"}, model.NotFound, []string{"model.base_url", "nothing here"}},
		{"a history that is too long", long, model.ContextOverflow, []string{"too long", "1048576"}},
		{"one that is too long for Vertex AI", g.Fail(400, "INVALID_ARGUMENT", "Unable to submit request because the input token count is 1251952 but model only supports up to 1048576. Reduce the input token count and try again."), model.ContextOverflow, []string{"too long", "1048576"}},
		{"one with too many bytes", g.Fail(400, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 20971520 bytes."), model.ContextOverflow, []string{"too long", "20971520"}},
		{"another country", g.Fail(400, "FAILED_PRECONDITION", "User location is not supported for the API use."), model.Unauthorized, []string{"400", "GEMINI_API_KEY", "where this program runs", "User location"}},
		{"413", g.Reply{Status: 413}, model.ContextOverflow, []string{"too long"}},
		{"a redirect", g.Reply{Status: 302, Header: map[string]string{"Location": "http://127.0.0.1:1/"}}, model.Misconfigured, []string{"redirect", "model.base_url"}},
		{"a page with status 200", page, model.Misconfigured, []string{"model.base_url", "log in to the Wi-Fi"}},
		{"an error with status 200", bare, model.InvalidRequest, []string{"bad"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, g.Play(c.reply))
			o := ask(t.Context(), retrying(f, 3), request(user("hi")))
			if n := len(f.service.Requests()); n != 1 || o.code() != c.code {
				t.Errorf("%d requests, %v", n, o.err)
			}
			for _, words := range c.says {
				if o.err == nil || !strings.Contains(o.err.Error(), words) {
					t.Errorf("error %q does not say %q", o.err, words)
				}
			}
			if o.err != nil && strings.Contains(fmt.Sprintf("%v %+v", o.err, o.err), key) {
				t.Errorf("the key is shown: %v", o.err)
			}
		})
	}
	t.Run("12 an invalid key", func(t *testing.T) {
		f := start(t, g.Play(g.Say("good")))
		f.service.Key = "another"
		o := ask(t.Context(), retrying(f, 3), request(user("hi")))
		if o.code() != model.Unauthorized || !strings.Contains(o.err.Error(), "check GEMINI_API_KEY") || len(f.service.Requests()) != 1 {
			t.Errorf("%v", o.err)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		f := start(t, g.Play())
		if err := f.service.Close(); err != nil {
			t.Fatal(err)
		}
		o := ask(t.Context(), retrying(f, 1), request(user("hi")))
		if o.code() != model.Unavailable || !strings.Contains(o.err.Error(), "model.base_url") || len(o.notices) != 1 {
			t.Errorf("%v %q", o.err, o.notices)
		}
	})
}

// once is a model that fails once and then answers.
type once struct{ err error }

func (f *once) Generate(context.Context, *model.Request) iter.Seq2[*model.Reply, error] {
	return func(yield func(*model.Reply, error) bool) {
		if err := f.err; err != nil {
			f.err = nil
			yield(nil, err)
			return
		}
		yield(&model.Reply{Content: user("done")}, nil)
	}
}

func TestStreams(t *testing.T) {
	t.Run("15 comments, other fields, blank lines and [DONE]", func(t *testing.T) {
		noisy := g.Stream(g.Chunk(g.Text("hel")), g.Chunk(g.Text("lo")), g.Final("STOP"))
		noisy.Noise = true
		f := start(t, g.Play(noisy))
		o := ask(t.Context(), f, request(user("hi")))
		if o.err != nil || o.partial != "hello" || text(o.reply.Content) != "hello" {
			t.Errorf("%+v", o)
		}
	})
	t.Run("15 events that are no objects", func(t *testing.T) {
		body := "data: ping\n\ndata: []\n\ndata: " + g.Chunk(g.Text("hel")) + "\n\ndata: 1\n\ndata: " + g.Final("STOP", g.Text("lo")) + "\n\n"
		f := start(t, g.Play(g.Reply{Status: 200, Body: body}))
		if o := ask(t.Context(), f, request(user("hi"))); o.err != nil || text(o.reply.Content) != "hello" {
			t.Errorf("%+v", o)
		}
	})
	t.Run("16 thoughts only, then an answer", func(t *testing.T) {
		f := start(t, g.Play(g.Stream(g.Chunk(g.Thought("hm, ")), g.Final("STOP", g.Thought("well"))), g.Say("good")))
		o := ask(t.Context(), retrying(f, 3), request(user("hi")))
		if o.err != nil || len(o.reply.Content.Parts) != 1 || !o.reply.Content.Parts[0].Thought || o.reply.Content.Parts[0].Text != "hm, well" {
			t.Errorf("a turn of thoughts is a reply for the runner to judge: %+v", o)
		}
	})
	t.Run("signatures stay where they were", func(t *testing.T) {
		f := start(t, g.Play(
			g.Stream(g.Chunk(g.Thought("hm")), g.Chunk(g.Text("a")), g.Chunk(g.Signed("b", "s1")), g.Chunk(g.Text("c")), g.Chunk(g.Text("d")), g.Final("STOP", g.Signature("s2"))),
			g.Say("good")))
		o := ask(t.Context(), f, request(user("hi")))
		want := []*genai.Part{
			{Text: "hm", Thought: true}, {Text: "a"}, {Text: "b", ThoughtSignature: []byte("s1")}, {Text: "cd"}, {ThoughtSignature: []byte("s2")},
		}
		if diff := cmp.Diff(want, o.reply.Content.Parts); diff != "" {
			t.Fatal(diff)
		}
		o = ask(t.Context(), f, request(user("hi"), o.reply.Content, user("again")))
		noRefusals(t, f)
		if o.err != nil || !strings.Contains(string(f.service.Requests()[1].Body), `{"thoughtSignature":"czI=","text":""}`) {
			t.Errorf("%v: %s", o.err, f.service.Requests()[1].Body)
		}
	})
	t.Run("numbers with many digits come and go as they are", func(t *testing.T) {
		args := `{"id":12345678901234567890,"sum":1.10,"deep":[{"n":9007199254740993}]}`
		f := start(t, g.Play(g.Stream(g.Final("STOP", g.Call("f", args, "s"))), g.Say("good")))
		o := ask(t.Context(), f, request(user("hi")))
		got, _ := json.Marshal(o.reply.Content.Parts[0].FunctionCall.Args)
		if string(got) != `{"deep":[{"n":9007199254740993}],"id":12345678901234567890,"sum":1.10}` {
			t.Errorf("arguments %s", got)
		}
		output := map[string]any{"output": json.RawMessage(`{"next":98765432109876543210}`)}
		o = ask(t.Context(), f, request(user("hi"), o.reply.Content, responses(o.reply, output)))
		noRefusals(t, f)
		if body := string(f.service.Requests()[1].Body); o.err != nil || !strings.Contains(body, "98765432109876543210") || !strings.Contains(body, "12345678901234567890") {
			t.Errorf("%v: %s", o.err, body)
		}
	})
	t.Run("a response that has no JSON form", func(t *testing.T) {
		for _, value := range []any{math.NaN(), make(chan int), json.RawMessage("{")} {
			f := start(t, g.Play(g.Stream(g.Final("STOP", g.Call("f", `{}`, "s"))), g.Say("good")))
			o := ask(t.Context(), f, request(user("hi")))
			o = ask(t.Context(), retrying(f, 3), request(user("hi"), o.reply.Content, responses(o.reply, map[string]any{"output": value})))
			if o.code() != model.InvalidRequest || !strings.Contains(o.err.Error(), "the conversation cannot be sent") || len(f.service.Requests()) != 1 || len(o.err.Error()) > 200 {
				t.Errorf("%v", o.err)
			}
		}
	})
	t.Run("a response with references in it", func(t *testing.T) {
		f := start(t, g.Play(g.Stream(g.Final("STOP", g.Call("f", `{}`, "s"))), g.Say("good")))
		o := ask(t.Context(), f, request(user(`what does "$ref" mean`)))
		output := map[string]any{"output": map[string]any{"$ref": "#/$defs/x"}}
		o = ask(t.Context(), f, request(user("hi"), o.reply.Content, responses(o.reply, output)))
		noRefusals(t, f)
		if sent := f.service.Requests()[1].Contents[2].Parts[0].FunctionResponse.Response["output"]; o.err != nil || sent != `{"$ref":"#/$defs/x"}` {
			t.Errorf("%v: %v", o.err, sent)
		}
	})
}

func TestTools(t *testing.T) {
	t.Run("19 40 declarations, one that cannot be expressed", func(t *testing.T) {
		req := request(user("hi"))
		for i := range 40 {
			req.Tools = append(req.Tools, tool(fmt.Sprintf("tool_%d", i), `{"type":"object","properties":{"a":{"type":"string","pattern":"^x"}},"required":["a"],"additionalProperties":false}`))
		}
		req.Tools[17] = tool("elsewhere", `{"type":"object","properties":{"a":{"$ref":"https://example.com/schema.json"}}}`)
		f := start(t, g.Play(g.Say("one"), g.Say("two")))
		o := ask(t.Context(), f, req)
		noRefusals(t, f)
		if sent := f.service.Requests()[0].Tools; o.err != nil || len(sent) != 39 || slices.ContainsFunc(sent, func(d *genai.FunctionDeclaration) bool { return d.Name == "elsewhere" }) {
			t.Fatalf("%v: %d declarations", o.err, len(sent))
		}
		warning := `the tool elsewhere is left out, since it cannot be declared to Gemini: its parameters: properties: a: $ref: "https://example.com/schema.json" leads out of the schema`
		if !slices.Equal(o.notices, []string{warning}) || strings.Count(f.logged.String(), "level=WARN") != 1 {
			t.Errorf("notices %q, log %s", o.notices, f.logged)
		}
		if o := ask(t.Context(), f, req); o.err != nil || o.notices != nil || strings.Count(f.logged.String(), "level=WARN") != 1 {
			t.Errorf("the second time: %v %q", o.err, o.notices)
		}
		if string(f.service.Requests()[0].Body) != string(f.service.Requests()[1].Body) {
			t.Error("the second request differs")
		}
	})
	t.Run("19 a name that is none", func(t *testing.T) {
		req := request(user("hi"))
		req.Tools = []*genai.FunctionDeclaration{tool("7up", `{"type":"object"}`)}
		f := start(t, g.Play(g.Say("good")))
		o := ask(t.Context(), f, req)
		if o.err != nil || len(o.notices) != 1 || len(f.service.Requests()[0].Tools) != 0 {
			t.Errorf("%v %q", o.err, o.notices)
		}
	})
	t.Run("more than 512", func(t *testing.T) {
		req := request(user("hi"))
		for i := range 513 {
			req.Tools = append(req.Tools, tool(fmt.Sprintf("t%d", i), `{"type":"object"}`))
		}
		f := start(t, g.Play(g.Say("good")))
		o := ask(t.Context(), f, req)
		if o.code() != model.InvalidRequest || !strings.Contains(o.err.Error(), "513 tools") || len(f.service.Requests()) != 0 {
			t.Errorf("%v", o.err)
		}
	})
}
