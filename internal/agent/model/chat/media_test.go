package chat_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat/chattest"
)

// How data of some types begins.
const (
	png = "\x89PNG\r\n\x1a\n"
	wav = "RIFF\x00\x00\x00\x00WAVE"
)

func data(kind, bytes string) *genai.Part {
	return &genai.Part{InlineData: &genai.Blob{MIMEType: kind, Data: []byte(bytes)}}
}

// TestMedia sends data of all kinds. The fake refuses what is not of its type.
func TestMedia(t *testing.T) {
	const out = "[left out"
	for _, c := range []struct{ kind, data, want string }{
		{"image/png", png, `"url":"data:image/png;base64,`},
		{"IMAGE/PNG", png, `"url":"data:image/png;base64,`},
		{"image/jpg", "\xff\xd8\xff\xe0", `"url":"data:image/jpeg;base64,`},
		{"image/png", "\xff\xd8\xff\xe0", `"url":"data:image/jpeg;base64,`},
		{"image/gif", "GIF89a", `"url":"data:image/gif;base64,`},
		{"image/webp", "RIFF\x00\x00\x00\x00WEBPVP8 ", `"url":"data:image/webp;base64,`},
		{"image/png", "no image", out},
		{"image/png", "", out},
		{"image/bmp", "BM\x00\x00", out},
		{"image/svg+xml", "<svg/>", "go\n\n<svg/>"},
		{"application/pdf", "%PDF-1.7", `"file_data":"data:application/pdf;base64,`},
		{"application/pdf", "no PDF", out},
		{"audio/wav", wav, `"format":"wav"`},
		{"audio/x-wav", wav, `"format":"wav"`},
		{"audio/vnd.wave", wav, `"format":"wav"`},
		{"audio/wav", "RIFF", out},
		{"audio/mp3", "ID3", `"format":"mp3"`},
		{"audio/mpeg", "\xff\xfb\x90", `"format":"mp3"`},
		{"audio/wav", "\xff\xfb\x90", `"format":"mp3"`},
		{"audio/mpeg", "\xff\xfe\x90", out},
		{"audio/ogg", "OggS", out},
		{"video/mp4", "\x00\x00", out},
		{"text/csv; charset=utf-8", "a,b", "go\n\na,b"},
		{"application/json", "[1]", "go\n\n[1]"},
		{"application/yaml", "a: 1", "go\n\na: 1"},
		{"application/xml", "<a/>", "go\n\n<a/>"},
		{"application/x-ndjson", "{}", "go\n\n{}"},
		{"application/javascript", "1", "go\n\n1"},
		{"text/plain", "\xff\xfe", out},
		{"text/plain", "", out},
	} {
		f := start(t, chattest.Manner{}, nil)
		f.server.Play(chattest.Answer{Text: []string{"fine"}})
		o := ask(t.Context(), f, request(results(&genai.Part{Text: "go"}, data(c.kind, c.data))))
		noRefusals(t, f)
		r, short := newest(t, f)
		if o.err != nil || !strings.Contains(string(r.Body), c.want) && !strings.Contains(short[1], c.want) {
			t.Errorf("%s %q: %v; sent %s", c.kind, c.data, o.err, r.Body)
		}
	}
}

// TestImagesOfAnswers reads images where servers put them, each once.
func TestImagesOfAnswers(t *testing.T) {
	dot := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(png))
	another := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(png+"x"))
	listed := func(url string) string {
		return `"images":[{"type":"image_url","index":0,"image_url":{"url":"` + url + `"}}]`
	}
	part := func(url string) string {
		return `"content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"` + url + `"}}]`
	}
	for _, c := range []struct {
		name   string
		events []string
		want   string // text, and <type> for an image
	}{
		{"beside the content", []string{delta(`"content":"a"`), delta(listed(dot))}, "a<image/png>"},
		{"with the content", []string{delta(`"content":"a",` + listed(dot)), delta(`"content":"b"`)}, "a<image/png>b"},
		{"alone", []string{delta(`"content":"",` + listed(dot))}, "<image/png>"},
		{"two", []string{delta(listed(dot)), delta(listed(another))}, "<image/png><image/png>"},
		{"a part of the content", []string{delta(part(dot))}, "a<image/png>"},
		{"again in a last chunk", []string{delta(listed(dot)), delta(listed(dot))}, "<image/png>"},
		{"again in a message", []string{delta(`"content":"a",` + listed(dot)), `{"choices":[{"message":{"content":"a",` + listed(dot) + `},"finish_reason":"stop"}]}`}, "a<image/png>"},
		{"a message alone", []string{`{"choices":[{"message":{"content":"a",` + listed(dot) + `},"finish_reason":"stop"}]}`}, "a<image/png>"},
		{"of another type than it says", []string{delta(listed(strings.Replace(dot, "png", "jpeg", 1)))}, "<image/png>"},
		{"a URL alone", []string{delta(`"images":[{"image_url":"` + dot + `"}]`)}, "<image/png>"},
		{"elsewhere", []string{delta(`"content":"a"`), delta(listed("https://x/a.png")), delta(listed("https://x/a.png"))}, "a![image](https://x/a.png)"},
		{"none", []string{delta(`"content":"a",` + listed("data:image/png;base64,AAAA")), delta(listed("data:text/html;base64,PGI+")), delta(listed("data:image/png,x")), delta(listed("file:///etc/passwd"))}, "a"},
	} {
		f := start(t, chattest.Manner{}, nil)
		f.server.Play(chattest.Answer{Events: append(c.events, end("stop"))})
		var partial, whole string
		for reply, err := range f.Generate(t.Context(), request(user("paint"))) {
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			var said strings.Builder
			for _, p := range reply.Content.Parts {
				if said.WriteString(p.Text); p.InlineData != nil {
					said.WriteString("<" + p.InlineData.MIMEType + ">")
				}
			}
			if reply.Partial {
				partial += said.String()
			} else {
				whole = said.String()
			}
		}
		if whole != c.want || partial != c.want {
			t.Errorf("%s: %q, streamed %q", c.name, whole, partial)
		}
	}
	f := start(t, chattest.Manner{}, nil)
	f.server.Play(chattest.Answer{Events: []string{delta(listed(dot)), end("length")}})
	if o := ask(t.Context(), f, request(user("paint"))); o.code() != model.MaxTokens || o.reply == nil {
		t.Errorf("an image is not kept: %s", o.told())
	}
}
