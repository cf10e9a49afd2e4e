package rpc

import (
	"strings"
	"testing"
	"time"
)

const toolCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"canary","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`

func withArguments(arguments string) string {
	return strings.Replace(toolCall, `{},`, arguments+",", 1)
}

// TestA09Strict: what two readers could understand differently is no message,
// and finding that out takes no time.
func TestA09Strict(t *testing.T) {
	for name, body := range map[string]string{
		"deep":                 withArguments(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)),
		"deep enough":          withArguments(`{"a":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `}`),
		"open":                 strings.Repeat(`{"a":`, 10_000),
		"large number":         withArguments(`{"a":1e999}`),
		"no UTF-8":             withArguments(`{"a":"` + "\xff" + `"}`),
		"lone high surrogate":  withArguments(`{"a":"\ud800"}`),
		"lone low surrogate":   withArguments(`{"a":"\udc00x"}`),
		"high, then something": withArguments(`{"a":"\ud83d\u0041"}`),
		"NUL in a name":        withArguments(`{"a\u0000":1}`),
		"name twice":           withArguments(`{"a":1,"b":2,"a":3}`),
		"name twice, escaped":  withArguments(`{"a":1,"\u0061":3}`),
		"names by case":        withArguments(`{"request":1,"REQUEST":2}`),
		"names by long s":      withArguments(`{"request":1,"reque` + "\u017f" + `t":2}`),
		"method twice":         `{"method":"tools/list",` + toolCall[1:],
		"METHOD":               strings.Replace(toolCall, `"method"`, `"METHOD"`, 1),
		"NAME":                 strings.Replace(toolCall, `"name"`, `"NAME"`, 1),
		"_META":                strings.Replace(toolCall, `"_meta"`, `"_META"`, 1),
		"PARAMS":               strings.Replace(toolCall, `"params"`, `"PARAMS"`, 1),
		"Id":                   strings.Replace(toolCall, `"id"`, `"Id"`, 1),
		"two documents":        toolCall + toolCall,
		"a list":               "[" + toolCall + "]",
		"a text":               `"tools/call"`,
		"nothing":              "",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			m, bad := Parse([]byte(body))
			if bad == nil || bad.Code != CodeParse && bad.Code != CodeInvalidRequest || m == nil {
				t.Errorf("%v, %v", m, bad)
			}
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
	for name, body := range map[string]string{
		"pair":       withArguments(`{"a":"\ud83d\ude00 \\ud800 é"}`),
		"siblings":   withArguments(`[{"a":1},{"a":2},{"A":{"a":"a"}}]`),
		"numbers":    withArguments(`{"a":[-0,1E+2,3.5e-7,9007199254740993]}`),
		"text":       withArguments(`{"a":"a:b,{\"a\":1}"}`),
		"whitespace": " \n" + toolCall + "\t\n",
	} {
		t.Run("fine "+name, func(t *testing.T) {
			if m, bad := Parse([]byte(body)); bad != nil || m.Method != CallTool || m.Version() != Stateless {
				t.Errorf("%v, %v", m, bad)
			}
		})
	}
}

// FuzzParse: it never panics, always ends, and what it takes for a message is
// one of a request, a notification and a response.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{toolCall, `{"a":[1,{"b":"\ud83d\ude00"}],"c":"\\\""}`, `"\ud800"`, `[1e999]`, `{"a":1,"A":2}`, "-", `{"":{"":[]}}`,
		`{"jsonrpc":"2.0","id":"x","result":{}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, bad := Parse(data)
		if m == nil {
			t.Fatal("no message")
		}
		m.Modern()
		m.CancelledID()
		response := m.ID != nil && (m.Result != nil || m.Error != nil)
		if bad == nil && !m.IsRequest() && !m.IsNotification() && !response {
			t.Errorf("%q is nothing", data)
		}
		if bad == nil && m.ID != nil && Key(m.ID) == "" {
			t.Errorf("the id %q has no key", m.ID)
		}
	})
}
