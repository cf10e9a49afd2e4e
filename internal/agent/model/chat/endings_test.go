package chat_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat/chattest"
	"github.com/adkmcp/adkmcp/internal/config"
)

// TestEndings has the words for which servers end an answer. Only those for being
// done make calls run.
func TestEndings(t *testing.T) {
	words := map[model.Code][]string{
		"":                {"stop", "STOP", "tool_calls", "function_call", "eos", "end_turn", "tool-calls"},
		model.MaxTokens:   {"length", "MAX_TOKENS", "max_tokens", "model_length"},
		model.Blocked:     {"content_filter", "content-filter", "SAFETY", "RECITATION", "sensitive"},
		model.Unavailable: {"error", "network_error", "time_limit", "cancelled", "abort", "insufficient_system_resource"},
		model.StreamCut:   {"weird", "null", "in progress"},
	}
	const half = `"tool_calls":[{"index":0,"id":"a","function":{"name":"pay","arguments":""}}]`
	for code, all := range words {
		for _, word := range all {
			for _, text := range []string{"", "hel"} {
				f := start(t, chattest.Manner{}, nil)
				counts := `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}`
				f.server.Play(chattest.Answer{Events: []string{delta(`"content":"` + text + `"`), delta(half), end(word), counts}})
				o := ask(t.Context(), f, request(user("go")))
				kept := code == "" || text != "" && (code == model.MaxTokens || code == model.StreamCut)
				if o.code() != code || (o.reply != nil) != kept || strings.Contains(o.told(), "a:pay") != (code == "") {
					t.Errorf("%s, text %q: %q %s", word, text, o.code(), o.told())
				}
				if problem := o.problem(); problem != nil && (!strings.Contains(problem.Message, word) || problem.Reason != word || problem.Usage == nil) {
					t.Errorf("%s: %+v", word, problem)
				}
			}
		}
	}
}

// TestLastWord: a last chunk does not make good what the one before said.
func TestLastWord(t *testing.T) {
	for _, c := range []struct {
		first, last string
		want        model.Code
	}{
		{"stop", "network_error", model.Unavailable},
		{"network_error", "stop", model.Unavailable},
		{"content_filter", "stop", model.Blocked},
		{"length", "stop", model.MaxTokens},
		{"null", "stop", ""},
		{"stop", "tool_calls", ""},
	} {
		f := start(t, chattest.Manner{}, nil)
		f.server.Play(chattest.Answer{Events: []string{delta(`"content":"a"`), end(c.first), end(c.last)}})
		if o := ask(t.Context(), f, request(user("go"))); o.code() != c.want {
			t.Errorf("%s, %s: %q %s", c.first, c.last, o.code(), o.told())
		}
	}
}

// TestHalfACall: arguments that are not whole are none, though the answer is done.
func TestHalfACall(t *testing.T) {
	f := start(t, chattest.Manner{}, nil)
	f.server.Play(chattest.Answer{Events: []string{delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"pay","arguments":"{\"x\""}}]`), end("tool_calls")}})
	if o := ask(t.Context(), f, request(user("go"))); o.code() != model.Malformed || !strings.Contains(o.told(), `"pay"`) {
		t.Errorf("%q %s", o.code(), o.told())
	}
}

// TestManyCalls: there is a bound.
func TestManyCalls(t *testing.T) {
	f := start(t, chattest.Manner{}, nil)
	call := `{"function":{"name":"pay","arguments":"{}"}}`
	f.server.Play(chattest.Answer{Events: []string{delta(`"tool_calls":[` + strings.Repeat(call+",", 1000) + call + `]`), end("stop")}})
	if o := ask(t.Context(), f, request(user("go"))); o.code() != model.Malformed || !strings.Contains(o.told(), "more than 1000 calls") {
		t.Errorf("%q %s", o.code(), o.told())
	}
}

// TestBodies reads answers whose form is not what their type says.
func TestBodies(t *testing.T) {
	const (
		stream = "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
		whole  = `{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]}`
	)
	for _, c := range []struct{ name, kind, body, want string }{
		{"a byte order mark", "text/event-stream", "\ufeff" + stream, "hello"},
		{"JSON as text", "text/plain", whole, "hello"},
		{"JSON as a stream, with a mark", "text/event-stream", "\ufeff" + whole + "\n", "hello"},
		{"one line of JSON", "application/x-ndjson", whole + "\n", "hello"},
		{"an error as text", "text/plain", `{"error":{"message":"overloaded","code":503}}`, "overloaded"},
		{"a page", "text/html", "<html>{}</html>", "model.base_url"},
		{"half of it", "text/plain", whole[:20], "model.base_url"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			_, _ = io.WriteString(w, c.body)
		}))
		f := start(t, chattest.Manner{}, func(cfg *config.Model) { cfg.BaseURL = server.URL })
		if o := ask(t.Context(), f, request(user("go"))); !strings.Contains(o.told(), c.want) {
			t.Errorf("%s: %s", c.name, o.told())
		}
		server.Close()
	}
}
