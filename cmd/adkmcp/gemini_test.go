package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	g "github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
)

// The cases of the Gemini API's replies as a host sees them, with the whole
// program between it and the strict fake. The numbers are those of the project's
// list; internal/agent/model/gemini has what needs a closer look.

// geminiService starts a fake that plays replies, and writes an agent that uses it.
func geminiService(t *testing.T, tools string, replies ...g.Reply) (service *g.Server, file string) {
	t.Helper()
	service, err := g.Start(t.Context(), g.Play(replies...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, r := range service.Refusals() {
			t.Errorf("the service refused: %s", r)
		}
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	return service, agentFile(t, "name: asker\ninstruction: Ask.\nmodel: {name: gemini-3-flash, base_url: "+service.URL+"}\n"+tools)
}

// key is the key of the tests, which nothing may show.
const key = "canary0key-of-the-environment"

func TestGeminiAnswers(t *testing.T) {
	malformed := g.Stream(g.Chunk(g.Text("broken tail")), g.Final("MALFORMED_FUNCTION_CALL"))
	for _, tt := range []struct {
		name     string
		replies  []g.Reply
		requests int
		isError  bool
		is       string   // the whole text of the result
		says     []string // parts of it
	}{
		{"04 malformed, then an answer", []g.Reply{malformed, g.Say("good")}, 2, false, "good", nil},
		{"05 nothing, twice", []g.Reply{g.Stream(g.Final("STOP")), g.Stream(g.Final("STOP"))}, 2, true, "", []string{"empty", "2 attempts"}},
		{"06 blocked prompt", []g.Reply{g.Stream(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`)}, 1, true, "", []string{"PROHIBITED_CONTENT"}},
		{"07 thoughts and then no tokens left", []g.Reply{g.Stream(g.Final("MAX_TOKENS", g.Thought("secret plan")))}, 1, true, "", []string{"max_output_tokens", "thinking_budget"}},
		{"08 cut after some text", []g.Reply{g.Stream(g.Chunk(g.Text("half an ")), g.Final("MAX_TOKENS", g.Text("answer")))}, 1, true, "", []string{"half an answer\n", "The answer above was cut"}},
		{"09 SAFETY", []g.Reply{g.Stream(g.Final("SAFETY", g.Text("half")))}, 1, true, "", []string{"SAFETY"}},
		{"09 RECITATION", []g.Reply{g.Stream(g.Final("RECITATION"))}, 1, true, "", []string{"RECITATION"}},
		{"12 400", []g.Reply{g.Fail(400, "INVALID_ARGUMENT", "temperature")}, 1, true, "", []string{"400", "generate_content_config", "temperature"}},
		{"12 401", []g.Reply{g.Fail(401, "UNAUTHENTICATED", key)}, 1, true, "", []string{"401", "GEMINI_API_KEY", "[redacted]"}},
		{"12 403", []g.Reply{g.Fail(403, "PERMISSION_DENIED", key)}, 1, true, "", []string{"403", "GEMINI_API_KEY", "[redacted]"}},
		{"12 404", []g.Reply{g.Fail(404, "NOT_FOUND", "no such model")}, 1, true, "", []string{"404", `"gemini-3-flash"`, "model.name"}},
		{"14 an empty body, then an answer", []g.Reply{{Status: 200}, g.Say("good")}, 2, false, "good", nil},
		{"15 noise", []g.Reply{{Status: 200, Chunks: []string{g.Chunk(g.Text("go")), g.Final("STOP", g.Text("od"))}, Noise: true}}, 1, false, "good", nil},
		{"16 thoughts, then an answer", []g.Reply{g.Stream(g.Final("STOP", g.Thought("secret plan"))), g.Stream(g.Final("STOP", g.Thought("secret plan"), g.Text("good")))}, 2, false, "good", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			service, file := geminiService(t, "", slices.Concat(tt.replies, []g.Reply{g.Say("the next turn")})...)
			h := startHost(t, command(t, []string{"GEMINI_API_KEY=" + key}, "adkmcp", "serve", "--log-level", "debug", file))
			h.initialize()
			text, isError, _ := h.ask(3, "asker", "go")
			if isError != tt.isError || text == "" || tt.is != "" && text != tt.is {
				t.Errorf("%v %q", isError, text)
			}
			for _, part := range tt.says {
				if !strings.Contains(text, part) {
					t.Errorf("%q does not say %q", text, part)
				}
			}
			if n := len(service.Requests()); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
			if text, isError, _ := h.ask(4, "asker", "again"); isError || text != "the next turn" {
				t.Errorf("the next turn: %v %q", isError, text)
			}
			h.end()
			for _, hidden := range []string{"secret plan", "broken tail", key} {
				if strings.Contains(h.said.String()+h.stderr.String(), hidden) {
					t.Errorf("%q is shown: %s", hidden, h.said.String())
				}
			}
		})
	}
}

// 10: the wait is said as progress; that it is long enough is measured beside
// the provider, on a clock of its own.
func TestGemini10RateLimit(t *testing.T) {
	info := `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"0.2s"}`
	_, file := geminiService(t, "limits: {timeout: 5s}\n",
		g.Fail(429, "RESOURCE_EXHAUSTED", "quota", info), g.Say("good"),
		g.Fail(429, "RESOURCE_EXHAUSTED", "quota", strings.Replace(info, "0.2s", "60s", 1)))
	h := startHost(t, command(t, []string{"GEMINI_API_KEY=" + key}, "adkmcp", "serve", file))
	h.initialize()
	text, isError, progress := h.ask(3, "asker", "go")
	if said := strings.Join(progress, " · "); isError || text != "good" || !strings.Contains(said, "rate limited; trying again in ") {
		t.Errorf("%v %q, progress %q", isError, text, said)
	}
	if text, isError, _ := h.ask(4, "asker", "again"); !isError || !strings.Contains(text, "no time left to wait") {
		t.Errorf("beyond the deadline: %v %q", isError, text)
	}
	h.end()
}

// 13: progress and run say that the answer starts again, and it is not doubled.
func TestGemini13CutStream(t *testing.T) {
	cut := g.Stream(g.Chunk(g.Text("half an ")))
	cut.Cut = true
	_, file := geminiService(t, "", cut, g.Say("whole answer"), cut, g.Say("whole answer"))
	h := startHost(t, command(t, []string{"GEMINI_API_KEY=" + key}, "adkmcp", "serve", file))
	h.initialize()
	text, isError, progress := h.ask(3, "asker", "go")
	if said := strings.Join(progress, " · "); isError || text != "whole answer" || !strings.Contains(said, "the answer starts again") {
		t.Errorf("%v %q, progress %q", isError, text, said)
	}
	h.end()
	got := runCommand(t, command(t, []string{"GEMINI_API_KEY=" + key}, "adkmcp", "run", file, "go"))
	if got.code != exitOK || got.stdout != "whole answer\n" || !strings.Contains(got.stderr, "the answer starts again") {
		t.Errorf("%+v", got)
	}
}

// 01, 02, 17 and 19 with tools of an agent file.
func TestGeminiTools(t *testing.T) {
	const tools = `tools:
  - name: count
    description: Counts.
    parameters: {n: {type: integer, description: A number}, word: {type: string}}
    shell: [echo, "counted {n} {word}"]
  - {name: fail, description: Fails., shell: {script: echo broken >&2; exit 3}}
  - name: picture
    description: Draws.
    shell: {script: "printf '\\211PNG\\r\\n\\032\\npixels'", output: image/png}
  - name: odd
    description: Cannot be declared.
    input_schema: {type: object, properties: {n: {allOf: [{type: string}, {type: integer}]}}, required: [n]}
    shell: [echo, "{n}"]
`
	service, file := geminiService(t, tools,
		g.Stream(g.Chunk(g.Text("Let me ")), g.Chunk(g.Text("look.")), g.Chunk(g.Call("count", `{"n":12345678901234567890,"word":"x"}`, "a \xff signature")),
			g.Chunk(g.Call("fail", `{}`, "")), g.Chunk(g.Call("picture", `{}`, "")), g.Final("STOP", g.Call("nothing", `{}`, ""))),
		g.Stream(g.Final("STOP", g.Call("count", `{"n":"three","extra":1}`, "another signature"))),
		g.Say("done"))
	h := startHost(t, command(t, []string{"GEMINI_API_KEY=" + key}, "adkmcp", "serve", file))
	h.initialize()
	text, isError, progress := h.ask(3, "asker", "go")
	if said := strings.Join(progress, " · "); isError || text != "done" || !strings.Contains(said, "Let me look.") || !strings.Contains(said, "fail failed") {
		t.Errorf("%v %q, progress %q", isError, text, said)
	}
	h.end()
	requests := service.Requests()
	if len(requests) != 3 {
		t.Fatalf("%d requests", len(requests))
	}
	parts := requests[1].Contents[2].Parts
	var answers []string
	for _, p := range parts {
		if r := p.FunctionResponse; r != nil {
			answers = append(answers, fmt.Sprint(r.Name, r.Response))
		}
	}
	for i, want := range []string{"counted 12345678901234567890 x", "exit code 3", "image/png", `there is no tool "nothing"; the tools are: count, fail, odd, picture`} {
		if i >= len(answers) || !strings.Contains(answers[i], want) {
			t.Errorf("02 answer %d is not %q: %q", i, want, answers)
		}
	}
	if picture := parts[2].FunctionResponse; picture == nil || len(picture.Parts) != 1 || string(picture.Parts[0].InlineData.Data) != "\x89PNG\r\n\x1a\npixels" {
		t.Errorf("02 the picture: %+v", parts)
	}
	wrong := fmt.Sprint(requests[2].Contents[4].Parts[0].FunctionResponse.Response["error"])
	for _, word := range []string{"n", "integer", "extra", "word"} {
		if !strings.Contains(wrong, word) {
			t.Errorf("17 %q does not say %q", wrong, word)
		}
	}
	if strings.Contains(wrong, "counted") {
		t.Error("17 the tool was run")
	}
	if n := len(requests[0].Tools); n != 3 || !strings.Contains(h.stderr.String(), "tool=odd") {
		t.Errorf("19 %d declarations, log %s", n, h.stderr.String())
	}
}
