package history

import (
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/mediatype"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// Media types that the service reads: within a function response
// (https://ai.google.dev/gemini-api/docs/function-calling, "multimodal function
// responses"), and anywhere else, where text is sent as text.
var (
	responseTypes = []string{"image/png", "image/jpeg", "image/webp", "application/pdf", mediatype.Text}
	inputTypes    = []string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf"}
)

// reads reports whether the service reads data of a type outside of a response.
func reads(kind string) bool {
	return slices.Contains(inputTypes, kind) || strings.HasPrefix(kind, "audio/") || strings.HasPrefix(kind, "video/")
}

// readable gives a part with its data as the service reads it, or what was left out in
// words. The part is the caller's own and may be written to.
func readable(p *genai.Part) *genai.Part {
	b := p.InlineData
	if b == nil {
		return p
	}
	switch kind := mediatype.Shown(b.MIMEType, b.Data); {
	case kind == mediatype.Text:
		return &genai.Part{Text: string(b.Data)}
	case !reads(kind):
		return &genai.Part{Text: wire.LeftOut([]*genai.Blob{b})}
	case kind != b.MIMEType || b.DisplayName != "":
		p.InlineData = &genai.Blob{MIMEType: kind, Data: b.Data}
	}
	return p
}
