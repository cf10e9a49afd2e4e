package chat_test

import (
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat/chattest"
	"github.com/adkmcp/adkmcp/internal/config"
)

// TestNotForGood: an error about one request, one that names the model or repeats what
// it was sent, and one of another program take nothing away from later requests.
func TestNotForGood(t *testing.T) {
	const vllm = "For image inputs, the number of image tokens depends on the number of images"
	for name, c := range map[string]struct {
		model  string
		status int
		said   string
		kept   string
		code   model.Code // of the first call; empty where it goes well in the end
	}{
		"the name of a model that thinks": {"kimi-k2-thinking", 500, `{"error":{"message":"The model kimi-k2-thinking failed, try again"}}`, thinking, model.Unavailable},
		"thinking without a refusal":      {"", 500, `{"error":{"message":"internal error while thinking"}}`, thinking, model.Unavailable},
		"the name of a model that sees":   {"llama3.2-vision", 400, `{"error":{"message":"registry.ollama.ai/library/llama3.2-vision:latest does not support tools"}}`, looking, model.InvalidRequest},
		"a model that is not there":       {"llama3.2-vision", 404, `{"error":{"message":"model 'llama3.2-vision' not found"}}`, looking, model.NotFound},
		"an image's type":                 {"", 400, `{"error":{"message":"Invalid image: we only support jpeg and png"}}`, looking, ""},
		"an image's size":                 {"", 400, `{"error":{"message":"image dimensions of 9000x9000 are not supported"}}`, looking, ""},
		"the number of images":            {"", 400, `{"error":{"message":"this model doesn't support more than 10 images"}}`, looking, ""},
		"vLLM's overflow":                 {"", 400, `{"message":"The decoder prompt (length 9) is longer than the maximum model length of 8. ` + vllm + `","code":400}`, looking, model.ContextOverflow},
		"another overflow of vLLM":        {"", 400, `{"message":"The prompt (total length 9) is too long to fit into the model (context length 8). ` + vllm + `","code":400}`, looking, model.ContextOverflow},
		"a page with pictures":            {"", 500, `<html><meta property="og:image"><noscript>Your browser does not support JavaScript</noscript></html>`, looking, model.Unavailable},
		"a page with a description":       {"", 500, `<html><head><meta name="description" content="y"></head></html>`, strings.Repeat("word ", 250), model.Unavailable},
		"a request that is repeated":      {"", 422, `{"detail":[{"loc":["body","x"],"msg":"Field required","input":{"stream_options":{"include_usage":true}}}]}`, counting, model.InvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, chattest.Manner{}, func(cfg *config.Model) {
				settled(cfg)
				if c.model != "" {
					cfg.Name = c.model
				}
			})
			f.server.Tolerant = true
			f.server.Play(chattest.Answer{Status: c.status, Body: c.said}, chattest.Answer{Text: []string{"fine"}}, chattest.Answer{Text: []string{"fine"}})
			o := ask(t.Context(), f, everything(false))
			if o.code() != c.code || strings.Contains(o.told(), "stream_options") {
				t.Errorf("code %q, want %q: %s", o.code(), c.code, o.told())
			}
			ask(t.Context(), f, everything(false))
			all := f.server.Requests()
			if last := string(all[len(all)-1].Body); !strings.Contains(last, c.kept) {
				t.Errorf("gone for good: %s", last)
			}
		})
	}
}

// TestLearnsWhatHelped: what did not make a request good is done again in the next one.
func TestLearnsWhatHelped(t *testing.T) {
	for said, kept := range map[string]string{
		`{"error":{"message":"max_tokens of 100 is not allowed for your plan"}}`: limited,
		`{"message":"Only user and assistant roles are supported!","code":400}`:  `"role":"system"`,
	} {
		f := start(t, chattest.Manner{}, settled)
		f.server.Tolerant = true
		refused := chattest.Answer{Status: 400, Body: said}
		f.server.Play(refused, refused, chattest.Answer{Text: []string{"fine"}})
		if o := ask(t.Context(), f, everything(false)); o.code() != model.InvalidRequest || len(f.server.Requests()) != 2 {
			t.Errorf("%s: %d requests, %q", said, len(f.server.Requests()), o.told())
		}
		ask(t.Context(), f, everything(false))
		if last := string(f.server.Requests()[2].Body); !strings.Contains(last, kept) {
			t.Errorf("%s is gone for good: %s", kept, last)
		}
	}
}
