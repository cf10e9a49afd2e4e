package chat_test

import (
	"strings"
	"testing"

	"google.golang.org/genai"

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
