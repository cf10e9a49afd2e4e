package replay

// MaxSize is how large a file may be.
const MaxSize = maxSize

// Bound makes a file that is smaller already too large, and gives the bound before.
func (r *Recorder) Bound(size int) (before int) {
	before, r.most = r.most, size
	return before
}
