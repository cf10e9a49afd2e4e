package openai_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	o "github.com/adkmcp/adkmcp/internal/agent/model/openai/openaitest"
	"github.com/adkmcp/adkmcp/internal/config"
)

// TestThoughts go back in place with what they led to, and only with it.
func TestThoughts(t *testing.T) {
	f := start(t, o.Play(
		o.Answer(o.Thought("rs_1", "first", "second"), o.Text("Let me look."), o.Thought("rs_2"), o.Call("call_1", "look", `{"b":1,"a":2.50}`), o.Thought("rs_3", "hm")),
		o.Answer(o.Thought("rs_4")), o.Answer(o.Text("done"), o.Thought("rs_5")), o.Say("bye"),
	))
	req := request(user("go"))
	req.Tools = []*genai.FunctionDeclaration{tool("look", anything)}
	first := ask(t.Context(), f, req)
	if first.err != nil || first.partial != "[first][\n\n][second]Let me look.[hm]" || first.text() != "Let me look." {
		t.Fatalf("%+v", first)
	}
	if u := first.reply.Usage; *u != (model.Usage{Input: 20, Cached: 4, Output: 6, Thoughts: 3, Total: 29}) {
		t.Errorf("usage %+v", u)
	}
	if p := first.reply.Content.Parts; len(p) != 5 || p[0].Text != "first\n\nsecond" || !p[0].Thought {
		t.Errorf("parts %+v", p)
	}
	req.Contents = stored(t, append(req.Contents, first.reply.Content, results(first.reply, map[string]any{"output": "seen"})))
	second := ask(t.Context(), f, req)
	noRefusals(t, f)
	if got, want := f.kinds(), "user reasoning assistant reasoning function_call function_call_output"; got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	if sent := string(f.service.Requests()[1].Items[1].Raw); sent != `{"encrypted_content":"sealed-rs_1","id":"rs_1","summary":[{"text":"first","type":"summary_text"},{"text":"second","type":"summary_text"}],"type":"reasoning"}` {
		t.Errorf("sent %s", sent)
	}
	if second.err != nil || len(second.reply.Content.Parts) != 1 {
		t.Fatalf("%+v", second)
	}
	// Thoughts alone: the runner asks again with them, and they lead to nothing.
	req.Contents = append(req.Contents, second.reply.Content)
	third := ask(t.Context(), f, req)
	if third.text() != "done" {
		t.Fatalf("%+v", third)
	}
	req.Contents = append(req.Contents, third.reply.Content, user("more"))
	ask(t.Context(), f, req)
	if got, want := f.kinds(), "user reasoning assistant reasoning function_call function_call_output assistant user"; got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	noRefusals(t, f)
}

