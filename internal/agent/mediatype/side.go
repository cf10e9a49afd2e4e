package mediatype

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	_ "image/gif" // for DecodeConfig
	"image/jpeg"
	"image/png"
)

// Side is the longer side of an image in pixels, 0 where that is not known. ok is false
// for one that is broken, or of a type that this does not read: it reads PNG, JPEG, GIF
// and WebP.
func Side(kind string, data []byte) (pixels int, ok bool) {
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
