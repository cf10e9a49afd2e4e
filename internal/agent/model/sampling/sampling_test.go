package sampling

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/config"
)

// generate gives the only reply to a request, or the error.
func generate(t *testing.T, m *Model, req *model.Request) (*model.Reply, error) {
	t.Helper()
	var reply *model.Reply
	var failed error
	n := 0
	for r, err := range m.Generate(t.Context(), req) {
		reply, failed = r, err
		n++
	}
	if n != 1 {
		t.Fatalf("%d replies", n)
	}
	return reply, failed
}

// asked gives what the host is asked, which breaks no rule.
func asked(t *testing.T, cfg *config.Model, req *model.Request) map[string]any {
	t.Helper()
	reply, err := generate(t, New(cfg), req)
	if err != nil {
		t.Fatal(err)
	}
	q := reply.Suspend
	if q == nil || q.Kind != model.Sampling || q.Message == "" {
		t.Fatalf("no question: %+v", reply)
	}
	if err := violation(q.Payload); err != nil {
		t.Errorf("%v: %s", err, q.Payload)
	}
	return decode(t, q.Payload)
}

func decode(t *testing.T, data []byte) (v map[string]any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

func user(parts ...*genai.Part) *genai.Content {
	return &genai.Content{Role: genai.RoleUser, Parts: parts}
}

func spoke(parts ...*genai.Part) *genai.Content {
	return &genai.Content{Role: genai.RoleModel, Parts: parts}
}

func words(s string) *genai.Part { return &genai.Part{Text: s} }

func calls(id, name string, args map[string]any) *genai.Part {
	return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: args}}
}

func gave(id, name, key string, v any, media ...*genai.FunctionResponsePart) *genai.Part {
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: name, Response: map[string]any{key: v}, Parts: media}}
}

func blob(kind, data string) *genai.Part {
	return &genai.Part{InlineData: &genai.Blob{MIMEType: kind, Data: []byte(data)}}
}

