package anthropictest

import (
	"bytes"
	"encoding/binary"
	images "image"
	_ "image/gif"  // the types that the service reads
	_ "image/jpeg" //
	_ "image/png"  //
)

// The service's rules for images (its page on vision): pixels of a side, fewer with more
// than so many images in a request, those within results included, and how many there
// may be for models of the smaller window.
const (
	maxSide       = 8000
	manyImages    = 20
	maxSideOfMany = 2000
	maxImages     = 100
)

// side is the longer side of an image, in pixels.
func (s *Source) side(data []byte) (int, error) {
	if s.MediaType == "image/webp" {
		return webpSide(data)
	}
	c, _, err := images.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return 0, refusal("Could not process image")
	}
	return max(c.Width, c.Height), nil
}

// webpSide reads the canvas of an extended WebP (RFC 9649, section 2.7), the only one that
// tests send.
func webpSide(data []byte) (int, error) {
	if len(data) < 30 || string(data[12:16]) != "VP8X" {
		return 0, refusal("Could not process image")
	}
	side := func(b []byte) int { return 1 + int(binary.LittleEndian.Uint32(append(b[:3:3], 0))) }
	return max(side(data[24:]), side(data[27:])), nil
}

// checkImages holds all images of a request against the rules.
func (s *Server) checkImages(sides []int, has abilities) error {
	most := maxImages
	if has.adaptive { // those have a window of a million tokens
		most *= 6
	}
	if len(sides) > most {
		return refusal("Too many images: %d > %d", len(sides), most)
	}
	for _, side := range sides {
		if len(sides) > manyImages && side > maxSideOfMany {
			return refusal("At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels")
		}
	}
	return nil
}
