package chat_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat/chattest"
	"github.com/adkmcp/adkmcp/internal/config"
)

// TestShared has many goroutines use one model and the same tools and contents at
// the same time.
func TestShared(t *testing.T) {
	f := start(t, manner(t, "llama.cpp"), nil)
	declared := []*genai.FunctionDeclaration{tool("find", `{"type":"object","properties":{"for":{"type":"string"}}}`), tool("bad name", `{}`)}
	contents := []*genai.Content{user("hello"), said(&genai.Part{Text: "hm", Thought: true}, called(strings.Repeat("odd ", 20), "find")), results(result(strings.Repeat("odd ", 20), "find", "x"))}
	before, err := json.Marshal(contents)
	if err != nil {
		t.Fatal(err)
	}
	const goroutines, rounds = 20, 5
	for range goroutines * rounds {
		f.server.Play(chattest.Answer{Thought: "well", Text: []string{"fi", "ne"}, Calls: []chattest.Call{{Name: "find", Args: `{"for":"x"}`}}})
	}
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range rounds {
				o := ask(t.Context(), f, &model.Request{System: "be brief", Contents: contents, Tools: declared})
				if o.told() != `(well)fine :find{"for":"x"}` || o.partial != "[we][ll]fine" {
					t.Errorf("%s, streamed %s", o.told(), o.partial)
				}
			}
		})
	}
	wg.Wait()
	noRefusals(t, f)
	if after, err := json.Marshal(contents); err != nil || string(after) != string(before) {
		t.Errorf("the conversation changed: %s", after)
	}
	if n := strings.Count(f.logged.String(), "tool left out"); n != 1 {
		t.Errorf("%d warnings", n)
	}
}

// BenchmarkStep is one answer of text through a local server, whose share is small.
func BenchmarkStep(b *testing.B) {
	const stream = `data: {"choices":[{"index":0,"delta":{"content":"hel"},"finish_reason":null}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}` + "\n\n" + "data: [DONE]\n\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	}))
	defer server.Close()
	m, err := chat.New(&config.Model{Name: "m", BaseURL: server.URL, Timeout: config.Duration(time.Minute)}, chat.Deps{Lookup: nothing})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	var declared []*genai.FunctionDeclaration
	for i := range 50 {
		declared = append(declared, tool(fmt.Sprintf("tool_%d", i), `{"type":"object","properties":{"a":{"type":"string","description":"what to do"},"b":{"type":"integer"}},"required":["a"]}`))
	}
	var history []*genai.Content
	for range 50 {
		history = append(history, user("question"), said(&genai.Part{Text: strings.Repeat("answer ", 20)}))
	}
	image := &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{InlineData: &genai.Blob{MIMEType: "image/png", Data: append([]byte(png), make([]byte, 4<<20)...)}}}}
	for name, req := range map[string]*model.Request{
		"small":       request(user("hi")),
		"100messages": request(append(history, user("hi"))...),
		"50tools":     {Contents: []*genai.Content{user("hi")}, Tools: declared},
		"image4MiB":   request(image),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range m.Generate(b.Context(), req) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
