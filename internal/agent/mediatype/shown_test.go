package mediatype

import "testing"

func TestShown(t *testing.T) {
	const png, jpeg = "\x89PNG\r\n\x1a\n\x00", "\xff\xd8\xff\xe0"
	for _, c := range []struct{ declared, data, want string }{
		{"image/png", png, "image/png"},
		{"IMAGE/PNG; x=1", png, "image/png"},
		{"image/jpg", jpeg, "image/jpeg"},
		{"image/png", jpeg, "image/jpeg"},
		{"image/png", "no image", ""},
		{"image/png", "", ""},
		{"image/svg+xml", "<svg/>", Text},
		{"text/csv; charset=utf-8", "a,b", Text},
		{"application/json", "{}", Text},
		{"application/yaml", "a: 1", Text},
		{"text/plain", "\xff\xfe", ""},
		{"text/plain", " \n", ""},
		{"application/pdf", "%PDF-1.7", "application/pdf"},
		{"application/pdf", "nothing of it", ""},
		{"image/heic", "\x00\x00\x00\x18ftypheic\x00", "image/heic"},
		{"image/heic", "heic?", ""},
		{"audio/x-wav", "RIFF", "audio/wav"},
		{"audio/mp3", "ID3", "audio/mpeg"},
		{"video/mp4", "x", "video/mp4"},
		{"application/x-thing", "x", "application/x-thing"},
		{"nonsense", "x", "nonsense"},
		{"", "x", ""},
	} {
		if got := Shown(c.declared, []byte(c.data)); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.declared, c.data, got, c.want)
		}
	}
}
