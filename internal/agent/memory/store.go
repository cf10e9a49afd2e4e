package memory

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// ErrClosed means that the service has been closed.
var ErrClosed = errors.New("memory is closed")

// Bounds of a [Memory] that are not given.
const (
	DefaultMaxEntries    = 1000
	DefaultMaxBytes      = 1 << 20
	DefaultMaxOwners     = 1000
	DefaultMaxTotalBytes = 64 << 20
)

const (
	// maxText is how much of a text is kept, in bytes.
	maxText = 16 << 10
	// overhead is what an entry takes beside its texts, so that many small ones
	// are bounded too.
	overhead = 256
	// maxQueryWords is how many words of a query count.
	maxQueryWords = 200
)

// Options bound what a [Memory] keeps; 0 means the default.
type Options struct {
	MaxEntries    int // of one owner; past it the oldest goes
	MaxBytes      int // of one owner; past it the oldest goes
	MaxOwners     int // past it the one goes to whom nothing was added for longest
	MaxTotalBytes int // of all owners; past it the same one goes
}

// Memory is a [Service] that lives and dies with the process. It keeps the first
// 16 KiB of a text. An entry fits a query if they share a word, whatever its
// case; the more different words they share the better, then the newer.
type Memory struct {
	opts Options

	mu     sync.Mutex
	closed bool
	size   int
	owners map[Owner]*owned
	order  list.List // of *owned; who was added to longest ago comes first
}

// owned is what one owner has.
type owned struct {
	owner   Owner
	place   *list.Element
	size    int
	entries []*held // the oldest first
}

// held is an entry as it is kept; nobody writes to it.
type held struct {
	Entry
	words []string // see wordsOf
	size  int
}

// NewMemory makes an empty memory.
func NewMemory(o Options) *Memory {
	o.MaxEntries = cmp.Or(o.MaxEntries, DefaultMaxEntries)
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	o.MaxOwners = cmp.Or(o.MaxOwners, DefaultMaxOwners)
	o.MaxTotalBytes = cmp.Or(o.MaxTotalBytes, DefaultMaxTotalBytes)
	return &Memory{opts: o, owners: make(map[Owner]*owned)}
}

// Add implements [Service]. Entries without a word are left out.
func (m *Memory) Add(ctx context.Context, entries ...Entry) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	prepared := make([]*held, 0, len(entries))
	for _, e := range entries {
		if h := hold(e); len(h.words) > 0 {
			prepared = append(prepared, h)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	for _, h := range prepared {
		m.add(h)
	}
	return nil
}

func hold(e Entry) *held {
	if len(e.Text) > maxText {
		e.Text = strings.ToValidUTF8(e.Text[:maxText], "")
	}
	h := &held{Entry: e, words: wordsOf(e.Text, maxText)}
	h.size = overhead + len(e.Conversation) + len(e.Author) + len(e.Text)
	for _, w := range h.words {
		h.size += len(w) + 16
	}
	return h
}

func (m *Memory) add(h *held) {
	o := m.owners[h.Owner]
	if o == nil {
		o = &owned{owner: h.Owner}
		o.place = m.order.PushBack(o)
		m.owners[h.Owner] = o
	}
	m.order.MoveToBack(o.place)
	o.entries = append(o.entries, h)
	o.size, m.size = o.size+h.size, m.size+h.size
	gone := 0
	for ; len(o.entries)-gone > m.opts.MaxEntries || o.size > m.opts.MaxBytes; gone++ {
		size := o.entries[gone].size
		o.size, m.size = o.size-size, m.size-size
	}
	o.entries = slices.Delete(o.entries, 0, gone)
	for len(m.owners) > m.opts.MaxOwners || m.size > m.opts.MaxTotalBytes {
		m.forget(m.order.Front().Value.(*owned))
	}
}

func (m *Memory) forget(o *owned) {
	m.size -= o.size
	m.order.Remove(o.place)
	delete(m.owners, o.owner)
}

// Search implements [Service]. Of a long query the first 200 different words
// count.
func (m *Memory) Search(ctx context.Context, owner Owner, query string, most int) ([]Entry, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	entries, err := m.of(owner)
	if err != nil {
		return nil, err
	}
	type match struct{ score, at int }
	var matches []match
	wanted := wordsOf(query, maxQueryWords)
	for i, h := range entries {
		if n := shared(h.words, wanted); n > 0 {
			matches = append(matches, match{n, i})
		}
	}
	slices.SortFunc(matches, func(a, b match) int {
		newer := entries[b.at].Time.Compare(entries[a.at].Time)
		return cmp.Or(b.score-a.score, newer, b.at-a.at)
	})
	found := make([]Entry, 0, min(len(matches), max(most, 0)))
	for _, match := range matches[:cap(found)] {
		found = append(found, entries[match.at].Entry)
	}
	return found, nil
}

// of lists what an owner has.
func (m *Memory) of(owner Owner) ([]*held, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	if o := m.owners[owner]; o != nil {
		return slices.Clone(o.entries), nil
	}
	return nil, nil
}

// Close forgets everything.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.size, m.owners = true, 0, nil
	m.order.Init()
	return nil
}

// wordsOf lists the first different words of a text in lower case, sorted. A
// word is a run of letters and digits with the marks that belong to them.
func wordsOf(text string, most int) []string {
	seen := make(map[string]bool)
	var words []string
	between := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), between) {
		if len(words) == most {
			break
		}
		if !seen[w] {
			seen[w] = true
			words = append(words, w)
		}
	}
	slices.Sort(words)
	return words
}

// shared counts the words that two sorted lists have in common.
func shared(a, b []string) int {
	n := 0
	for len(a) > 0 && len(b) > 0 {
		switch c := strings.Compare(a[0], b[0]); {
		case c < 0:
			a = a[1:]
		case c > 0:
			b = b[1:]
		default:
			n++
			a, b = a[1:], b[1:]
		}
	}
	return n
}
