package chat_test

import (
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/model/chat/chattest"
)

// TestSaidAgain: what a server says again is not done or shown again.
func TestSaidAgain(t *testing.T) {
	const (
		pay   = `{"index":0,"id":"a","type":"function","function":{"name":"pay","arguments":"{\"x\":1}"}}`
		whole = `{"id":"a","type":"function","function":{"name":"pay","arguments":"{ \"x\": 1 }"}}`
		paid  = ` a:pay{"x":1}`
		named = `{"index":0,"function":{"name":"pay","arguments":"{\"x\":1}"}}`
	)
	calls := func(list ...string) string { return delta(`"tool_calls":[` + strings.Join(list, ",") + `]`) }
	message := func(members string) string {
		return `{"object":"chat.completion","choices":[{"index":0,"delta":null,"message":{` + members + `},"finish_reason":"stop"}]}`
	}
	recalled := func(list ...string) string { return message(`"tool_calls":[` + strings.Join(list, ",") + `]`) }
	other := func(s, from, to string) string { return strings.Replace(s, from, to, 1) }
	cases := []struct {
		name   string
		events []string
		want   string
	}{
		{"a call at another index", []string{calls(pay), calls(other(pay, `"index":0`, `"index":1`))}, paid},
		{"a call at another index, in pieces", []string{calls(pay), calls(`{"index":1,"id":"a","function":{"name":"pay","arguments":""}}`), calls(`{"index":1,"function":{"arguments":"{\"x\":1}"}}`)}, paid},
		{"a call at another index, in the same event", []string{calls(pay, other(pay, `"index":0`, `"index":1`))}, paid},
		{"a call at the same index", []string{calls(pay), calls(pay)}, paid},
		{"a call of pieces", []string{calls(`{"index":0,"id":"a","function":{"name":"pay","arguments":""}}`), calls(`{"index":0,"function":{"arguments":"{\"x\""}}`), calls(`{"index":0,"function":{"arguments":":1}"}}`), calls(pay)}, paid},
		{"a call without an index", []string{calls(pay), calls(whole)}, paid},
		{"a call without its id", []string{calls(pay), calls(named)}, paid},
		{"a call without its id and name", []string{calls(pay), calls(`{"index":0,"function":{"arguments":"{\"x\":1}"}}`)}, paid},
		{"a call whose id comes late", []string{calls(named), calls(pay)}, ` :pay{"x":1}`},
		{"a call without arguments", []string{calls(`{"index":0,"id":"a","function":{"name":"pay","arguments":""}}`), calls(`{"index":1,"id":"a","function":{"name":"pay","arguments":"{}"}}`)}, ` a:pay{}`},
		{"a call with its arguments encoded twice", []string{calls(pay), calls(other(pay, `"{\"x\":1}"`, `"\"{\\\"x\\\":1}\""`))}, paid},
		{"two calls", []string{calls(pay), calls(other(other(pay, "0", "1"), `"a"`, `"b"`)), calls(pay, other(other(pay, "0", "1"), `"a"`, `"b"`))}, paid + ` b:pay{"x":1}`},
		{"two calls of one id", []string{calls(pay), calls(other(pay, `:1}`, `:2}`)), calls(pay), calls(other(pay, `:1}`, `:2}`))}, paid + ` :pay{"x":2}`},
		{"two calls without ids stay two", []string{calls(other(whole, `"id":"a",`, ``)), calls(other(whole, `"id":"a",`, ``))}, ` :pay{"x":1} :pay{"x":1}`},
		{"two calls without ids, numbers and arguments stay two", []string{calls(`{"function":{"name":"pay"}}`), calls(`{"function":{"name":"pay"}}`)}, ` :pay{} :pay{}`},
		{"two calls without ids, of which one has no arguments", []string{calls(`{"function":{"name":"pay","arguments":"{}"}}`), calls(`{"function":{"name":"pay","arguments":"{\"x\":1}"}}`)}, ` :pay{} :pay{"x":1}`},

		{"a message", []string{delta(`"content":"hel"`), delta(`"content":"lo"`), message(`"content":"hello"`)}, "hello"},
		{"a message with more", []string{delta(`"content":"hel"`), message(`"content":"hello"`)}, "hello"},
		{"a message without the blanks", []string{delta(`"content":"\n hello"`), message(`"content":"hello"`)}, "\n hello"},
		{"a message alone", []string{delta(`"role":"assistant","content":""`), message(`"content":"hello"`)}, "hello"},
		{"messages in place of pieces", []string{`{"choices":[{"message":{"content":"hel"}}]}`, `{"choices":[{"message":{"content":"lo"},"finish_reason":"stop"}]}`}, "hello"},
		{"messages that grow", []string{`{"choices":[{"message":{"content":"hel"}}]}`, `{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]}`}, "hello"},
		{"a message beside the piece", []string{`{"choices":[{"delta":{"content":"hel"},"message":{"content":"hel"}}]}`, `{"choices":[{"delta":{"content":"lo"},"message":{"content":"hello"}}]}`}, "hello"},
		{"thoughts in a message", []string{delta(`"reasoning_content":"h"`), delta(`"reasoning_content":"m"`), delta(`"content":"a"`), message(`"content":"a","reasoning_content":"hm"`)}, "(hm)a"},
		{"thoughts between texts", []string{delta(`"content":"a"`), delta(`"reasoning":"hm"`), delta(`"content":"b"`), message(`"content":"abc","reasoning":"hm"`)}, "a(hm)bc"},
		{"a call in a message", []string{calls(pay), recalled(whole)}, paid},
		{"a call in a message, of another id", []string{calls(pay), recalled(other(whole, `"a"`, `"z"`))}, paid},
		{"a call in a message, of no id", []string{calls(pay), recalled(other(whole, `"id":"a",`, ``))}, paid},
		{"a call of no id in a message", []string{calls(named), recalled(named)}, ` :pay{"x":1}`},
		{"two calls of no ids in a message", []string{calls(other(named, `"index":0,`, ``), other(named, `"index":0,`, ``)), recalled(named, named)}, ` :pay{"x":1} :pay{"x":1}`},
		{"a call that only the message has", []string{calls(pay), recalled(whole, other(whole, `"a"`, `"b"`))}, paid + ` b:pay{"x":1}`},
		{"a call that the message completes", []string{calls(`{"index":0,"id":"a","function":{"name":"pay","arguments":"{\"x\""}}`), recalled(whole)}, paid},
		{"a call whose arguments the message has not", []string{calls(pay), recalled(other(whole, `{ \"x\": 1 }`, `{}`))}, paid},
		{"a message of calls beside text", []string{delta(`"content":"I pay."`), recalled(whole)}, "I pay." + paid},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, chattest.Manner{}, nil)
			f.server.Play(chattest.Answer{Events: append(c.events, end("stop"))})
			o := ask(t.Context(), f, request(user("go")))
			if got := o.told(); o.err != nil || got != c.want {
				t.Errorf("%q, want %q; %v", got, c.want, o.err)
			}
			text, _, _ := strings.Cut(strings.NewReplacer("(", "[", ")", "]").Replace(c.want), " a:")
			if text, _, _ = strings.Cut(text, " :"); strings.ReplaceAll(o.partial, "][", "") != text {
				t.Errorf("streamed %q", o.partial)
			}
		})
	}
}
