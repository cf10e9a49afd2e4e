package anthropic

import "slices"

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
