package mediatype

import "testing"

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		name, data, want string
		text             bool
	}{
		{"a/b.PNG", "words", "image/png", false},
		{"song.wav", "", "audio/wav", false},
		{"style.css", "", "text/css", true},
		{"conf.yml", "", "application/yaml", true},
		{"drawing.svg", "", "image/svg+xml", true},
		{"noending", "words", "text/plain", true},
		{"", "", "text/plain", true},
		{"x.unknown", "\x89PNG\r\n\x1a\n\xff", "image/png", false},
		{"x", "RIFF\xff\xff\xff\xffWAVEfmt\x20", "audio/wav", false},
		{"x", "\x00\xff", "application/octet-stream", false},
	} {
		got := Of(tt.name, []byte(tt.data))
		if got != tt.want || IsText(got) != tt.text {
			t.Errorf("%q %q: %s, text %v", tt.name, tt.data, got, IsText(got))
		}
	}
	if !IsText("Text/HTML; charset=utf-8") || IsText("") || !IsText(" application/ld+json ") {
		t.Error("parameters, case or space make a difference")
	}
}
