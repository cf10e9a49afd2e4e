package gemini_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/gemini"
	g "github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
	"github.com/adkmcp/adkmcp/internal/config"
)

// What the service says of its own tools.
const (
	hostedCode   = `{"executableCode":{"code":"print(secret_code)","language":"PYTHON","id":"c1"},"thoughtSignature":"c2ln"}`
	hostedResult = `{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"secret output","id":"c1"}}`
	hostedImage  = `{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgpwaXhlbHM="}}`
	hostedCall   = `{"toolCall":{"id":"t1","toolType":"GOOGLE_SEARCH_WEB","args":{"n":12345678901234567890,"queries":["secret query"]}},"thoughtSignature":"c2ln"}`
	hostedAnswer = `{"toolResponse":{"id":"t1","toolType":"GOOGLE_SEARCH_WEB","response":{"n":1.50,"r":"secret finding"}}}`
)

func TestHostedTools(t *testing.T) {
	all := []string{"google_search", "url_context", "code_execution"}
	look := tool("look", anything)
	unfit := tool("7", anything)
	for _, c := range []struct {
		name   string
		hosted []string
		tools  []*genai.FunctionDeclaration
		sent   string
	}{
		{"one", []string{"google_search"}, nil, `"tools":[{"googleSearch":{}}]}`},
		{"all", all, nil, `"tools":[{"googleSearch":{}},{"urlContext":{}},{"codeExecution":{}}]}`},
		{"beside functions", []string{"url_context"}, []*genai.FunctionDeclaration{look},
			`"toolConfig":{"includeServerSideToolInvocations":true},"tools":[{"functionDeclarations":[{"description":"look it","name":"look","parametersJsonSchema":{"type":"object"}}]},{"urlContext":{}}]}`},
		{"beside functions that are all left out", []string{"url_context"}, []*genai.FunctionDeclaration{unfit}, `"tools":[{"urlContext":{}}]}`},
		{"functions alone", nil, []*genai.FunctionDeclaration{look}, `"tools":[{"functionDeclarations":[{"description":"look it","name":"look","parametersJsonSchema":{"type":"object"}}]}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, g.Play(g.Say("found")))
			r := request(user("go"))
			r.Hosted, r.Tools = c.hosted, c.tools
			o := ask(t.Context(), f, r)
			noRefusals(t, f)
			if o.err != nil || text(o.reply.Content) != "found" {
				t.Fatalf("%+v", o)
			}
			body := string(f.service.Requests()[0].Body)
			if !strings.Contains(body, c.sent) || strings.Contains(body, "toolConfig") != strings.Contains(c.sent, "toolConfig") {
				t.Errorf("sent %s\nwant in it %s", body, c.sent)
			}
		})
	}
	t.Run("settings stay", func(t *testing.T) {
		own := &genai.GenerateContentConfig{ToolConfig: &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: "AUTO"}}}
		f := startWith(t, g.Play(g.Say("found")), nil, own)
		r := request(user("go"))
		r.Hosted, r.Tools = all, []*genai.FunctionDeclaration{look}
		if o := ask(t.Context(), f, r); o.err != nil {
			t.Fatal(o.err)
		}
		body := string(f.service.Requests()[0].Body)
		if !strings.Contains(body, `"functionCallingConfig":{"mode":"AUTO"}`) || !strings.Contains(body, `"includeServerSideToolInvocations":true`) {
			t.Errorf("sent %s", body)
		}
		if own.ToolConfig.IncludeServerSideToolInvocations != nil {
			t.Error("the agent file's settings were written to")
		}
	})
	t.Run("one that there is not", func(t *testing.T) {
		f := start(t, g.Play())
		r := request(user("go"))
		r.Hosted = []string{"teleport"}
		if o := ask(t.Context(), f, r); o.code() != model.InvalidRequest || !strings.Contains(o.err.Error(), "teleport") {
			t.Errorf("%v", o.err)
		}
	})
	t.Run("an answer in JSON", func(t *testing.T) {
		f := start(t, g.Play(g.Say(`{}`)))
		r := request(user("go"))
		r.Hosted, r.OutputSchema = all, json.RawMessage(anything)
		if o := ask(t.Context(), f, r); o.err != nil {
			t.Error(o.err)
		}
		noRefusals(t, f)
	})
}

// host adds a tool that the service runs.
func (ts *tools) host(name string) {
	*ts = append(*ts, &fakeTool{agent.Spec{Name: name, Hosted: name}, func(context.Context, *agent.Call) (*agent.Result, error) { return nil, nil }})
}

func TestHostedParts(t *testing.T) {
	for _, c := range []struct {
		name  string
		parts []string
		media int
	}{
		{"code", []string{g.Text("Let me see. "), hostedCode, hostedResult, hostedImage, g.Text("It is two.")}, 1},
		{"search", []string{hostedCall, hostedAnswer, g.Thought("hm"), g.Text("It is two.")}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := g.Stream(g.Chunk(c.parts[0]), g.Chunk(c.parts[1]), g.Final("STOP", c.parts[2:]...))
			f := start(t, g.Play(first, g.Say("bye")))
			var ts tools
			ts.host("code_execution")
			ts.add("look", anything, func(context.Context, *agent.Call) (*agent.Result, error) { return agent.Text("x"), nil })
			run := newTurns(t, f, ts)
			a := run.take(t.Context(), "go")
			if a.Problem != nil || !strings.HasSuffix(text(a.Content), "It is two.") || strings.Contains(text(a.Content)+run.text.String(), "secret") {
				t.Fatalf("%+v: %q, shown %q", a.Problem, text(a.Content), run.text.String())
			}
			media := 0
			for _, p := range a.Content.Parts {
				if p.InlineData != nil && string(p.InlineData.Data) == pixels {
					media++
				} else if p.Text == "" {
					t.Errorf("the caller gets %+v", p)
				}
			}
			if media != c.media {
				t.Errorf("%d images", media)
			}
			if a := run.take(t.Context(), "and now?"); a.Problem != nil || text(a.Content) != "bye" {
				t.Errorf("%+v", a.Problem)
			}
			noRefusals(t, f)
			body := string(f.service.Requests()[1].Body)
			for _, fragment := range []string{`"args":{"n":12345678901234567890,"queries":["secret query"]}`, `"response":{"n":1.50,"r":"secret finding"}`} {
				if c.name == "search" && !strings.Contains(body, fragment) {
					t.Errorf("sent %s\nwant in it %s", body, fragment)
				}
			}
			if !strings.Contains(body, `"thoughtSignature":"c2ln"`) {
				t.Errorf("the signature is not sent back: %s", body)
			}
		})
	}
	t.Run("beside a call", func(t *testing.T) {
		f := start(t, g.Play(g.Stream(g.Final("STOP", hostedCall, hostedAnswer, g.Call("look", `{}`, "sig2"))), g.Say("done")))
		var ts tools
		ts.host("google_search")
		ts.add("look", anything, func(context.Context, *agent.Call) (*agent.Result, error) { return agent.Text("x"), nil })
		if a := newTurns(t, f, ts).take(t.Context(), "go"); a.Problem != nil || text(a.Content) != "done" {
			t.Errorf("%+v", a.Problem)
		}
		noRefusals(t, f)
	})
	t.Run("nothing else", func(t *testing.T) {
		alone := g.Stream(g.Final("STOP", hostedCode, hostedResult))
		f := start(t, g.Play(alone, g.Say("It is two.")))
		if o := ask(t.Context(), retrying(f, 3), request(user("go"))); o.err != nil || text(o.reply.Content) != "It is two." {
			t.Errorf("%+v", o)
		}
		f = start(t, g.Play(slices.Repeat([]g.Reply{alone}, 5)...))
		if o := ask(t.Context(), retrying(f, 3), request(user("go"))); o.code() != model.Empty || len(f.service.Requests()) != 2 {
			t.Errorf("%v after %d requests", o.err, len(f.service.Requests()))
		}
	})
	t.Run("cut", func(t *testing.T) {
		f := start(t, g.Play(g.Stream(g.Final("MAX_TOKENS", hostedCode))))
		if o := ask(t.Context(), f, request(user("go"))); o.code() != model.MaxTokens || o.reply != nil {
			t.Errorf("%+v", o)
		}
	})
}

// TestHostedToolsOfOlderModels has functions beside a tool of the service, which models
// take since Gemini 3 only.
func TestHostedToolsOfOlderModels(t *testing.T) {
	f := startWith(t, g.Play(g.Say("found")), func(c *config.Model) { c.Name = "gemini-2.5-flash" }, nil)
	r := request(user("go"))
	r.Hosted, r.Tools = []string{"google_search"}, []*genai.FunctionDeclaration{tool("look", anything)}
	if o := ask(t.Context(), f, r); o.code() != model.InvalidRequest || !strings.Contains(o.err.Error(), "gemini-2.5-flash takes no google_search beside other tools") {
		t.Errorf("%v", o.err)
	}
	if r.Tools = nil; len(f.service.Requests()) != 0 || ask(t.Context(), f, r).err != nil {
		t.Error("asked in vain, or not at all")
	}
	noRefusals(t, f)
}

// TestHostedToolsOnVertex has functions beside a tool of the service: the flag that
// the Gemini API demands is one that Vertex AI refuses.
func TestHostedToolsOnVertex(t *testing.T) {
	f := start(t, g.Play(g.Say("found")))
	m, err := gemini.New(&config.Model{Name: "gemini-3-flash", BaseURL: f.service.URL}, nil, gemini.Deps{
		Lookup: environment(map[string]string{"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_API_KEY": key}), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	r := request(user("go"))
	r.Hosted, r.Tools = []string{"google_search"}, []*genai.FunctionDeclaration{tool("look", anything)}
	// What the Gemini API's own tools did there is unknown here.
	searched := said(&genai.Part{ToolCall: &genai.ToolCall{ID: "t1"}, ThoughtSignature: []byte("sig")}, &genai.Part{ToolResponse: &genai.ToolResponse{ID: "t1"}}, &genai.Part{Text: "two", PartMetadata: map[string]any{"a": 1}})
	r.Contents = []*genai.Content{user("one"), searched, user("go")}
	o := ask(t.Context(), m, r)
	noRefusals(t, f)
	if o.err != nil || shape(f.service.Requests()[0].Contents) != "u: one / m: two / u: go" {
		t.Errorf("%v", o.err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if all := f.service.Requests(); len(all) != 1 || strings.Contains(string(all[0].Body), "toolConfig") || !strings.Contains(string(all[0].Body), `{"googleSearch":{}}`) {
		t.Errorf("%d requests", len(all))
	}
}
