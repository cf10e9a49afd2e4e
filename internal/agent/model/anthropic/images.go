package anthropic

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	_ "image/gif" // the types that the service reads
	"image/jpeg"
	"image/png"
	"slices"
)

// The service's limits on images (its page on vision). It refuses what is beyond them,
// and with it the conversation from then on.
const (
	maxImage      = 5 << 20 // bytes of base64; some platforms take more
	maxSide       = 8000    // pixels of width or height
	manyImages    = 20      // with more in a request, those within results included,
	maxSideOfMany = 2000    // sides are no longer than this
	maxImages     = 100     // in a request, for models with the smaller window
)

// leftOut stands in the place of an image of the past.
const leftOut = "[here was an image; it is left out, since the conversation has more or larger ones than can be shown together]"

// side is the longer side of an image in pixels, 0 where that is not known. ok is false
// for an image that is broken.
func side(kind string, data []byte) (pixels int, ok bool) {
	if kind == "image/webp" {
		return webpSide(data)
	}
	var (
		rareJPEG jpeg.UnsupportedError
		rarePNG  png.UnsupportedError
	)
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if errors.As(err, &rareJPEG) || errors.As(err, &rarePNG) {
		return 0, true
	}
	return max(c.Width, c.Height), err == nil
}

// webpSide reads the first chunk of a WebP (RFC 9649, sections 2.5 to 2.7).
func webpSide(data []byte) (pixels int, ok bool) {
	var head [30]byte
	copy(head[:], data)
	word := func(at int) int { return int(binary.LittleEndian.Uint32(head[at:])) }
	switch string(head[12:16]) {
	case "VP8X": // two canvas sides of 24 bits, less one
		return 1 + max(word(24)&0xffffff, word(26)>>8), true
	case "VP8L": // two sides of 14 bits, less one
		return 1 + max(word(21)&0x3fff, word(21)>>14&0x3fff), true
	case "VP8 ": // two sides of 14 bits, each with two bits of scale
		return max(word(26)&0x3fff, word(26)>>16&0x3fff), true
	}
	return 0, false
}

// images is how many a request to the model may hold: six times as many with a
// window of a million tokens, which those have that think adaptively.
func (n named) images() int {
	if n.has(thinksAdaptively) {
		return 6 * maxImages
	}
	return maxImages
}

// fitImages puts words in the place of images that the service does not take together,
// the oldest first.
func fitImages(messages []message, most int) {
	all := imagesOf(messages)
	all = all[leaveOut(all, len(all)-most):]
	if len(all) > manyImages {
		large := slices.DeleteFunc(slices.Clone(all), func(b *block) bool { return b.Source.side <= maxSideOfMany })
		leaveOut(large, len(all)-manyImages)
	}
}

// leaveOut takes the first of some images out, as many as there are too many and up to ten
// at a time, since what comes behind a change is not found in the service's cache. It gives
// their number.
func leaveOut(images []*block, excess int) int {
	n := min(max(0, excess+9)/10*10, len(images))
	for _, b := range images[:n] {
		*b = textBlock(leftOut)
	}
	return n
}

// imagesOf gives the images of a conversation, those within results included.
func imagesOf(messages []message) []*block {
	var all []*block
	add := func(blocks []block) {
		for i := range blocks {
			if blocks[i].Type == "image" {
				all = append(all, &blocks[i])
			}
		}
	}
	for _, m := range messages {
		for i := range m.Content {
			add(m.Content[i : i+1])
			if within, ok := m.Content[i].Content.([]block); ok {
				add(within)
			}
		}
	}
	return all
}
