package chat_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model/chat"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat/chattest"
	"github.com/adkmcp/adkmcp/internal/config"
)

// TestLongDescriptions: nothing is lost of what OpenAI does not take as the
// description of a tool.
func TestLongDescriptions(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("wörd ", 400))
	for _, c := range []struct {
		name, url, description string
		cut                    bool
	}{
		{"words", "http://api.openai.com/v1", words, true},
		{"words, in Europe", "http://EU.API.OpenAI.com/v1", words, true},
		{"words, at Azure", "http://mine.openai.azure.com/v1", words, true},
		{"one long word", "http://api.openai.com/v1", strings.Repeat("ü", 3000), true},
		{"just enough", "http://api.openai.com/v1", strings.Repeat("ü", 1024), false},
		{"elsewhere", "http://models.test/v1", words, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			manner := chattest.Manner{}
			if c.cut {
				manner.MaxDescription = 1024
			}
			f := startAt(t, manner, c.url, nil)
			f.server.Play(chattest.Answer{Text: []string{"fine"}})
			req := request(user("go"))
			req.Tools = []*genai.FunctionDeclaration{tool("short", `{"type":"object"}`), tool("long", `{"type":"object"}`)}
			req.Tools[1].Description = c.description
			o := ask(t.Context(), f, req)
			noRefusals(t, f)
			if o.err != nil {
				t.Fatal(o.err)
			}
			r, short := newest(t, f)
			var sent struct {
				Tools []struct {
					Function struct{ Description string }
				}
			}
			if err := json.Unmarshal(r.Body, &sent); err != nil {
				t.Fatal(err)
			}
			got := sent.Tools[1].Function.Description
			head, cut := strings.CutSuffix(got, "…")
			if cut != c.cut || utf8.RuneCountInString(head) < 500 || strings.HasSuffix(head, " ") || !cut && short[0] != "system be brief" {
				t.Fatalf("%q", got)
			}
			rest, _ := strings.CutPrefix(short[0], "system be brief\n\nMore on the tool long:\n…")
			if whole := strings.TrimSpace(c.description); cut && head+rest != whole && head+" "+rest != whole {
				t.Errorf("%q %q", got, short[0])
			}
		})
	}
	t.Run("no system text", func(t *testing.T) {
		f := startAt(t, manner(t, "OpenAI"), "http://api.openai.com/v1", nil)
		f.server.Play(chattest.Answer{Text: []string{"fine"}})
		req := request(user("go"))
		req.System, req.Tools = "", []*genai.FunctionDeclaration{{Name: "long", Description: words}}
		ask(t.Context(), f, req)
		noRefusals(t, f)
		if _, short := newest(t, f); !strings.HasPrefix(short[0], "system More on the tool long:\n…wörd") {
			t.Errorf("%q", short)
		}
	})
}

// TestStops: OpenAI takes four.
func TestStops(t *testing.T) {
	for url, fails := range map[string]bool{"https://api.openai.com/v1": true, "https://x.openai.azure.com/openai/v1": true, "http://localhost:1/v1": false} {
		for n := range 6 {
			cfg := &config.Model{Name: "m", BaseURL: url, Stop: strings.Split("abcde", "")[:n:n]}
			m, err := chat.New(cfg, chat.Deps{Lookup: nothing})
			if (err != nil) != (fails && n > 4) || err != nil && !strings.Contains(err.Error(), "model.stop") {
				t.Errorf("%s, %d: %v", url, n, err)
			}
			if err == nil {
				_ = m.Close()
			}
		}
	}
}
