package difference

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShow(t *testing.T) {
	const part = `{"role":"user","parts":[{"text":%q}]}`
	base := Request{
		System: "Be brief.\nBe kind.", Tools: `[{"name":"a","description":"x"},{"name":"b"}]`, Hosted: "search", Schema: `{"type":"object"}`,
		Contents: []string{fmt.Sprintf(part, "one"), fmt.Sprintf(part, "two")}, Answer: `{"action":"accept"}`,
	}
	for name, c := range map[string]struct {
		change      func(r *Request)
		parts, text string
	}{
		"nothing":       {func(*Request) {}, "", ""},
		"instruction":   {func(r *Request) { r.System = "Be brief.\nBe mean." }, "instruction", "instruction:\n- Be kind.\n+ Be mean.\n"},
		"a tool":        {func(r *Request) { r.Tools = `[{"name":"a","description":"y"},{"name":"b"}]` }, "tool a", "tool a:\n- x\n+ y\n"},
		"tools":         {func(r *Request) { r.Tools = "" }, "tool a, tool b", "tool a:\n- declared\n- x\ntool b:\n- declared\n"},
		"order":         {func(r *Request) { r.Tools = `[{"name":"b"},{"name":"a","description":"x"}]` }, "order of the tools", "order of the tools:\n- a\n+ a\n"},
		"hosted":        {func(r *Request) { r.Hosted = "" }, "hosted tools", "hosted tools:\n- search\n"},
		"schema":        {func(r *Request) { r.Schema = `{"type":"array"}` }, "output_schema", "output_schema:\n-  \"type\": \"object\"\n+  \"type\": \"array\"\n"},
		"first message": {func(r *Request) { r.Contents = []string{fmt.Sprintf(part, "1"), fmt.Sprintf(part, "2")} }, "message 1", "message 1:\n- one\n+ 1\n"},
		"null":          {func(r *Request) { r.Contents = []string{"null", r.Contents[1]} }, "message 1", "message 1:\n- role: user\n- one\n+ role: \n"},
		"a part more": {func(r *Request) {
			r.Contents = []string{`{"role":"user","parts":[{"text":"one"},{"text":"x","thought":true},null]}`, "{}"}
		}, "message 1",
			"message 1:\n+ {\n+  \"text\": \"x\",\n+  \"thought\": true\n+ }\n+ null\n"},
		"answer": {func(r *Request) { r.Answer = "" }, "answer to the suspension", "answer to the suspension:\n- {\n-  \"action\": \"accept\"\n- }\n"},
		"several": {func(r *Request) { r.System, r.Hosted = "", "" }, "instruction, hosted tools",
			"instruction:\n- Be brief.\n- Be kind.\nhosted tools:\n- search\n"},
	} {
		now := base
		c.change(&now)
		parts, text := Show(&base, &now)
		if parts != c.parts || text != c.text && name != "order" || name == "order" && !strings.HasPrefix(text, "order of the tools:\n") {
			t.Errorf("%s: %s\n%s", name, parts, text)
		}
	}
}

// TestShowIsShort: however much differs, what is shown can be read, and is valid text.
func TestShowIsShort(t *testing.T) {
	var tools []string
	for i := range 500 {
		tools = append(tools, fmt.Sprintf(`{"name":"tool%d","description":%q}`, i, strings.Repeat("é", 1000)))
	}
	long := Request{
		System: strings.Repeat("line\n", 5000), Tools: "[" + strings.Join(tools, ",") + "]", Contents: []string{strings.Repeat("é", 100_000)},
	}
	other := Request{System: strings.Repeat("other\n", 5000)}
	for _, of := range [][2]*Request{{&long, &other}, {&other, &long}, {&long, {}}, {{}, &long}} {
		parts, text := Show(of[0], of[1])
		if len(parts) > maxNames+10 || len(text) > maxBytes+10 || strings.Count(text, "\n") > maxLines || !utf8.ValidString(parts+text) || !strings.HasSuffix(text, "\n") {
			t.Errorf("%d and %d bytes, %d lines:\n%s", len(parts), len(text), strings.Count(text, "\n"), text)
		}
	}
}

func TestAlike(t *testing.T) {
	for want, of := range map[int][2]string{0: {"", "x"}, 3: {"abc", "abc"}, 2: {"axb", "ayyb"}, 1: {"aa", "a"}} {
		if got := Alike(of[0], of[1]); got != want {
			t.Errorf("%q: %d, want %d", of, got, want)
		}
	}
}