// TestThoughtsThatAreRefused are left out, and what will not change is remembered.
func TestThoughtsThatAreRefused(t *testing.T) {
	thinker := start(t, o.Play(o.Answer(o.Thought("rs_1"), o.Text("hi"))))
	history := []*genai.Content{user("go"), ask(t.Context(), thinker, request(user("go"))).reply.Content, user("and?")}

	stranger := start(t, o.Play(o.Say("ok"))) // another account
	if out := ask(t.Context(), stranger, request(history...)); out.err != nil || out.text() != "ok" || stranger.kinds() != "user assistant user" {
		t.Errorf("%+v", out)
	}
	if n := len(stranger.service.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
	noRefusals(t, stranger)

	older := start(t, o.Play(o.Say("one"), o.Say("two")), options{change: func(c *config.Model) { c.Name = "gpt-4.1" }})
	for _, want := range []string{"one", "two"} {
		if out := ask(t.Context(), older, request(history...)); out.err != nil || out.text() != want {
			t.Errorf("%+v", out)
		}
	}
	if n := len(older.service.Requests()); n != 3 {
		t.Errorf("%d requests, want one more than answers", n)
	}
	noRefusals(t, older)
}

func TestPhases(t *testing.T) {
	f := start(t, o.Play(o.Answer(o.Phase("commentary", "working"), o.Phase("final_answer", "{}")), o.Answer(o.Phase("commentary", "alone")), o.Say("bye")))
	first := ask(t.Context(), f, request(user("go")))
	if first.text() != "{}" || first.partial != "[working]{}" {
		t.Errorf("%+v, text %q", first, first.text())
	}
	second := ask(t.Context(), f, request(user("go")))
	if second.text() != "alone" {
		t.Errorf("%+v", second)
	}
	ask(t.Context(), f, request(stored(t, []*genai.Content{user("go"), first.reply.Content, user("go"), second.reply.Content, user("go")})...))
	noRefusals(t, f)
	var phases []string
	for _, i := range f.service.Requests()[2].Items {
		if i.Role == "assistant" {
			phases = append(phases, i.Phase)
		}
	}
	if fmt.Sprint(phases) != "[commentary final_answer commentary]" {
		t.Errorf("phases %q", phases)
	}
}

func TestEnds(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply o.Reply
		code  model.Code
		says  string
	}{
		{"a refusal", o.Answer(o.Refusal("I cannot help with that")), model.Blocked, "I cannot help with that"},
		{"a filter", o.Incomplete("content_filter", o.Text("half")), model.Blocked, "content_filter"},
		{"a gateway's word for the limit", o.Incomplete("length", o.Thought("rs_1", "hm")), model.MaxTokens, "model.thinking"},
		{"an error of the service's own", o.Incomplete("network_error", o.Text("half")), model.Unavailable, "network_error"},
		{"a reason that is not known", o.Incomplete("solar_flare", o.Thought("rs_1", "hm"), o.Call("c", "look", `{}`)), model.StreamCut, "solar_flare"},
		{"overload", o.Failed("server_error", "try later", o.Text("half")), model.Unavailable, "try later"},
		{"a rate limit in the stream", o.Failed("rate_limit_exceeded", "slow down"), model.RateLimited, "slow down"},
		{"a history that is too long, in the stream", o.Failed("context_length_exceeded", "Your input exceeds the context window"), model.ContextOverflow, "too long"},
		{"a prompt that is forbidden", o.Failed("invalid_prompt", "flagged"), model.Blocked, "flagged"},
		{"an image that is forbidden", o.Fail(400, "image_content_policy_violation", "flagged"), model.Blocked, "flagged"},
		{"an image that is broken", o.Failed("invalid_image", "broken"), model.InvalidRequest, "broken"},
		{"no quota", o.Fail(429, "insufficient_quota", "You exceeded your current quota"), model.Unauthorized, "billing"},
		{"a model that there is not", o.Fail(400, "model_not_found", "no such model"), model.NotFound, "gpt-5"},
		{"thinking that the model has not", o.Reply{Status: 400, Body: `{"error":{"message":"no","param":"reasoning.effort","code":"unsupported_value"}}`}, model.InvalidRequest, "model.thinking"},
		{"summaries that the account has not", o.Reply{Status: 400, Body: `{"error":{"message":"no","param":"reasoning.summary","code":"unsupported_value"}}`}, model.InvalidRequest, "model.extra_body"},
		{"an error event", o.Reply{Status: 200, Events: []string{`{"type":"error","code":"server_error","message":"oops","param":null}`}}, model.Unavailable, "oops"},
		{"an error event of an older form", o.Reply{Status: 200, Events: []string{`{"type":"error","error":{"type":"invalid_request_error","code":null,"message":"bad"}}`}}, model.InvalidRequest, "bad"},
		{"an error event without words", o.Reply{Status: 200, Events: []string{`{"type":"error"}`}}, model.Unavailable, "unavailable"},
		{"an error of text", o.Reply{Status: 500, Body: `{"error":"upstream is gone"}`}, model.Unavailable, "upstream is gone"},
		{"an event that is not JSON", o.Reply{Status: 200, Events: []string{`{"type":`, `x`}}, model.StreamCut, "broke off"},
		{"an answer of another API", o.Reply{Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: `{"choices":[]}`}, model.Misconfigured, "model.base_url"},
		{"an error with status 200", o.Reply{Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: `{"error":{"message":"bad","type":"invalid_request_error"}}`}, model.InvalidRequest, "bad"},
		{"cancelled", o.Reply{Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: `{"status":"cancelled"}`}, model.StreamCut, "broke off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, o.Play(c.reply))
			out := ask(t.Context(), f, request(user("hi")))
			if out.code() != c.code || !strings.Contains(out.err.Error(), c.says) || out.reply != nil {
				t.Errorf("%q: %v, want %q, %s", out.code(), out.err, c.code, c.says)
			}
		})
	}
}

// TestUnknownReason: what there is of such an answer is kept, its calls are not.
func TestUnknownReason(t *testing.T) {
	f := start(t, o.Play(o.Incomplete("solar_flare", o.Text("half"), o.Call("c", "look", `{}`))))
	out := ask(t.Context(), f, request(user("hi")))
	if out.err != nil || out.text() != "half" || len(out.reply.Content.Parts) != 1 || out.reply.Problem == nil || out.reply.Problem.Code != model.StreamCut {
		t.Errorf("%+v", out)
	}
}

