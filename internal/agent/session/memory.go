package session

import (
	"context"
	"iter"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"
)

// MemoryOptions bound what a [Memory] keeps. Every bound must be positive.
type MemoryOptions struct {
	IdleTTL          time.Duration // a conversation is dropped after so long without a turn
	MaxConversations int           // past it one that has been idle long goes
	MaxBytes         int           // of one conversation; see Event.Size
	Now              func() time.Time
	Log              *slog.Logger
}

// Memory is a [Store] that lives and dies with the process. Every eviction is
// logged. It starts nothing in the background: what has expired goes when the
// next conversation is opened.
type Memory struct {
	opts MemoryOptions

	mu     sync.Mutex
	convs  map[Key]*conversation
	idle   idleList               // those without lease or line, longest idle first
	shared map[scope]*sharedState // app: and user: state
	closed chan struct{}
	done   bool
}

// scope is whose shared state it is: with an empty principal the agent's
// (app:), else that principal's with this agent (user:).
type scope struct{ agent, principal string }

type sharedState struct {
	values map[string]any
	size   int
}

// conversation is guarded by Memory.mu but for the fields that only the
// holder of the lease touches: events and memo.
type conversation struct {
	key     Key
	turn    chan struct{} // holds one token while nobody has the lease
	waiting int           // in line, the holder included
	gone    bool          // deleted
	size    int
	used    time.Time
	events  []*Event
	memo    any

	prev, next *conversation // in the idle list
}

// NewMemory makes an empty store.
func NewMemory(o MemoryOptions) *Memory {
	m := &Memory{
		opts:   o,
		convs:  make(map[Key]*conversation),
		shared: make(map[scope]*sharedState),
		closed: make(chan struct{}),
	}
	m.idle.init()
	return m
}

// Open implements [Store].
func (m *Memory) Open(ctx context.Context, key Key, mode Mode) (Lease, error) {
	c, err := m.enter(key, mode)
	if err != nil {
		return nil, err
	}
	select {
	case <-c.turn:
		if ctx.Err() != nil { // both were ready
			c.turn <- struct{}{}
			m.leave(c)
			return nil, context.Cause(ctx)
		}
	case <-ctx.Done():
		m.leave(c)
		return nil, context.Cause(ctx)
	case <-m.closed:
		m.leave(c)
		return nil, ErrClosed
	}
	m.mu.Lock()
	gone := c.gone
	m.mu.Unlock()
	if gone {
		c.turn <- struct{}{}
		m.leave(c)
		return nil, ErrNotFound
	}
	return &lease{store: m, conv: c}, nil
}

// enter finds or starts the conversation and takes a place in its line, which
// keeps it from being evicted.
func (m *Memory) enter(key Key, mode Mode) (*conversation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.done {
		return nil, ErrClosed
	}
	m.expire()
	c := m.convs[key]
	if c == nil {
		if mode != Create {
			return nil, ErrNotFound
		}
		m.makeRoom()
		c = &conversation{key: key, turn: make(chan struct{}, 1), used: m.opts.Now()}
		c.turn <- struct{}{}
		m.convs[key] = c
	}
	if c.waiting == 0 {
		m.idle.remove(c)
	}
	c.waiting++
	return c, nil
}

func (m *Memory) leave(c *conversation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.waiting--
	if c.waiting > 0 || c.gone {
		return
	}
	c.used = m.opts.Now()
	if len(c.events) == 0 { // nothing was ever said in it
		delete(m.convs, c.key)
		return
	}
	m.idle.push(c)
}

// expire drops what has been idle for longer than the TTL.
func (m *Memory) expire() {
	limit := m.opts.Now().Add(-m.opts.IdleTTL)
	for c := m.idle.front(); c != nil && c.used.Before(limit); c = m.idle.front() {
		m.evict(c, "idle")
	}
}

// makeRoom drops a conversation when there is no room for one more. Those in
// use are never dropped; their number is bounded by the callers.
func (m *Memory) makeRoom() {
	for len(m.convs) >= m.opts.MaxConversations {
		c := m.victim()
		if c == nil {
			return
		}
		m.evict(c, "too many conversations")
	}
}

// victim is the longest idle conversation of the principal who has most idle
// ones, so that nobody's are driven out by another's haste.
func (m *Memory) victim() *conversation {
	first := make(map[string]*conversation, 1)
	held := make(map[string]int, 1)
	var most *conversation
	for c := m.idle.front(); c != nil && c != &m.idle.root; c = c.next {
		p := c.key.Principal
		if held[p]++; held[p] == 1 {
			first[p] = c
		}
		if most == nil || held[p] > held[most.key.Principal] {
			most = first[p]
		}
	}
	return most
}

