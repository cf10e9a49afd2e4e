package history

import (
	"slices"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/mediatype"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// Media types that the service reads: within a function response ("Function calling with
// the Gemini API", multimodal function responses), and anywhere else, where text is sent
// as text (the pages on images, documents, audio and video of the Gemini API, and the
// models' pages of Vertex AI).
var (
	responseTypes = []string{"image/png", "image/jpeg", "image/webp", "application/pdf", mediatype.Text}
	inputTypes    = []string{
		"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf",
		"audio/wav", "audio/mp3", "audio/mpeg", "audio/aiff", "audio/aac", "audio/x-aac", "audio/ogg", "audio/flac",
		"audio/m4a", "audio/mp4", "audio/mpga", "audio/pcm", "audio/webm",
		"video/mp4", "video/mpeg", "video/mpegps", "video/mpg", "video/mov", "video/quicktime", "video/avi", "video/x-flv",
		"video/webm", "video/wmv", "video/3gpp",
	}
)

// otherNames are those of types that the service reads by another.
var otherNames = map[string]string{
	"audio/x-m4a": "audio/m4a", "audio/x-aiff": "audio/aiff", "audio/x-flac": "audio/flac",
	"video/x-msvideo": "video/avi", "video/x-ms-wmv": "video/wmv",
}

// shown is the type by which the service reads data, or one that it does not read;
// empty for what cannot be shown to any model.
func shown(declared string, data []byte) string {
	kind := mediatype.Shown(declared, data)
	if name, ok := otherNames[kind]; ok {
		return name
	}
	return kind
}

// reads reports whether the service reads data of a type outside of a response.
func reads(kind string) bool { return slices.Contains(inputTypes, kind) }

// readable gives a part with its data as the service reads it, or what was left out in
// words. The part is the caller's own and may be written to.
func readable(p *genai.Part) *genai.Part {
	b := p.InlineData
	if b == nil {
		return p
	}
	switch kind := shown(b.MIMEType, b.Data); {
	case kind == mediatype.Text:
		return &genai.Part{Text: string(b.Data)}
	case !reads(kind):
		return &genai.Part{Text: wire.LeftOut([]*genai.Blob{b})}
	case kind != b.MIMEType || b.DisplayName != "":
		p.InlineData = &genai.Blob{MIMEType: kind, Data: b.Data}
	}
	return p
}
