package artifact

import (
	"cmp"
	"container/list"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent/session"
)

// Bounds of a [Memory] that are not given. Artifacts outlive a pause in their
// conversation, since links to them may be in somebody's notes.
const (
	DefaultMaxBytes             = 8 << 20
	DefaultMaxConversationBytes = 64 << 20
	DefaultMaxTotalBytes        = 512 << 20
	DefaultMaxVersions          = 100
	DefaultMaxArtifacts         = 1000
	DefaultIdleTTL              = 24 * time.Hour
)

// overhead is what an artifact takes beside its texts and data, so that many
// empty ones are bounded too.
const overhead = 512

// MemoryOptions bound what a [Memory] keeps; 0 means the default. Now and Log
// are required.
type MemoryOptions struct {
	MaxBytes             int           // of the data of one artifact
	MaxConversationBytes int           // of a conversation's, each with half a KiB for itself
	MaxTotalBytes        int           // of all; past it the least recently used conversations are forgotten
	MaxVersions          int           // of one name; past it the oldest is forgotten
	MaxArtifacts         int           // versions of all names of a conversation
	IdleTTL              time.Duration // a conversation's are forgotten when none was read or written for so long

	Now    func() time.Time
	Random io.Reader // for ids; nil means the system's own source
	Log    *slog.Logger
}

// Memory is a [Store] that lives and dies with the process. Whenever it has to
// forget a conversation's artifacts it says so in the log. It starts nothing in
// the background: what has expired goes when the store is next used.
type Memory struct {
	opts MemoryOptions

	mu     sync.Mutex
	uses   int64 // of conversations
	closed bool
	size   int
	convs  map[session.Key]*conversation
	owners map[string]*owner // by principal
	ids    map[string]*held
}

// owner is a principal that has artifacts.
type owner struct {
	size  int
	convs list.List // of *conversation, least recently used first
}

type conversation struct {
	key   session.Key
	place *list.Element // in the owner's list
	used  time.Time
	turn  int64 // counts uses, since a clock may show the same time twice
	size  int
	count int
	names map[string][]*Artifact // the versions in order
}

// held is an artifact and where it is.
type held struct {
	artifact *Artifact
	conv     *conversation
}

// NewMemory makes an empty store.
func NewMemory(o MemoryOptions) *Memory {
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	o.MaxConversationBytes = cmp.Or(o.MaxConversationBytes, DefaultMaxConversationBytes)
	o.MaxTotalBytes = cmp.Or(o.MaxTotalBytes, DefaultMaxTotalBytes)
	o.MaxVersions = cmp.Or(o.MaxVersions, DefaultMaxVersions)
	o.MaxArtifacts = cmp.Or(o.MaxArtifacts, DefaultMaxArtifacts)
	o.IdleTTL = cmp.Or(o.IdleTTL, DefaultIdleTTL)
	if o.Random == nil {
		o.Random = rand.Reader
	}
	m := &Memory{opts: o}
	m.clear()
	return m
}

func (m *Memory) clear() {
	m.size = 0
	m.convs = make(map[session.Key]*conversation)
	m.owners = make(map[string]*owner)
	m.ids = make(map[string]*held)
}

// use takes the lock for one operation; whoever gets no error unlocks.
func (m *Memory) use(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrClosed
	}
	m.expire()
	return nil
}