func TestSettings(t *testing.T) {
	hi := []*genai.Content{user(words("Hi <you> & me"))}
	tool := &genai.FunctionDeclaration{Name: "look", Description: "Looks.", ParametersJsonSchema: json.RawMessage(`{"type":"object","properties":{"n":{"maximum":12345678901234567890}}}`)}
	warm, long := 0.5, 100
	for name, tt := range map[string]struct {
		cfg  config.Model
		req  model.Request
		want string
	}{
		"nothing said": {config.Model{}, model.Request{},
			`{"includeContext":"none","maxTokens":4096,"messages":[{"role":"user","content":{"type":"text","text":"Hi <you> & me"}}]}`},
		"all said": {config.Model{Name: "claude-opus", Temperature: &warm, MaxOutputTokens: &long, Stop: []string{"END"}},
			model.Request{System: "Be kind.", Tools: []*genai.FunctionDeclaration{tool, {Name: "bare"}}, OutputSchema: json.RawMessage(`{}`)},
			`{"includeContext":"none","maxTokens":100,"temperature":0.5,"stopSequences":["END"],"systemPrompt":"Be kind.",
			"modelPreferences":{"hints":[{"name":"claude-opus"}]},"toolChoice":{"mode":"auto"},
			"tools":[{"name":"look","description":"Looks.","inputSchema":{"type":"object","properties":{"n":{"maximum":12345678901234567890}}}},{"name":"bare","inputSchema":{"type":"object"}}],
			"messages":[{"role":"user","content":{"type":"text","text":"Hi <you> & me"}}]}`},
	} {
		tt.req.Contents = hi
		if diff := cmp.Diff(decode(t, []byte(tt.want)), asked(t, &tt.cfg, &tt.req)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}

	schema := model.Request{Contents: hi, OutputSchema: json.RawMessage(`{"type":"object","title":"this one"}`)}
	if s, _ := asked(t, &config.Model{}, &schema)["systemPrompt"].(string); !strings.Contains(s, "this one") {
		t.Errorf("the model is not told of the schema: %q", s)
	}
	_, err := generate(t, New(&config.Model{}), &model.Request{Contents: hi, Hosted: []string{"google_search"}})
	var failure *model.Error
	if !errors.As(err, &failure) || failure.Code != model.Misconfigured || !strings.Contains(failure.Message, "google_search") {
		t.Errorf("a tool of another service: %v", err)
	}
}

// TestConversation: what is in a conversation reaches the host, and every call
// has its result where the protocol wants it.
func TestConversation(t *testing.T) {
	png := &genai.FunctionResponsePart{InlineData: &genai.FunctionResponseBlob{MIMEType: "image/png", Data: []byte("png")}}
	pdf := &genai.FunctionResponsePart{InlineData: &genai.FunctionResponseBlob{MIMEType: "application/pdf", Data: []byte("pdf")}}
	signed := calls("1", "a", map[string]any{"n": json.Number("12345678901234567890.10")})
	signed.ThoughtSignature = model.Sign("host", []byte(`{"keep":1}`))
	foreign := words("Another said.")
	foreign.ThoughtSignature = model.Sign("anthropic", []byte(`{"lose":1}`))
	for name, tt := range map[string]struct {
		contents []*genai.Content
		want     string
	}{
		"media": {[]*genai.Content{user(words("See"), blob("image/png", "png"), blob("audio/wav", "wav"), blob("text/csv", "a,b"), blob("application/pdf", "pdf"), blob("image/png", ""))},
			`[{"role":"user","content":[{"type":"text","text":"See"},{"type":"image","data":"cG5n","mimeType":"image/png"},{"type":"audio","data":"d2F2","mimeType":"audio/wav"},
			{"type":"text","text":"a,b"},{"type":"text","text":"[left out, since you cannot read it: 3 bytes of type \"application/pdf\"]"},
			{"type":"text","text":"[left out, since you cannot read it: 0 bytes of type \"image/png\"]"}]}]`},
		"tools": {[]*genai.Content{
			user(words("Go")),
			spoke(&genai.Part{Text: "hm", Thought: true}, words("Looking."), signed, calls("2", "b", nil)),
			user(gave("1", "a", "output", "red", png, pdf), gave("2", "b", "error", map[string]any{"code": json.Number("1.50")})),
			spoke(foreign),
			user(words("More")),
		}, `[{"role":"user","content":{"type":"text","text":"Go"}},
			{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"tool_use","id":"1","name":"a","input":{"n":12345678901234567890.10},"_meta":{"keep":1}},{"type":"tool_use","id":"2","name":"b","input":{}}]},
			{"role":"user","content":[
				{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"red"},{"type":"image","data":"cG5n","mimeType":"image/png"},{"type":"text","text":"[left out, since you cannot read it: 3 bytes of type \"application/pdf\"]"}]},
				{"type":"tool_result","toolUseId":"2","isError":true,"content":[{"type":"text","text":"{\"code\":1.50}"}]}]},
			{"role":"assistant","content":{"type":"text","text":"Another said."}},
			{"role":"user","content":{"type":"text","text":"More"}}]`},
		"results out of order, beside something": {[]*genai.Content{
			user(words("Go")), spoke(calls("1", "a", nil), calls("2", "b", nil)),
			user(words("Aside."), gave("2", "b", "output", ""), gave("1", "a", "output", "one")),
		}, `[{"role":"user","content":{"type":"text","text":"Go"}},
			{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":{}},{"type":"tool_use","id":"2","name":"b","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"one"}]},{"type":"tool_result","toolUseId":"2","content":[]}]},
			{"role":"user","content":{"type":"text","text":"Aside."}}]`},
		"a cut history": {[]*genai.Content{
			user(gave("0", "z", "output", "lost")), spoke(calls("1", "a", nil)), spoke(calls("2", "b", nil)), user(words("Well?")), spoke(&genai.Part{Text: "hm", Thought: true}), spoke(calls("3", "c", nil)),
		}, `[{"role":"user","content":[{"type":"text","text":"The tool z has given:"},{"type":"text","text":"lost"}]},
			{"role":"assistant","content":{"type":"tool_use","id":"1","name":"a","input":{}}},
			{"role":"user","content":{"type":"tool_result","toolUseId":"1","isError":true,"content":[{"type":"text","text":"nothing is known of the result"}]}},
			{"role":"assistant","content":{"type":"tool_use","id":"2","name":"b","input":{}}},
			{"role":"user","content":{"type":"tool_result","toolUseId":"2","isError":true,"content":[{"type":"text","text":"nothing is known of the result"}]}},
			{"role":"user","content":{"type":"text","text":"Well?"}},
			{"role":"assistant","content":{"type":"tool_use","id":"3","name":"c","input":{}}},
			{"role":"user","content":{"type":"tool_result","toolUseId":"3","isError":true,"content":[{"type":"text","text":"nothing is known of the result"}]}}]`},
	} {
		t.Run(name, func(t *testing.T) {
			got := asked(t, &config.Model{}, &model.Request{Contents: tt.contents})
			want := decode(t, []byte(`{"messages":`+tt.want+`}`))
			if diff := cmp.Diff(want["messages"], got["messages"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAnswer: what hosts answer becomes a reply, or an error that says what is
// wrong with it.
func TestAnswer(t *testing.T) {
	withMeta := calls("u1", "look", map[string]any{"n": json.Number("1e400")})
	withMeta.ThoughtSignature = model.Sign("host", []byte(`{"k": [1]}`))
	for name, tt := range map[string]struct {
		payload string
		want    *model.Reply
		code    model.Code
		says    string
	}{
		"text": {`{"role":"assistant","content":{"type":"text","text":"Hi."},"model":"opus","stopReason":"endTurn","_meta":{},"resultType":"complete"}`,
			&model.Reply{Content: spoke(words("Hi.")), FinishReason: "endTurn", Model: "host/opus"}, "", ""},
		"nobody's": {`{"role":"assistant","content":[{"type":"text","text":"Hi."},{"type":"text","text":""}]}`,
			&model.Reply{Content: spoke(words("Hi.")), Model: "host"}, "", ""},
		"calls": {`{"role":"assistant","content":[{"type":"text","text":"So."},{"type":"tool_use","id":"u1","name":"look","input":{"n":1e400},"_meta":{"k": [1]}},{"type":"tool_use","id":"u2","name":"bare"}],"model":"m","stopReason":"toolUse"}`,
			&model.Reply{Content: spoke(words("So."), withMeta, calls("u2", "bare", map[string]any{})), FinishReason: "toolUse", Model: "host/m"}, "", ""},
		"media": {`{"role":"assistant","content":[{"type":"image","data":"cG5n","mimeType":"image/png"},{"type":"audio","data":"d2F2","mimeType":"audio/wav"}],"model":"m"}`,
			&model.Reply{Content: spoke(blob("image/png", "png"), blob("audio/wav", "wav")), Model: "host/m"}, "", ""},
		"cut": {`{"role":"assistant","content":{"type":"text","text":"Once upon"},"model":"m","stopReason":"maxTokens"}`,
			&model.Reply{Content: spoke(words("Once upon")), FinishReason: "maxTokens", Model: "host/m",
				Problem: &model.Error{Code: model.MaxTokens, Reason: "maxTokens", Message: "the answer was cut at the limit on output tokens: raise model.max_output_tokens"}}, "", ""},
		"cut before":      {`{"content":[],"model":"m","stopReason":"maxTokens"}`, nil, model.MaxTokens, "max_output_tokens"},
		"cut in a call":   {`{"content":{"type":"tool_use","id":"1","name":"a","input":{}},"model":"m","stopReason":"maxTokens"}`, nil, model.MaxTokens, "used up"},
		"empty":           {`{"content":[],"model":"m","stopReason":"endTurn"}`, nil, model.Empty, "empty answer"},
		"empty text":      {`{"content":{"type":"text","text":""},"model":"m"}`, nil, model.Empty, "empty answer"},
		"no content":      {`{"role":"assistant","model":"m"}`, nil, model.Malformed, "no content"},
		"text as content": {`{"role":"assistant","content":"Hi.","model":"m"}`, nil, model.Malformed, "no content"},
		"no result":       {`[]`, nil, model.Malformed, "is not the result"},
		"nothing":         {``, nil, model.Malformed, "is not the result"},
		"unknown type":    {`{"content":{"type":"hologram"},"model":"m"}`, nil, model.Malformed, `"hologram"`},
		"a result":        {`{"content":{"type":"tool_result","toolUseId":"1","content":[]},"model":"m"}`, nil, model.Malformed, `"tool_result"`},
		"null":            {`{"content":[null],"model":"m"}`, nil, model.Malformed, "type"},
		"arguments":       {`{"content":{"type":"tool_use","id":"1","name":"a","input":[1]},"model":"m"}`, nil, model.Malformed, `"a"`},
		"no name":         {`{"content":{"type":"tool_use","id":"1","input":{}},"model":"m"}`, nil, model.Malformed, "without a name"},
		"no base64":       {`{"content":{"type":"image","data":"!","mimeType":"image/png"},"model":"m"}`, nil, model.Malformed, "base64"},
		"no MIME type":    {`{"content":{"type":"audio","data":"d2F2"},"model":"m"}`, nil, model.Malformed, "mimeType"},
	} {
		t.Run(name, func(t *testing.T) {
			reply, err := generate(t, New(&config.Model{}), &model.Request{Answer: &model.Answer{Action: model.Accept, Payload: json.RawMessage(tt.payload)}})
			if diff := cmp.Diff(tt.want, reply); diff != "" {
				t.Error(diff)
			}
			checkError(t, err, tt.code, tt.says)
		})
	}
}

func checkError(t *testing.T, err error, code model.Code, says string) {
	t.Helper()
	var failure *model.Error
	switch {
	case code == "" && err == nil:
	case !errors.As(err, &failure) || failure.Code != code || !strings.Contains(failure.Message, says):
		t.Errorf("want %s with %q, got %v", code, says, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		answer model.Answer
		code   model.Code
		says   string
	}{
		{model.Answer{Action: model.Decline}, model.Blocked, "did not let"},
		{model.Answer{Action: model.Decline, Reason: "not today", Payload: json.RawMessage(`{"content":{"type":"text","text":"Hi."}}`)}, model.Blocked, "did not let its model answer: not today"},
		{model.Answer{Action: model.Cancel, Reason: "no sampling here"}, model.Misconfigured, "no sampling here"},
		{model.Answer{Action: model.Cancel}, model.Misconfigured, "gave no answer"},
		{model.Answer{}, model.Misconfigured, "gave no answer"},
	} {
		reply, err := generate(t, New(&config.Model{}), &model.Request{Answer: &tt.answer})
		if reply != nil {
			t.Errorf("%+v: %+v", tt.answer, reply)
		}
		checkError(t, err, tt.code, tt.says)
	}
}

// TestRoundTrip: what a host has answered comes back to it as it was.
func TestRoundTrip(t *testing.T) {
	const content = `[{"type":"text","text":"So.","_meta":{"t":1}},{"type":"tool_use","id":"u","name":"a","input":{"n":0.10,"s":"<&>"},"_meta":{"sig":"x"}}]`
	reply, err := generate(t, New(&config.Model{}), &model.Request{Answer: &model.Answer{Action: model.Accept, Payload: json.RawMessage(`{"content":` + content + `,"model":"m"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	got := asked(t, &config.Model{}, &model.Request{Contents: []*genai.Content{user(words("Go")), reply.Content, user(gave("u", "a", "output", "done"))}})
	want := decode(t, []byte(`{"content":`+content+`}`))
	if diff := cmp.Diff(want["content"], got["messages"].([]any)[1].(map[string]any)["content"]); diff != "" {
		t.Error(diff)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	for reply, err := range New(&config.Model{}).Generate(ctx, &model.Request{}) {
		if reply != nil || !errors.Is(err, gone) {
			t.Errorf("%v, %v", reply, err)
		}
	}
}
