// Package overhead compares one step of each model provider with the same request
// made by the service's official SDK, both against the same server on loopback that
// streams 40 pieces of text. It is a module of its own, since adkmcp does not link
// these SDKs. See ../README.md.
package overhead

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	anthropicsdk "github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	openaisdk "github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/anthropic"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat"
	"github.com/adkmcp/adkmcp/internal/agent/model/gemini"
	"github.com/adkmcp/adkmcp/internal/agent/model/openai"
	"github.com/adkmcp/adkmcp/internal/config"
)

const (
	key    = "key-of-the-benchmark"
	pieces = 40
	want   = pieces * len("piece ")
)

func none(string) (string, bool) { return "", false }

// serve answers every request with a stream.
func serve(b *testing.B, stream string) string {
	b.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	}))
	b.Cleanup(s.Close)
	return s.URL
}

// ours asks one of our providers.
func ours(b *testing.B, m model.Model, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	req := &model.Request{System: "Be brief.", Contents: []*genai.Content{{Role: "user", Parts: []*genai.Part{{Text: "Say something."}}}}}
	b.ReportAllocs()
	for b.Loop() {
		text := ""
		for reply, err := range m.Generate(b.Context(), req) {
			if err != nil {
				b.Fatal(err)
			}
			if !reply.Partial {
				text = reply.Content.Parts[0].Text
			}
		}
		if len(text) != want {
			b.Fatalf("%d characters", len(text))
		}
	}
}

// theirs calls an SDK; ask gives the text.
func theirs(b *testing.B, ask func(context.Context) (string, error)) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		if text, err := ask(b.Context()); err != nil || len(text) != want {
			b.Fatal(len(text), err)
		}
	}
}

func BenchmarkGemini(b *testing.B) {
	url := serve(b, strings.Repeat(`data: {"candidates":[{"content":{"role":"model","parts":[{"text":"piece "}]}}]}`+"\n\n", pieces)+
		`data: {"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`+"\n\n")
	b.Run("adkmcp", func(b *testing.B) {
		m, err := gemini.New(&config.Model{Name: "gemini-x", BaseURL: url, APIKey: config.NewSecret(key)}, nil, gemini.Deps{Lookup: none, Log: slog.New(slog.DiscardHandler)})
		ours(b, m, err)
	})
	b.Run("sdk", func(b *testing.B) {
		client, err := genai.NewClient(b.Context(), &genai.ClientConfig{APIKey: key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: url}})
		if err != nil {
			b.Fatal(err)
		}
		theirs(b, func(ctx context.Context) (string, error) {
			var text strings.Builder
			for chunk, err := range client.Models.GenerateContentStream(ctx, "gemini-x", genai.Text("Say something."),
				&genai.GenerateContentConfig{SystemInstruction: genai.NewContentFromText("Be brief.", genai.RoleUser)}) {
				if err != nil {
					return "", err
				}
				text.WriteString(chunk.Text())
			}
			return text.String(), nil
		})
	})
}

func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

func BenchmarkOpenAI(b *testing.B) {
	message := fmt.Sprintf(`{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":%q,"annotations":[]}]}`, strings.Repeat("piece ", pieces))
	url := serve(b, event("response.created", `{"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}`)+
		event("response.output_item.added", `{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","status":"in_progress","content":[]}}`)+
		strings.Repeat(event("response.output_text.delta", `{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"piece "}`), pieces)+
		event("response.output_item.done", `{"type":"response.output_item.done","output_index":0,"item":`+message+`}`)+
		event("response.completed", `{"type":"response.completed","response":{"id":"r","status":"completed","output":[`+message+`],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}`))
	b.Run("adkmcp", func(b *testing.B) {
		m, err := openai.New(&config.Model{Name: "gpt-x", BaseURL: url, APIKey: config.NewSecret(key)}, nil, openai.Deps{Lookup: none, Log: slog.New(slog.DiscardHandler)})
		ours(b, m, err)
	})
	b.Run("sdk", func(b *testing.B) {
		client := openaisdk.NewClient(openaioption.WithAPIKey(key), openaioption.WithBaseURL(url))
		theirs(b, func(ctx context.Context) (string, error) {
			stream := client.Responses.NewStreaming(ctx, responses.ResponseNewParams{
				Model: "gpt-x", Instructions: openaisdk.String("Be brief."),
				Input: responses.ResponseNewParamsInputUnion{OfString: openaisdk.String("Say something.")},
			})
			defer stream.Close()
			var text strings.Builder
			for stream.Next() {
				if e := stream.Current(); e.Type == "response.output_text.delta" {
					text.WriteString(e.Delta)
				}
			}
			return text.String(), stream.Err()
		})
	})
}

func BenchmarkCompatible(b *testing.B) {
	url := serve(b, strings.Repeat(`data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"piece "}}]}`+"\n\n", pieces)+
		`data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	b.Run("adkmcp", func(b *testing.B) {
		m, err := chat.New(&config.Model{Name: "x", BaseURL: url, APIKey: config.NewSecret(key)}, chat.Deps{Lookup: none, Log: slog.New(slog.DiscardHandler)})
		ours(b, m, err)
	})
	b.Run("sdk", func(b *testing.B) {
		client := openaisdk.NewClient(openaioption.WithAPIKey(key), openaioption.WithBaseURL(url))
		theirs(b, func(ctx context.Context) (string, error) {
			stream := client.Chat.Completions.NewStreaming(ctx, openaisdk.ChatCompletionNewParams{
				Model:    "x",
				Messages: []openaisdk.ChatCompletionMessageParamUnion{openaisdk.SystemMessage("Be brief."), openaisdk.UserMessage("Say something.")},
			})
			defer stream.Close()
			var text strings.Builder
			for stream.Next() {
				for _, choice := range stream.Current().Choices {
					text.WriteString(choice.Delta.Content)
				}
			}
			return text.String(), stream.Err()
		})
	})
}

func BenchmarkAnthropic(b *testing.B) {
	url := serve(b, event("message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"x","usage":{"input_tokens":1,"output_tokens":1}}}`)+
		event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)+
		strings.Repeat(event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"piece "}}`), pieces)+
		event("content_block_stop", `{"type":"content_block_stop","index":0}`)+
		event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`)+
		event("message_stop", `{"type":"message_stop"}`))
	b.Run("adkmcp", func(b *testing.B) {
		m, err := anthropic.New(&config.Model{Name: "claude-x", BaseURL: url, APIKey: config.NewSecret(key)}, anthropic.Deps{Lookup: none, Log: slog.New(slog.DiscardHandler)})
		ours(b, m, err)
	})
	b.Run("sdk", func(b *testing.B) {
		messages := anthropicsdk.NewMessageService(anthropicoption.WithAPIKey(key), anthropicoption.WithBaseURL(url))
		theirs(b, func(ctx context.Context) (string, error) {
			stream := messages.NewStreaming(ctx, anthropicsdk.MessageNewParams{
				Model: "claude-x", MaxTokens: 1000, System: []anthropicsdk.TextBlockParam{{Text: "Be brief."}},
				Messages: []anthropicsdk.MessageParam{anthropicsdk.NewUserMessage(anthropicsdk.NewTextBlock("Say something."))},
			})
			defer stream.Close()
			var text strings.Builder
			for stream.Next() {
				text.WriteString(stream.Current().Delta.Text)
			}
			return text.String(), stream.Err()
		})
	})
}