func (m *Memory) evict(c *conversation, why string) {
	m.drop(c)
	m.opts.Log.Info("conversation evicted", "agent", c.key.Agent, "reason", why,
		"events", len(c.events), "bytes", c.size, "idle", m.opts.Now().Sub(c.used).Round(time.Second))
}

func (m *Memory) drop(c *conversation) {
	c.gone = true
	delete(m.convs, c.key)
	m.idle.remove(c)
}

// Delete implements [Store].
func (m *Memory) Delete(_ context.Context, key Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.convs[key]; c != nil {
		m.drop(c)
	}
	return nil
}

// Len is the number of conversations held.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.convs)
}

// Close implements [Store].
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.done {
		m.done = true
		close(m.closed)
	}
	return nil
}

type lease struct {
	store *Memory
	conv  *conversation
	once  sync.Once
}

// Version implements [Lease].
func (l *lease) Version() int64 { return int64(len(l.conv.events)) }

// Load implements [Lease].
func (l *lease) Load(_ context.Context, after int64) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		for _, e := range l.conv.events[min(max(after, 0), l.Version()):] {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Append implements [Lease].
func (l *lease) Append(_ context.Context, expect int64, events ...*Event) error {
	m, c := l.store, l.conv
	size := 0
	for _, e := range events {
		size += e.Size()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.done:
		return ErrClosed
	case c.gone:
		return ErrNotFound
	case expect != l.Version():
		return ErrConflict
	case c.size+size > m.opts.MaxBytes && !closing(events):
		return ErrTooLarge
	}
	if err := m.share(c.key, events); err != nil && !closing(events) {
		return err
	}
	for _, e := range events {
		e.V, e.Seq = Version, l.Version()+1
		c.events = append(c.events, e)
	}
	c.size += size
	return nil
}

// closing reports whether events only bring a turn to its end. Those are let
// in past the bound, so that a full conversation is never left torn; the
// runner keeps them small.
func closing(events []*Event) bool {
	return len(events) > 0 && events[len(events)-1].Kind == TurnEnded
}

// share writes app: and user: keys where other conversations see them, all or
// none. Shared state has the bound of a conversation.
func (m *Memory) share(key Key, events []*Event) error {
	var next map[scope]*sharedState
	for _, e := range events {
		for k, v := range e.StateDelta {
			s, ok := scopeOf(key, k)
			if !ok {
				continue
			}
			st := next[s]
			if st == nil {
				st = &sharedState{values: make(map[string]any)}
				if old := m.shared[s]; old != nil {
					st.size, st.values = old.size, maps.Clone(old.values)
				} else if len(m.shared)+len(next) >= m.opts.MaxConversations {
					return ErrStateFull
				}
				if next == nil {
					next = make(map[scope]*sharedState, 1)
				}
				next[s] = st
			}
			if old, ok := st.values[k]; ok {
				st.size -= len(k) + sizeOf(old)
			}
			st.values[k], st.size = v, st.size+len(k)+sizeOf(v)
			if st.size > m.opts.MaxBytes {
				return ErrStateFull
			}
		}
	}
	maps.Copy(m.shared, next)
	return nil
}

func scopeOf(key Key, name string) (scope, bool) {
	switch {
	case strings.HasPrefix(name, "app:"):
		return scope{agent: key.Agent}, true
	case strings.HasPrefix(name, "user:"):
		return scope{agent: key.Agent, principal: key.Principal}, true
	}
	return scope{}, false
}

// Shared implements [Lease].
func (l *lease) Shared(context.Context) (map[string]any, error) {
	m := l.store
	m.mu.Lock()
	defer m.mu.Unlock()
	app, user := m.shared[scope{agent: l.conv.key.Agent}], m.shared[scope{l.conv.key.Agent, l.conv.key.Principal}]
	if app == nil && user == nil {
		return nil, nil
	}
	all := make(map[string]any)
	for _, st := range []*sharedState{app, user} {
		if st != nil {
			maps.Copy(all, st.values)
		}
	}
	return all, nil
}

// Memo implements [Lease].
func (l *lease) Memo() *any { return &l.conv.memo }

// Release implements [Lease].
func (l *lease) Release() {
	l.once.Do(func() {
		l.conv.turn <- struct{}{}
		l.store.leave(l.conv)
	})
}