// TestForms has the ways in which servers tell the same answer.
func TestForms(t *testing.T) {
	answer := o.Answer(o.Thought("rs_1", "hm"), o.Text("a", "b"), o.Call("call_1", "look", `{"n":1}`))
	bare := o.Answer(o.Text("ab"))
	last := len(bare.Events) - 1
	bare.Events[last] = strings.Replace(bare.Events[last], `"output":[`, `"output":[],"was":[`, 1)
	noisy := answer
	noisy.Noise = true
	for name, reply := range map[string]o.Reply{"streamed": answer, "whole": answer.Whole(), "with noise": noisy, "without items at the end": bare} {
		f := start(t, o.Play(reply))
		out := ask(t.Context(), f, request(user("hi")))
		if out.err != nil || out.text() != "ab" {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

func TestSettings(t *testing.T) {
	temperature, topP, limit := 0.5, 0.25, 100
	for _, c := range []struct {
		name    string
		change  func(*config.Model)
		want    []string
		without []string
	}{
		{"none", nil, []string{`"model":"gpt-5"`, `"stream":true`, `"store":false`, `"include":["reasoning.encrypted_content"]`}, []string{"temperature", "top_p", "max_output", `"reasoning":`, "tools", `"text":{`}},
		{"all", func(c *config.Model) {
			c.Name, c.Temperature, c.TopP, c.MaxOutputTokens = "gpt-4.1", &temperature, &topP, &limit
		}, []string{`"temperature":0.5`, `"top_p":0.25`, `"max_output_tokens":100`}, nil},
		{"thinking", func(c *config.Model) { c.Thinking = &config.Thinking{Effort: config.LowThinking} }, []string{`"reasoning":{"effort":"low","summary":"auto"}`}, nil},
		{"no thinking", func(c *config.Model) { c.Thinking = &config.Thinking{Effort: config.NoThinking} }, []string{`"reasoning":{"effort":"minimal","summary":"auto"}`}, nil},
		{"no thinking of a newer model", func(c *config.Model) {
			c.Name, c.Thinking = "gpt-5.1", &config.Thinking{Effort: config.NoThinking}
		}, []string{`"reasoning":{"effort":"none"}`}, []string{"summary"}},
		{"thinking of a model that always thinks much", func(c *config.Model) {
			c.Name, c.Thinking = "gpt-5-pro", &config.Thinking{Effort: config.LowThinking}
		}, []string{`"reasoning":{"effort":"high","summary":"auto"}`}, nil},
		{"thinking of a model that does not", func(c *config.Model) {
			c.Name, c.Thinking = "gpt-4.1", &config.Thinking{Effort: config.LowThinking}
		}, nil, []string{`"reasoning":`}},
		{"more", func(c *config.Model) {
			c.Thinking = &config.Thinking{Effort: config.LowThinking}
			c.ExtraBody = json.RawMessage(`{"service_tier":"flex","reasoning":{"summary":null},"metadata":{"a":"<1>"},"parallel_tool_calls":false}`)
		}, []string{`"service_tier":"flex"`, `"reasoning":{"effort":"low","summary":null}`, `"metadata":{"a":"<1>"}`, `"parallel_tool_calls":false`, `"stream":true`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, o.Play(o.Say("ok")), options{change: c.change})
			out := ask(t.Context(), f, request(user("hi")))
			noRefusals(t, f)
			all := f.service.Requests()
			body := string(all[len(all)-1].Body)
			if out.err != nil {
				t.Fatal(out.err)
			}
			for _, want := range c.want {
				if !strings.Contains(body, want) {
					t.Errorf("sent %s\nwant in it %s", body, want)
				}
			}
			for _, not := range c.without {
				if strings.Contains(body, not) {
					t.Errorf("sent %s\nwant not in it %s", body, not)
				}
			}
		})
	}
}

// TestHostileTools declares the whole corpus in requests with good ones between.
func TestHostileTools(t *testing.T) {
	raw, err := os.ReadFile("../gemini/dialect/testdata/hostile.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpus []struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
	}
	if err := json.Unmarshal(raw, &corpus); err != nil {
		t.Fatal(err)
	}
	declared := 0
	for begin := 0; begin < len(corpus); begin += 60 {
		r := request(user("go"))
		for i, c := range corpus[begin:min(begin+60, len(corpus))] {
			r.Tools = append(r.Tools, tool(fmt.Sprint("tool_", begin+i), string(c.Schema)), tool(fmt.Sprint("good_", i), anything))
		}
		f := start(t, o.Play(o.Say("fine"), o.Say("fine")))
		out := ask(t.Context(), f, r)
		noRefusals(t, f)
		if out.err != nil {
			t.Fatal(out.err)
		}
		sent := len(f.service.Requests()[0].Tools)
		declared += sent - len(r.Tools)/2
		if sent+len(out.notices) != len(r.Tools) {
			t.Errorf("%d of %d tools were sent, %d left out with a notice", sent, len(r.Tools), len(out.notices))
		}
		if again := ask(t.Context(), f, r); again.err != nil || len(again.notices) > 0 {
			t.Errorf("%v, told again %v", again.err, again.notices)
		}
	}
	if declared < 75 {
		t.Errorf("only %d of %d hostile tools were declared", declared, len(corpus))
	}
}

func TestTools(t *testing.T) {
	strict := `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	r := request(user("go"))
	r.Tools = []*genai.FunctionDeclaration{tool("strict", strict), tool("loose", anything), {Name: "none"}, tool("a.b", anything), tool(strings.Repeat("x", 65), anything)}
	r.OutputSchema = json.RawMessage(strict)
	f := start(t, o.Play(o.Say("{}"), o.Say("{}"), o.Say("{}")))
	out := ask(t.Context(), f, r)
	noRefusals(t, f)
	sent := f.service.Requests()[0]
	if len(sent.Tools) != 3 || !*sent.Tools[0].Strict || *sent.Tools[1].Strict || *sent.Tools[2].Strict || len(out.notices) != 2 {
		t.Errorf("told %q, sent %s", out.notices, sent.Body)
	}
	if string(sent.Schema) != strict || !sent.Strict {
		t.Errorf("strict: %v, schema %s", sent.Strict, sent.Schema)
	}
	r.OutputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	if ask(t.Context(), f, r); f.service.Requests()[1].Strict || f.service.Requests()[1].Schema == nil {
		t.Errorf("sent %s", f.service.Requests()[1].Body)
	}
	r.OutputSchema = json.RawMessage(`{"type":"object","properties":null}`)
	if out := ask(t.Context(), f, r); out.code() != model.InvalidRequest || !strings.Contains(out.err.Error(), "output_schema") {
		t.Errorf("%v", out.err)
	}
	for range 126 {
		r.Tools = append(r.Tools, tool(fmt.Sprint("t", len(r.Tools)), anything))
	}
	if out := ask(t.Context(), f, r); out.code() != model.InvalidRequest || !strings.Contains(out.err.Error(), "128") {
		t.Errorf("%v", out.err)
	}
	noRefusals(t, f)
}

// TestMedia has data of all kinds, from the caller and from tools.
func TestMedia(t *testing.T) {
	blob := func(kind, data string) *genai.Part {
		return &genai.Part{InlineData: &genai.Blob{MIMEType: kind, Data: []byte(data)}}
	}
	const png, pdf, heic = "\x89PNG\r\n\x1a\n", "%PDF-1.7", "\x00\x00\x00\x18ftypheic\x00"
	f := start(t, o.Play(o.Say("ok")))
	called := &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{blob("image/png", "drawn"), {FunctionCall: &genai.FunctionCall{ID: "c", Name: "look"}}, nil}}
	response := &genai.FunctionResponse{ID: "c", Name: "look", Response: map[string]any{"output": "a picture"}}
	for _, kind := range []string{"image/png", "audio/wav"} {
		response.Parts = append(response.Parts, &genai.FunctionResponsePart{InlineData: &genai.FunctionResponseBlob{MIMEType: kind, Data: []byte(png)}})
	}
	seen := []*genai.Part{
		{Text: "see"}, blob("IMAGE/JPG; x=1", png), blob("application/pdf", pdf), blob("text/csv", "a,b"), blob("application/yaml", "a: 1"), blob("image/svg+xml", "<svg/>"),
		blob("audio/wav", "x"), blob("text/plain", "\xff"), blob("image/png", ""), blob("image/png", "none"), blob("application/pdf", "none"), blob("image/heic", heic), {FileData: &genai.FileData{FileURI: "gs://x/y"}},
	}
	out := ask(t.Context(), f, request(&genai.Content{Role: genai.RoleUser, Parts: seen}, called, &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{FunctionResponse: response}}}, nil))
	noRefusals(t, f)
	if out.err != nil {
		t.Fatal(out.err)
	}
	items := f.service.Requests()[0].Items
	var types []string
	for _, p := range append(items[0].Parts, items[3].Parts...) {
		types = append(types, p.Type)
	}
	if got, want := strings.Join(types, " "), "input_text input_image input_file"+strings.Repeat(" input_text", 11)+" input_image"; got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	if body := string(f.service.Requests()[0].Body); strings.Count(body, "left out") != 8 || !strings.Contains(body, `a picture\n[left out, since you cannot read it: 8 bytes of type \"audio/wav\"]`) || !strings.Contains(body, "gs://x/y") {
		t.Errorf("sent %s", body)
	}
}

// TestBrokenHistories are those that no runner should make; the service takes them
// all the same.
func TestBrokenHistories(t *testing.T) {
	call := func(id, name string) *genai.Part {
		return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: name}}
	}
	result := func(id string) *genai.Part {
		return &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: "look", Response: map[string]any{"output": "seen"}}}
	}
	says := func(parts ...*genai.Part) *genai.Content { return &genai.Content{Role: genai.RoleModel, Parts: parts} }
	hears := func(parts ...*genai.Part) *genai.Content { return &genai.Content{Role: genai.RoleUser, Parts: parts} }
	for name, history := range map[string][]*genai.Content{
		"calls without results":            {user("go"), says(call("a", "look"), call("b", "look")), hears(result("b")), says(call("c", "look"))},
		"results without calls":            {hears(result("a")), user("go")},
		"a result twice":                   {user("go"), says(call("a", "look")), hears(result("a"), result("a"))},
		"ids twice in a row":               {user("go"), says(call("a", "look")), hears(result("a")), says(call("a", "look")), hears(result("a"))},
		"nothing":                          nil,
		"blanks alone":                     {user(""), says(&genai.Part{Text: " "}), user(" \n")},
		"no ids":                           {user("go"), says(call("", "look")), hears(result(""))},
		"names that the service has not":   {user("go"), says(call("a", "a.b:ü"), call("b", ""), call("c", strings.Repeat("x", 99))), hears(result("a"), result("b"), result("c"))},
		"a signature that is broken":       {user("go"), says(&genai.Part{Thought: true, ThoughtSignature: model.Sign("openai", []byte("{"))}, &genai.Part{Text: "x", ThoughtSignature: model.Sign("openai", []byte("["))})},
		"the model begins, nothing at all": {says(&genai.Part{Text: "hello"}), {Role: genai.RoleUser}, {Role: genai.RoleModel}},
	} {
		f := start(t, o.Play(o.Say("ok")))
		if out := ask(t.Context(), f, request(history...)); out.err != nil || out.text() != "ok" {
			t.Errorf("%s: %v", name, out.err)
		}
		for _, r := range f.service.Refusals() {
			t.Errorf("%s: refused: %s", name, r)
		}
	}
}

