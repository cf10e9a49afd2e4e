package mediatype

import (
	"bytes"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"
)

// Text is what [Shown] calls every kind of text.
const Text = "text/plain"

// Shown says what data is, for a model that is to be shown it: the bare type of an
// image, a PDF, of sound or film, or [Text] for every kind of text. An image and a
// PDF go by their own bytes, since services refuse what is not what it is called.
// It is empty for what cannot be shown: nothing, or something that is broken.
func Shown(declared string, data []byte) string {
	kind, _, err := mime.ParseMediaType(declared)
	if err != nil || len(data) == 0 {
		return ""
	}
	switch family, _, _ := strings.Cut(kind, "/"); {
	case IsText(kind):
		if !utf8.Valid(data) || strings.TrimSpace(string(data)) == "" {
			return ""
		}
		return Text
	case kind == "application/pdf":
		const header = 1024 // the first bytes, in which readers look for it
		if bytes.Contains(data[:min(len(data), header)], []byte("%PDF-")) {
			return kind
		}
		return ""
	case kind == "image/heic" || kind == "image/heif":
		if len(data) > 12 && string(data[4:8]) == "ftyp" {
			return kind
		}
		return ""
	case family == "image":
		if is := http.DetectContentType(data); strings.HasPrefix(is, "image/") {
			return is
		}
		return ""
	case kind == "audio/wave" || kind == "audio/x-wav":
		return "audio/wav"
	case kind == "audio/mp3":
		return "audio/mpeg"
	}
	return kind
}
