package chunk

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// maxImages bounds the images of one piece of an answer.
const maxImages = 16

// Image is an image that a model made: its data, or where it is.
type Image struct {
	Type string // of the data, as the server calls it
	Data []byte
	URL  string // where there is no data
}

// address is an object with a URL, or the URL alone.
type address string

// UnmarshalJSON implements [json.Unmarshaler].
func (a *address) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(a))
	}
	var inner object[struct {
		URL text `json:"url"`
	}]
	if err := json.Unmarshal(raw, &inner); err != nil || inner.is == nil {
		return err
	}
	*a = address(inner.is.URL)
	return nil
}

// pictured is an image of a list beside the content (OpenRouter, LiteLLM and Vercel,
// "Image Generation").
type pictured struct {
	URL address `json:"image_url"`
}

// images reads the images at some addresses. Whether the data is one is not looked at.
func images(at []address) []Image {
	var all []Image
	for _, a := range at[:min(len(at), maxImages)] {
		url := string(a)
		if strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") {
			all = append(all, Image{URL: url})
			continue
		}
		head, encoded, ok := strings.Cut(url, ",")
		kind, isData := strings.CutPrefix(head, "data:")
		kind, isBase64 := strings.CutSuffix(kind, ";base64")
		if !ok || !isData || !isBase64 {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			continue
		}
		all = append(all, Image{Type: kind, Data: data})
	}
	return all
}
