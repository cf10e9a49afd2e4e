package replay_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// long is a request with several of everything, after a reply.
func long(question string) *model.Request {
	req := ask(user("the first\nof two lines"), text("model", "ok"), user(question))
	req.System, req.Tools = "Be brief.\nBe kind.\nBe right.", tools()
	req.Hosted, req.OutputSchema = []string{"google_search"}, json.RawMessage(`{"type":"object","required":["a"]}`)
	return req
}

func TestDifferences(t *testing.T) {
	file, _ := record(t, open, always(one(says("x"))...), long("capital of France"), ask(user("weather")), long("the capital of Peru"))
	p := load(t, file, open)
	first, second, weather := exchangeOf(t, file, "of France"), exchangeOf(t, file, "of Peru"), exchangeOf(t, file, "weather")
	cases := map[string]struct {
		change func(*model.Request)
		number int
		want   string
	}{
		"instruction": {func(r *model.Request) { r.System = "Be brief.\nBe mean.\nBe right.\nBe quick." }, first,
			"differs in instruction (- recorded, + now):\ninstruction:\n- Be kind.\n+ Be mean.\n+ Be quick.\n"},
		"no instruction": {func(r *model.Request) { r.System = "" }, first, "instruction:\n- Be brief.\n- Be kind.\n- Be right.\nIf"},
		"description":    {func(r *model.Request) { r.Tools[0].Description = "loses it" }, first, "differs in tool find (- recorded, + now):\ntool find:\n- finds <it> & more\n+ loses it\n"},
		"parameters": {func(r *model.Request) {
			r.Tools[0].ParametersJsonSchema = json.RawMessage(strings.Replace(string(r.Tools[0].ParametersJsonSchema.(json.RawMessage)), "number", "integer", 1))
		}, first, "tool find:\n-    \"type\": \"number\"\n+    \"type\": \"integer\"\n"},
		"a tool more": {func(r *model.Request) { r.Tools = append(r.Tools, &genai.FunctionDeclaration{Name: "new"}) }, first, "tool new:\n+ declared\nIf"},
		"a tool less": {func(r *model.Request) { r.Tools = r.Tools[:1] }, first, "tool bare:\n- declared\nIf"},
		"order":       {func(r *model.Request) { slices.Reverse(r.Tools) }, first, "order of the tools:\n"},
		"user text":   {func(r *model.Request) { r.Contents[2] = user("the capital of Chile") }, second, "differs in message 3 (- recorded, + now):\nmessage 3:\n- the capital of Peru\n+ the capital of Chile\n"},
		"first text":  {func(r *model.Request) { r.Contents[0] = user("the first\nof many lines") }, first, "differs in message 1 (- recorded, + now):\nmessage 1:\n- of two lines\n+ of many lines\n"},
		"role":        {func(r *model.Request) { r.Contents[2].Role = "model" }, first, "- role: user\n+ role: model\n"},
		"more":        {func(r *model.Request) { r.Contents = append(r.Contents, text("model", "and?")) }, first, "message 4:\n+ role: model\n+ and?\n"},
		"less":        {func(r *model.Request) { r.Contents = r.Contents[:2] }, first, "message 3:\n- role: user\n- capital of France\n"},
		"a call": {func(r *model.Request) {
			r.Contents[2].Parts = append(r.Contents[2].Parts, &genai.Part{FunctionCall: &genai.FunctionCall{Name: "find"}})
		}, first, "+   \"name\": \"find\"\n"},
		"hosted": {func(r *model.Request) { r.Hosted = nil }, first, "hosted tools:\n- google_search\n"},
		"schema": {func(r *model.Request) { r.OutputSchema = json.RawMessage(`{"required":["b"],"type":"object"}`) }, first, "output_schema:\n-   \"a\"\n+   \"b\"\n"},
		"answer": {func(r *model.Request) { r.Answer = &model.Answer{Action: model.Cancel} }, first, "answer to the suspension:\n"},
		"several": {func(r *model.Request) {
			r.System, r.OutputSchema, r.Contents[1] = "Be brief.", nil, text("model", "no")
		}, first,
			"differs in instruction, output_schema, message 2 (- recorded"},
		"other words": {func(r *model.Request) { *r = *ask(user("weather?")) }, weather, "- weather\n+ weather?\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			req := long("capital of France")
			c.change(req)
			h := hear(t.Context(), p.Model("a"), req)
			var e *model.Error
			if !errors.As(h.err, &e) || e.Code != model.Misconfigured || len(h.Events) != 1 {
				t.Fatalf("got %v", h.Events)
			}
			for _, want := range []string{"no recorded exchange of agent \"a\" matches this request", fmt.Sprintf("exchange %d of recording.json", c.number), c.want, "record again: with --record FILE"} {
				if !strings.Contains(e.Message, want) {
					t.Errorf("the message lacks %q:\n%s", want, e.Message)
				}
			}
		})
	}
	for _, question := range []string{"capital of France", "the capital of Peru"} { // these still play
		if h := hear(t.Context(), p.Model("a"), long(question)); h.err != nil {
			t.Error(h.err)
		}
	}
}

// exchangeOf gives the number of the exchange in a file that has a text.
func exchangeOf(t *testing.T, file, words string) int {
	t.Helper()
	var f struct {
		Exchanges []struct {
			Number  int
			Request json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(content(t, file)), &f); err != nil {
		t.Fatal(err)
	}
	for i, x := range f.Exchanges {
		if strings.Contains(string(x.Request), words) && x.Number == i+1 {
			return x.Number
		}
	}
	t.Fatalf("no exchange has %q", words)
	return 0
}

func TestDifferencesAreShort(t *testing.T) {
	numbered := func(word string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintln(&b, word, i)
		}
		return b.String()
	}
	cases := map[string][2]string{
		"many lines":        {numbered("old", 5000), numbered("new", 5000)},
		"many lines, mixed": {numbered("same", 400) + "old", "new\n" + numbered("same", 400)},
		"a long line":       {strings.Repeat("ö", 5000) + "old" + strings.Repeat("ä", 5000), strings.Repeat("ö", 5000) + "new" + strings.Repeat("ä", 5000)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			file, _ := record(t, open, always(one(says("x"))...), ask(user(c[0])))
			h := hear(t.Context(), load(t, file, open).Model("a"), ask(user(c[1])))
			m := h.err.Error()
			if strings.Count(m, "\n") > 22 || len(m) > 1900 || !strings.Contains(m, "old") || !strings.Contains(m, "new") || strings.Contains(m, "\uFFFD") {
				t.Errorf("%d bytes:\n%s", len(m), m)
			}
		})
	}
}

func TestUnknownAgent(t *testing.T) {
	file, _ := record(t, open, always(one(says("x"))...), ask())
	h := hear(t.Context(), load(t, file, open).Model("b"), ask())
	want := `error misconfigured "no recorded exchange matches this request: recording.json has none of agent \"b\", only of: a; record again: with --record FILE, or adkmcp test --live" "" 0`
	if d := cmp.Diff([]string{want}, h.Events); d != "" {
		t.Error(d)
	}
}
