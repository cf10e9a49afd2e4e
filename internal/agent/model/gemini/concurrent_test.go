package gemini_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/gemini/geminitest"
)

// TestShared has many goroutines use one model, one configuration and the
// same tools and contents at the same time.
func TestShared(t *testing.T) {
	temperature := float32(0.5)
	generate := &genai.GenerateContentConfig{
		Temperature:   &temperature,
		HTTPOptions:   &genai.HTTPOptions{Headers: map[string][]string{"X-Shared": {"yes"}}},
		ToolConfig:    &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeAuto}},
		StopSequences: []string{"END"},
	}
	before, _ := json.Marshal(generate)
	f := startWith(t, func(r *geminitest.Request) geminitest.Reply {
		last := r.Contents[len(r.Contents)-1]
		if last.Parts[0].FunctionResponse != nil {
			return geminitest.Say("the secret is " + fmt.Sprint(last.Parts[0].FunctionResponse.Response["output"]))
		}
		return geminitest.Stream(
			geminitest.Chunk(geminitest.Text("looking up "+last.Parts[0].Text)),
			geminitest.Final("STOP", geminitest.Call("find", `{"for":"`+last.Parts[0].Text+`"}`, "sig "+last.Parts[0].Text)))
	}, nil, generate)
	declared := []*genai.FunctionDeclaration{tool("find", `{"type":"object","properties":{"for":{"type":"string"}}}`), tool("bad name", `{}`)}
	hello := user("hello")

	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			for round := range 5 {
				secret := fmt.Sprintf("secret-%d-%d", i, round)
				req := &model.Request{System: "be brief", Contents: []*genai.Content{hello, user(secret)}, Tools: declared}
				first := ask(t.Context(), f, req)
				if first.err != nil || first.partial != "looking up "+secret {
					t.Errorf("%+v", first)
					return
				}
				req.Contents = append(req.Contents, first.reply.Content, responses(first.reply, map[string]any{"output": secret}))
				second := ask(t.Context(), f, req)
				if second.err != nil || text(second.reply.Content) != "the secret is "+secret {
					t.Errorf("%+v", second)
				}
			}
		})
	}
	wg.Wait()
	noRefusals(t, f)
	if after, _ := json.Marshal(generate); string(after) != string(before) {
		t.Errorf("the configuration changed: %s", after)
	}
	if n := strings.Count(f.logged.String(), "tool left out"); n != 1 {
		t.Errorf("%d warnings", n)
	}
	for _, r := range f.service.Requests() {
		if r.Header.Get("X-Shared") != "yes" || !strings.Contains(string(r.Body), `"temperature":0.5`) {
			t.Fatalf("settings are missing: %v %s", r.Header, r.Body)
		}
	}
}

// conversation is a history of n turns with a tool call each.
func conversation(n int) []*genai.Content {
	var all []*genai.Content
	for i := range n {
		all = append(all, user("question"),
			&genai.Content{Role: "model", Parts: []*genai.Part{{Text: strings.Repeat("answer ", 20)}}},
			user(fmt.Sprintf("question %d", i)),
			&genai.Content{Role: "model", Parts: []*genai.Part{{Text: strings.Repeat("answer ", 20)}}})
	}
	return append(all, user("and now?"))
}

// BenchmarkCall compares a call through the provider with one through genai
// alone, both against the fake, which takes part in the figures.
func BenchmarkCall(b *testing.B) {
	script := func(*geminitest.Request) geminitest.Reply {
		return geminitest.Stream(geminitest.Chunk(geminitest.Text("hel")), geminitest.Chunk(geminitest.Text("lo")), geminitest.Final("STOP"))
	}
	var declared []*genai.FunctionDeclaration
	for i := range 50 {
		declared = append(declared, tool(fmt.Sprintf("tool_%d", i), `{"type":"object","properties":{"a":{"type":"string","description":"what to do"},"b":{"type":"integer"}},"required":["a"]}`))
	}
	cases := []struct {
		name     string
		contents []*genai.Content
		tools    []*genai.FunctionDeclaration
	}{
		{"small", conversation(0), nil},
		{"100messages", conversation(25), nil},
		{"50tools", conversation(0), declared},
		{"image4MiB", append(conversation(0), &genai.Content{Role: "user", Parts: []*genai.Part{{InlineData: &genai.Blob{MIMEType: "image/png", Data: make([]byte, 4<<20)}}}}), nil},
	}
	for _, c := range cases {
		b.Run(c.name+"/provider", func(b *testing.B) {
			f := start(b, script)
			req := &model.Request{System: "be brief", Contents: c.contents, Tools: c.tools}
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range f.Generate(b.Context(), req) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run(c.name+"/genai", func(b *testing.B) {
			f := start(b, script)
			client, err := genai.NewClient(b.Context(), &genai.ClientConfig{APIKey: key, HTTPOptions: genai.HTTPOptions{BaseURL: f.service.URL}})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				config := &genai.GenerateContentConfig{SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "be brief"}}}}
				if c.tools != nil {
					config.Tools = []*genai.Tool{{FunctionDeclarations: c.tools}}
				}
				for _, err := range client.Models.GenerateContentStream(b.Context(), "gemini-3-flash", c.contents, config) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
