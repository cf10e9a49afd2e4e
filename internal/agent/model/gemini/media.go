package gemini

import (
	"encoding/json"
	"fmt"
	"mime"
	"regexp"
	"slices"
	"strings"
	"sync"

	"google.golang.org/genai"
)

// Media types that the service reads: within a function response
// (https://ai.google.dev/gemini-api/docs/function-calling, "multimodal function
// responses"), and anywhere else.
var (
	responseTypes = []string{"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"}
	inputTypes    = []string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf"}
	inputFamilies = []string{"audio/", "video/", "text/"}
)

// olderModels take no media in function responses; Gemini 3 was the first.
var olderModels = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|/)gemini-[12]([.-]|$)`) })

func takesMediaInResponses(name string) bool { return !olderModels().MatchString(name) }

// placeMedia keeps in a response the media that can stay there. It gives the
// parts that go beside it instead, and describes what the service cannot read
// at all.
func placeMedia(r *genai.FunctionResponse, inside bool) (beside []any, unreadable []string) {
	var kept []*genai.FunctionResponsePart
	for _, p := range r.Parts {
		if p == nil || p.InlineData == nil {
			kept = append(kept, p)
			continue
		}
		blob := p.InlineData
		kind, _, err := mime.ParseMediaType(blob.MIMEType)
		switch {
		case err == nil && inside && slices.Contains(responseTypes, kind):
			kept = append(kept, p)
		case err == nil && readsType(kind):
			beside = append(beside, &genai.Part{InlineData: &genai.Blob{MIMEType: blob.MIMEType, Data: blob.Data}})
		default:
			unreadable = append(unreadable, fmt.Sprintf("%d bytes of type %q", len(blob.Data), blob.MIMEType))
		}
	}
	r.Parts = kept
	return beside, unreadable
}

// readable reports whether the service reads data outside of a response.
func readable(b *genai.Blob) bool {
	kind, _, err := mime.ParseMediaType(b.MIMEType)
	return err == nil && readsType(kind)
}

func readsType(kind string) bool {
	return slices.Contains(inputTypes, kind) ||
		slices.ContainsFunc(inputFamilies, func(f string) bool { return strings.HasPrefix(kind, f) })
}

// mention tells the model in the output of a response what was left out of it.
func mention(r *genai.FunctionResponse, unreadable []string) error {
	note := "[left out, since you cannot read it: " + strings.Join(unreadable, ", ") + "]"
	key := "output"
	if _, failed := r.Response["error"]; failed {
		key = "error"
	}
	text, isText := r.Response[key].(string)
	if !isText && r.Response[key] != nil {
		encoded, err := json.Marshal(r.Response[key])
		if err != nil {
			return fmt.Errorf("response of %s: %w", r.Name, err)
		}
		text = string(encoded)
	}
	changed := make(map[string]any, len(r.Response)+1)
	for k, v := range r.Response {
		changed[k] = v
	}
	changed[key] = strings.TrimLeft(text+"\n"+note, "\n")
	r.Response = changed
	return nil
}
