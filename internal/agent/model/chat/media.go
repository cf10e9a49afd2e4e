package chat

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/mediatype"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// piece is one part of a user's message: text, or a part that is none.
type piece struct {
	text  string
	other any // nil for text
}

type textPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type imagePart struct {
	Type  string   `json:"type"`
	Image imageURL `json:"image_url"`
}

type imageURL struct {
	URL string `json:"url"`
}

type audioPart struct {
	Type  string    `json:"type"`
	Audio audioData `json:"input_audio"`
}

type audioData struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

type filePart struct {
	Type string   `json:"type"`
	File fileData `json:"file"`
}

type fileData struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

// joined is the content of a user's message: a string where all of it is text, as
// some templates take nothing else, and nil for nothing.
func joined(pieces []piece) any {
	var parts []any
	var text []string
	plain := true
	for _, p := range pieces {
		switch {
		case p.other != nil:
			parts, plain = append(parts, p.other), false
		case strings.TrimSpace(p.text) != "":
			parts, text = append(parts, textPart{"text", p.text}), append(text, p.text)
		}
	}
	switch {
	case parts == nil:
		return nil
	case plain:
		return strings.Join(text, "\n\n")
	}
	return parts
}

// sent gives parts of a user as they are sent.
func (c *conversation) sent(parts []*genai.Part) []piece {
	var all []piece
	for _, p := range parts {
		switch {
		case p.Thought || model.IsBlank(p):
		case p.InlineData != nil:
			all = append(all, c.readable(p.InlineData))
		default:
			all = append(all, piece{text: spoken(p)})
		}
	}
	return all
}

// readable is data as a model sees it, or words about what it is not shown.
func (c *conversation) readable(b *genai.Blob) piece {
	if p, ok := c.shown(b); ok {
		return p
	}
	return piece{text: wire.LeftOut([]*genai.Blob{b})}
}

// split gives the data that a model can see, and the rest.
func (c *conversation) split(blobs []*genai.Blob) (pieces []piece, unreadable []*genai.Blob) {
	for _, b := range blobs {
		if p, ok := c.shown(b); ok {
			pieces = append(pieces, p)
		} else {
			unreadable = append(unreadable, b)
		}
	}
	return pieces, unreadable
}

// shown turns data into the part that shows it (Chat Completions, content parts of
// user messages).
func (c *conversation) shown(b *genai.Blob) (piece, bool) {
	kind := mediatype.Shown(b.MIMEType, b.Data)
	if kind == mediatype.Text {
		return piece{text: string(b.Data)}, true
	}
	if c.as.blind {
		return piece{}, false
	}
	switch kind {
	case "image/png", "image/jpeg", "image/webp", "image/gif":
		return piece{other: imagePart{"image_url", imageURL{dataURL(kind, b.Data)}}}, true
	case "application/pdf":
		name := b.DisplayName
		if name == "" {
			name = "document.pdf"
		}
		return piece{other: filePart{"file", fileData{name, dataURL(kind, b.Data)}}}, true
	case "audio/wav", "audio/vnd.wave", "audio/mpeg":
		if format := soundOf(b.Data); format != "" {
			return piece{other: audioPart{"input_audio", audioData{base64.StdEncoding.EncodeToString(b.Data), format}}}, true
		}
	}
	return piece{}, false
}

// soundOf is the format of sound by its first bytes, empty for none that is taken.
func soundOf(data []byte) string {
	const header = 12
	switch {
	case len(data) >= header && string(data[:4]) == "RIFF" && string(data[8:header]) == "WAVE":
		return "wav"
	case bytes.HasPrefix(data, []byte("ID3")), len(data) > 1 && data[0] == 0xff && data[1]&0xe6 == 0xe2: // a tag, or a frame of layer III
		return "mp3"
	}
	return ""
}

func dataURL(kind string, data []byte) string {
	prefix := "data:" + kind + ";base64,"
	url := make([]byte, 0, len(prefix)+base64.StdEncoding.EncodedLen(len(data)))
	return string(base64.StdEncoding.AppendEncode(append(url, prefix...), data))
}

// fileNote tells of a file that is elsewhere. Few servers fetch files, and those
// that do not refuse the request.
func fileNote(f *genai.FileData) string {
	return fmt.Sprintf("[left out, since you cannot read it: a file of type %q at %s]", f.MIMEType, f.FileURI)
}