// Save implements [Store].
func (m *Memory) Save(ctx context.Context, key session.Key, a Artifact) (*Artifact, error) {
	if err := CheckName(a.Name); err != nil {
		return nil, err
	}
	if len(a.Data) > m.opts.MaxBytes {
		return nil, fmt.Errorf("%w: %s has %d bytes, at most %d can be kept", ErrTooLarge, a.Name, len(a.Data), m.opts.MaxBytes)
	}
	if err := m.use(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	c := m.convs[key]
	if c == nil {
		c = &conversation{key: key, names: make(map[string][]*Artifact)}
	}
	a.Version = 1
	versions := c.names[a.Name]
	if n := len(versions); n > 0 {
		a.Version = versions[n-1].Version + 1
	}
	var oldest *Artifact
	if len(versions) >= m.opts.MaxVersions {
		oldest = versions[0]
	}
	if err := m.admits(c, &a, oldest); err != nil {
		return nil, err
	}
	var err error
	if a.ID, err = m.newID(); err != nil {
		return nil, err
	}
	if oldest != nil {
		m.forget(c, oldest)
	}
	m.add(c, &a)
	m.makeRoom(c)
	return &a, nil
}

// admits says whether the conversation's bounds have room for a when oldest,
// which may be nil, goes.
func (m *Memory) admits(c *conversation, a, oldest *Artifact) error {
	size, count := c.size+sizeOf(a), c.count+1
	if oldest != nil {
		size, count = size-sizeOf(oldest), count-1
	}
	switch most := min(m.opts.MaxConversationBytes, m.opts.MaxTotalBytes); {
	case size > most:
		return fmt.Errorf("%w: with %s the artifacts of this conversation would have %d bytes, at most %d can be kept", ErrTooLarge, a.Name, size, most)
	case count > m.opts.MaxArtifacts:
		return fmt.Errorf("%w: this conversation has %d artifacts and versions of them, more cannot be kept", ErrTooLarge, c.count)
	}
	return nil
}

// newID gives 128 random bits as text.
func (m *Memory) newID() (string, error) {
	var bits [16]byte
	if _, err := io.ReadFull(m.opts.Random, bits[:]); err != nil {
		return "", fmt.Errorf("an id for an artifact: %w", err)
	}
	id := "ar_" + base64.RawURLEncoding.EncodeToString(bits[:])
	if m.ids[id] != nil { // otherwise somebody's link would lead to another's artifact
		return "", errors.New("an id for an artifact: the source of random numbers repeats itself")
	}
	return id, nil
}

// sizeOf is what an artifact takes in memory, in bytes.
func sizeOf(a *Artifact) int { return len(a.Data) + len(a.Name) + len(a.MIMEType) + overhead }

func (m *Memory) add(c *conversation, a *Artifact) {
	o := m.owners[c.key.Principal]
	if o == nil {
		o = &owner{}
		m.owners[c.key.Principal] = o
	}
	if c.place == nil {
		c.place = o.convs.PushBack(c)
		m.convs[c.key] = c
	}
	c.names[a.Name] = append(c.names[a.Name], a)
	m.ids[a.ID] = &held{a, c}
	c.count++
	m.grow(o, c, sizeOf(a))
	m.touch(c)
}

// forget removes the oldest version of a name.
func (m *Memory) forget(c *conversation, oldest *Artifact) {
	versions := c.names[oldest.Name]
	c.names[oldest.Name] = slices.Delete(versions, 0, 1)
	delete(m.ids, oldest.ID)
	c.count--
	m.grow(m.owners[c.key.Principal], c, -sizeOf(oldest))
}

func (m *Memory) grow(o *owner, c *conversation, by int) {
	c.size += by
	o.size += by
	m.size += by
}

func (m *Memory) touch(c *conversation) {
	m.uses++
	c.used, c.turn = m.opts.Now(), m.uses
	m.owners[c.key.Principal].convs.MoveToBack(c.place)
}

// makeRoom keeps the bound on everything. The conversation that was just
// written to stays.
func (m *Memory) makeRoom(written *conversation) {
	for m.size > m.opts.MaxTotalBytes {
		c := m.victim(written)
		if c == nil {
			return
		}
		m.evict(c, "too many bytes")
	}
}

// victim is the least recently used conversation of the principal whose
// artifacts take most, so that nobody's are driven out by another's haste.
func (m *Memory) victim(keep *conversation) *conversation {
	var found *conversation
	most := 0
	for _, o := range m.owners {
		c := o.convs.Front().Value.(*conversation)
		if c == keep {
			next := c.place.Next()
			if next == nil {
				continue
			}
			c = next.Value.(*conversation)
		}
		if o.size > most || o.size == most && found != nil && c.turn < found.turn {
			found, most = c, o.size
		}
	}
	return found
}

// expire forgets what has been idle for longer than the TTL.
func (m *Memory) expire() {
	limit := m.opts.Now().Add(-m.opts.IdleTTL)
	for _, o := range m.owners {
		for e := o.convs.Front(); e != nil; e = o.convs.Front() {
			c := e.Value.(*conversation)
			if !c.used.Before(limit) {
				break
			}
			m.evict(c, "idle")
		}
	}
}

func (m *Memory) evict(c *conversation, why string) {
	m.drop(c)
	m.opts.Log.Info("artifacts of a conversation evicted", "agent", c.key.Agent, "reason", why,
		"artifacts", c.count, "bytes", c.size, "idle", m.opts.Now().Sub(c.used).Round(time.Second))
}

func (m *Memory) drop(c *conversation) {
	for _, versions := range c.names {
		for _, a := range versions {
			delete(m.ids, a.ID)
		}
	}
	o := m.owners[c.key.Principal]
	o.convs.Remove(c.place)
	o.size -= c.size
	m.size -= c.size
	if o.convs.Len() == 0 {
		delete(m.owners, c.key.Principal)
	}
	delete(m.convs, c.key)
}

// Load implements [Store].
func (m *Memory) Load(ctx context.Context, key session.Key, name string, version int) (*Artifact, error) {
	if err := m.use(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	c := m.convs[key]
	if c == nil {
		return nil, ErrNotFound
	}
	m.touch(c)
	versions := c.names[name]
	i := len(versions) - 1
	if version != 0 {
		i = slices.IndexFunc(versions, func(a *Artifact) bool { return a.Version == version })
	}
	if i < 0 {
		return nil, ErrNotFound
	}
	return versions[i], nil
}

// List implements [Store].
func (m *Memory) List(ctx context.Context, key session.Key) ([]session.Artifact, error) {
	if err := m.use(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	c := m.convs[key]
	if c == nil {
		return nil, nil
	}
	m.touch(c)
	all := make([]session.Artifact, 0, len(c.names))
	for _, versions := range c.names {
		all = append(all, versions[len(versions)-1].Info())
	}
	slices.SortFunc(all, func(a, b session.Artifact) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, principal, agent, id string) (*Artifact, error) {
	if err := m.use(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	h := m.ids[id]
	if h == nil || h.conv.key.Principal != principal || h.conv.key.Agent != agent {
		return nil, ErrNotFound
	}
	m.touch(h.conv)
	return h.artifact, nil
}

// DeleteConversation implements [Store].
func (m *Memory) DeleteConversation(ctx context.Context, key session.Key) error {
	if err := m.use(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	if c := m.convs[key]; c != nil {
		m.drop(c)
	}
	return nil
}

// Close implements [Store].
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.clear()
	return nil
}
