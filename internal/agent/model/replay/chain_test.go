package replay_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// goesOn records a request, then one that goes on from its reply, and reports whether
// the file says so; both have to play.
func goesOn(t *testing.T, first *model.Request, r *model.Reply, second *model.Request) bool {
	t.Helper()
	file, _ := record(t, open, inTurn(one(r), one(says("end"))), first, second)
	m := load(t, file, open).Model("a")
	for i, req := range []*model.Request{first, second} {
		if h := hear(t.Context(), m, req); h.err != nil {
			t.Errorf("request %d does not play: %v", i+1, h.err)
		}
	}
	return strings.Contains(content(t, file), `"after": 1`)
}

func TestWhatGoesOn(t *testing.T) {
	call := func(ids ...string) *genai.Content {
		c := &genai.Content{Role: "model"}
		for _, id := range ids {
			c.Parts = append(c.Parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: "find"}})
		}
		return c
	}
	image := &genai.Content{Role: "model", Parts: []*genai.Part{{InlineData: &genai.Blob{MIMEType: "image/png", Data: make([]byte, 5000)}}}}
	thought := &genai.Content{Role: "model", Parts: []*genai.Part{{Text: "hm", Thought: true}}}
	cases := map[string]struct {
		before      []*genai.Content // of both requests
		reply, kept *genai.Content
		goesOn      bool
	}{
		"text":                    {nil, text("model", "x"), text("model", "x"), true},
		"changed text":            {nil, text("model", "x"), text("model", "X"), false},
		"calls without ids":       {nil, call("", ""), call("adk-1", "adk-2"), true},
		"a service's ids":         {nil, call("s1", "s2"), call("s1", "s2"), true},
		"the same id twice":       {nil, call("s1", "s1"), call("s1", "adk-7"), true},
		"ids as ours":             {[]*genai.Content{call("call-7")}, call(""), call("adk-3"), true},
		"ids as ours, too large":  {[]*genai.Content{call("call-99999999999999999999", "call--1")}, call(""), call("adk-3"), true},
		"ours, then a service's":  {[]*genai.Content{call("adk-1", "call-1")}, call("call-1"), call("call-1"), true},
		"large data":              {nil, image, image, true},
		"after an older call":     {[]*genai.Content{call("adk-9")}, call(""), call("adk-3"), true},
		"thoughts, which are not": {nil, thought, nil, false},
		"nothing":                 {nil, &genai.Content{Role: "model"}, nil, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			contents := slices.Concat(c.before, []*genai.Content{user("x")})
			next := contents
			if c.kept != nil {
				next = slices.Concat(contents, []*genai.Content{c.kept, user("y")})
			}
			if got := goesOn(t, ask(contents...), &model.Reply{Content: c.reply}, ask(next...)); got != c.goesOn {
				t.Errorf("goes on: %t", got)
			}
		})
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	with := func(req *model.Request, system string) *model.Request {
		req.System, req.Tools, req.Hosted, req.OutputSchema = system, tools(), []string{"h"}, json.RawMessage(`{}`)
		return req
	}
	next := func() *model.Request { return ask(user("x"), text("model", "r"), user("y")) }
	// A conversation under two instructions, and one that goes on without either.
	file, _ := record(t, open, always(one(says("r"))...), with(ask(user("x")), "first"), with(ask(user("x")), "second"), with(next(), "second"), next())
	got := content(t, file)
	for words, want := range map[string]int{`"second"`: 1, `"first"`: 1, `"after": 3`: 1, `"after": 1`: 1, `"system": []`: 1, `"tools": []`: 1, `"hosted": []`: 1, `"output_schema": null`: 1} {
		if n := strings.Count(got, words); n != want {
			t.Errorf("%s stands there %d times, not %d:\n%s", words, n, want, got)
		}
	}
	m := load(t, file, open).Model("a")
	for i, req := range []*model.Request{with(ask(user("x")), "first"), with(ask(user("x")), "second"), with(next(), "second"), next()} {
		if h := hear(t.Context(), m, req); h.err != nil {
			t.Errorf("request %d: %v", i+1, h.err)
		}
	}
	if h := hear(t.Context(), m, with(next(), "first")); h.err == nil {
		t.Error("a request that was not recorded plays")
	}
}

func TestLargeDataIsItsHash(t *testing.T) {
	image := func(end byte) *model.Request {
		return ask(&genai.Content{Role: "user", Parts: []*genai.Part{{InlineData: &genai.Blob{MIMEType: "image/png", Data: append(make([]byte, 1<<16), end)}}}})
	}
	file, _ := record(t, open, always(one(says("r"))...), image(1))
	if got := content(t, file); len(got) > 1000 || !strings.Contains(got, `"image/png; sha256=`) || !strings.Contains(got, `; size=65537"`) {
		t.Errorf("the file has %d bytes", len(got))
	}
	m := load(t, file, open).Model("a")
	if h := hear(t.Context(), m, image(1)); h.err != nil {
		t.Error(h.err)
	}
	if h := hear(t.Context(), m, image(2)); h.err == nil || !strings.Contains(h.err.Error(), "sha256=") {
		t.Errorf("another image: %v", h.err)
	}
}

func TestOpaqueKeepsItsBytes(t *testing.T) {
	const opaque = `{"z":[1.50,"\u003c/"],"a":{"b":null}}`
	r := says("x")
	r.Opaque, r.Suspend = json.RawMessage(opaque), &model.Suspension{CallID: "adk-1", Payload: json.RawMessage(opaque), Opaque: json.RawMessage(opaque)}
	req := ask(calls(&genai.FunctionCall{ID: "adk-1", Name: "f"}).Content)
	file, _ := record(t, open, always(one(r)...), req)
	got := hear(t.Context(), load(t, file, open).Model("a"), req).last
	if string(got.Opaque) != opaque || string(got.Suspend.Payload) != opaque || string(got.Suspend.Opaque) != opaque || got.Suspend.CallID != "adk-1" {
		t.Errorf("%s\n%+v", got.Opaque, got.Suspend)
	}
}
