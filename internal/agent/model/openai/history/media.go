package history

import (
	"encoding/base64"
	"path"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/mediatype"
)

type inputImage struct {
	Type   string `json:"type"`
	URL    string `json:"image_url"`
	Detail string `json:"detail"`
}

type inputFile struct {
	Type string `json:"type"`
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

// media is data as the service shows it to the model; nil for what the model cannot
// read (OpenAI, "Images and vision" and "File inputs").
func (in *input) media(b *genai.Blob) any {
	switch kind := mediatype.Shown(b.MIMEType, b.Data); kind {
	case "image/png", "image/jpeg", "image/webp", "image/gif":
		if in.Images = true; !in.Blind {
			return inputImage{"input_image", dataURL(kind, b.Data), "auto"}
		}
	case "application/pdf": // its pages are images too
		if in.Images = true; !in.Blind {
			return inputFile{"input_file", fileName(b.DisplayName), dataURL(kind, b.Data)}
		}
	case mediatype.Text:
		return inputText{"input_text", string(b.Data)}
	}
	return nil
}

// fileName is the name of a PDF; the service goes by its ending ("Expected context
// stuffing file type to be a supported format: .pdf but got none").
func fileName(name string) string {
	switch {
	case name == "":
		return "file.pdf"
	case strings.EqualFold(path.Ext(name), ".pdf"):
		return name
	}
	return name + ".pdf"
}

func dataURL(kind string, data []byte) string {
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
}