// TestConcurrent has many calls of one model with the same contents.
func TestConcurrent(t *testing.T) {
	f := start(t, func(*o.Request) o.Reply {
		return o.Answer(o.Thought("rs_1", "hm"), o.Text("a", "b"), o.Call("call_1", "look", `{}`))
	})
	req := request(user("go"), &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: "ü", Name: "look"}}}},
		&genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{ID: "ü", Name: "look", Response: map[string]any{"output": "x"}}}}})
	req.Tools = []*genai.FunctionDeclaration{tool("look", anything)}
	before, _ := json.Marshal(req.Contents)
	var running sync.WaitGroup
	for range 32 {
		running.Go(func() {
			for range 4 {
				if out := ask(t.Context(), f, req); out.err != nil || out.text() != "ab" {
					t.Errorf("%+v", out)
				}
			}
		})
	}
	running.Wait()
	noRefusals(t, f)
	if after, _ := json.Marshal(req.Contents); string(after) != string(before) {
		t.Error("the contents were written to")
	}
}

func BenchmarkStep(b *testing.B) {
	f := start(b, func(*o.Request) o.Reply { return o.Say("hello") }, options{change: func(c *config.Model) { c.Timeout = config.Duration(time.Minute) }})
	req := request(user("hi"))
	req.Tools = []*genai.FunctionDeclaration{tool("look", anything)}
	for b.Loop() {
		if out := ask(b.Context(), f, req); out.err != nil {
			b.Fatal(out.err)
		}
	}
}
