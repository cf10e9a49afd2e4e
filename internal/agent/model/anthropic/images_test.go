package anthropic_test

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	a "github.com/adkmcp/adkmcp/internal/agent/model/anthropic/anthropictest"
)

// picture is an image of so many pixels by one, of a type that the library writes.
func picture(t *testing.T, kind string, pixels int) *genai.Part {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch drawn := image.NewPaletted(image.Rect(0, 0, 1, pixels), color.Palette{color.Black}); kind {
	case "image/gif":
		err = gif.Encode(&b, drawn, nil)
	case "image/jpeg":
		err = jpeg.Encode(&b, drawn, nil)
	default:
		err = png.Encode(&b, drawn)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &genai.Part{InlineData: &genai.Blob{MIMEType: kind, Data: b.Bytes()}}
}

// webp is the beginning of a WebP; chunk is its first.
func webp(chunk string) *genai.Part {
	return &genai.Part{InlineData: &genai.Blob{MIMEType: "image/webp", Data: []byte("RIFF\x00\x00\x00\x00WEBP" + chunk)}}
}

// TestImageAlone: one that the service would refuse, and the conversation with it from
// then on, is told in words.
func TestImageAlone(t *testing.T) {
	broken := picture(t, "image/png", 5)
	broken.InlineData.Data = broken.InlineData.Data[:20]
	cases := []struct {
		name  string
		image *genai.Part
		says  string // empty where it is shown
	}{
		{"png", picture(t, "image/png", 8000), ""},
		{"png too long", picture(t, "image/png", 8001), "an image of 8001 pixels"},
		{"gif too long", picture(t, "image/gif", 8001), "an image of 8001 pixels"},
		{"jpeg too long", picture(t, "image/jpeg", 8001), "an image of 8001 pixels"},
		{"webp", webp("VP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x3f\x1f\x00\x01\x00\x00"), ""},
		{"webp too wide", webp("VP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x40\x1f\x00\x01\x00\x00"), "an image of 8001 pixels"},
		{"webp too long", webp("VP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x40\x1f\x00"), "an image of 8001 pixels"},
		{"lossy webp too long", webp("VP8 \x0a\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x01\x00\x41\x1f"), "an image of 8001 pixels"},
		{"lossless webp too long", webp("VP8L\x0a\x00\x00\x00\x2f\x00\x00\xd0\x07"), "an image of 8001 pixels"},
		{"webp of another kind", webp("ANIM\x0a\x00\x00\x00"), "left out"},
		{"broken", broken, "20 bytes"},
	}
	for _, c := range cases {
		for _, within := range []bool{false, true} {
			f := start(t, a.Play(a.Say("fine")), nil)
			req := request(results(c.image))
			if within {
				r := result("1", "look", "seen")
				r.FunctionResponse.Parts = []*genai.FunctionResponsePart{{InlineData: &genai.FunctionResponseBlob{MIMEType: c.image.InlineData.MIMEType, Data: c.image.InlineData.Data}}}
				req = request(user("go"), said(call("1", "look")), results(r))
			}
			o := ask(t.Context(), f, req)
			noRefusals(t, f)
			body := string(last(t, f).Body)
			if o.err != nil || strings.Contains(body, `"type":"image"`) != (c.says == "") || !strings.Contains(body, c.says) {
				t.Errorf("%s: %v, sent %.2000s", c.name, o.err, body)
			}
		}
	}
}

// TestImagesTogether: of more than the service takes together the oldest are left out, ten
// at a time, so that what it has cached stays as it is meanwhile.
func TestImagesTogether(t *testing.T) {
	const small, large = 100, 2001
	cases := []struct {
		name, model  string
		sides        []int
		first, shown int // the first that is shown, and how many are
	}{
		{"twenty large ones", "claude-haiku-4-5", slices.Repeat([]int{large}, 20), 0, 20},
		{"twenty-one", "claude-haiku-4-5", slices.Repeat([]int{large}, 21), 10, 11},
		{"thirty", "claude-haiku-4-5", slices.Repeat([]int{large}, 30), 10, 20},
		{"thirty-one", "claude-haiku-4-5", slices.Repeat([]int{large}, 31), 20, 11},
		{"many small ones", "claude-haiku-4-5", slices.Repeat([]int{small}, 100), 0, 100},
		{"a large one among them", "claude-haiku-4-5", append([]int{large}, slices.Repeat([]int{small}, 50)...), 1, 50},
		{"more than there may be", "claude-haiku-4-5", slices.Repeat([]int{small}, 101), 10, 91},
		{"for a large window", "claude-opus-5", slices.Repeat([]int{small}, 101), 0, 101},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, a.Play(a.Say("fine")), called(c.model))
			contents := []*genai.Content{user("go")}
			for i, side := range c.sides {
				p := picture(t, "image/png", side)
				if i%2 == 0 { // in results, too
					r := result("1", "look", "seen")
					r.FunctionResponse.Parts = []*genai.FunctionResponsePart{{InlineData: &genai.FunctionResponseBlob{MIMEType: "image/png", Data: p.InlineData.Data}}}
					contents = append(contents, said(call("1", "look")), results(r))
				} else {
					contents = append(contents, results(p))
				}
			}
			o := ask(t.Context(), f, request(contents...))
			noRefusals(t, f)
			body := string(last(t, f).Body)
			const words = "here was an image"
			if n := strings.Count(body, `"type":"image"`); o.err != nil || n != c.shown || strings.Count(body, words) != len(c.sides)-n {
				t.Errorf("%v: %d images, %d left out", o.err, n, strings.Count(body, words))
			}
			if first := strings.Index(body, `"type":"image"`); strings.Count(body[:first], words) != c.first {
				t.Errorf("%d left out before the first", strings.Count(body[:first], words))
			}
		})
	}
}
